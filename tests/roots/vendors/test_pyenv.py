"""Python environments that pip filled with vendors' DLLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.roots.trees import folders, grow, windows
from wheelfix.roots.gather import discover
from wheelfix.roots.index import RootIndex
from wheelfix.roots.vendors import pyenv

if TYPE_CHECKING:
    from pathlib import Path

SITE = "Lib/site-packages"
NVIDIA = {
    f"{SITE}/nvidia/cuda_cupti/extras/CUPTI/lib64/cupti64_2022.2.1.dll": b"MZ",
    f"{SITE}/nvidia_cuda_cupti_cu11-11.7.101.dist-info/RECORD": (
        "nvidia/cuda_cupti/extras/CUPTI/lib64/cupti64_2022.2.1.dll,sha256=x,1\nnvidia/__init__.py,,\n"
    ),
    f"{SITE}/nvidia/cublas/lib/x64/cublas64_11.dll": b"MZ",
    f"{SITE}/nvidia/cudnn/bin/cudnn64_8.dll": b"MZ",
    f"{SITE}/nvidia/cuda_nvcc/nvvm/bin/nvvm64_40_0.dll": b"MZ",
    f"{SITE}/nvidia/cu13/bin/x86_64/cudart64_13.dll": b"MZ",
}
INTEL = {
    "Library/bin/mkl_core.2.dll": b"MZ",
    f"{SITE}/mkl-2023.2.0.dist-info/RECORD": '../../Library/bin/mkl_core.2.dll,sha256=x,1\n"a,b.py",,\n',
}


def test_nvidia_packages(tmp_path: Path) -> None:
    root = pyenv.recognise(grow(tmp_path, NVIDIA))
    assert root is not None
    assert [(entry.path.removeprefix(f"{SITE}/nvidia/"), entry.cuda) for entry in root.folders] == [
        ("cu13/bin/x86_64", "13"),
        ("cublas/lib/x64", ""),
        ("cuda_cupti/extras/CUPTI/lib64", ""),
        ("cuda_nvcc/nvvm/bin", ""),
        ("cudnn/bin", ""),
    ]
    (file,) = RootIndex([root]).candidates("cupti64_2022.2.1.dll")
    assert (file.package, file.version_hint) == ("nvidia-cuda-cupti-cu11", "11.7.101")


def test_intel_packages_lie_in_library_bin(tmp_path: Path) -> None:
    root = pyenv.recognise(grow(tmp_path, INTEL))
    assert folders(root) == ["Library/bin"]
    assert root is not None
    (file,) = RootIndex([root]).candidates("mkl_core.2.dll")
    assert file.origin == "wheel mkl 2023.2.0"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(["Python311/site-packages/nvidia/cudnn/bin/cudnn64_8.dll"], 1, id="user site"),
        pytest.param(["lib/python3.11/site-packages/nvidia/cudnn/bin/cudnn64_8.dll"], 1, id="POSIX prefix"),
        pytest.param(["mkl-2023.2.0.dist-info/RECORD", "Library/bin/mkl_core.2.dll"], 1, id="pip --target"),
        pytest.param([f"{SITE}/x.py", "Scripts/msvcp140.dll", "msvcp140.dll"], 2, id="msvc-runtime"),
        pytest.param([f"{SITE}/x.py", "python311.dll", "vcruntime140.dll", "Scripts/tool.dll"], 0, id="Python itself"),
        pytest.param([f"{SITE}/numpy/core/x.pyd"], 0, id="nothing for us"),
        pytest.param(["nvidia/cudnn/bin/cudnn64_8.dll"], 0, id="no environment"),
    ],
)
def test_environments(tmp_path: Path, files: list[str], expected: int) -> None:
    assert len(folders(pyenv.recognise(grow(tmp_path, files)))) == expected


def test_conda_and_pip_share_an_environment_without_telling_a_folder_twice(tmp_path: Path) -> None:
    prefix = grow(tmp_path / "env", {**NVIDIA, **INTEL, "conda-meta/history": ""})
    found = discover(windows(tmp_path, {"CONDA_PREFIX": str(prefix)}, prefixes=((prefix, "the running Python"),)))
    assert [(root.kind, "Library/bin" in folders(root)) for root in found] == [("conda", True), ("pip", False)]
