"""CUDA DLLs, labels and version files that do not belong together."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, linked, loads, run, subject, torch, wheel
from tests.support.tables import named_cases
from wheelfix.model import System
from wheelfix.rules.context import Subject
from wheelfix.rules.cuda import cuda_summary

CUDA = LIB + "torch_cuda.dll"


def importing(*names: str, cuda: str = "11.7", version: str = "2.7.1") -> Subject:
    """A torch whose torch_cuda.dll imports these CUDA DLLs, all of them in torch/lib."""
    return built(cuda, version, names)


@named_cases(
    "names, mixed",
    {
        "cu11": (
            ["cudart64_110.dll", "cublas64_11.dll", "cufft64_10.dll", "curand64_10.dll", "cusolver64_11.dll"],
            False,
        ),
        "cu13": (
            ["cudart64_13.dll", "cublas64_13.dll", "cufft64_12.dll", "cusparse64_12.dll", "cusolver64_12.dll"],
            False,
        ),
        "11+12": (["cudart64_110.dll", "cublas64_12.dll"], True),
        "13+11or12": (["cudart64_13.dll", "cusolver64_11.dll"], True),
    },
)
def test_cuda_majors_in_one_process(names, mixed):
    found = run(importing(*names), "WF402")
    assert bool(found) is mixed
    if mixed:
        assert str(found[0].severity) == "warning"
        assert names[0] in found[0].message
        assert names[1] in found[0].message


def backends(gpu: str | None = None) -> Subject:
    """bitsandbytes has one DLL for each CUDA release and loads one of them."""
    names = {SITE + f"bnb/libbnb_cuda{n}.dll": f"cudart64_{n}.dll" for n in ("110", "12")}
    return linked(*(edge(path, name, System(name)) for path, name in names.items()), loaded=names, gpu=gpu)


@named_cases(
    "missing, inside, expected",
    {
        "half of CUDA": ("cublas64_11.dll", [LIB + "cudart64_110.dll"], ["WF301", "WF403"]),
        "without cudart": ("cublas64_11.dll", [], ["WF301"]),
    },
)
def test_half_of_cuda_in_a_torch_wheel(missing, inside, expected):
    thing = linked(
        edge(CUDA, missing),
        *(edge(CUDA, "cudart64_110.dll", path) for path in inside),
        loaded=[loads(CUDA, 126, ("torch_cuda.dll", missing))],
        torch=torch("11.7"),
        search_dirs=(LIB.rstrip("/"),),
    )
    found = run(thing)
    assert [item.code for item in found] == expected
    assert len(found) == 1 or "cudart64_110.dll is in the wheel, cublas64_11.dll is not" in found[1].message


@pytest.mark.parametrize(
    "version, cuda, names, expected",
    [
        ("2.7.1_cu117", "11.7", ["cudart64_110.dll"], 0),
        ("2.7.1+cu117", "11.8", ["cudart64_110.dll"], 1),
        ("2.7.1+cu118", "12.1", ["cudart64_110.dll"], 2),
        ("2.7.1+cpu", "11.7", ["cudart64_110.dll"], 0),
        ("2.7.1+cu117", "11.7", ["cupti64_2022.2.1.dll", "cupti64_2022.2.0.dll"], 0),
        ("2.7.1+cu117", "11.7", ["cupti64_2099.1.1.dll"], 0),
    ],
)
def test_label_version_and_dlls_agree(version, cuda, names, expected):
    found = run(importing(*names, cuda=cuda, version=version), "WF407")
    assert len(found) == expected


def test_cupti_tells_the_toolkit_that_was_really_used():
    (found,) = run(importing("cupti64_2022.3.0.dll", cuda="11.7"), "WF407")
    assert found.message == "the wheel is made for CUDA 11.7, but cupti64_2022.3.0.dll is of CUDA 11.8"


NVRTC = LIB + "nvrtc64_112_0.dll"


@named_cases(
    "builtins, product, wanted",
    {
        "fits": ("nvrtc-builtins64_117.dll", "NVIDIA CUDA 11.7.99 NVRTC Library", ""),
        "another": ("nvrtc-builtins64_118.dll", "NVIDIA CUDA 11.7.99 NVRTC Library", "11.7"),
        "unknown": ("nvrtc-builtins64_118.dll", "", ""),
        "none-there": ("other.dll", "NVIDIA CUDA 11.7.99 NVRTC Library", ""),
    },
)
def test_built_ins_of_another_release(builtins, product, wanted):
    found = run(subject({NVRTC: dll(), LIB + builtins: dll()}, products={NVRTC: product}), "WF407")
    assert [f"one CUDA {wanted} toolkit" in item.hint for item in found] == [True] * bool(wanted)
    assert all('fails with "nvrtc: error: failed to open nvrtc-builtins64_117.dll"' in one.message for one in found)


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
    edges = [edge(CUDA, name, LIB + name) for name in inside] + [edge(CUDA, name) for name in outside]
    more = {LIB + builtins: dll()} if "nvrtc64_112_0.dll" in inside else {}
    return linked(
        *edges,
        loaded=sorted({CUDA, *(LIB + name for name in inside), *more}),
        images={CUDA: dll(*inside, *outside), **more},
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
    return found.text


def test_a_whole_torch_for_an_old_card():
    found = cuda_summary(built(gpu="K40c"))
    assert (found.release, found.driver) == ("11.7", "452.39")
    assert found.text == (
        "Made for CUDA 11.7, as the label +cu117 and torch/version.py say. "
        "Inside: cuBLAS, CUDA runtime, CUDA's run-time compiler NVRTC and cuDNN. "
        "NVRTC is of CUDA 11.7, nvrtc-builtins64_117.dll fits. "
        "cuDNN is 8.5.0.96. "
        "CUDA 11.7 needs driver 452.39 or later. "
        "CUDA 11.7 still compiles for sm_35 (Kepler); 11.8 is the last that does. "
        "The last driver for the card (Kepler), 470, runs that, but compiles PTX of CUDA 11.4 and before only: "
        "everything needs machine code for sm_35, and what is compiled to PTX at run time fails."
    )


@pytest.mark.parametrize(
    "thing, said",
    [
        (built("11.8"), "torch/version.py says CUDA 11.8, the label +cu117 says 11.7: one of them is wrong."),
        (built(None), "Made for CUDA 11.7, as the label +cu117 says."),
        (built(inside=("cudart64_12.dll",)), "But it has or asks for DLLs of CUDA 12."),
        (built(outside=("cufft64_10.dll", "cusparse64_11.dll")), "needed: cufft64_10.dll and cusparse64_11.dll."),
        (built(builtins="nvrtc-builtins64_118.dll"), "nvrtc-builtins64_118.dll is of another release."),
        (built(outside=("cupti64_2022.3.0.dll",)), "which is that of CUDA 11.8.0, not of 11.7."),
        (built(inside=(), outside=("cudnn64_9.dll",)), "cuDNN is 9."),
        (new("3.5"), "The last driver for the card (Kepler), 470, is too old for that: no device"),
        (new("RTX 5070"), "CUDA 12.4 does not know sm_120 (Blackwell) yet; 12.8 is the first that does."),
        (built("11.8", gpu="GTX 1080"), "The last driver for the card (Maxwell, Pascal or Volta), 580, runs that."),
    ],
)
def test_each_fact_has_its_sentence(thing, said):
    assert said in story(thing)


def test_backends_for_several_releases():
    assert codes(backends()) == []  # which is no mixture
    text = story(backends("K80"))
    assert "By the names of its DLLs it is for CUDA 11 and 12, which do not meet in one process." in text
    assert "CUDA 11 needs driver 452.39 or later and CUDA 12 needs driver 527.41 or later." in text
    assert "470, runs CUDA 11, not 12." in text


def test_nothing_to_tell_without_cuda():
    assert cuda_summary(subject({SITE + "pkg/_core.pyd": dll("python311.dll")}, wheel=wheel())) is None


MODULE = SITE + "pkg/_x.pyd"


CUFFT = SITE + "nvidia/cufft/bin/cufft64_11.dll"
CUDART = SITE + "pkg/cudart64_110.dll"


def of(name: str, version: str, *asked: str, **more: Any) -> Subject:
    """A package that imports these DLLs."""
    edges = [edge(MODULE, one) for one in asked]
    return linked(*edges, wheel=wheel(name, version), images={MODULE: dll(), **more.pop("images", {})}, **more)


def nvidias(name: str, version: str) -> Subject:
    """A package with cuFFT: its version resource lies behind 280 MB, nearly all that was read in a scan by name."""
    return subject({CUFFT: dll("nvJitLink_120_0.dll")}, wheel=wheel(name, version))


@named_cases(
    "thing, text, because",
    {
        "label": (of("pkg", "1.0+cu118"), "11.8", "its version 1.0+cu118"),
        "cupti": (of("pkg", "1.0", "cupti64_2022.2.1.dll", "cublas64_11.dll"), "11.7", "it uses cupti64_2022.2.1.dll"),
        "present": (
            of(
                "pkg",
                "1.0",
                "curand64_10.dll",
                images={CUDART: dll()},
                products={CUDART: "NVIDIA CUDA 11.7.99 Runtime"},
            ),
            "11.7",
            "the DLLs in it are of CUDA 11.7",
        ),
        "names": (
            of("pkg", "1.0", "cublas64_12.dll", "cufft64_11.dll"),
            "12",
            "it uses cublas64_12.dll, cufft64_11.dll",
        ),
        "two backends: neither speaks for the wheel": (of("pkg", "1.0", "cublas64_12.dll", "cublas64_11.dll"), "", ""),
        "the version of NVIDIA's own wheel": (
            nvidias("nvidia_cufft_cu12", "11.4.1.4"),
            "12.9",
            "the DLLs in it are of CUDA 12.9",
        ),
        "not NVIDIA's": (nvidias("cufft_cu12", "11.4.1.4"), "12", "it uses cufft64_11.dll"),
        "an unknown version": (nvidias("nvidia_other_cu12", "1.30"), "12", "it uses cufft64_11.dll"),
    },
)
def test_what_tells_the_release(thing, text, because):
    assert (thing.cuda.text, thing.cuda.because) == (text, because)
