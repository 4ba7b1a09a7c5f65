"""Windows' own way, with the programs faked at their one door."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.model import Machine
from wheelfix.programs import Finished
from wheelfix.trial import winpython
from wheelfix.trial.winpython import VenvPython

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


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


def test_an_environment_of_the_named_python(python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_python_that_cannot_import_it_is_refused(
    said: str, python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(winpython, "run_program", Programs(said))
    with pytest.raises(UsageError, match="--python"):
        VenvPython(tmp_path, python)


def test_a_python_that_does_not_run(python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(winpython, "run_program", Programs("", 1))
    with pytest.raises(EnvironmentFailure, match="no such thing"):
        VenvPython(tmp_path, python)
    with pytest.raises(UsageError, match="no such file"):
        VenvPython(tmp_path, tmp_path / "none.exe")
