"""The dependency graph as SVG, with what the page's script needs to know of each node."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from wheelfix.report import safe
from wheelfix.report.graph import NODE_HEIGHT, NODE_WIDTH
from wheelfix.report.html.element import Html, el, join
from wheelfix.report.words import human_size, short_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.model import Json
    from wheelfix.report.graph import Graph, Link, Node

SPOKEN = {
    "dll": "DLL in the wheel",
    "module": "extension module",
    "program": "program",
    "malformed": "broken file",
    "missing": "missing",
    "optional": "missing, optional",
    "owned": "of another package",
}
LONGEST = 27


def draw_graph(name: str, graph: Graph, sources: Mapping[str, str]) -> Html:
    """Return the drawing and its data; ``sources`` says where vendored members came from."""
    lines = [_line(graph, number, link) for number, link in enumerate(graph.links)]
    boxes = [_box(number, node, node.path in sources) for number, node in enumerate(graph.nodes)]
    arrow = el(
        "marker",
        el("path", d="M0 0L8 4L0 8z"),
        id=f"{name}-arrow",
        markerWidth=8,
        markerHeight=8,
        refX=8,
        refY=4,
        orient="auto",
    )
    svg = el(
        "svg",
        el("defs", arrow),
        el(
            "g",
            el("g", *lines, class_="links", fill="none", marker_end=f"url(#{name}-arrow)"),
            el("g", *boxes, class_="nodes"),
            class_="sheet",
        ),
        viewBox=f"0 0 {graph.width} {graph.height}",
        width=graph.width,
        height=graph.height,
        role="group",
        aria_label=f"Drawing of {len(graph.nodes)} files and {len(graph.links)} needs",
        aria_describedby=f"{name}-hint",
        preserveAspectRatio="xMidYMid meet",
    )
    names = el("datalist", *(el("option", value=text) for text in sorted({node.name for node in graph.nodes})),
               id=f"{name}-names")  # fmt: skip
    return join(
        [
            el("div", svg, class_="canvas", id=f"{name}-drawing"),
            names,
            el("script", _data(graph, sources), type="application/json"),
        ]
    )


def _line(graph: Graph, number: int, link: Link) -> Html:
    source, target = graph.nodes[link.source], graph.nodes[link.target]
    x1, y1 = source.x + NODE_WIDTH // 2, source.y + NODE_HEIGHT
    x2, y2 = target.x + NODE_WIDTH // 2, target.y
    if link.source == link.target or y2 < y1:  # upwards, in a circle of imports: leave and arrive at the sides
        x1, y1, x2, y2 = source.x + NODE_WIDTH, source.y + 20, target.x + NODE_WIDTH, target.y + 20
        path = f"M{x1} {y1}C{x1 + 40} {y1} {x2 + 40} {y2} {x2} {y2}"
    else:
        bend = max(24, (y2 - y1) // 2)
        path = f"M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2}"
    bad = " bad" if target.kind in ("missing", "malformed") or link.unexported else ""
    return el("path", d=path, class_=f"{link.kind}{bad}", data_link=number)


def _box(number: int, node: Node, vendored: bool) -> Html:
    size = human_size(node.size) if node.in_wheel else SPOKEN[node.kind]
    where = f" in {short_path(node.path)}" if node.path else ""
    spoken = f"{node.name}, {SPOKEN[node.kind]}{', vendored' if vendored else ''}{where}"
    return el(
        "g",
        el("title", spoken),
        el("rect", width=NODE_WIDTH, height=NODE_HEIGHT, rx=6),
        el("text", _shorten(node.name), x=10, y=17, class_="name"),
        el("text", size, x=10, y=32, class_="sub"),
        class_=f"node {node.kind}{' vendored' if vendored else ''}",
        transform=f"translate({node.x} {node.y})",
        role="button",
        tabindex=0 if number == 0 else -1,
        aria_label=spoken,
        aria_pressed="false",
        data_node=number,
    )


def _shorten(name: str) -> str:
    """Return a name that fits its box: the middle is what one can miss."""
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - 13]}…{name[-12:]}"


def _facts(node: Node, sources: Mapping[str, str]) -> dict[str, str]:
    return node.facts | ({"vendored from": sources[node.path]} if node.path in sources else {})


def _outside(node: Node) -> dict[str, Json]:
    """Return what Windows, Python and drivers bring; API sets as a number."""
    found: dict[str, Json] = {who: [safe.html(name) for name in names] for who, names in node.outside.items()}
    if node.api_sets:
        found["Windows API sets"] = [str(node.api_sets)]
    return found


def _data(graph: Graph, sources: Mapping[str, str]) -> Html:
    """Return what the script needs, in a form that cannot end the script element."""
    nodes: Json = [
        {
            "name": safe.html(node.name),
            "path": safe.html(short_path(node.path)),
            "kind": SPOKEN[node.kind],
            "size": human_size(node.size) if node.in_wheel else "",
            "facts": {key: safe.html(value) for key, value in _facts(node, sources).items()},
            "outside": _outside(node),
            **{side: [safe.html(name) for name in names] for side, names in node.not_drawn.items()},
        }
        for node in graph.nodes
    ]
    links: Json = [
        [link.source, link.target, link.kind, link.required, [safe.html(symbol) for symbol in link.unexported]]
        for link in graph.links
    ]
    text = json.dumps({"nodes": nodes, "links": links}, ensure_ascii=True, separators=(",", ":"))
    return Html(text.replace("<", "\\u003c"))
