"""OpenMP runtimes that meet in one process, and different DLLs of one name."""

from __future__ import annotations

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, loads, run, subject, torch
from wheelfix.model import EdgeKind, Image, System
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
def test_openmp_runtimes_in_one_closure(names, expected):
    assert [f"{item.code}:{item.severity}" for item in run(with_openmp(*names), "WF405")] == expected


def test_runtimes_of_different_modules_are_different_closures():
    other = SITE + "pkg/_other.pyd"
    images = {PYD: dll("vcomp140.dll"), other: dll("libiomp5md.dll")}
    edges = [edge(PYD, "vcomp140.dll", System("x")), edge(other, "libiomp5md.dll", System("x"))]
    assert codes(subject(images, edges, events=[loads(PYD), loads(other)])) == []


def test_all_that_torch_loads_is_one_process():
    images = {CPU: dll("libiomp5md.dll"), LIB + "fbgemm.dll": dll("libomp140.x86_64.dll")}
    edges = [edge(CPU, "libiomp5md.dll"), edge(LIB + "fbgemm.dll", "libomp140.x86_64.dll")]
    thing = subject(images, edges, events=[loads(path) for path in sorted(images)], torch=torch())
    assert [str(item.severity) for item in run(thing, "WF405")] == ["warning"]


def test_a_stub_and_the_runtime_it_stands_for_are_one():
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


EDGES = [edge(user, "zlib1.dll", path) for user, path in USERS.items()]
LOADED = [loads(user) for user in USERS]


def test_two_contents_under_one_name_that_are_both_loaded():
    found = run(subject(with_two(), EDGES, events=LOADED))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF406:warning"]
    assert found[0].evidence["paths"] == ["pkg/a/zlib1.dll", "pkg/b/zlib1.dll"]


def test_one_that_is_shadowed_by_the_other():
    edges = [edge(user, "zlib1.dll", ONE) for user in USERS]
    found = run(subject(with_two(), edges, events=LOADED))
    assert [item.code for item in found] == ["WF406"]
    assert "y.pyd has one beside it but gets that of pkg/a" in found[0].message


def test_several_of_one_name_that_are_only_loaded_by_their_paths():
    """ctransformers 0.2.27 has a DLL for each kind of processor, and loads one of them by its path."""
    assert codes(subject(with_two(), [], events=[loads(ONE), loads(TWO)])) == []


def test_several_of_one_name_for_modules_of_one_name():
    """synapx 0.2.1 has a module and a DLL for each torch, and imports one of these modules."""
    users = {SITE + "pkg/a/x.pyd": ONE, SITE + "pkg/b/x.pyd": TWO}
    images = {ONE: dll(size=1), TWO: dll(size=2)} | {path: dll("zlib1.dll") for path in users}
    edges = [edge(user, "zlib1.dll", path) for user, path in users.items()]
    assert codes(subject(images, edges, events=[loads(user) for user in users])) == []


def test_copies_and_files_that_nothing_loads_together_are_no_finding():
    assert codes(subject(with_two(1), EDGES, events=LOADED)) == []
    assert codes(subject(with_two(), EDGES, events=LOADED[:1])) == []


MAIN, OPS = LIB + "cudnn64_8.dll", LIB + "cudnn_ops_infer64_8.dll"


def test_cudnn_parts_of_two_releases():
    """Versions of large files are read in every scan."""
    images = {MAIN: dll(), OPS: dll(size=100 << 20)}
    found = run(subject(images, versions={MAIN: (8, 5, 0, 96), OPS: (8, 9, 4, 25)}))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF404:warning"]
    assert "cudnn64_8.dll 8.5.0.96 and cudnn_ops_infer64_8.dll 8.9.4.25" in found[0].message


@pytest.mark.parametrize(
    "versions",
    [{MAIN: (8, 9, 4, 25), OPS: (8, 9, 4, 25)}, {MAIN: (8, 9, 4, 25)}, {MAIN: (8, 9, 4, 25), OPS: (0, 0, 0, 0)}, {}],
    ids=["same", "one-unknown", "one-empty", "unknown"],
)
def test_cudnn_of_one_release_or_unknown(versions):
    assert codes(subject({MAIN: dll(), OPS: dll()}, versions=versions)) == []


def test_cudnn_parts_that_the_main_library_does_not_use():
    stray = LIB + "cudnn_ops64_9.dll"
    found = run(subject({MAIN: dll(), OPS: dll(), stray: dll()}))
    assert [item.subject for item in found] == ["torch/lib/cudnn_ops64_9.dll"]
    assert "which will not use them" in found[0].message


def test_two_whole_cudnn_families_are_no_finding():
    images = {MAIN: dll(), OPS: dll(), LIB + "cudnn64_9.dll": dll(), LIB + "cudnn_ops64_9.dll": dll()}
    assert codes(subject(images)) == []


CORE, AVX = LIB + "mkl_core.2.dll", LIB + "mkl_avx2.2.dll"


@pytest.mark.parametrize(
    ("second", "expected"),
    [((2025, 3, 1, 0), []), ((2025, 3, 0, 0), []), ((2023, 2, 0, 0), ["WF408:warning"])],
)
def test_mkl_parts_of_one_release(second, expected):
    thing = subject({CORE: dll(), AVX: dll()}, versions={CORE: (2025, 3, 1, 0), AVX: second})
    assert codes(thing) == expected


def test_mkl_parts_with_another_number():
    found = run(subject({CORE: dll(), LIB + "mkl_def.1.dll": dll()}))
    assert [(item.code, item.subject) for item in found] == [("WF408", "torch/lib/mkl_def.1.dll")]


def test_blacs_keeps_a_number_of_its_own():
    assert codes(subject({LIB + "mkl_core.3.dll": dll(), LIB + "mkl_blacs_lp64.2.dll": dll()})) == []


THREAD, OMP = LIB + "mkl_intel_thread.2.dll", LIB + "libiomp5md.dll"


@pytest.mark.parametrize(
    ("runtime", "mkl", "old"),
    [
        ((5, 0, 2023, 428), (2023, 2, 0, 0), False),
        ((5, 0, 2024, 1015), (2025, 0, 0, 0), False),
        ((5, 0, 2025, 108), (2025, 3, 1, 0), False),
        ((5, 0, 2021, 1019), (2025, 3, 1, 0), True),
        ((5, 0, 2023, 428), (2025, 3, 1, 0), True),
        ((20, 1, 0, 0), (2025, 3, 1, 0), False),
    ],
)
def test_the_date_of_openmp_against_the_year_of_mkl(runtime, mkl, old):
    thing = subject(
        {THREAD: dll(delay=["libiomp5md.dll"]), OMP: dll()},
        [edge(THREAD, "libiomp5md.dll", OMP, EdgeKind.DELAY)],
        events=[loads(THREAD)],
        versions={THREAD: mkl, OMP: runtime},
    )
    assert codes(thing) == (["WF412:warning"] if old else [])
