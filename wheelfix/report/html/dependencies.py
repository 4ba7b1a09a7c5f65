"""What a wheel is made of: the drawing that opens on what is missing, the whole drawing, and the table of DLLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.focus import missing_part
from wheelfix.report.html.drawing import draw_graph
from wheelfix.report.html.element import Html, el, join
from wheelfix.report.words import count, human_size, short_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wheelfix.report.graph import Graph

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


def draw_needs(name: str, graph: Graph, sources: Mapping[str, str], chain: Sequence[str] = ()) -> Html:
    """Return the drawing of what is missing with the way to it, and below it, folded, that of everything."""
    part = missing_part(graph, chain)
    missing = sum(node.kind in ("missing", "optional", "malformed") for node in graph.nodes)
    drawn = sum(node.kind in ("missing", "optional", "malformed") for node in part.nodes) if part else 0
    rest = f" The drawing has {drawn} of {missing} missing DLLs." if drawn < missing else ""
    return join(
        [
            el(
                "div",
                el("h4", "How the missing DLLs are reached"),
                el("p", f"Importers stand above what they import.{rest}", class_="dim"),
                _drawing(f"{name}-part", part, sources),
            )
            if part
            else None,
            el(
                "details",
                el("summary", f"Show everything: {count(len(graph.nodes), 'file')}, {count(len(graph.links), 'need')}"),
                _drawing(f"{name}-all", graph, sources),
                class_="fold everything",
            ),
        ]
    )


def _drawing(name: str, graph: Graph, sources: Mapping[str, str]) -> Html:
    hint = (
        "Drag to move. Tab into the drawing, move with the arrow keys, choose with Enter; plus, minus and 0 zoom. "
        "The tables say the same in words."
    )
    buttons = [
        el("button", text, type="button", data_act=act, aria_label=spoken)
        for text, act, spoken in (("+", "in", "Zoom in"), ("−", "out", "Zoom out"), ("Fit", "fit", "Fit the drawing"))
    ]
    finder = el("label", "Find a DLL ", el("input", type="search", list=f"{name}-names", autocomplete="off"))
    present = {node.kind for node in graph.nodes} | ({"vendored"} if sources else set())
    legend = [el("span", text, class_=f"key {kind}") for text, kind in KEYS if kind in present]
    return el(
        "div",
        el("div", *buttons, finder if len(graph.nodes) > SEEN else None, class_="tools"),
        el("div", *legend, class_="legend", aria_hidden="true"),
        draw_graph(name, graph, sources),
        el("p", hint, class_="unseen", id=f"{name}-hint"),
        el("div", el("p", "Choose a DLL to see who needs it and what it needs."), class_="chosen-dll",
           aria_live="polite"),
        class_="graph",
    )  # fmt: skip


def draw_files(name: str, graph: Graph, sources: Mapping[str, str]) -> Html:
    """Return the DLLs of the wheel, largest first, folded."""
    needed_by: dict[int, list[str]] = {}
    needs: dict[int, list[str]] = {}
    for link in graph.links:
        needed_by.setdefault(link.target, []).append(graph.nodes[link.source].name)
        needs.setdefault(link.source, []).append(graph.nodes[link.target].name)
    images = [(number, node) for number, node in enumerate(graph.nodes) if node.in_wheel]
    rows = []
    for number, node in sorted(images, key=lambda item: (-item[1].size, item[1].path)):
        facts = [f"{key}: {value}" for key, value in node.facts.items() if key != "machine"]
        facts += [f"vendored from {sources[node.path]}"] if node.path in sources else []
        system = sum(map(len, node.outside.values())) + node.api_sets
        rows.append(
            el(
                "tr",
                el("th", short_path(node.path), el("span", "; ".join(facts), class_="facts") if facts else None,
                   scope="row"),
                el("td", human_size(node.size), class_="number", data_label="size", data_value=node.size),
                el("td", _names(needed_by.get(number, [])), data_label="needed by"),
                el("td", _names(needs.get(number, [])), data_label="needs"),
                el("td", str(system), class_="number", data_label="of Windows, Python, drivers", data_value=system),
            )
        )  # fmt: skip
    heads = ("file", "size", "needed by", "needs", "of the system")
    head = el("tr", *(el("th", text, scope="col", class_="number" if text in heads[1::3] else None) for text in heads))
    return el(
        "details",
        el("summary", f"All {count(len(images), 'DLL')}, the largest first"),
        el("table", el("thead", head), el("tbody", *rows), class_="files cards"),
        id=f"{name}-files",
        class_="fold",
    )


def _names(names: Sequence[str], most: int = 4) -> Html:
    """Return names in one line, the rest of many folded."""
    if len(names) <= most:
        return join([", ".join(names)])
    return el("details", el("summary", f"{', '.join(names[:2])} and {len(names) - 2} more"), ", ".join(names))
