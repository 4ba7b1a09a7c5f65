"""The paragraph on a wheel's CUDA: every fact and every contradiction has its sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.rules.subjects import LIB, SITE, dll, edge, loads, subject, torch, wheel
from wheelfix.model import System
from wheelfix.rules.cuda import cuda_summary

if TYPE_CHECKING:
    from wheelfix.rules.context import Subject

CUDA = LIB + "torch_cuda.dll"
WHOLE = ("cudart64_110.dll", "cublas64_11.dll", "cublasLt64_11.dll", "nvrtc64_112_0.dll", "cudnn64_8.dll")


def built(
    cuda: str | None = "11.7",
    version: str = "2.7.1+cu117",
    inside: tuple[str, ...] = WHOLE,
    outside: tuple[str, ...] = (),
    gpu: str | None = None,
    builtins: str = "nvrtc-builtins64_117.dll",
) -> Subject:
    """A torch with these CUDA DLLs in torch/lib and those asked for from outside."""
    images = {CUDA: dll(*inside, *outside)} | {LIB + name: dll() for name in inside}
    if "nvrtc64_112_0.dll" in inside:
        images[LIB + builtins] = dll()
    edges = [edge(CUDA, name, LIB + name) for name in inside] + [edge(CUDA, name) for name in outside]
    return subject(
        images,
        edges,
        events=[loads(path) for path in sorted(images)],
        torch=torch(cuda),
        wheel=wheel("torch", version),
        products={LIB + "nvrtc64_112_0.dll": "NVIDIA CUDA 11.7.99 NVRTC Library"},
        versions={LIB + "cudnn64_8.dll": (8, 5, 0, 96)},
        gpu=gpu,
    )


def new(gpu: str) -> Subject:
    """A torch for CUDA 12.4."""
    return built("12.4", "2.7.1+cu124", ("cudart64_12.dll", "cublas64_12.dll"), gpu=gpu)


def story(thing: Subject) -> str:
    found = cuda_summary(thing)
    assert found is not None
    return found.text


def test_a_whole_torch_for_an_old_card() -> None:
    assert story(built(gpu="K40c")) == (
        "Made for CUDA 11.7, as the label +cu117 and torch/version.py say. "
        "Inside: cuBLAS, CUDA runtime, CUDA's run-time compiler NVRTC and cuDNN. "
        "NVRTC is of CUDA 11.7, nvrtc-builtins64_117.dll fits. "
        "cuDNN is 8.5.0.96. "
        "CUDA 11.7 needs driver 452.39 or later. "
        "CUDA 11.7 still compiles for sm_35 (Kepler); 11.8 is the last that does. "
        "The last driver for the card (Kepler), 470, runs that, but compiles PTX of CUDA 11.4 and before only: "
        "everything needs machine code for sm_35, and what is compiled to PTX at run time fails."
    )


def test_release_and_driver_are_values_too() -> None:
    found = cuda_summary(built())
    assert found is not None
    assert (found.release, found.driver) == ("11.7", "452.39")


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (built("11.8"), "torch/version.py says CUDA 11.8, the label +cu117 says 11.7: one of them is wrong."),
        (built(version="2.7.1"), "Made for CUDA 11.7, as torch/version.py says."),
        (built(None), "Made for CUDA 11.7, as the label +cu117 says."),
        (built(inside=("cudart64_12.dll",)), "But it has or asks for DLLs of CUDA 12."),
        (built(outside=("cufft64_10.dll", "cusparse64_11.dll")), "needed: cufft64_10.dll and cusparse64_11.dll."),
        (built(builtins="nvrtc-builtins64_118.dll"), "nvrtc-builtins64_118.dll is of another release."),
        (built(outside=("cupti64_2022.2.1.dll",)), "needed as cupti64_2022.2.1.dll, which is that of CUDA 11.7.1."),
        (built(outside=("cupti64_2022.3.0.dll",)), "which is that of CUDA 11.8.0, not of 11.7."),
        (built(inside=(), outside=("cudnn64_9.dll",)), "cuDNN is 9."),
        (new("3.5"), "The last driver for the card (Kepler), 470, is too old for that: no device"),
        (new("3.5"), "CUDA 12.4 no longer compiles for sm_35 (Kepler); 11.8 was the last that did."),
        (new("RTX 5070"), "CUDA 12.4 does not know sm_120 (Blackwell) yet; 12.8 is the first that does."),
        (built("11.8", gpu="GTX 1080"), "The last driver for the card (Maxwell, Pascal or Volta), 580, runs that."),
    ],
)
def test_each_fact_has_its_sentence(thing: Subject, said: str) -> None:
    assert said in story(thing)


def test_what_is_not_so_is_not_said() -> None:
    text = story(built())
    assert "card" not in text
    assert "CUPTI" not in text
    assert "outside" not in text


def test_backends_for_several_releases() -> None:
    backends = {SITE + f"bnb/libbnb_cuda{n}.dll": f"cudart64_{n}.dll" for n in ("110", "12")}
    images = {path: dll(name) for path, name in backends.items()}
    edges = [edge(path, name, System(name)) for path, name in backends.items()]
    text = story(subject(images, edges, gpu="K80"))
    assert "By the names of its DLLs it is for CUDA 11 and 12, which do not meet in one process." in text
    assert "CUDA 11 needs driver 452.39 or later and CUDA 12 needs driver 527.41 or later." in text
    assert "470, runs CUDA 11, not 12." in text


def test_nothing_to_tell_without_cuda() -> None:
    assert cuda_summary(subject({SITE + "pkg/_core.pyd": dll("python311.dll")}, wheel=wheel())) is None
