"""Who needs whom in a wheel, drawn twice: what is missing with the way to it, and everything.

The graph is what is known; a drawing gives some of its nodes places on a sheet, importers above what they import, and
the same report gives the same drawing. DLLs of Windows, Python and drivers are listed in words at each node: drawn,
every node would hang on them.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import dataclass, field, frozen, grouped
from wheelfix.loader.view import is_pyd
from wheelfix.model import (
    Edge,
    InView,
    Machine,
    Malformed,
    MayComeFrom,
    Missing,
    OwnedBy,
    ScannedImage,
    ScanReport,
    dll_key,
)
from wheelfix.report import safe
from wheelfix.report.blocks import Part, Record, Records, Value, chapter
from wheelfix.report.document import count, human_size, image_counts, provider_phrase
from wheelfix.report.html.element import Html, el, fold
from wheelfix.rules.context import inside

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


NODE_WIDTH = 156
NODE_HEIGHT = 54
GAP_X = 10
"""Two boxes fit side by side on the screen of a phone."""
GAP_Y = 48
PER_ROW = 8
"""More nodes of one layer than this take another row: a sheet that is far too wide cannot be read."""

API_SET = re.compile(r"(api|ext)-ms-", re.IGNORECASE)
API_SETS = "Windows API sets"
"""Of which only the number is told."""

Numbers: TypeAlias = "dict[int, list[int]]"
"""The nodes next to each node."""


@dataclass
class Node:
    """A DLL in the wheel, or one that is wanted from outside."""

    name: str
    path: str
    kind: str
    """``dll``, ``module``, ``program``, ``malformed``, ``missing``, ``optional`` or ``owned``."""
    size: int = 0
    facts: dict[str, str] = field(default_factory=dict)
    """What else is known, in words."""
    outside: dict[str, list[str]] = field(default_factory=dict)
    """Needs that others meet, by who meets them."""

    @property
    def in_wheel(self) -> bool:
        """Whether the node is a file of the wheel."""
        return self.kind not in ("missing", "optional", "owned")


@frozen
class Link:
    """One need, between two nodes by their numbers."""

    source: int
    target: int
    kind: str
    required: bool = True
    fault: str = ""
    """Why the load fails although the file is there."""


@frozen
class Graph:
    """Files, and who needs whom."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    above: Numbers
    """Who needs a node."""
    below: Numbers


@frozen
class Drawing:
    """Some nodes of a graph with their places, and the size of the sheet."""

    places: dict[int, tuple[int, int]]
    width: int
    height: int


def build_graph(report: ScanReport) -> Graph:
    """Return who needs whom in a wheel."""
    nodes = [_image_node(image, report.machine) for image in report.images]
    numbers = {image.place: number for number, image in enumerate(report.images)}
    """The node of each file by where it is installed, and of what is drawn besides by what it is."""
    links: dict[tuple[int, int, str], Link] = {}
    for edge in report.resolution.edges:
        source = numbers.get(edge.importer)
        if source is None:
            continue
        target = _target(edge, nodes, numbers)
        if target is not None:
            fault = f"without {', '.join(map(str, edge.unexported[:20]))}" if edge.unexported else ""
            if edge.is_missing and nodes[target].in_wheel:
                fault = "not found there"
            link = Link(source, target, edge.kind.value, edge.required, fault)
            links.setdefault((source, target, link.kind), link)
        else:
            phrase = API_SETS if API_SET.match(edge.name) else provider_phrase(edge.provider)
            nodes[source].outside.setdefault(phrase, []).append(edge.name)
    above = grouped((link.target, link.source) for link in links.values())
    below = grouped((link.source, link.target) for link in links.values())
    return Graph(tuple(nodes), tuple(links.values()), above, below)


def _image_node(image: ScannedImage, usual: Machine) -> Node:
    name = posixpath.basename(image.path.replace("\\", "/"))
    if isinstance(image.facts, Malformed):
        return Node(name, image.path, "malformed", image.facts.size, {"broken": image.facts.reason})
    kind = "module" if is_pyd(name) else "dll" if image.facts.is_dll else "program"
    facts = {} if image.facts.machine is usual else {"machine": image.facts.machine.value}
    if image.version is not None:
        facts["version"] = str(image.version)
    if image.archs:
        facts["GPU code"] = ", ".join(image.archs)
    if image.signature is not None:
        facts["signature"] = str(image.signature)
    return Node(name, image.path, kind, image.facts.size, facts)


def _target(edge: Edge, nodes: list[Node], numbers: dict[str, int]) -> int | None:
    """Return the node that a need leads to, made where it is not of the wheel; None for Windows and the like."""
    key, kind, path, facts = "", "owned", "", dict[str, str]()
    match edge.provider:
        case InView(path):
            key, facts = path, {"where": "in the environment"}
        case Missing(present_at=present):
            key = next((place for place in present if place in numbers), f"missing {dll_key(edge.name)}")
            kind = "missing" if edge.required else "optional"
        case OwnedBy(distribution=owner, reachable=reachable, because=because) as provider:
            key = f"owned {owner} {dll_key(edge.name)}"
            facts = {"from": provider.requirement} | ({} if reachable else {"out of reach": because})
        case MayComeFrom(distributions=owners, because=because):
            key = f"unsure {dll_key(edge.name)}"
            facts = {"may come from": ", ".join(owners), "could not tell": because}
        case _:
            return None
    if key not in numbers:
        numbers[key] = len(nodes)
        nodes.append(Node(edge.name, path, kind, facts=facts))
    elif kind == "missing" and nodes[numbers[key]].kind == "optional":
        nodes[numbers[key]].kind = kind
    return numbers[key]


# -------------------------------------------------------------------------------------------------------------- places


def lay_out(graph: Graph, kept: Collection[int], per_row: int) -> Drawing:
    """Give nodes their places, importers above what they import."""
    nodes = graph.nodes
    above, below = (
        {number: near for number in sorted(kept) if (near := [one for one in side.get(number, ()) if one in kept])}
        for side in (graph.above, graph.below)
    )
    layers = _layers(below)
    _order(layers, above, below, nodes)
    single = sorted({*kept}.difference(above, below), key=lambda number: nodes[number].name.lower())
    rows = [layer[start : start + per_row] for layer in (*layers, single) for start in range(0, len(layer), per_row)]
    widest = max((len(row) for row in rows), default=1)
    width = GAP_X + widest * (NODE_WIDTH + GAP_X)
    places = {}
    for depth, row in enumerate(rows):
        start = (width - len(row) * (NODE_WIDTH + GAP_X) + GAP_X) // 2
        for column, number in enumerate(row):
            places[number] = (start + column * (NODE_WIDTH + GAP_X), GAP_X + depth * (NODE_HEIGHT + GAP_Y))
    height = GAP_X * 2 + max(1, len(rows)) * (NODE_HEIGHT + GAP_Y) - GAP_Y
    return Drawing(places, width, height)


def _layers(below: Numbers) -> list[list[int]]:
    """Return the nodes with links by their longest way from a node that nothing needs; what closes a circle is ignored.

    In the reverse order of finishing, every node comes before what it needs.
    """
    finished: dict[int, int] = {}
    seen: set[int] = set()
    pending = [(number, False) for number in below]
    while pending:
        number, done = pending.pop()
        if done:
            finished[number] = len(finished)
        elif number not in seen:
            seen.add(number)
            pending += [(number, True), *((target, False) for target in below.get(number, ()))]
    depth = dict.fromkeys(finished, 0)
    for number in reversed(finished):
        for target in below.get(number, ()):
            if finished[target] < finished[number]:
                depth[target] = max(depth[target], depth[number] + 1)
    layers = grouped((depth[number], number) for number in sorted(finished))
    return [layer for _, layer in sorted(layers.items())]


def _order(layers: list[list[int]], above: Numbers, below: Numbers, nodes: Sequence[Node]) -> None:
    """Sort each layer so that lines cross little: by where a node's neighbours stand, a few times down and up."""
    rank: dict[int, float] = {}
    for layer in layers:
        layer.sort(key=lambda number: nodes[number].name.lower())
        rank |= {number: position / max(1, len(layer) - 1) for position, number in enumerate(layer)}

    def middle(number: int, neighbours: Numbers) -> tuple[float, str]:
        near = neighbours.get(number)
        return sum(rank[other] for other in near) / len(near) if near else rank[number], nodes[number].name.lower()

    for turn in range(6):
        down = turn % 2 == 0
        for layer in layers if down else reversed(layers):
            places = {number: middle(number, above if down else below) for number in layer}
            layer.sort(key=places.__getitem__)
            rank |= {number: position / max(1, len(layer) - 1) for position, number in enumerate(layer)}


# ------------------------------------------------------------------------------ the part that explains what is missing


MISSING = 6
"""So many missing DLLs are drawn; the table above the drawing has all of them."""
IMPORTERS = 2
"""So many files that import the same missing DLL are drawn."""


def missing_part(graph: Graph, chain: Sequence[str] = ()) -> set[int]:
    """Return what is missing or damaged and how it is reached; nothing where nothing is.

    ``chain`` are the names on the way to the error that the user sees; this way is drawn in any case.
    """
    causes = _causes(graph)
    kept = set(_along(graph, chain)) if causes else set[int]()
    for cause in causes[:MISSING]:
        kept |= {cause, *_way_up(cause, graph), *graph.above.get(cause, [])[:IMPORTERS]}
    return kept


def _along(graph: Graph, chain: Sequence[str]) -> list[int]:
    """Return the nodes of a chain of names, each needed by the one before it."""
    named = grouped((node.name.lower(), number) for number, node in enumerate(graph.nodes))
    way: list[int] = []
    for name in chain:
        choices = named.get(name.lower(), [])
        fitting = [number for number in choices if not way or number in graph.below.get(way[-1], ())]
        if not fitting:
            break
        way.append(fitting[0])
    return way if len(way) > 1 else []


def _causes(graph: Graph) -> list[int]:
    """Return what makes loads fail; where there is nothing of that kind, what is missing and optional."""
    faulty = {link.target for link in graph.links if link.fault}
    kinds = {number: node.kind for number, node in enumerate(graph.nodes)}
    bad = [number for number, kind in kinds.items() if kind in ("missing", "malformed") or number in faulty]
    return bad or [number for number, kind in kinds.items() if kind == "optional"]


def _way_up(number: int, graph: Graph) -> list[int]:
    """Return the shortest way from a file that Python imports, or that nothing imports, down to a node."""
    came_from: dict[int, int] = {number: number}
    queue = deque([number])
    while queue:
        here = queue.popleft()
        if here != number and (graph.nodes[here].kind == "module" or here not in graph.above):
            way = [here]
            while way[-1] != number:
                way.append(came_from[way[-1]])
            return way
        for importer in graph.above.get(here, ()):
            if importer not in came_from:
                came_from[importer] = here
                queue.append(importer)
    return [number]


# -------------------------------------------------------------------------------------------------- the drawing as SVG


SPOKEN = {
    "dll": "DLL in the wheel",
    "module": "extension module",
    "program": "program",
    "malformed": "broken file",
    "missing": "missing",
    "optional": "missing, optional",
    "owned": "of another package",
    "vendored": "vendored",
}


def _drawn(name: str, graph: Graph, kept: Collection[int], per_row: int, sources: Mapping[str, str]) -> Html:
    """Return a drawing with its legend; the script adds what it takes to move in it and to choose."""
    drawing = lay_out(graph, kept, per_row)
    lines = [
        _line(graph, number, link, drawing.places)
        for number, link in enumerate(graph.links)
        if link.source in kept and link.target in kept
    ]
    boxes = [_box(number, graph.nodes[number], drawing.places[number], sources) for number in sorted(kept)]
    head = el("path", d="M0 0L8 4L0 8z")
    arrow = el("marker", head, id=f"{name}-arrow", markerWidth=8, markerHeight=8, refX=8, refY=4, orient="auto")
    needs = el("g", *lines, class_="links", fill="none", marker_end=f"url(#{name}-arrow)")
    svg = el(
        "svg",
        el("defs", arrow),
        el("g", needs, el("g", *boxes, class_="nodes"), class_="sheet"),
        viewBox=f"0 0 {drawing.width} {drawing.height}",
        width=drawing.width,
        height=drawing.height,
        role="group",
        aria_label=f"Drawing of {len(boxes)} files and {len(lines)} needs",
        preserveAspectRatio="xMidYMid meet",
    )
    present = {graph.nodes[number].kind for number in kept} | ({"vendored"} if sources else set())
    legend = [el("span", text, class_=f"key {kind}") for kind, text in SPOKEN.items() if kind in present]
    return el(
        "div",
        el("div", *legend, class_="legend", aria_hidden="true"),
        el("div", svg, class_="canvas", id=f"{name}-drawing"),
        class_="graph",
    )


def _line(graph: Graph, number: int, link: Link, places: Mapping[int, tuple[int, int]]) -> Html:
    (x1, y1), (x2, y2), target = places[link.source], places[link.target], graph.nodes[link.target]
    if link.source == link.target or y2 <= y1:  # upwards, in a circle of imports: leave and arrive at the sides
        x1, y1, x2, y2 = x1 + NODE_WIDTH, y1 + 27, x2 + NODE_WIDTH, y2 + 27
        path = f"M{x1} {y1}C{x1 + 40} {y1} {x2 + 40} {y2} {x2} {y2}"
    else:
        x1, y1, x2 = x1 + NODE_WIDTH // 2, y1 + NODE_HEIGHT, x2 + NODE_WIDTH // 2
        bend = max(24, (y2 - y1) // 2)
        path = f"M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"
    bad = " bad" if target.kind in ("missing", "malformed") or link.fault else ""
    return el("path", d=path, class_=f"{link.kind}{bad}", data_link=number)


def _box(number: int, node: Node, place: tuple[int, int], sources: Mapping[str, str]) -> Html:
    size = f"{human_size(node.size)}, {posixpath.dirname(inside(node.path))}" if node.in_wheel else SPOKEN[node.kind]
    where = f" in {inside(node.path)}" if node.path else ""
    vendored = node.path in sources
    spoken = f"{node.name}, {SPOKEN[node.kind]}{', vendored' if vendored else ''}{where}"
    words = [el("div", node.name, class_="name"), el("div", size.rstrip(", "), class_="sub")]
    return el(
        "g",
        el("title", spoken),
        el("rect", width=NODE_WIDTH, height=NODE_HEIGHT, rx=6),
        el("foreignObject", *words, width=NODE_WIDTH, height=NODE_HEIGHT),
        class_=f"node {node.kind}{' vendored' if vendored else ''}",
        transform=f"translate({place[0]} {place[1]})",
        role="button",
        aria_label=spoken,
        aria_pressed="false",
        data_node=number,
    )


def _script_data(graph: Graph, sources: Mapping[str, str]) -> Html:
    """Return what the script of both drawings needs, in a form that cannot end its element."""
    nodes = []
    for node in graph.nodes:
        size = [human_size(node.size)] if node.in_wheel else []
        outside = [
            f"{who}: {len(names) if who == API_SETS else ', '.join(names)}" for who, names in node.outside.items()
        ]
        facts = [SPOKEN[node.kind], *size, *_known(node, sources)]
        nodes.append({"name": node.name, "path": inside(node.path), "facts": facts, "outside": outside})
    links = [(link.source, link.target, link.kind, link.required, link.fault) for link in graph.links]
    text = safe.html(json.dumps({"nodes": nodes, "links": links}, ensure_ascii=False, separators=(",", ":")))
    return el("script", Html(text.replace("<", "\\u003c")), type="application/json")


def _known(node: Node, sources: Mapping[str, str]) -> list[str]:
    facts = [f"{key}: {value}" for key, value in node.facts.items()]
    return [*facts, f"vendored from {sources[node.path]}"] if node.path in sources else facts


# ------------------------------------------------------------------------------- the drawings and the table of a wheel


def draw_needs(name: str, graph: Graph, sources: Mapping[str, str], chain: Sequence[str]) -> Html:
    """Return the drawing of what is missing with the way to it, and below it, folded, that of everything."""
    part = missing_part(graph, chain)
    missing = {number for number, node in enumerate(graph.nodes) if node.kind in ("missing", "optional", "malformed")}
    drawn = len(missing & part)
    rest = f" The drawing has {drawn} of {len(missing)} missing DLLs." if drawn < len(missing) else ""
    shown = [
        el("h4", f"How the {'missing DLLs are' if missing else 'failing load is'} reached"),
        el("p", f"Importers stand above what they import.{rest}", class_="dim"),
        _drawn(f"{name}-part", graph, part, IMPORTERS, sources),
    ]
    own = sum(node.in_wheel for node in graph.nodes)
    others = f" and {len(graph.nodes) - own} others" if own < len(graph.nodes) else ""
    everything = fold(
        f"Show everything: {count(own, 'file')}{others}, {count(len(graph.links), 'need')}",
        _drawn(f"{name}-all", graph, range(len(graph.nodes)), PER_ROW, sources),
        class_="fold everything",
    )
    return el("div", *(shown if part else ()), everything, _script_data(graph, sources), class_="needs")


def files_part(graph: Graph, report: ScanReport, sources: Mapping[str, str]) -> Part:
    """Return the files of the wheel, largest first."""
    images = [(number, node) for number, node in enumerate(graph.nodes) if node.in_wheel]
    records = []
    for number, node in sorted(images, key=lambda item: (-item[1].size, item[1].path)):
        known: dict[str, Value] = {
            "": "; ".join(_known(node, sources)),
            "size": human_size(node.size),
            "needed by": [graph.nodes[other].name for other in graph.above.get(number, ())],
            "needs": [graph.nodes[other].name for other in graph.below.get(number, ())],
            "of Windows, Python, drivers": str(sum(map(len, node.outside.values()))),
        }
        records.append(Record((inside(node.path),), tuple(item for item in known.items() if item[1])))
    title = f"All {', '.join(image_counts(report))}, the largest first"
    return chapter(title, Records(records, "file"), closed=True)
