"""Wine: which one is taken, and that it gets nothing of the user's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.oracle.wine import wine_options
from tests.support.wheels import build_wheel
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.model import Machine
from wheelfix.trial import pythons as wine
from wheelfix.trial.pythons import environment, find_wine, wine_version

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no Wine on Windows")


def plant(folder: Path, name: str, text: str = "#!/bin/sh\necho 'Wine 9.1 (Ubuntu)'\n") -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(text)
    program.chmod(0o755)
    return program


def test_a_named_wine_has_its_server_beside_it(tmp_path):
    program, server = plant(tmp_path / "bin", "wine"), plant(tmp_path / "bin", "wineserver")
    for given in (program, tmp_path / "bin"):
        found = find_wine(given, Machine.AMD64)
        assert (found.program, found.server) == (program, server)
    assert wine_version(found, tmp_path) == "9.1"


@pytest.mark.parametrize("name", ["none", "empty"])
def test_a_wine_that_is_not_there_is_refused(name, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="--wine"):
        find_wine(tmp_path / name, Machine.AMD64)


def test_a_wine_that_does_not_run_says_so(tmp_path):
    plant(tmp_path, "wine")
    plant(tmp_path, "wineserver", "#!/bin/sh\necho 'cannot execute' >&2\nexit 1\n")
    with pytest.raises(EnvironmentFailure, match="cannot execute"):
        wine_version(find_wine(tmp_path, Machine.AMD64), tmp_path)


def test_without_wine_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(wine, "PLACES", ())
    monkeypatch.setattr(wine, "host_machine", lambda: Machine.AMD64)
    with pytest.raises(EnvironmentFailure) as caught:
        find_wine(None, Machine.AMD64)
    assert "apt-get install wine64" in caught.value.hint


def test_a_wine_for_another_machine_is_not_taken(tmp_path, monkeypatch):
    plant(tmp_path, "wine64")
    plant(tmp_path, "wineserver64")
    monkeypatch.setattr(wine, "PLACES", (tmp_path,))
    monkeypatch.setattr(wine, "find_program", lambda name: None)
    monkeypatch.setattr(wine, "host_machine", lambda: Machine.AMD64)
    assert find_wine(None, Machine.AMD64).program == tmp_path / "wine64"
    with pytest.raises(EnvironmentFailure, match="arm64"):
        find_wine(None, Machine.ARM64)


def test_no_variable_of_the_user_is_passed_on(tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "abc")
    monkeypatch.setenv("WINEPREFIX", "/home/me/.wine")
    found = environment(tmp_path / "prefix", tmp_path / "home")
    assert "SECRET_TOKEN" not in found
    assert (found["WINEPREFIX"], found["HOME"]) == (str(tmp_path / "prefix"), str(tmp_path / "home"))


LOADS = "import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(__file__), 'helper.dll'))\n"


def write(folder: Path, name: str, files: Mapping[str, bytes | str]) -> str:
    return str(build_wheel(folder, name, files=files))


@pytest.mark.wine_x64
@pytest.mark.slow
def test_wheels_are_imported_as_predicted(tmp_path, run):
    wine_words = wine_options()
    wheels = [
        write(tmp_path, "good", {"good/__init__.py": LOADS, "good/helper.dll": "exports call"}),
        write(
            tmp_path,
            "bad",
            {
                "bad/__init__.py": "from . import _m\n",
                "bad/_m.cp311-win_amd64.pyd": "imports KERNEL32.dll:Sleep, helper.dll:call",
            },
        ),
        write(tmp_path, "code", {"code_/__init__.py": LOADS}),
    ]
    before = leftovers()
    document = run("try", *wheels, *wine_words, "--format", "json", code=1).document
    rows = {
        (wheel["name"], one["module"]): (one["agreement"], one["observed"])
        for wheel in document["wheels"]
        for one in wheel["modules"]
    }
    assert rows["good", "good"][0] == "agrees"
    assert {"path": "good/helper.dll", "where": "package"} in rows["good", "good"][1]["loaded"]
    assert rows["bad", "bad"][0] == "agrees"
    assert rows["bad", "bad"][1]["missing"] == [{"dll": "helper.dll", "needed_by": "_m.cp311-win_amd64.pyd"}]
    assert rows["code", "code_"][0] == "agrees"
    assert leftovers() == before


def leftovers() -> tuple[set[str], int]:
    """What a run could leave: folders of Wine's server, and processes of a private prefix."""
    sockets = Path(f"/tmp/.wine-{os.getuid()}")
    listing = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return {path.name for path in sockets.glob("*")}, sum("T:\\Python" in line for line in listing.splitlines())
