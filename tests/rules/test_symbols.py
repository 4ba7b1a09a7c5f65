"""DLLs that are there and lack what is wanted from them."""

from __future__ import annotations

import pytest

from tests.rules.subjects import LIB, codes, dll, edge, loads, run, subject
from wheelfix.model import EdgeKind

CPU, OMP = LIB + "torch_cpu.dll", LIB + "libiomp5md.dll"
IMAGES = {CPU: dll("libiomp5md.dll"), OMP: dll()}


@pytest.mark.parametrize(
    ("unexported", "number", "spelled"),
    [
        (("__kmpc_masked",), 127, "imports __kmpc_masked from libiomp5md.dll, which does not export it"),
        ((17,), 182, "imports ordinal 17 from"),
        (("a", "b", "c", "d"), 127, "imports a, b, c and 1 more from libiomp5md.dll, which does not export them"),
    ],
)
def test_a_missing_symbol_fails_the_load(unexported: tuple[str | int, ...], number: int, spelled: str) -> None:
    found = run(subject(IMAGES, [edge(CPU, "libiomp5md.dll", OMP, unexported=unexported)], events=[loads(CPU, number)]))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF310:error"]
    assert spelled in found[0].message
    assert f"error {number}" in found[0].message
    assert found[0].evidence["symbols"] == [*unexported]


def test_it_is_a_warning_where_nothing_loads_the_importer() -> None:
    assert codes(subject(IMAGES, [edge(CPU, "libiomp5md.dll", OMP, unexported=("x",))])) == ["WF310:warning"]


def test_a_delay_loaded_symbol_does_not_fail_the_load() -> None:
    need = edge(CPU, "libiomp5md.dll", OMP, EdgeKind.DELAY, required=False, unexported=("x",))
    assert codes(subject(IMAGES, [need], events=[loads(CPU)])) == ["WF310:warning"]


def test_symbols_that_are_there_are_no_finding() -> None:
    assert codes(subject(IMAGES, [edge(CPU, "libiomp5md.dll", OMP)], events=[loads(CPU)])) == []


def test_a_stub_without_its_target() -> None:
    edges = [
        edge(CPU, "libiomp5md.dll", OMP),
        edge(OMP, "libomp.dll", kind=EdgeKind.FORWARDER, because="libomp.dll.omp_init"),
    ]
    images = {
        CPU: dll("libiomp5md.dll"),
        OMP: dll(forwarders={"omp_init": "libomp.dll.omp_init"}),
    }
    found = run(subject(images, edges, events=[loads(CPU, 127)]))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF311:error"]
    assert "libiomp5md.dll is a stub that forwards calls to libomp.dll, which is missing" in found[0].message


def test_a_stub_whose_target_lacks_the_function() -> None:
    target = LIB + "libomp.dll"
    need = edge(OMP, "libomp.dll", target, EdgeKind.FORWARDER, unexported=("omp_new",))
    found = run(subject({OMP: dll(), target: dll()}, [need], reached=[OMP]))
    assert [item.code for item in found] == ["WF311"]
    assert "which does not export omp_new" in found[0].message


def test_a_whole_forwarder_is_no_finding() -> None:
    target = LIB + "libomp.dll"
    assert codes(subject({OMP: dll(), target: dll()}, [edge(OMP, "libomp.dll", target, EdgeKind.FORWARDER)])) == []
