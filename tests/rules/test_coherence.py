"""DLLs that are all there and do not belong together in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, loads, run, subject, torch, wheel
from wheelfix.model import EdgeKind, System

if TYPE_CHECKING:
    from wheelfix.model import Image
    from wheelfix.rules.context import Subject


CUDA, CPU, C10 = LIB + "torch_cuda.dll", LIB + "torch_cpu.dll", LIB + "c10_cuda.dll"
PYD = SITE + "pkg/_core.pyd"


# ----------------------------------------------------------------------------------------------------------- CUDA


def importing(*names: str, cuda: str = "11.7", version: str = "2.7.1") -> Subject:
    """A torch whose torch_cuda.dll imports these CUDA DLLs, all of them in torch/lib."""
    images = {CUDA: dll(*names)} | {LIB + name: dll() for name in names}
    edges = [edge(CUDA, name, LIB + name) for name in names]
    return subject(
        images, edges, events=[loads(path) for path in sorted(images)], torch=torch(cuda), wheel=wheel("torch", version)
    )


@pytest.mark.parametrize(
    ("names", "mixed"),
    [
        (["cudart64_110.dll", "cublas64_11.dll", "cufft64_10.dll", "curand64_10.dll", "cusolver64_11.dll"], False),
        (["cudart64_12.dll", "cublas64_12.dll", "cufft64_11.dll", "curand64_10.dll", "cusolver64_11.dll"], False),
        (["cudart64_13.dll", "cublas64_13.dll", "cufft64_12.dll", "cusparse64_12.dll", "cusolver64_12.dll"], False),
        (["cudart64_110.dll", "cublas64_12.dll"], True),
        (["cudart64_13.dll", "cusolver64_11.dll"], True),
        (["curand64_10.dll"], False),
    ],
    ids=["cu11", "cu12", "cu13", "11+12", "13+11or12", "any"],
)
def test_cuda_majors_in_one_process(names: list[str], mixed: bool) -> None:
    found = run(importing(*names), "WF402")
    assert bool(found) is mixed
    if mixed:
        assert str(found[0].severity) == "warning"
        assert names[0] in found[0].message
        assert names[1] in found[0].message


def test_two_backends_in_one_wheel_are_no_mixture() -> None:
    # bitsandbytes has one DLL for each CUDA release and loads one of them.
    backends = {SITE + f"bnb/libbnb_cuda{n}.dll": f"cudart64_{n}.dll" for n in ("110", "12")}
    images = {path: dll(name) for path, name in backends.items()}
    edges = [edge(path, name, System(name)) for path, name in backends.items()]
    assert codes(subject(images, edges, events=[loads(path) for path in images])) == []


def test_half_of_cuda_in_a_torch_wheel() -> None:
    runtime = LIB + "cudart64_110.dll"
    thing = subject(
        {CUDA: dll("cublas64_11.dll", "cudart64_110.dll"), runtime: dll()},
        [edge(CUDA, "cudart64_110.dll", runtime), edge(CUDA, "cublas64_11.dll")],
        events=[loads(CUDA, 126, ("torch_cuda.dll", "cublas64_11.dll"))],
        torch=torch("11.7"),
        search_dirs=(LIB.rstrip("/"),),
    )
    found = run(thing)
    assert [item.code for item in found] == ["WF301", "WF403"]
    assert "cudart64_110.dll is in the wheel, cublas64_11.dll is not" in found[1].message


@pytest.mark.parametrize("missing", ["cublas64_11.dll", "libomp.dll"])
def test_no_half_of_cuda_without_cudart_or_for_other_dlls(missing: str) -> None:
    inside = {} if missing.startswith("cublas") else {LIB + "cudart64_110.dll": dll()}
    thing = subject(
        {CUDA: dll(missing), **inside},
        [edge(CUDA, missing)],
        events=[loads(CUDA, 126, ("torch_cuda.dll", missing))],
        torch=torch("11.7"),
        search_dirs=(LIB.rstrip("/"),),
    )
    assert [item.code for item in run(thing)] == ["WF301"]


@pytest.mark.parametrize(
    ("version", "cuda", "names", "expected"),
    [
        ("2.7.1+cu117", "11.7", ["cudart64_110.dll"], 0),
        ("2.7.1_cu117", "11.7", ["cudart64_110.dll"], 0),
        ("2.7.1", "11.7", ["cudart64_110.dll"], 0),
        ("2.7.1+cu117", "11.8", ["cudart64_110.dll"], 1),
        ("2.7.1+cu117", "11.7", ["cudart64_12.dll"], 1),
        ("2.7.1+cu118", "12.1", ["cudart64_110.dll"], 2),
        ("2.7.1+cpu", "11.7", ["cudart64_110.dll"], 0),
    ],
)
def test_label_version_and_dlls_agree(version: str, cuda: str, names: list[str], expected: int) -> None:
    found = run(importing(*names, cuda=cuda, version=version), "WF407")
    assert len(found) == expected


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
