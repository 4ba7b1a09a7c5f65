"""Hints for the CUDA DLLs of real GPU packages: they name wheels of the right CUDA, which the index has, with the DLL.

The names are those in the import tables of the releases, or that they load by name (``build_info.py`` of TensorFlow,
the table of cuda-pathfinder); the CUDA major is what the release says about itself, or what the names themselves say.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

from tools.package_index import IndexFile, PackageIndex
from tools.remote_wheel import read_contents
from wheelfix.knowledge.cuda import cuda_majors_for
from wheelfix.knowledge.providers import pip_packages
from wheelfix.model import dll_key

if TYPE_CHECKING:
    from packaging.version import Version

CUDA_11 = ("cublas64_11.dll", "cublasLt64_11.dll", "cudart64_110.dll", "cufft64_10.dll", "curand64_10.dll")
CUDA_12 = ("cublas64_12.dll", "cublasLt64_12.dll", "cudart64_12.dll", "cufft64_11.dll")
SOLVERS = ("cusolver64_11.dll",)
RELEASES = {
    "ctranslate2 3.24.0": ("11", ("cublas64_11.dll", "cudnn_ops_infer64_8.dll")),
    "ctranslate2 4.8.4": ("12", ("cublas64_12.dll", "cudnn_ops64_9.dll")),
    "cupy-cuda11x 11.6.0": ("11", (*CUDA_11, *SOLVERS, "cusparse64_11.dll", "nvrtc64_112_0.dll")),
    "cupy-cuda12x 13.6.0": (
        "12",
        ("cublas64_12.dll", "cufft64_11.dll", "curand64_10.dll", *SOLVERS, "cusparse64_12.dll", "nvrtc64_120_0.dll"),
    ),
    "cupy-cuda13x 14.2.0": (
        "13",
        (
            *("cublas64_13.dll", "cufft64_12.dll", "curand64_10.dll", "cusolver64_12.dll"),
            *("cusparse64_12.dll", "nvrtc64_130_0.dll"),
        ),
    ),
    "onnxruntime-gpu 1.18.1": ("11", (*CUDA_11[:2], "cudart64_110.dll", "cufft64_10.dll", "cudnn64_8.dll")),
    "onnxruntime-gpu 1.22.0": ("12", (*CUDA_12, "cudnn64_9.dll")),
    "onnxruntime-gpu 1.31.1": ("13", ("cublas64_13.dll", "cublasLt64_13.dll", "cufft64_12.dll", "cudnn64_9.dll")),
    "tensorflow-gpu 2.9.3": ("11", (*CUDA_11, *SOLVERS, "cusparse64_11.dll", "cudnn64_8.dll")),
    "tensorflow-gpu 2.10.1": ("11", (*CUDA_11, *SOLVERS, "cusparse64_11.dll", "cudnn64_8.dll")),
    "bitsandbytes 0.45.5": ("12", ("cublas64_12.dll", "cublasLt64_12.dll", "cudart64_12.dll")),
    "cuda-pathfinder 1.8.6, CUDA 12": ("12", ("cudart64_12.dll", "nvrtc64_120_0.dll", "nvJitLink_120_0.dll")),
    "cuda-pathfinder 1.8.6, CUDA 13": ("13", ("cudart64_13.dll", "nvrtc64_130_0.dll", "nvJitLink_130_0.dll")),
}


def hints() -> list[tuple[str, str]]:
    """Every DLL with the CUDA major it is asked for, none twice."""
    return sorted({(name, major) for major, names in RELEASES.values() for name in names})


@pytest.mark.parametrize(("name", "major"), hints())
def test_the_hint_is_for_the_right_cuda(name: str, major: str) -> None:
    """In CUDA 13 the distributions lose their suffix; cuDNN's keep it."""
    requirement = pip_packages(name, cuda=major)
    assert len(requirement) == 1
    distribution = Requirement(requirement[0]).name
    assert distribution.endswith(f"-cu{major}") or (major == "13" and "-cu1" not in distribution)


@pytest.mark.parametrize("name", sorted({name for name, _ in hints() if len(cuda_majors_for(name)) == 1}))
def test_a_name_that_belongs_to_one_cuda_needs_no_more(name: str) -> None:
    (major,) = cuda_majors_for(name)
    assert pip_packages(name) == pip_packages(name, cuda=str(major))


@pytest.mark.real
@pytest.mark.parametrize(("name", "major"), hints())
def test_the_wheel_that_a_hint_names_is_on_the_index_and_has_the_dll(name: str, major: str) -> None:
    requirement = pip_packages(name, cuda=major)[0]
    assert dll_key(name) in {path.rpartition("/")[2] for path in dlls_of_newest(requirement)}, requirement


@functools.cache
def dlls_of_newest(requirement: str) -> tuple[str, ...]:
    """The DLLs in the newest wheel for Windows that a requirement allows."""
    wanted, index = Requirement(requirement), PackageIndex()
    files = {version: file for file in index.files(wanted.name) if (version := _version(file)) is not None}
    fitting = [version for version in files if wanted.specifier.contains(version)]
    assert fitting, f"{requirement}: no wheel for Windows on the index"
    return read_contents(index, files[max(fitting)]).dlls


def _version(file: IndexFile) -> Version | None:
    if not file.name.endswith("win_amd64.whl"):
        return None
    return parse_wheel_filename(file.name)[1]
