"""The part of a dependency graph that explains what is missing: each missing DLL, one way to it, some importers."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.report.graph import Graph, Link, place

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    above: dict[int, list[int]] = {}
    for link in graph.links:
        above.setdefault(link.target, []).append(link.source)
    kept = set(_along(graph, chain))
    for cause in causes[:MISSING]:
        kept |= {cause, *_way_up(cause, above, graph), *above.get(cause, [])[:IMPORTERS]}
    return _part(graph, kept)


def _along(graph: Graph, chain: Sequence[str]) -> list[int]:
    """Return the nodes of a chain of names, each needed by the one before it."""
    named: dict[str, list[int]] = {}
    for number, node in enumerate(graph.nodes):
        named.setdefault(node.name.lower(), []).append(number)
    linked = {(link.source, link.target) for link in graph.links}
    way: list[int] = []
    for name in chain:
        choices = named.get(name.lower(), [])
        fitting = [number for number in choices if not way or (way[-1], number) in linked]
        if not fitting:
            break
        way.append(fitting[0])
    return way if len(way) > 1 else []


def _causes(graph: Graph) -> list[int]:
    """Return what makes loads fail; where there is nothing of that kind, what is missing and optional."""
    for kinds in (("missing", "malformed"), ("optional",)):
        found = [number for number, node in enumerate(graph.nodes) if node.kind in kinds]
        if found:
            return found
    return [link.target for link in graph.links if link.unexported]


def _way_up(number: int, above: dict[int, list[int]], graph: Graph) -> list[int]:
    """Return the shortest way from a file that Python imports, or that nothing imports, down to a node."""
    came_from: dict[int, int] = {number: number}
    queue = deque([number])
    while queue:
        here = queue.popleft()
        if here != number and (graph.nodes[here].kind == "module" or not above.get(here)):
            way = [here]
            while way[-1] != number:
                way.append(came_from[way[-1]])
            return way
        for importer in above.get(here, []):
            if importer not in came_from:
                came_from[importer] = here
                queue.append(importer)
    return [number]


def _part(graph: Graph, kept: set[int]) -> Graph:
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
        Link(numbers[link.source], numbers[link.target], link.kind, link.required, link.unexported)
        for link in graph.links
        if link.source in numbers and link.target in numbers
    ]
    width, height = place(nodes, links, per_row=4)
    return Graph(tuple(nodes), tuple(links), width, height)
