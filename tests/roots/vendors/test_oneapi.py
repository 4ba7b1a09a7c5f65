"""oneAPI in the layouts of three generations, whole and by component."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.roots.trees import folders, grow, link, windows
from wheelfix.roots.gather import discover
from wheelfix.roots.vendors import oneapi

if TYPE_CHECKING:
    from pathlib import Path

UNTIL_2023 = [
    "mkl/latest/redist/intel64/mkl_core.2.dll",
    "compiler/latest/windows/redist/intel64_win/compiler/libiomp5md.dll",
    "tbb/latest/redist/intel64/vc14/tbb12.dll",
]
SINCE_2024 = ["mkl/latest/bin/mkl_core.2.dll", "compiler/latest/bin/libiomp5md.dll", "umf/latest/bin/umf.dll"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            UNTIL_2023,
            [
                "mkl/latest/redist/intel64",
                "compiler/latest/windows/redist/intel64_win/compiler",
                "tbb/latest/redist/intel64/vc14",
            ],
            id="up to 2023",
        ),
        pytest.param(SINCE_2024, ["mkl/latest/bin", "compiler/latest/bin", "umf/latest/bin"], id="from 2024"),
        pytest.param(
            ["2024.2/bin/mkl_core.2.dll", "2025.0/bin/mkl_core.2.dll"], ["2025.0/bin", "2024.2/bin"], id="unified"
        ),
        pytest.param(
            ["mkl/2023.2.0/redist/intel64/mkl_core.2.dll", "mkl/2025.3/bin/mkl_core.2.dll"],
            ["mkl/2025.3/bin", "mkl/2023.2.0/redist/intel64"],
            id="several versions without latest",
        ),
    ],
)
def test_installations(tmp_path: Path, files: list[str], expected: list[str]) -> None:
    root = oneapi.recognise(grow(tmp_path / "oneAPI", files))
    assert root is not None
    assert root.kind == "oneapi"
    assert folders(root) == expected


def test_latest_is_a_link_and_counts_once_with_the_version_it_leads_to(tmp_path: Path) -> None:
    base = grow(
        tmp_path / "oneAPI",
        ["mkl/2022.1.0/redist/intel64/mkl_core.2.dll", "mkl/2023.2.0/redist/intel64/mkl_core.2.dll"],
    )
    link(base / "mkl" / "latest", base / "mkl" / "2023.2.0")
    root = oneapi.recognise(base)
    assert root is not None
    assert [(entry.path, entry.version) for entry in root.folders] == [
        ("mkl/latest/redist/intel64", "2023.2.0"),
        ("mkl/2022.1.0/redist/intel64", "2022.1.0"),
    ]
    assert root.version == "2023.2.0"


@pytest.mark.parametrize(
    ("name", "files", "version", "expected"),
    [
        pytest.param("2023.2.0", ["redist/intel64/mkl_core.2.dll"], "2023.2.0", ["redist/intel64"], id="MKLROOT"),
        pytest.param("2025.3", ["bin/mkl_core.2.dll"], "2025.3", ["bin"], id="MKLROOT from 2024"),
        pytest.param(
            "mkl", ["2023.2.0/redist/intel64/mkl_core.2.dll"], "2023.2.0", ["2023.2.0/redist/intel64"], id="mkl"
        ),
        pytest.param(
            "2023.2.1",
            ["windows/redist/intel64_win/compiler/libiomp5md.dll"],
            "2023.2.1",
            ["windows/redist/intel64_win/compiler"],
            id="CMPLR_ROOT",
        ),
    ],
)
def test_components(tmp_path: Path, name: str, files: list[str], version: str, expected: list[str]) -> None:
    root = oneapi.recognise(grow(tmp_path / name, files))
    assert root is not None
    assert (root.version, folders(root)) == (version, expected)


def test_other_programs_with_a_bin_are_not_oneapi(tmp_path: Path) -> None:
    assert oneapi.recognise(grow(tmp_path / "2024.1", ["bin/zlib1.dll"])) is None


def test_a_component_inside_the_installation_is_told_once(tmp_path: Path) -> None:
    base = grow(tmp_path / "Program Files (x86)" / "Intel" / "oneAPI", ["mkl/2023.2.0/redist/intel64/mkl_core.2.dll"])
    env = {"MKLROOT": str(base / "mkl" / "2023.2.0"), "ONEAPI_ROOT": str(base)}
    (root,) = discover(windows(tmp_path, env))
    assert root.path == base
    assert root.learned == "environment variable ONEAPI_ROOT"
    assert f"environment variable MKLROOT names {base / 'mkl' / '2023.2.0'} in it" in root.notes
