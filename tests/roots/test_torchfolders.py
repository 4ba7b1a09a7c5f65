"""The folders of this machine that torch's own code adds to the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.roots.trees import grow, windows
from wheelfix.roots.torchfolders import known_toolkit, searched_nvtx, searched_toolkit

if TYPE_CHECKING:
    from pathlib import Path

CUDART = "cudart64_110.dll"


def test_the_variable_of_the_very_release_comes_before_the_default_folder(tmp_path: Path) -> None:
    named = grow(tmp_path / "elsewhere", [f"bin/{CUDART}", "bin/cudnn64_8.dll"])
    grow(tmp_path / "Program Files/NVIDIA GPU Computing Toolkit/CUDA/v11.7", [f"bin/{CUDART}"])
    found = searched_toolkit("11.7", windows(tmp_path, {"CUDA_PATH_V11_7": str(named)}))
    assert found is not None
    assert (found.label, found.dlls) == (f"CUDA_PATH_V11_7={named}", {CUDART, "cudnn64_8.dll"})
    default = searched_toolkit("11.7", windows(tmp_path))
    assert default is not None
    assert default.dlls == {CUDART}


def test_other_releases_and_other_variables_do_not_count(tmp_path: Path) -> None:
    toolkit = grow(tmp_path / "CUDA/v11.7", [f"bin/{CUDART}"])
    host = windows(tmp_path, {"CUDA_PATH": str(toolkit), "CUDA_PATH_V11_8": str(toolkit)})
    assert searched_toolkit("11.7", host) is None
    known = known_toolkit("11.7", host)  # an assumed toolkit may lie anywhere
    assert known is not None
    assert known.label == str(toolkit)
    assert known_toolkit("11.4", host) is None


def test_a_variable_that_leads_nowhere_is_believed_as_torch_does(tmp_path: Path) -> None:
    grow(tmp_path / "Program Files/NVIDIA GPU Computing Toolkit/CUDA/v11.7", [f"bin/{CUDART}"])
    assert searched_toolkit("11.7", windows(tmp_path, {"CUDA_PATH_V11_7": str(tmp_path / "gone")})) is None


def test_nvtx_has_a_folder_of_its_own(tmp_path: Path) -> None:
    assert searched_nvtx(windows(tmp_path)) is None
    grow(tmp_path / "Program Files/NVIDIA Corporation/NvToolsExt", ["bin/x64/nvToolsExt64_1.dll"])
    found = searched_nvtx(windows(tmp_path))
    assert found is not None
    assert found.dlls == {"nvtoolsext64_1.dll"}
    other = grow(tmp_path / "other", ["bin/x64/nvToolsExt64_1.dll"])
    named = searched_nvtx(windows(tmp_path, {"NVTOOLSEXT_PATH": str(other)}))
    assert named is not None
    assert named.label == f"NVTOOLSEXT_PATH={other}"
