"""cuDNN archives and installers of 8 and 9 are recognised, with the CUDA release that each folder is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.roots.trees import grow, windows
from wheelfix.roots.gather import discover
from wheelfix.roots.vendors import cudnn

if TYPE_CHECKING:
    from pathlib import Path

HEADER = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 4\n#define CUDNN_PATCHLEVEL 0\n"


@pytest.mark.parametrize(
    ("name", "files", "version", "expected"),
    [
        pytest.param(
            "cudnn-windows-x86_64-8.9.7.29_cuda11-archive",
            ["bin/cudnn64_8.dll", "bin/cudnn_ops_infer64_8.dll", "lib/x64/cudnn.lib"],
            "8.9.7.29",
            [("bin", "11")],
            id="archive of 8",
        ),
        pytest.param(
            "cudnn-11.4-windows-x64-v8.2.4.15", ["bin/cudnn64_8.dll"], "8.2.4.15", [("bin", "11.4")], id="older archive"
        ),
        pytest.param(
            "cudnn-windows-x86_64-9.18.0.77_cuda12-archive",
            ["bin/x64/cudnn64_9.dll", "lib/x64/cudnn.lib"],
            "9.18.0.77",
            [("bin/x64", "12")],
            id="archive from 9.18",
        ),
        pytest.param("v8.9", ["bin/cudnn64_8.dll"], "8.9", [("bin", "")], id="installer of 8"),
        pytest.param(
            "v9.4",
            ["bin/11.8/cudnn64_9.dll", "bin/12.6/cudnn64_9.dll"],
            "9.4",
            [("bin/12.6", "12.6"), ("bin/11.8", "11.8")],
            id="installer of 9",
        ),
        pytest.param(
            "v9.24",
            ["bin/12.9/x64/cudnn64_9.dll", "bin/13.2/x64/cudnn64_9.dll"],
            "9.24",
            [("bin/13.2/x64", "13.2"), ("bin/12.9/x64", "12.9")],
            id="newest installer",
        ),
    ],
)
def test_layouts(tmp_path: Path, name: str, files: list[str], version: str, expected: list[tuple[str, str]]) -> None:
    root = cudnn.recognise(grow(tmp_path / name, files))
    assert root is not None
    assert root.version == version
    assert [(entry.path, entry.cuda) for entry in root.folders] == expected


@pytest.mark.parametrize("where", ["include/cudnn_version.h", "include/12.6/cudnn_version.h"])
def test_the_header_knows_the_patch(tmp_path: Path, where: str) -> None:
    root = cudnn.recognise(grow(tmp_path / "v9.4", {"bin/12.6/cudnn64_9.dll": b"MZ", where: HEADER}))
    assert root is not None
    assert root.version == "9.4.0"


def test_a_toolkit_with_cudnn_copied_into_it_is_no_cudnn(tmp_path: Path) -> None:
    assert cudnn.recognise(grow(tmp_path, ["bin/cudnn64_8.dll", "bin/cudart64_110.dll"])) is None


def test_found_by_variable_and_default_folder(tmp_path: Path) -> None:
    installed = tmp_path / "Program Files" / "NVIDIA" / "CUDNN"
    grow(installed, ["v8.9/bin/cudnn64_8.dll", "v9.4/bin/12.6/cudnn64_9.dll", "v9.13/bin/13.0/cudnn64_9.dll"])
    unpacked = grow(tmp_path / "cudnn", ["bin/cudnn64_8.dll"])
    found = discover(windows(tmp_path, {"CUDNN_PATH": str(unpacked)}))
    assert [(root.version, root.learned) for root in found] == [
        ("", "environment variable CUDNN_PATH"),
        ("9.13", "default path"),
        ("9.4", "default path"),
        ("8.9", "default path"),
    ]
