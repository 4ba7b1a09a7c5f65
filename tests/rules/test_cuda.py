"""CUDA DLLs, labels and version files that do not belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, loads, run, subject, torch, wheel
from wheelfix.model import System

if TYPE_CHECKING:
    from wheelfix.rules.context import Subject

CUDA = LIB + "torch_cuda.dll"


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
        ("2.7.1+cu117", "11.7", ["cupti64_2022.2.1.dll", "cupti64_2022.2.0.dll"], 0),
        ("2.7.1+cu117", "11.7", ["cupti64_2022.3.0.dll"], 1),
        ("2.7.1+cu117", "11.7", ["cupti64_2099.1.1.dll"], 0),
    ],
)
def test_label_version_and_dlls_agree(version: str, cuda: str, names: list[str], expected: int) -> None:
    found = run(importing(*names, cuda=cuda, version=version), "WF407")
    assert len(found) == expected


def test_cupti_tells_the_toolkit_that_was_really_used() -> None:
    (found,) = run(importing("cupti64_2022.3.0.dll", cuda="11.7"), "WF407")
    assert found.message == "the wheel is made for CUDA 11.7, but cupti64_2022.3.0.dll is of CUDA 11.8"


NVRTC = LIB + "nvrtc64_112_0.dll"


def with_nvrtc(builtins: str, product: str = "NVIDIA CUDA 11.7.99 NVRTC Library") -> Subject:
    """A folder with NVRTC and these built-ins."""
    images = {NVRTC: dll(), LIB + builtins: dll()}
    return subject(images, products={NVRTC: product})


@pytest.mark.parametrize(
    ("builtins", "product", "found"),
    [
        ("nvrtc-builtins64_117.dll", "NVIDIA CUDA 11.7.99 NVRTC Library", 0),
        ("nvrtc-builtins64_118.dll", "NVIDIA CUDA 11.8.89 NVRTC Library", 0),
        ("nvrtc-builtins64_118.dll", "NVIDIA CUDA 11.7.99 NVRTC Library", 1),
        ("nvrtc-builtins64_118.dll", "", 0),
        ("other.dll", "NVIDIA CUDA 11.7.99 NVRTC Library", 0),
    ],
    ids=["fits", "fits-118", "another", "unknown", "none-there"],
)
def test_built_ins_of_another_release(builtins: str, product: str, found: int) -> None:
    assert len(run(with_nvrtc(builtins, product), "WF407")) == found


def test_the_error_of_the_run_time_compiler_is_predicted() -> None:
    (found,) = run(with_nvrtc("nvrtc-builtins64_118.dll"), "WF407")
    assert 'fails with "nvrtc: error: failed to open nvrtc-builtins64_117.dll"' in found.message
    assert "one CUDA 11.7 toolkit" in found.hint
