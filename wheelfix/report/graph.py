"""Who needs whom in a wheel, as nodes and edges with places on a sheet; the same report gives the same drawing.

Importers stand above what they import. DLLs of Windows, Python and drivers are listed in words at each node: drawn,
every node would hang on them.
"""

from __future__ import annotations

import posixpath
import re

from wheelfix.base.values import dataclass, field
from wheelfix.model import Edge, InView, Malformed, MayComeFrom, Missing, OwnedBy, ScannedImage, ScanReport, dll_key
from wheelfix.report.words import SITE_PACKAGES, provider_phrase

NODE_WIDTH = 220
NODE_HEIGHT = 40
GAP_X = 20
GAP_Y = 56
PER_ROW = 8
"""More nodes of one layer than this take another row: a sheet that is far too wide cannot be read."""

API_SET = re.compile(r"(api|ext)-ms-", re.IGNORECASE)


@dataclass(slots=True)
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


@dataclass(frozen=True, slots=True)
class Link:
    """One need, between two nodes by their numbers."""

    source: int
    target: int
    kind: str
    required: bool = True
    unexported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes with their places, links, and the size of the sheet."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    width: int
    height: int


def build_graph(report: ScanReport) -> Graph:
    """Return the drawing of a report."""
    nodes = [_image_node(image) for image in report.images]
    places = _ImageFinder(report.images)
    extra: dict[str, int] = {}
    links: dict[tuple[int, int, str], Link] = {}
    for edge in report.resolution.edges:
        source = places.find(edge.importer)
        if source is None:
            continue
        target = _target(edge, places, nodes, extra)
        if target is None:
            _note_outside(nodes[source], edge)
            continue
        link = Link(
            source, target, edge.kind.value, edge.required, tuple(str(symbol) for symbol in edge.unexported[:20])
        )
        links.setdefault((source, target, link.kind), link)
    width, height = place(nodes, list(links.values()))
    return Graph(tuple(nodes), tuple(links.values()), width, height)


def _note_outside(node: Node, edge: Edge) -> None:
    """Note a need that Windows, Python or a driver meets; API sets are Windows under other names, and only counted."""
    if API_SET.match(edge.name):
        node.api_sets += 1
    else:
        node.outside.setdefault(provider_phrase(edge.provider), []).append(edge.name)


def _image_node(image: ScannedImage) -> Node:
    name = posixpath.basename(image.path.replace("\\", "/"))
    if isinstance(image.facts, Malformed):
        return Node(name, image.path, "malformed", image.facts.size, {"broken": image.facts.reason})
    kind = "module" if name.lower().endswith(".pyd") else "dll" if image.facts.is_dll else "program"
    facts = {"machine": image.facts.machine.value}
    if image.version is not None:
        facts["version"] = str(image.version)
    if image.archs:
        facts["GPU code"] = ", ".join(image.archs)
    if image.signature is not None:
        facts["signature"] = str(image.signature)
    return Node(name, image.path, kind, image.facts.size, facts)


def _target(edge: Edge, places: _ImageFinder, nodes: list[Node], extra: dict[str, int]) -> int | None:
    """Return the node that a need leads to, made where it is none of the wheel; None for Windows and the like."""
    match edge.provider:
        case InView(path):
            found = places.find(path)
            if found is not None:
                return found
            key, node = f"elsewhere {path}", Node(edge.name, path, "owned", facts={"where": "in the environment"})
        case Missing():
            key = f"missing {dll_key(edge.name)}"
            node = Node(edge.name, "", "missing" if edge.required else "optional")
            if key in extra and edge.required:
                nodes[extra[key]].kind = "missing"
        case OwnedBy(distribution=owner, reachable=reachable, because=because) as provider:
            key = f"owned {owner} {dll_key(edge.name)}"
            facts = {"from": provider.requirement} | ({} if reachable else {"out of reach": because})
            node = Node(edge.name, "", "owned", facts=facts)
        case MayComeFrom(distributions=owners, because=because):
            key = f"unsure {dll_key(edge.name)}"
            facts = {"may come from": ", ".join(owners), "could not tell": because}
            node = Node(edge.name, "", "owned", facts=facts)
        case _:
            return None
    if key not in extra:
        extra[key] = len(nodes)
        nodes.append(node)
    return extra[key]


class _ImageFinder:
    """Finds the image that lies at a path of the installed layout."""

    def __init__(self, images: tuple[ScannedImage, ...]) -> None:
        self._by_path: dict[str, int] = {}
        for number, image in enumerate(images):
            self._by_path.setdefault(_installed(image.path), number)
        self._by_tail: dict[str, list[tuple[str, int]]] = {}
        for path, number in self._by_path.items():
            self._by_tail.setdefault(posixpath.basename(path), []).append((path, number))

    def find(self, path: str) -> int | None:
        """Return the number of the image; one on a disk is known by how its path ends."""
        if path in self._by_path:
            return self._by_path[path]
        for known, number in self._by_tail.get(posixpath.basename(path), []):
            if known.endswith("/" + path) or path.endswith("/" + known):
                return number
        return None


def _installed(path: str) -> str:
    """Return where a member of a wheel is installed."""
    path = path.replace("\\", "/")
    scheme = re.fullmatch(r"[^/]+\.data/(data|purelib|platlib|scripts)/(.+)", path)
    if scheme is None:
        return SITE_PACKAGES + path
    return {"data": "", "scripts": "Scripts/"}.get(scheme[1], SITE_PACKAGES) + scheme[2]


# ------------------------------------------------------------------------------------------------------- places


def place(nodes: list[Node], links: list[Link], per_row: int = PER_ROW) -> tuple[int, int]:
    """Give every node its place, importers above what they import, and return the size of the sheet."""
    below: list[list[int]] = [[] for _ in nodes]
    above: list[list[int]] = [[] for _ in nodes]
    for link in links:
        if link.source != link.target:
            below[link.source].append(link.target)
            above[link.target].append(link.source)
    single = [number for number in range(len(nodes)) if not below[number] and not above[number]]
    layers = _layers(below, set(single))
    _order(layers, above, below, nodes)
    rows = [layer[start : start + per_row] for layer in layers for start in range(0, len(layer), per_row)]
    single.sort(key=lambda number: nodes[number].name.lower())
    rows += [single[start : start + per_row] for start in range(0, len(single), per_row)]
    widest = max((len(row) for row in rows), default=1)
    width = GAP_X + widest * (NODE_WIDTH + GAP_X)
    for depth, row in enumerate(rows):
        start = (width - len(row) * (NODE_WIDTH + GAP_X) + GAP_X) // 2
        for column, number in enumerate(row):
            nodes[number].x = start + column * (NODE_WIDTH + GAP_X)
            nodes[number].y = GAP_X + depth * (NODE_HEIGHT + GAP_Y)
    return width, GAP_X * 2 + max(1, len(rows)) * (NODE_HEIGHT + GAP_Y) - GAP_Y


def _layers(below: list[list[int]], skipped: set[int]) -> list[list[int]]:
    """Return the nodes by their longest way from a node that nothing needs; a circle counts as one step."""
    groups = _circles(below)
    group_of = {number: index for index, group in enumerate(groups) for number in group}
    depth = [0] * len(groups)
    for index in range(len(groups) - 1, -1, -1):  # the circles come out with what they need first
        for number in groups[index]:
            for target in below[number]:
                other = group_of[target]
                if other != index:
                    depth[other] = max(depth[other], depth[index] + 1)
    layers: list[list[int]] = [[] for _ in range(max(depth, default=0) + 1)]
    for number in range(len(below)):
        if number not in skipped:
            layers[depth[group_of[number]]].append(number)
    return [layer for layer in layers if layer]


def _circles(below: list[list[int]]) -> list[list[int]]:
    """Return the strongly connected groups, what is needed before who needs it (Tarjan, with a stack of our own)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_nodes: list[int] = []
    is_open: set[int] = set()
    groups: list[list[int]] = []
    for root in range(len(below)):
        if root in index:
            continue
        work = [(root, iter(below[root]))]
        index[root] = low[root] = len(index)
        open_nodes.append(root)
        is_open.add(root)
        while work:
            number, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    open_nodes.append(target)
                    is_open.add(target)
                    work.append((target, iter(below[target])))
                    break
                if target in is_open:
                    low[number] = min(low[number], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[number])
                if low[number] == index[number]:
                    start = open_nodes.index(number)
                    groups.append(open_nodes[start:])
                    is_open.difference_update(open_nodes[start:])
                    del open_nodes[start:]
    return groups


def _order(layers: list[list[int]], above: list[list[int]], below: list[list[int]], nodes: list[Node]) -> None:
    """Sort each layer so that lines cross little: by where a node's neighbours stand, a few times down and up."""
    rank: dict[int, float] = {}
    for layer in layers:
        layer.sort(key=lambda number: nodes[number].name.lower())
        rank |= {number: position / max(1, len(layer) - 1) for position, number in enumerate(layer)}

    def middle(number: int, neighbours: list[list[int]]) -> tuple[float, str]:
        near = neighbours[number]
        return sum(rank[other] for other in near) / len(near) if near else rank[number], nodes[number].name.lower()

    for turn in range(6):
        down = turn % 2 == 0
        for layer in layers if down else reversed(layers):
            places = {number: middle(number, above if down else below) for number in layer}
            layer.sort(key=places.__getitem__)
            rank |= {number: position / max(1, len(layer) - 1) for position, number in enumerate(layer)}
