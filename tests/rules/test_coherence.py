"""OpenMP runtimes that meet in one process, and different DLLs of one name."""

from __future__ import annotations

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, linked, run, subject, torch
from tests.support.tables import named_cases
from wheelfix.model import EdgeKind, System
from wheelfix.rules.context import Subject

CPU = LIB + "torch_cpu.dll"
PYD = SITE + "pkg/_core.pyd"


# --------------------------------------------------------------------------------------------------------- OpenMP


def with_openmp(*names: str) -> Subject:
    """A module whose two DLLs import these runtimes."""
    parts = {SITE + f"pkg/part{number}.dll": name for number, name in enumerate(names)}
    edges = [edge(PYD, path.rpartition("/")[2], path) for path in parts]
    edges += [edge(path, name, SITE + "pkg/" + name) for path, name in parts.items()]
    runtimes = {SITE + "pkg/" + name: dll(exports=["omp_init"]) for name in names}
    return linked(*edges, loaded=[PYD], images=runtimes)


STUB, REAL = SITE + "pkg/libiomp5md.dll", SITE + "pkg/libomp.dll"
OPENMP = {
    "the same": (with_openmp("libiomp5md.dll", "libiomp5md.dll"), []),
    "stubs": (with_openmp("libiomp5md.dll", "libiompstubs5md.dll"), []),
    "Intel's and Microsoft's LLVM": (with_openmp("libiomp5md.dll", "libomp140.x86_64.dll"), ["WF405:warning"]),
    "Intel's and Microsoft's": (with_openmp("libiomp5md.dll", "vcomp140.dll"), ["WF405:info"]),
    "renamed": (
        with_openmp("libomp-0123456789abcdef0123456789abcdef.dll", "libiomp5md.dll"),
        ["WF405:warning"],
    ),
    "in different closures": (
        linked(
            edge(PYD, "vcomp140.dll", System("x")),
            edge(SITE + "pkg/_other.pyd", "libiomp5md.dll", System("x")),
            loaded=[PYD, SITE + "pkg/_other.pyd"],
        ),
        [],
    ),
    "all that torch loads is one process": (
        linked(
            edge(CPU, "libiomp5md.dll"),
            edge(LIB + "fbgemm.dll", "libomp140.x86_64.dll"),
            loaded=[LIB + "fbgemm.dll", CPU],
            torch=torch(),
        ),
        ["WF405:warning"],
    ),
    "a stub and what it forwards to are one": (
        linked(
            edge(PYD, "libiomp5md.dll", STUB),
            edge(PYD, "libomp.dll", REAL),
            edge(STUB, "libomp.dll", REAL, EdgeKind.FORWARDER),
            loaded=[PYD],
            images={STUB: dll(forwarders={"omp_init": "libomp.dll.omp_init"}), REAL: dll(exports=["omp_init"])},
        ),
        [],
    ),
}


@named_cases("thing, expected", OPENMP)
def test_openmp_runtimes_in_one_process(thing, expected):
    assert codes(thing, "WF405") == expected


# -------------------------------------------------------------------------------------------------------- same name

ONE, TWO = SITE + "pkg/a/zlib1.dll", SITE + "pkg/b/zlib1.dll"
USERS = {SITE + "pkg/a/x.pyd": ONE, SITE + "pkg/b/y.pyd": TWO}


def with_two(users: dict[str, str], *, loaded: int = 2, size: int = 2) -> Subject:
    """Two DLLs of one name, and who imports which."""
    images = {ONE: dll(size=1), TWO: dll(size=size)}
    edges = [edge(user, "zlib1.dll", path) for user, path in users.items()]
    return linked(*edges, loaded=list(users)[:loaded] or [ONE, TWO], images=images)


@named_cases(
    "thing, said",
    {
        "both are loaded": (with_two(USERS), "2 of them are loaded"),
        "the second is shadowed": (with_two(dict.fromkeys(USERS, ONE)), "gets that of pkg/a"),
        "ctransformers 0.2.27: loaded by their paths": (with_two({}), ""),
        "synapx 0.2.1: modules of one name, of which one is imported": (
            with_two({SITE + "pkg/a/x.pyd": ONE, SITE + "pkg/b/x.pyd": TWO}),
            "",
        ),
        "copies": (with_two(USERS, size=1), ""),
        "one is loaded": (with_two(USERS, loaded=1), ""),
    },
)
def test_dlls_of_one_name(thing, said):
    found = run(thing)
    assert [(item.code, item.evidence["paths"]) for item in found] == (
        [("WF406", ["pkg/a/zlib1.dll", "pkg/b/zlib1.dll"])] if said else []
    )
    assert all(said in item.message for item in found)


MAIN, OPS = LIB + "cudnn64_8.dll", LIB + "cudnn_ops_infer64_8.dll"


STRAY, WHOLE_9 = LIB + "cudnn_ops64_9.dll", (LIB + "cudnn64_9.dll", LIB + "cudnn_ops64_9.dll")
CORE, AVX = LIB + "mkl_core.2.dll", LIB + "mkl_avx2.2.dll"
NEW, OLD, MKL = (8, 9, 4, 25), (8, 5, 0, 96), (2025, 3, 1, 0)
HUGE = dll(size=100 << 20)
"""Versions of large files are read in every scan."""


@named_cases(
    "paths, versions, expected, said",
    {
        "two releases": (
            (MAIN, OPS),
            {MAIN: OLD, OPS: NEW},
            "WF404",
            "cudnn64_8.dll 8.5.0.96 and cudnn_ops_infer64_8.dll 8.9.4.25",
        ),
        "one release": ((MAIN, OPS), {MAIN: NEW, OPS: NEW}, "", ""),
        "one unknown": ((MAIN, OPS), {MAIN: NEW}, "", ""),
        "a part of another major": (
            (MAIN, OPS, STRAY),
            {},
            "WF404",
            "cudnn_ops64_9.dll is of cuDNN 9, but the library that loads the parts",
        ),
        "two whole families": ((MAIN, OPS, *WHOLE_9), {}, "", ""),
        "one release of MKL": ((CORE, AVX), {CORE: MKL, AVX: (2025, 3, 0, 0)}, "", ""),
        "two releases of MKL": (
            (CORE, AVX),
            {CORE: MKL, AVX: (2023, 2, 0, 0)},
            "WF408",
            "mkl_avx2.2.dll 2023.2 and mkl_core.2.dll 2025.3",
        ),
        "BLACS keeps a number of its own": ((LIB + "mkl_core.3.dll", LIB + "mkl_blacs_lp64.2.dll"), {}, "", ""),
    },
)
def test_parts_of_one_library(paths, versions, expected, said):
    found = run(subject(dict.fromkeys(paths, HUGE), versions=versions))
    assert [(item.code, str(item.severity)) for item in found] == ([(expected, "warning")] if expected else [])
    assert all(said in item.message for item in found)


THREAD, OMP = LIB + "mkl_intel_thread.2.dll", LIB + "libiomp5md.dll"


@pytest.mark.parametrize(
    "runtime, mkl, old",
    [
        ((5, 0, 2023, 428), (2023, 2, 0, 0), False),
        ((5, 0, 2023, 428), (2025, 3, 1, 0), True),
        ((20, 1, 0, 0), (2025, 3, 1, 0), False),
    ],
)
def test_the_date_of_openmp_against_the_year_of_mkl(runtime, mkl, old):
    need = edge(THREAD, "libiomp5md.dll", OMP, EdgeKind.DELAY)
    thing = linked(need, loaded=[THREAD], versions={THREAD: mkl, OMP: runtime})
    assert codes(thing) == (["WF412:warning"] if old else [])
