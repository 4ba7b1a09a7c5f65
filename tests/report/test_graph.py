"""The drawing of who needs whom: nodes, links and places."""

from __future__ import annotations

import dataclasses
import itertools
import random

from tests.report.samples import broken_torch, clean_wheel
from wheelfix.model import Edge, EdgeKind, Image, InView, Machine, Missing, OwnedBy, Resolution, ScannedImage
from wheelfix.report.html.graph import NODE_HEIGHT, NODE_WIDTH, build_graph, lay_out, missing_part


def report_of(images: list[str], edges: list[tuple[str, str]]):
    """A report over DLLs in ``x/`` with imports between them."""
    folder = "Lib/site-packages/x/"
    found = tuple(ScannedImage(f"x/{name}", Image(Machine.AMD64, 10), place=folder + name) for name in images)
    needs = tuple(Edge(folder + a, b, EdgeKind.IMPORT, InView(folder + b)) for a, b in edges)
    return dataclasses.replace(clean_wheel(), images=found, resolution=Resolution(needs))


def named(graph, kept=None) -> dict:
    return {node.name: node for number, node in enumerate(graph.nodes) if kept is None or number in kept}


def everything(graph):
    """The drawing of all nodes."""
    return lay_out(graph, range(len(graph.nodes)), 8)


def heights(graph) -> dict:
    """How far down each node stands, by its name."""
    return {graph.nodes[number].name: y for number, (_, y) in everything(graph).places.items()}


def test_what_is_missing_is_a_node_of_its_own_kind():
    graph = build_graph(broken_torch())
    kinds = {node.name: node.kind for node in graph.nodes}
    assert kinds == {
        "_C.pyd": "module",
        "c10.dll": "dll",
        "fbgemm.dll": "dll",
        "torch_cpu.dll": "dll",
        "libomp140.x86_64.dll": "missing",
        "zlibwapi.dll": "optional",
    }
    links = {(graph.nodes[link.source].name, graph.nodes[link.target].name, link.kind) for link in graph.links}
    assert ("torch_cpu.dll", "libomp140.x86_64.dll", "import") in links
    assert ("torch_cpu.dll", "zlibwapi.dll", "companion") in links
    assert named(graph)["torch_cpu.dll"].outside == {"a device driver": ["nvcuda.dll"]}


def test_importers_stand_above_what_they_import():
    down = heights(build_graph(broken_torch()))
    assert down["fbgemm.dll"] < down["torch_cpu.dll"] < down["c10.dll"] == down["libomp140.x86_64.dll"]


def test_a_circle_is_drawn():
    down = heights(
        build_graph(
            report_of(["a.dll", "b.dll", "c.dll"], [("a.dll", "b.dll"), ("b.dll", "a.dll"), ("b.dll", "c.dll")])
        )
    )
    assert max(down["a.dll"], down["b.dll"]) == down["c.dll"] > min(down["a.dll"], down["b.dll"])


def test_what_another_package_owns_is_a_node():
    edge = Edge(
        "Lib/site-packages/demo/_x.pyd", "c10.dll", EdgeKind.IMPORT, OwnedBy("c10.dll", "torch", False, "no folder")
    )
    graph = build_graph(dataclasses.replace(clean_wheel(), resolution=Resolution((edge, edge))))
    assert [(node.name, node.kind, node.facts) for node in graph.nodes[1:]] == [
        ("c10.dll", "owned", {"from": "torch", "out of reach": "no folder"})
    ]
    assert len(graph.links) == 1


def test_what_lies_where_it_is_not_found_has_one_box():
    """gmpy2 with libgcc_s_seh-1.dll in another folder had two: one of them "missing"."""
    report = report_of(["a.pyd", "b.dll"], [])
    edge = Edge("Lib/site-packages/x/a.pyd", "b.dll", EdgeKind.IMPORT, Missing((), ("Lib/site-packages/x/b.dll",)))
    graph = build_graph(dataclasses.replace(report, resolution=Resolution((edge,))))
    assert [(node.name, node.kind) for node in graph.nodes] == [("a.pyd", "module"), ("b.dll", "dll")]
    assert [(link.source, link.target, link.fault) for link in graph.links] == [(0, 1, "not found there")]
    assert len(missing_part(graph)) == 2


def test_five_hundred_files_fit_without_overlap_and_twice_the_same():
    dice = random.Random(7)
    names = [f"n{number:03}.dll" for number in range(500)]
    edges = [(names[number], names[dice.randrange(500)]) for number in range(500) for _ in range(3)]
    graph, again = build_graph(report_of(names, edges)), build_graph(report_of(names, edges))
    drawing = everything(graph)
    assert (graph, drawing) == (again, everything(again))
    places = {*drawing.places.values()}
    assert len(places) == 500
    rows = {}
    for x, y in places:
        assert 0 <= x <= drawing.width - NODE_WIDTH
        assert 0 <= y <= drawing.height - NODE_HEIGHT
        rows.setdefault(y, []).append(x)
    for row in rows.values():
        row.sort()
        assert all(right - left >= NODE_WIDTH for left, right in itertools.pairwise(row))


def test_a_chain_longer_than_pythons_stack():
    names = [f"n{number:04}.dll" for number in range(3000)]
    graph = build_graph(report_of(names, list(itertools.pairwise(names))))
    places = everything(graph).places
    assert places[0][1] < places[2999][1]


def test_an_empty_report():
    graph = build_graph(report_of([], []))
    assert (graph.nodes, graph.links) == ((), ())


class TestMissingPart:
    def test_nothing_is_missing(self):
        assert missing_part(build_graph(report_of(["a.dll", "b.dll"], [("a.dll", "b.dll")]))) == set()

    def test_the_way_to_what_is_missing_and_the_chain_of_the_error(self):
        graph = build_graph(broken_torch())
        part = missing_part(graph, ("_C.pyd", "torch_cpu.dll", "libomp140.x86_64.dll"))
        assert set(named(graph, part)) == {"fbgemm.dll", "_C.pyd", "torch_cpu.dll", "libomp140.x86_64.dll"}
        places = lay_out(graph, part, 2).places
        drawn = [link for link in graph.links if {link.source, link.target} <= part]
        assert len(drawn) == 3
        assert all(places[link.source][1] < places[link.target][1] for link in drawn)

    def test_a_crowd_stays_small(self):
        """A wheel of 222 DLLs is a wall; two missing ones and how they are reached are not."""
        names = [f"{number}.dll" for number in range(200)]
        report = report_of(names, [(first, second) for first, second in itertools.pairwise(names)])
        lost = [Edge(f"Lib/site-packages/x/{name}", "gone.dll", EdgeKind.IMPORT, Missing()) for name in names[2:]]
        report = dataclasses.replace(report, resolution=Resolution((*report.resolution.edges, *lost)))
        assert len(missing_part(build_graph(report))) <= 6
