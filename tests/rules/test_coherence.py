"""OpenMP runtimes that meet in one process, and different DLLs of one name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, loads, run, subject, torch
from wheelfix.model import EdgeKind, System

if TYPE_CHECKING:
    from wheelfix.model import Image
    from wheelfix.rules.context import Subject


CPU, C10 = LIB + "torch_cpu.dll", LIB + "c10_cuda.dll"
PYD = SITE + "pkg/_core.pyd"


# --------------------------------------------------------------------------------------------------------- OpenMP


def with_openmp(*names: str) -> Subject:
    """A module whose two DLLs import these runtimes."""
    parts = {SITE + f"pkg/part{number}.dll": name for number, name in enumerate(names)}
    images = {PYD: dll(*(path.rpartition("/")[2] for path in parts))} | {
        path: dll(name) for path, name in parts.items()
    }
    images |= {SITE + "pkg/" + name: dll(exports=["omp_init"]) for name in names}
    edges = [edge(PYD, path.rpartition("/")[2], path) for path in parts]
    edges += [edge(path, name, SITE + "pkg/" + name) for path, name in parts.items()]
    return subject(images, edges, events=[loads(PYD)])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["libiomp5md.dll", "libiomp5md.dll"], []),
        (["libiomp5md.dll", "libiompstubs5md.dll"], []),
        (["libiomp5md.dll", "libomp140.x86_64.dll"], ["WF405:warning"]),
        (["libiomp5md.dll", "libomp.dll"], ["WF405:warning"]),
        (["libiomp5md.dll", "vcomp140.dll"], ["WF405:info"]),
        (["vcomp140.dll", "libgomp-1.dll"], ["WF405:info"]),
        (["libomp-0123456789abcdef0123456789abcdef.dll", "libiomp5md.dll"], ["WF405:warning"]),
    ],
    ids=lambda value: "+".join(value),
)
def test_openmp_runtimes_in_one_closure(names: list[str], expected: list[str]) -> None:
    assert [f"{item.code}:{item.severity}" for item in run(with_openmp(*names), "WF405")] == expected


def test_runtimes_of_different_modules_are_different_closures() -> None:
    other = SITE + "pkg/_other.pyd"
    images = {PYD: dll("vcomp140.dll"), other: dll("libiomp5md.dll")}
    edges = [edge(PYD, "vcomp140.dll", System("x")), edge(other, "libiomp5md.dll", System("x"))]
    assert codes(subject(images, edges, events=[loads(PYD), loads(other)])) == []


def test_all_that_torch_loads_is_one_process() -> None:
    images = {CPU: dll("libiomp5md.dll"), LIB + "fbgemm.dll": dll("libomp140.x86_64.dll")}
    edges = [edge(CPU, "libiomp5md.dll"), edge(LIB + "fbgemm.dll", "libomp140.x86_64.dll")]
    thing = subject(images, edges, events=[loads(path) for path in sorted(images)], torch=torch())
    assert [str(item.severity) for item in run(thing, "WF405")] == ["warning"]


def test_a_stub_and_the_runtime_it_stands_for_are_one() -> None:
    stub, real = SITE + "pkg/libiomp5md.dll", SITE + "pkg/libomp.dll"
    images = {
        PYD: dll("libiomp5md.dll", "libomp.dll"),
        stub: dll(forwarders={"omp_init": "libomp.dll.omp_init"}),
        real: dll(exports=["omp_init"]),
    }
    edges = [
        edge(PYD, "libiomp5md.dll", stub),
        edge(PYD, "libomp.dll", real),
        edge(stub, "libomp.dll", real, EdgeKind.FORWARDER),
    ]
    assert codes(subject(images, edges, events=[loads(PYD)])) == []


# -------------------------------------------------------------------------------------------------------- same name

ONE, TWO = SITE + "pkg/a/zlib1.dll", SITE + "pkg/b/zlib1.dll"
USERS = {SITE + "pkg/a/x.pyd": ONE, SITE + "pkg/b/y.pyd": TWO}


def with_two(second_size: int = 2) -> dict[str, Image]:
    return {ONE: dll(size=1), TWO: dll(size=second_size)} | {path: dll("zlib1.dll") for path in USERS}


def test_two_contents_under_one_name_that_are_both_loaded() -> None:
    edges = [edge(user, "zlib1.dll", path) for user, path in USERS.items()]
    found = run(subject(with_two(), edges, events=[loads(user) for user in USERS]))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF406:warning"]
    assert found[0].evidence["paths"] == ["pkg/a/zlib1.dll", "pkg/b/zlib1.dll"]


def test_one_that_is_shadowed_by_the_other() -> None:
    edges = [edge(user, "zlib1.dll", ONE) for user in USERS]
    found = run(subject(with_two(), edges, events=[loads(user) for user in USERS]))
    assert [item.code for item in found] == ["WF406"]
    assert "y.pyd has one beside it but gets that of pkg/a" in found[0].message


def test_copies_are_no_finding() -> None:
    edges = [edge(user, "zlib1.dll", path) for user, path in USERS.items()]
    assert codes(subject(with_two(1), edges, events=[loads(user) for user in USERS])) == []


def test_files_that_nothing_loads_together_are_no_finding() -> None:
    edges = [edge(user, "zlib1.dll", path) for user, path in USERS.items()]
    assert codes(subject(with_two(), edges, events=[loads(next(iter(USERS)))])) == []
