"""Roots that others can write to come with a warning."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.roots.trees import grow, windows
from wheelfix.roots.gather import discover, named_root
from wheelfix.roots.host import Host, writers_by_descriptor

if TYPE_CHECKING:
    from pathlib import Path

posix_only = pytest.mark.skipif(os.name == "nt", reason="permission bits are POSIX's")

PROGRAM_FILES = (
    "D:PAI(A;;FA;;;S-1-5-80-956008885)(A;CIIO;GA;;;S-1-5-80-956008885)(A;;0x1301bf;;;SY)(A;OICIIO;GA;;;SY)"
    "(A;;0x1301bf;;;BA)(A;OICIIO;GA;;;BA)(A;;0x1200a9;;;BU)(A;OICIIO;GXGR;;;BU)(A;OICIIO;GA;;;CO)"
)
BELOW_DRIVE = (
    "D:AI(A;OICIID;FA;;;BA)(A;OICIID;FA;;;SY)(A;OICIID;0x1200a9;;;BU)(A;ID;0x1301bf;;;AU)(A;OICIIOID;SDGXGWGR;;;AU)"
)


@pytest.mark.parametrize(
    ("sddl", "expected"),
    [
        pytest.param(PROGRAM_FILES, (), id="Program Files"),
        pytest.param(BELOW_DRIVE, ("all authenticated users",), id="a folder below the drive"),
        pytest.param("D:(A;OICI;FA;;;WD)", ("everyone",), id="everyone"),
        pytest.param("D:(A;OICI;0x1201ff;;;S-1-5-32-545)", ("all users of this machine",), id="by number"),
        pytest.param("D:(D;OICI;FA;;;WD)", (), id="denied"),
        pytest.param("D:(A;;LC;;;AU)", (), id="may add folders only"),
        pytest.param("D:NO_ACCESS_CONTROL", ("everyone",), id="no list at all"),
        pytest.param("O:BAG:SYD:(A;;FA;;;BA)", (), id="administrators"),
        pytest.param("", (), id="not told"),
        pytest.param("D:(A;;0xZZ;;;WD)(A;)", (), id="nonsense"),
    ],
)
def test_access_lists_of_windows(sddl: str, expected: tuple[str, ...]) -> None:
    assert writers_by_descriptor(sddl) == expected


def test_windows_folder_that_all_users_can_write_to(tmp_path: Path) -> None:
    folder = grow(tmp_path / "cuda", ["bin/cudart64_110.dll"])
    lists = {folder: PROGRAM_FILES, folder / "bin": BELOW_DRIVE}
    host = windows(tmp_path, {"CUDA_PATH": str(folder)}, descriptor=lambda path: lists.get(path, ""))
    (root,) = discover(host)
    assert root.warnings == (f"all authenticated users can write to {folder / 'bin'}",)


@posix_only
def test_world_writable_folder(tmp_path: Path) -> None:
    folder = grow(tmp_path / "dlls", ["bin/zlib1.dll"])
    (folder / "bin").chmod(0o777)
    root = named_root(folder, Host())
    assert root.warnings == (f"any user of this machine can write to {folder / 'bin'}",)


@posix_only
def test_world_writable_parent_lets_others_replace_the_root(tmp_path: Path) -> None:
    folder = grow(tmp_path / "loose" / "dlls", ["zlib1.dll"])
    (tmp_path / "loose").chmod(0o777)
    warnings = named_root(folder, Host()).warnings
    assert warnings == (f"any user of this machine can replace it, because they can write to {tmp_path / 'loose'}",)
    (tmp_path / "loose").chmod(0o1777)
    assert named_root(folder, Host()).warnings == ()
