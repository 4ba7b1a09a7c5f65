"""Which releases a candidate may be of, by its package, folder, name, version and neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.roots.trees import dll, grow
from tests.support.nvidia import TOOLKITS, nvidia_dll, toolkit_files
from tests.support.wheels import build_wheel
from wheelfix.roots.gather import named_root
from wheelfix.roots.host import Host
from wheelfix.roots.index import RootIndex
from wheelfix.roots.release import (
    cuda_compatibility,
    cuda_of_package,
    cuda_release_of,
    possible_releases,
    shown_version,
    stated_version,
)

if TYPE_CHECKING:
    from pathlib import Path

HOST = Host()


def releases(where: Path, name: str) -> set[str]:
    """What the only file of that name in a root may be of."""
    with RootIndex([named_root(where, HOST)]) as index:
        (file,) = index.candidates(name)
        return set(possible_releases(file, index))


@pytest.mark.parametrize(
    ("package", "version", "name", "expected"),
    [
        ("nvidia-curand-cu11", "10.2.10.91", "curand64_10.dll", {"11.7"}),
        ("nvidia-cuda-runtime-cu11", "11.8.89", "cudart64_110.dll", {"11.8"}),
        ("nvidia-cuda-nvrtc-cu11", "11.7.99", "nvrtc-builtins64_117.dll", {"11.7"}),
        ("mkl", "2025.3.0", "mkl_rt.2.dll", {"2025.3"}),
        ("tbb", "2021.13.1", "tbb12.dll", {"2021.13"}),
    ],
)
def test_a_vendors_package_tells_it(tmp_path: Path, package: str, version: str, name: str, expected: set[str]) -> None:
    wheel = build_wheel(tmp_path, package, version, "py3-none-win_amd64", {f"x/{name}": dll(name)})
    assert releases(wheel, name) == expected


def test_a_package_that_carries_a_copy_tells_nothing_about_it(tmp_path: Path) -> None:
    """torch 2.7 with MKL in it is not MKL 2.7."""
    files = {
        "torch/lib/mkl_rt.2.dll": dll("mkl_rt.2.dll", version=(2023, 2, 1, 0)),
        "torch/lib/curand64_10.dll": nvidia_dll("curand64_10.dll", "10.3.0.86"),
    }
    wheel = build_wheel(tmp_path, "torch", "2.7.1", "cp311-cp311-win_amd64", files)
    assert releases(wheel, "mkl_rt.2.dll") == {"2023.2"}
    assert releases(wheel, "curand64_10.dll") == {"11.8"}


def test_neighbours_tell_it_where_a_version_is_not_in_the_table(tmp_path: Path) -> None:
    files = toolkit_files("11.7") | {"bin/curand64_10.dll": nvidia_dll("curand64_10.dll", "10.2.10.50")}
    assert releases(grow(tmp_path / "dlls", files) / "bin", "curand64_10.dll") == {"11.7"}


def test_a_name_alone_leaves_all_releases_that_have_it(tmp_path: Path) -> None:
    folder = grow(tmp_path, {"cublas64_11.dll": dll("cublas64_11.dll")})
    assert {"11.0", "11.8"} < releases(folder, "cublas64_11.dll")
    assert not any(name.startswith("12") for name in releases(folder, "cublas64_11.dll"))


def test_a_release_that_the_tables_do_not_know_is_believed_where_the_toolkit_tells_it(tmp_path: Path) -> None:
    files = {"version.json": '{"cuda": {"version": "13.9.0"}}', "bin/cudart64_13.dll": dll("cudart64_13.dll")}
    assert releases(grow(tmp_path, files), "cudart64_13.dll") == {"13.9"}


def test_versions_that_compare_and_that_are_shown(tmp_path: Path) -> None:
    files = toolkit_files("11.8") | {"bin/cudnn64_8.dll": dll("cudnn64_8.dll", version=(8, 9, 5, 29))}
    with RootIndex([named_root(grow(tmp_path / "v11.8", files), HOST)]) as index:
        (curand,), (cudnn,) = index.candidates("curand64_10.dll"), index.candidates("cudnn64_8.dll")
        assert stated_version(curand, index) == (10, 3, 0, 86)
        assert shown_version(curand, index) == TOOLKITS["11.8"]["curand64_10.dll"]
        assert shown_version(cudnn, index) == "8.9.5.29"


def test_a_folder_of_another_release_is_not_believed_against_the_name_of_the_dll(tmp_path: Path) -> None:
    """Somebody copied a DLL of CUDA 11 into the folder of CUDA 12.1: it is not "for CUDA 12.1"."""
    files = {**toolkit_files("12.1"), "bin/cublas64_11.dll": dll("cublas64_11.dll")}
    with RootIndex([named_root(grow(tmp_path / "v12.1", files), HOST)]) as index:
        (stray,) = index.candidates("cublas64_11.dll")
        (own,) = index.candidates("cublas64_12.dll")
        assert cuda_release_of(stray, index) == "11"
        assert cuda_release_of(own, index) == "12.1"


@pytest.mark.parametrize(
    ("package", "version", "cuda"),
    [
        ("nvidia-cuda-cupti-cu11", "11.7.101", "11.7"),
        ("nvidia_cuda_nvrtc_cu12", "12.4.127", "12.4"),
        ("nvidia-nvjitlink-cu12", "12.4.127", "12.4"),
        ("cuda-cudart", "12.6.77", "12.6"),
        ("cudatoolkit", "11.3.1", "11.3"),
        ("nvidia-cublas-cu11", "11.10.3.66", "11"),
        ("nvidia-cudnn-cu12", "9.1.0.70", "12"),
        ("cupy-cuda11x", "11.6.0", "11"),
        ("cupy-cuda117", "10.6.0", "11"),
        ("torch", "2.0.1+cu117", "11.7"),
        ("libcublas", "12.4.5.8", ""),
        ("nvidia-cuda-runtime", "0.0.1", ""),
        ("mkl", "2023.2.0", ""),
        ("", "", ""),
    ],
)
def test_release_of_a_package(package: str, version: str, cuda: str) -> None:
    assert cuda_of_package(package, version) == cuda


@pytest.mark.parametrize(
    ("told", "wanted", "fit"),
    [
        ("11.7", "11.7", 3),
        ("11.7", "11.7.1", 3),
        ("11.8", "11.7", 2),
        ("11", "11.7", 2),
        ("", "11.7", 1),
        ("11.7", "", 1),
        ("x", "11.7", 1),
        ("12.4", "11.7", 0),
    ],
)
def test_fit(told: str, wanted: str, fit: int) -> None:
    assert cuda_compatibility(told, wanted) == fit
