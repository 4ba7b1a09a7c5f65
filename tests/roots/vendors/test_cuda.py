"""CUDA toolkits of several generations are recognised, with version and folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.roots.trees import folders, grow, windows
from wheelfix.roots.gather import discover, explore
from wheelfix.roots.host import RegistryKey
from wheelfix.roots.vendors import cuda

if TYPE_CHECKING:
    from pathlib import Path

V102 = {
    "version.txt": "CUDA Version 10.2.89\n",
    "bin/cudart64_102.dll": b"MZ",
    "extras/CUPTI/lib64/cupti64_102.dll": b"MZ",
}
V117 = {
    "version.json": '{"cuda": {"name": "CUDA SDK", "version": "11.7.1"}}',
    "bin/cudart64_110.dll": b"MZ",
    "bin/nvcc.exe": b"MZ",
    "extras/CUPTI/lib64/cupti64_2022.2.1.dll": b"MZ",
    "nvvm/bin/nvvm64_40_0.dll": b"MZ",
    "lib/x64/cudart.lib": b"!",
}
V130 = {
    "version.json": '{"cuda": {"name": "CUDA SDK", "version": "13.0.20250905"}}',
    "bin/nvcc.exe": b"MZ",
    "bin/x64/cudart64_13.dll": b"MZ",
    "extras/CUPTI/lib64/cupti64_2025.3.0.dll": b"MZ",
    "nvvm/bin/x64/nvvm70.dll": b"MZ",
}
V134 = {
    "version.json": '{"cuda": {"version": "13.4.0"}}',
    "bin/x64/cudart64_13.dll": b"MZ",
    "bin/x64/cupti64_2026.3.0.dll": b"MZ",
    "extras/CUPTI/lib/x64/nvperf_host.dll": b"MZ",
}
ARCHIVE = {"lib/cudart64_110.dll": b"MZ", "lib/nvrtc-builtins64_114.dll": b"MZ"}
ODD_CASE = {"BIN/CUDART64_110.DLL": b"MZ", "Extras/cupti/LIB64/CUPTI64_2022.2.1.DLL": b"MZ"}


@pytest.mark.parametrize(
    ("files", "version", "expected"),
    [
        pytest.param(V102, "10.2", ["bin", "extras/CUPTI/lib64"], id="10.2 with version.txt"),
        pytest.param(V117, "11.7.1", ["bin", "extras/CUPTI/lib64", "nvvm/bin"], id="11.7"),
        pytest.param(V130, "13.0", ["bin/x64", "extras/CUPTI/lib64", "nvvm/bin/x64"], id="13.0, a date in the version"),
        pytest.param(V134, "13.4.0", ["bin/x64", "extras/CUPTI/lib/x64"], id="13.4"),
        pytest.param(ARCHIVE, "11.4", ["lib"], id="redistributable archive"),
        pytest.param(ODD_CASE, "", ["BIN", "Extras/cupti/LIB64"], id="other case"),
    ],
)
def test_layouts(tmp_path: Path, files: dict[str, bytes | str], version: str, expected: list[str]) -> None:
    root = cuda.recognise(grow(tmp_path / "toolkit", files))
    assert root is not None
    assert root.kind == "cuda"
    assert root.version == version
    assert folders(root) == expected


@pytest.mark.parametrize(
    ("text", "release"),
    [("12.4.1", "12.4.1"), ("11.8.20220929", "11.8"), ("10.2.89", "10.2"), ("11.7", "11.7"), ("nonsense", "")],
)
def test_release_as_nvidia_writes_it(text: str, release: str) -> None:
    assert cuda.toolkit_release(text) == release


@pytest.mark.parametrize("text", ["{", "[]", '{"cuda": 3}', '{"cuda": {}}', "\x00\xff", "[" * 5000])
def test_broken_version_json_falls_back_to_the_folder_name(tmp_path: Path, text: str) -> None:
    folder = grow(tmp_path / "v11.7", {"version.json": text, "bin/cudart64_110.dll": b"MZ"})
    root = cuda.recognise(folder)
    assert root is not None
    assert root.version == "11.7"
    assert root.notes == ("version.json cannot be read; the version was taken from names",)


def test_cudnn_copied_by_hand_is_noted(tmp_path: Path) -> None:
    folder = grow(tmp_path / "v11.7", {**V117, "bin/cudnn64_8.dll": b"MZ"})
    root = cuda.recognise(folder)
    assert root is not None
    assert root.notes == ("cuDNN was copied into bin",)


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"bin/nvcc": b"x", "lib64/libcudart.so": b"x"}, id="a toolkit for Linux"),
        pytest.param({"bin/zlib1.dll": b"MZ"}, id="some other program"),
        pytest.param({"version.json": '{"cuda": {"version": "12.4.1"}}'}, id="no DLLs at all"),
    ],
)
def test_not_a_toolkit(tmp_path: Path, files: dict[str, bytes | str]) -> None:
    assert cuda.recognise(grow(tmp_path, files)) is None


def test_found_through_variables_registry_and_default_folder_once_each(tmp_path: Path) -> None:
    default = tmp_path / "Program Files" / "NVIDIA GPU Computing Toolkit" / "CUDA"
    v117 = grow(default / "v11.7", V117)
    v130 = grow(default / "v13.0", V130)
    elsewhere = grow(tmp_path / "D" / "cuda10", V102)
    keys = {
        cuda.REGISTRY: RegistryKey(subkeys=("v10.2", "v13.0")),
        cuda.REGISTRY + r"\v10.2": RegistryKey({"InstallDir": str(elsewhere)}),
        cuda.REGISTRY + r"\v13.0": RegistryKey({"InstallDir": str(v130)}),
    }
    env = {"CUDA_PATH": f'"{v117}"', "CUDA_PATH_V11_7": str(v117), "CUDA_PATH_V9_0": str(tmp_path / "gone")}
    found = explore(windows(tmp_path, env, registry=keys.get))

    assert [(root.path, root.version, root.learned) for root in found.roots] == [
        (v117, "11.7.1", "environment variable CUDA_PATH"),
        (elsewhere, "10.2", "registry"),
        (v130, "13.0", "registry"),
    ]
    assert found.roots[0].notes == ("also environment variable CUDA_PATH_V11_7", "also default path")
    assert [(remark.learned, remark.reason) for remark in found.remarks] == [
        ("environment variable CUDA_PATH_V9_0", "no such folder")
    ]


def test_a_relative_variable_never_means_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path / "v11.7", V117)
    monkeypatch.chdir(tmp_path)
    assert discover(windows(tmp_path, {"CUDA_PATH": "v11.7"})) == ()
