"""Who needs whom in a wheel, as a drawing with places on a sheet; the same report gives the same drawing.

Importers stand above what they import. DLLs of Windows, Python and drivers are listed in words at each node: drawn,
every node would hang on them.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import dataclass, field, frozen, grouped, replace
from wheelfix.loader.view import is_pyd
from wheelfix.model import (
    Edge,
    InView,
    Json,
    JsonObject,
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
from wheelfix.report.html.element import Html, el, fold, join
from wheelfix.report.words import count, human_size, image_counts, provider_phrase
from wheelfix.rules.context import inside

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


NODE_WIDTH = 156
NODE_HEIGHT = 54
GAP_X = 10
"""Two boxes fit side by side on the screen of a phone."""
GAP_Y = 48
PER_ROW = 8
"""More nodes of one layer than this take another row: a sheet that is far too wide cannot be read."""

API_SET = re.compile(r"(api|ext)-ms-", re.IGNORECASE)


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
    """Needs that others meet, by who meets them; without API sets."""
    api_sets: int = 0
    """How many API sets of Windows it imports."""
    not_drawn: dict[str, list[str]] = field(default_factory=dict)
    """In a drawing of a part: the names of its other importers (``above``) and needs (``below``)."""
    x: int = 0
    y: int = 0

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
    """Nodes with their places, links, and the size of the sheet."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    above: Numbers
    """Who needs a node."""
    below: Numbers
    width: int
    height: int


def build_graph(report: ScanReport) -> Graph:
    """Return the drawing of a report."""
    nodes = [_image_node(image) for image in report.images]
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
        elif API_SET.match(edge.name):
            nodes[source].api_sets += 1
        else:
            nodes[source].outside.setdefault(provider_phrase(edge.provider), []).append(edge.name)
    return _placed(nodes, [*links.values()], PER_ROW)


def _image_node(image: ScannedImage) -> Node:
    name = posixpath.basename(image.path.replace("\\", "/"))
    if isinstance(image.facts, Malformed):
        return Node(name, image.path, "malformed", image.facts.size, {"broken": image.facts.reason})
    kind = "module" if is_pyd(name) else "dll" if image.facts.is_dll else "program"
    facts = {"machine": image.facts.machine.value}
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


def _placed(nodes: list[Node], links: list[Link], per_row: int) -> Graph:
    """Give every node its place, importers above what they import."""
    below = grouped((link.source, link.target) for link in links)
    above = grouped((link.target, link.source) for link in links)
    layers = _layers(below)
    _order(layers, above, below, nodes)
    single = sorted({*range(len(nodes))}.difference(above, below), key=lambda number: nodes[number].name.lower())
    rows = [layer[start : start + per_row] for layer in (*layers, single) for start in range(0, len(layer), per_row)]
    widest = max((len(row) for row in rows), default=1)
    width = GAP_X + widest * (NODE_WIDTH + GAP_X)
    for depth, row in enumerate(rows):
        start = (width - len(row) * (NODE_WIDTH + GAP_X) + GAP_X) // 2
        for column, number in enumerate(row):
            nodes[number].x = start + column * (NODE_WIDTH + GAP_X)
            nodes[number].y = GAP_X + depth * (NODE_HEIGHT + GAP_Y)
    height = GAP_X * 2 + max(1, len(rows)) * (NODE_HEIGHT + GAP_Y) - GAP_Y
    return Graph(tuple(nodes), tuple(links), above, below, width, height)


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


def _order(layers: list[list[int]], above: Numbers, below: Numbers, nodes: list[Node]) -> None:
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


def missing_part(graph: Graph, chain: Sequence[str] = ()) -> Graph | None:
    """Return the drawing of what is missing or damaged and how it is reached; None where nothing is.

    ``chain`` are the names on the way to the error that the user sees; this way is drawn in any case.
    """
    causes = _causes(graph)
    if not causes:
        return None
    kept = set(_along(graph, chain))
    for cause in causes[:MISSING]:
        kept |= {cause, *_way_up(cause, graph), *graph.above.get(cause, [])[:IMPORTERS]}
    return _partial(graph, kept)


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


def _partial(graph: Graph, kept: set[int]) -> Graph:
    """Return some nodes of a graph with the links between them, in places of their own."""
    order = sorted(kept)
    numbers = {old: new for new, old in enumerate(order)}
    nodes = [replace(graph.nodes[old], not_drawn={"above": [], "below": []}) for old in order]
    for link in graph.links:
        if link.target in numbers and link.source not in numbers:
            nodes[numbers[link.target]].not_drawn["above"].append(graph.nodes[link.source].name)
        elif link.source in numbers and link.target not in numbers:
            nodes[numbers[link.source]].not_drawn["below"].append(graph.nodes[link.target].name)
    links = [
        replace(link, source=numbers[link.source], target=numbers[link.target])
        for link in graph.links
        if link.source in numbers and link.target in numbers
    ]
    return _placed(nodes, links, IMPORTERS)


# -------------------------------------------------------------------------------------------------- the drawing as SVG


SPOKEN = {
    "dll": "DLL in the wheel",
    "module": "extension module",
    "program": "program",
    "malformed": "broken file",
    "missing": "missing",
    "optional": "missing, optional",
    "owned": "of another package",
}
LONGEST = 19
"""Characters of a line in a box."""


def _draw_graph(name: str, graph: Graph, sources: Mapping[str, str]) -> Html:
    """Return the drawing and its data; ``sources`` says where vendored members came from."""
    lines = [_line(graph, number, link) for number, link in enumerate(graph.links)]
    boxes = [_box(number, node, node.path in sources) for number, node in enumerate(graph.nodes)]
    head = el("path", d="M0 0L8 4L0 8z")
    arrow = el("marker", head, id=f"{name}-arrow", markerWidth=8, markerHeight=8, refX=8, refY=4, orient="auto")
    drawn = el("g", *lines, class_="links", fill="none", marker_end=f"url(#{name}-arrow)")
    svg = el(
        "svg",
        el("defs", arrow),
        el("g", drawn, el("g", *boxes, class_="nodes"), class_="sheet"),
        viewBox=f"0 0 {graph.width} {graph.height}",
        width=graph.width,
        height=graph.height,
        role="group",
        aria_label=f"Drawing of {len(graph.nodes)} files and {len(graph.links)} needs",
        aria_describedby=f"{name}-hint",
        preserveAspectRatio="xMidYMid meet",
    )
    options = (el("option", value=text) for text in sorted({node.name for node in graph.nodes}))
    return join(
        [
            el("div", svg, class_="canvas", id=f"{name}-drawing"),
            el("datalist", *options, id=f"{name}-names"),
            el("script", _script_data(graph, sources), type="application/json"),
        ]
    )


def _line(graph: Graph, number: int, link: Link) -> Html:
    source, target = graph.nodes[link.source], graph.nodes[link.target]
    x1, y1 = source.x + NODE_WIDTH // 2, source.y + NODE_HEIGHT
    x2, y2 = target.x + NODE_WIDTH // 2, target.y
    if link.source == link.target or y2 < y1:  # upwards, in a circle of imports: leave and arrive at the sides
        x1, y1, x2, y2 = source.x + NODE_WIDTH, source.y + 27, target.x + NODE_WIDTH, target.y + 27
        path = f"M{x1} {y1}C{x1 + 40} {y1} {x2 + 40} {y2} {x2} {y2}"
    else:
        bend = max(24, (y2 - y1) // 2)
        path = f"M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"
    bad = " bad" if target.kind in ("missing", "malformed") or link.fault else ""
    return el("path", d=path, class_=f"{link.kind}{bad}", data_link=number)


def _box(number: int, node: Node, vendored: bool) -> Html:
    size = f"{human_size(node.size)}, {posixpath.dirname(inside(node.path))}" if node.in_wheel else SPOKEN[node.kind]
    where = f" in {inside(node.path)}" if node.path else ""
    spoken = f"{node.name}, {SPOKEN[node.kind]}{', vendored' if vendored else ''}{where}"
    return el(
        "g",
        el("title", spoken),
        el("rect", width=NODE_WIDTH, height=NODE_HEIGHT, rx=6),
        *(el("text", part, x=8, y=17 + 14 * place, class_="name") for place, part in enumerate(_name_lines(node.name))),
        el("text", size[: LONGEST + 2].rstrip(", "), x=8, y=47, class_="sub"),
        class_=f"node {node.kind}{' vendored' if vendored else ''}",
        transform=f"translate({node.x} {node.y})",
        role="button",
        tabindex=0 if number == 0 else -1,
        aria_label=spoken,
        aria_pressed="false",
        data_node=number,
    )


def _name_lines(name: str) -> tuple[str, str]:
    """Return a name in the two lines of its box, broken behind a sign; of a longer one the middle is left out."""
    if len(name) <= LONGEST:
        return name, ""
    cut = max((place + 1 for place, sign in enumerate(name[:LONGEST]) if sign in "_-." and place), default=LONGEST)
    cut = cut if len(name) - cut <= LONGEST else LONGEST
    rest = name[cut:]
    return name[:cut], rest if len(rest) <= LONGEST else f"…{rest[1 - LONGEST :]}"


def _script_data(graph: Graph, sources: Mapping[str, str]) -> Html:
    """Return what the script needs, in a form that cannot end the script element."""
    nodes: list[Json] = []
    for node in graph.nodes:
        facts = node.facts | ({"vendored from": sources[node.path]} if node.path in sources else {})
        outside: JsonObject = {who: _safe(names) for who, names in node.outside.items()}
        if node.api_sets:
            outside["Windows API sets"] = [str(node.api_sets)]
        nodes.append(
            {
                "name": safe.html(node.name),
                "path": safe.html(inside(node.path)),
                "kind": SPOKEN[node.kind],
                "size": human_size(node.size) if node.in_wheel else "",
                "facts": {key: safe.html(value) for key, value in facts.items()},
                "outside": outside,
                **{side: _safe(names) for side, names in node.not_drawn.items()},
            }
        )
    links: Json = [[link.source, link.target, link.kind, link.required, safe.html(link.fault)] for link in graph.links]
    text = json.dumps({"nodes": nodes, "links": links}, ensure_ascii=True, separators=(",", ":"))
    return Html(text.replace("<", "\\u003c"))


def _safe(names: Sequence[str]) -> Json:
    return [safe.html(name) for name in names]


# ------------------------------------------------------------------------------- the drawings and the table of a wheel


KEYS = (
    ("in the wheel", "dll"),
    ("extension module", "module"),
    ("missing", "missing"),
    ("missing, optional", "optional"),
    ("of another package", "owned"),
    ("vendored", "vendored"),
)
SEEN = 20
"""Of more files than this one is found faster by its name."""


def draw_needs(name: str, graph: Graph, sources: Mapping[str, str], chain: Sequence[str]) -> Html:
    """Return the drawing of what is missing with the way to it, and below it, folded, that of everything."""
    part = missing_part(graph, chain)
    missing, drawn = (
        sum(node.kind in ("missing", "optional", "malformed") for node in one.nodes) if one else 0
        for one in (graph, part)
    )
    rest = f" The drawing has {drawn} of {missing} missing DLLs." if drawn < missing else ""
    shown = el(
        "div",
        el("h4", f"How the {'missing DLLs are' if missing else 'failing load is'} reached"),
        el("p", f"Importers stand above what they import.{rest}", class_="dim"),
        _drawing(f"{name}-part", part, sources) if part else None,
    )
    own = sum(node.in_wheel for node in graph.nodes)
    others = f" and {len(graph.nodes) - own} others" if own < len(graph.nodes) else ""
    everything = fold(
        f"Show everything: {count(own, 'file')}{others}, {count(len(graph.links), 'need')}",
        _drawing(f"{name}-all", graph, sources),
        class_="fold everything",
    )
    return join([shown if part else None, everything])


def _drawing(name: str, graph: Graph, sources: Mapping[str, str]) -> Html:
    spoken = (
        "Drag to move. Tab into the drawing, move with the arrow keys, choose with Enter; plus, minus and 0 zoom. "
        "The tables say the same in words."
    )
    buttons = [
        el("button", text, type="button", data_act=act, aria_label=label)
        for text, act, label in (("+", "in", "Zoom in"), ("−", "out", "Zoom out"), ("Fit", "fit", "Fit the drawing"))
    ]
    finder = el("label", "Find a DLL ", el("input", type="search", list=f"{name}-names", autocomplete="off"))
    present = {node.kind for node in graph.nodes} | ({"vendored"} if sources else set())
    legend = [el("span", text, class_=f"key {kind}") for text, kind in KEYS if kind in present]
    choose = el("p", "Choose a DLL to see who needs it and what it needs.")
    return el(
        "div",
        el("div", *buttons, finder if len(graph.nodes) > SEEN else None, class_="tools"),
        el("div", *legend, class_="legend", aria_hidden="true"),
        _draw_graph(name, graph, sources),
        el("p", spoken, class_="unseen", id=f"{name}-hint"),
        el("div", choose, class_="chosen-dll", aria_live="polite"),
        class_="graph",
    )


def files_part(graph: Graph, report: ScanReport, sources: Mapping[str, str]) -> Part:
    """Return the files of the wheel, largest first."""
    images = [(number, node) for number, node in enumerate(graph.nodes) if node.in_wheel]
    records = []
    for number, node in sorted(images, key=lambda item: (-item[1].size, item[1].path)):
        facts = [f"{key}: {value}" for key, value in node.facts.items() if key != "machine"]
        facts += [f"vendored from {sources[node.path]}"] if node.path in sources else []
        known: dict[str, Value] = {
            "": "; ".join(facts),
            "size": human_size(node.size),
            "needed by": [graph.nodes[other].name for other in graph.above.get(number, ())],
            "needs": [graph.nodes[other].name for other in graph.below.get(number, ())],
            "of Windows, Python, drivers": str(sum(map(len, node.outside.values())) + node.api_sets),
        }
        records.append(Record((inside(node.path),), tuple(item for item in known.items() if item[1])))
    title = f"All {', '.join(image_counts(report))}, the largest first"
    return chapter(title, Records(records, "file"), closed=True)
