"""``wheelfix diff`` from the command line."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.schemas import validate
from tests.support.wheels import build_wheel, extension, library
from tools.forge import forge_dll
from wheelfix.cli.main import main


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """Two builds: the second forgot a DLL that its module still imports, and has a newer helper."""
    monkeypatch.chdir(tmp_path)
    module = extension("dep.dll", "python311.dll:Py_Initialize")
    old = {
        "demo/_x.cp311-win_amd64.pyd": module,
        "demo/dep.dll": library("dep.dll"),
        "demo/help.dll": forge_dll("help.dll", version=(1, 0, 0, 0)),
    }
    new = {**old, "demo/help.dll": forge_dll("help.dll", version=(1, 2, 0, 0)), "demo/more.dll": forge_dll("more.dll")}
    del new["demo/dep.dll"]
    build_wheel(tmp_path / "old", "demo", files=old)
    build_wheel(tmp_path / "new", "demo", "1.1", files=new)
    return tmp_path


def diff(capsys, *argv: str) -> tuple[int, str]:
    code = main(["diff", *argv])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, captured.out


def test_text(wheels, capsys):
    code, out = diff(capsys, "old", "new/demo-*.whl")
    assert code == 0
    assert out.startswith("demo 1.0 -> 1.1: 1 lost, 1 new, 1 changed\nok -> broken, DLLs ")
    assert "  demo/dep.dll  " in out
    assert "    still needed by demo/_x.cp311-win_amd64.pyd\n" in out
    assert "    1.0.0.0 -> 1.2.0.0" in out
    assert "New findings (1)\n  WF301 " in out


@pytest.mark.parametrize(
    "argv, code",
    [
        (["--fail-on-lost"], 1),
        (["--fail-on", "error"], 1),
        (["--fail-on", "never"], 0),
        ([], 0),
    ],
)
def test_codes(wheels, capsys, argv, code):
    assert diff(capsys, "-q", "old", "new", *argv)[0] == code
    assert diff(capsys, "-q", "new", "new", *argv)[0] == 0


def test_against_a_saved_scan(wheels, capsys):
    assert main(["scan", "-q", "old", "-v", "--format", "json", "-o", "last-good.json"]) == 2  # -q and -v
    capsys.readouterr()
    assert main(["scan", "old", "--format", "json", "-o", "last-good.json"]) == 0
    code, out = diff(capsys, "last-good.json", "new", "--fail-on-lost")
    assert code == 1
    assert "1 lost, 1 new" in out


def test_json_fits_its_schema(wheels, capsys):
    document = json.loads(diff(capsys, "old", "new", "--format", "json")[1])
    validate(document)
    (wheel,) = document["wheels"]
    assert [file["path"] for file in wheel["lost"]] == ["demo/dep.dll"]
    assert wheel["lost"][0]["still_needed_by"] == ["demo/_x.cp311-win_amd64.pyd"]


def test_markdown(wheels, capsys):
    out = diff(capsys, "old", "new", "--format", "markdown")[1]
    assert "### demo 1.0 → 1.1: 1 lost, 1 new, 1 changed\n\n✅ ok → ❌ broken, DLLs " in out
    assert re.search(
        r"#### Lost \(1\)\n\n\| DLL \| still needed by \|\n.*\n\| `demo/dep.dll` [\d.]+ kB \| `demo/_x", out
    )


def test_nothing_changed(wheels, capsys):
    assert "Nothing changed." in diff(capsys, "old", "old")[1]


def test_an_input_that_is_not_there(wheels, run):
    assert "nowhere.whl does not exist" in run("diff", "old", "nowhere.whl", code=3).err
