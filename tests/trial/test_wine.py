"""Wine: which one is taken, and that it gets nothing of the user's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.model import Machine
from wheelfix.trial import wine
from wheelfix.trial.wine import environment, find_wine, wine_version

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no Wine on Windows")


def plant(folder: Path, name: str, text: str = "#!/bin/sh\necho 'Wine 9.1 (Ubuntu)'\n") -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(text)
    program.chmod(0o755)
    return program


def test_a_named_wine_has_its_server_beside_it(tmp_path: Path) -> None:
    program, server = plant(tmp_path / "bin", "wine"), plant(tmp_path / "bin", "wineserver")
    for given in (program, tmp_path / "bin"):
        found = find_wine(given, Machine.AMD64)
        assert (found.program, found.server) == (program, server)
    assert wine_version(found, tmp_path) == "9.1"


@pytest.mark.parametrize("name", ["none", "empty"])
def test_a_wine_that_is_not_there_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="--wine"):
        find_wine(tmp_path / name, Machine.AMD64)


def test_a_wine_that_does_not_run_says_so(tmp_path: Path) -> None:
    plant(tmp_path, "wine")
    plant(tmp_path, "wineserver", "#!/bin/sh\necho 'cannot execute' >&2\nexit 1\n")
    with pytest.raises(EnvironmentFailure, match="cannot execute"):
        wine_version(find_wine(tmp_path, Machine.AMD64), tmp_path)


def test_without_wine_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(wine, "PLACES", ())
    monkeypatch.setattr(wine, "host_machine", lambda: Machine.AMD64)
    with pytest.raises(EnvironmentFailure) as caught:
        find_wine(None, Machine.AMD64)
    assert "apt-get install wine64" in caught.value.hint


def test_a_wine_for_another_machine_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "wine64")
    plant(tmp_path, "wineserver64")
    monkeypatch.setattr(wine, "PLACES", (tmp_path,))
    monkeypatch.setattr(wine, "find_program", lambda name: None)
    monkeypatch.setattr(wine, "host_machine", lambda: Machine.AMD64)
    assert find_wine(None, Machine.AMD64).program == tmp_path / "wine64"
    with pytest.raises(EnvironmentFailure, match="arm64"):
        find_wine(None, Machine.ARM64)


def test_no_variable_of_the_user_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "abc")
    monkeypatch.setenv("WINEPREFIX", "/home/me/.wine")
    found = environment(tmp_path / "prefix", tmp_path / "home")
    assert "SECRET_TOKEN" not in found
    assert (found["WINEPREFIX"], found["HOME"]) == (str(tmp_path / "prefix"), str(tmp_path / "home"))
