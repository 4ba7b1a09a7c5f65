"""A Windows Python for Wine: from a folder, from a zip of python.org or nuget.org; what is no Python is refused."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from wheelfix.demo.forge import forge_dll
from wheelfix.errors import InputError
from wheelfix.model import Machine
from wheelfix.trial.winpython import windows_home

if TYPE_CHECKING:
    from pathlib import Path

EXE = forge_dll("python.exe", is_dll=False)
DLL = forge_dll("python312.dll")
EMBEDDABLE = {"python.exe": EXE, "python312.dll": DLL, "python3.dll": DLL, "python312._pth": b"python312.zip\n.\n"}
NUGET = {
    "python.nuspec": b"", "tools/python.exe": EXE, "tools/python312.dll": DLL, "tools/Lib/os.py": b"",
    "tools/Lib/site-packages/pip/__init__.py": b"", "tools/Lib/test/test_os.py": b"", "tools/include/Python.h": b"",
}  # fmt: skip


def make_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def make_folder(path: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


@pytest.mark.parametrize("make", [make_zip, make_folder])
@pytest.mark.parametrize("files", [EMBEDDABLE, NUGET], ids=["embeddable", "nuget"])
def test_a_python_is_copied_without_its_packages(files: dict[str, bytes], make: object, tmp_path: Path) -> None:
    home = make(tmp_path / "home", files)  # type: ignore[operator]
    made = windows_home(home, tmp_path / "copy")
    assert (made.version, made.machine) == ((3, 12), Machine.AMD64)
    assert (made.folder / "python.exe").read_bytes() == EXE
    assert list(made.site.iterdir()) == []
    assert not (made.folder / "Lib" / "test").exists()
    assert not (made.folder / "include").exists()
    if files is EMBEDDABLE:
        text = (made.folder / "python312._pth").read_text()
        assert "Lib\\site-packages" in text
        assert "import site" in text
    else:
        assert (made.folder / "Lib" / "os.py").exists()


def test_the_machine_is_that_of_the_program(tmp_path: Path) -> None:
    files = {**EMBEDDABLE, "python.exe": forge_dll("python.exe", is_dll=False, machine=Machine.ARM64)}
    assert windows_home(make_zip(tmp_path / "a.zip", files), tmp_path / "copy").machine is Machine.ARM64


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"readme": b""}, "no python.exe"),
        ({"python.exe": b"#!/bin/sh", "python312.dll": DLL}, "not a CPython for Windows"),
        ({"python.exe": EXE}, "not a CPython for Windows"),
        ({"python.exe": EXE, "../python312.dll": DLL}, "a member"),
        ({"python.exe": EXE, "C:/python312.dll": DLL}, "a member"),
    ],
)
def test_what_is_no_python_is_refused(files: dict[str, bytes], reason: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=reason):
        windows_home(make_zip(tmp_path / "a.zip", files), tmp_path / "copy")
    assert not (tmp_path / "python312.dll").exists()


def test_nor_what_is_no_zip(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\3\4 not really")
    with pytest.raises(InputError, match="zip"):
        windows_home(tmp_path / "a.zip", tmp_path / "copy")
    with pytest.raises(InputError, match="no such file"):
        windows_home(tmp_path / "none", tmp_path / "copy")
