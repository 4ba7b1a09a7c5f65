"""NvToolsExt is found where torch's own loader looks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.roots.trees import folders, grow, windows
from wheelfix.roots.gather import discover, explore

if TYPE_CHECKING:
    from pathlib import Path

FILE = "bin/x64/nvToolsExt64_1.dll"


def test_default_folder(tmp_path: Path) -> None:
    grow(tmp_path / "Program Files" / "NVIDIA Corporation" / "NvToolsExt", [FILE])
    (root,) = discover(windows(tmp_path))
    assert (root.kind, root.learned, folders(root)) == ("nvtoolsext", "default path", ["bin/x64"])


def test_variable_comes_first_and_a_wrong_one_is_remarked(tmp_path: Path) -> None:
    grow(tmp_path / "Program Files" / "NVIDIA Corporation" / "NvToolsExt", [FILE])
    grow(tmp_path / "empty", ["readme.txt"])
    found = explore(windows(tmp_path, {"NVTOOLSEXT_PATH": str(tmp_path / "empty")}))
    assert [root.learned for root in found.roots] == ["default path"]
    assert found.remarks[0].reason == "not NvToolsExt: a folder with nvToolsExt64_*.dll in bin\\x64"
