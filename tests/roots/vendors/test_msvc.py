"""The Visual C++ runtime in Visual Studio's folders, and what there must not be passed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.roots.trees import grow, windows
from wheelfix.roots.gather import discover, named_root
from wheelfix.roots.host import Host, RegistryKey
from wheelfix.roots.vendors import msvc

if TYPE_CHECKING:
    from pathlib import Path

REDIST = [
    "14.44.35112/x64/Microsoft.VC143.CRT/msvcp140.dll",
    "14.44.35112/x64/Microsoft.VC143.OpenMP/vcomp140.dll",
    "14.44.35112/onecore/x64/Microsoft.VC143.CRT/msvcp140.dll",
    "14.44.35112/debug_nonredist/x64/Microsoft.VC143.OpenMP.LLVM/libomp140.x86_64.dll",
    "14.29.30133/x64/Microsoft.VC142.CRT/msvcp140.dll",
    "v143/vc_redist.x64.exe",
]


@pytest.mark.parametrize("prefix", ["VC/Redist/MSVC/", "Redist/MSVC/", ""], ids=["Visual Studio", "VC", "Redist"])
def test_versions_newest_first_and_what_is_not_redistributable(tmp_path: Path, prefix: str) -> None:
    root = msvc.recognise(grow(tmp_path, [prefix + name for name in REDIST]))
    assert root is not None
    assert root.version == "14.44.35112"
    assert [(entry.path.removeprefix(prefix), entry.redistributable) for entry in root.folders] == [
        ("14.44.35112/x64/Microsoft.VC143.CRT", True),
        ("14.44.35112/x64/Microsoft.VC143.OpenMP", True),
        ("14.44.35112/debug_nonredist/x64/Microsoft.VC143.OpenMP.LLVM", False),
        ("14.29.30133/x64/Microsoft.VC142.CRT", True),
    ]


def test_one_version_as_the_developer_prompt_names_it(tmp_path: Path) -> None:
    folder = grow(tmp_path / "MSVC", REDIST) / "14.29.30133"
    (root,) = discover(windows(tmp_path, {"VCTOOLSREDISTDIR": f"{folder}/"}))
    assert (root.kind, root.version, root.learned) == ("msvc", "14.29.30133", "environment variable VCToolsRedistDir")


def test_one_folder_of_it_named_by_itself_keeps_its_terms(tmp_path: Path) -> None:
    base = grow(tmp_path, REDIST) / "14.44.35112"
    free = named_root(base / "x64" / "Microsoft.VC143.OpenMP", Host())
    bound = named_root(base / "debug_nonredist" / "x64" / "Microsoft.VC143.OpenMP.LLVM", Host())
    assert [entry.redistributable for root in (free, bound) for entry in root.folders] == [True, False]


def test_default_folders_newest_release_first(tmp_path: Path) -> None:
    files = ["VC/Redist/MSVC/" + name for name in REDIST]
    grow(tmp_path / "Program Files" / "Microsoft Visual Studio" / "2022" / "Community", files)
    grow(tmp_path / "Program Files" / "Microsoft Visual Studio" / "18" / "Professional", files)
    old = grow(tmp_path / "Program Files (x86)" / "Microsoft Visual Studio" / "2017" / "BuildTools", files)
    keys = {msvc.REGISTRY: RegistryKey({"15.0": str(old)})}
    found = discover(windows(tmp_path, registry=keys.get))
    assert [(root.path.parent.name, root.learned) for root in found] == [
        ("2017", "registry"),
        ("18", "default path"),
        ("2022", "default path"),
    ]
