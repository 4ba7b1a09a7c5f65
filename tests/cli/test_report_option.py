"""``--report KIND=FILE`` means one thing in every command that has it: also write this kind of report to a file."""

from __future__ import annotations

import json

import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.diagnose import current_spelling
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll

TEXT = 'OSError: [WinError 126] The specified module could not be found. Error loading "C:\\e\\a.dll"'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A wheel whose module needs a DLL, a wheel that needs nothing, and a folder with the DLL."""
    monkeypatch.chdir(tmp_path)
    module = forge_dll("_x.pyd", imports={"python311.dll": ["Py_Initialize"], "a.dll": ["f"]})
    build_wheel(tmp_path / "dist", "one", "1.0", files={"one/_x.cp311-win_amd64.pyd": module, "one/__init__.py": ""})
    build_wheel(tmp_path / "dist", "two", "1.0", files={"two/__init__.py": ""})
    (tmp_path / "dlls").mkdir()
    (tmp_path / "dlls" / "a.dll").write_bytes(forge_dll("a.dll", exports=["f"]))
    return tmp_path


COMMANDS = {
    "scan": ["scan", "dist", "--no-discover"],
    "verify": ["verify", "dist"],
    "ci": ["ci", "dist", "--no-discover", "--root", "dlls"],
    "repair": ["repair", "dist", "--no-discover", "--root", "dlls"],
    "diff": ["diff", "dist/one-1.0-cp311-cp311-win_amd64.whl", "dist/one-1.0-cp311-cp311-win_amd64.whl"],
    "diagnose": ["diagnose", "--text", TEXT, "--no-discover"],
}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_file_is_written_besides_what_is_printed(folder, capsys, command):
    plain = main(COMMANDS[command])
    printed = capsys.readouterr().out
    assert main([*COMMANDS[command], "--report", "json=out.json", "--report", "text=out.txt"]) == plain
    assert json.loads((folder / "out.json").read_text(encoding="utf-8"))["schema"].startswith("wheelfix.")
    assert (folder / "out.txt").read_text(encoding="utf-8")
    if command not in ("repair", "ci"):  # these find a wheel that is there already
        assert capsys.readouterr().out == printed


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"diagnose"}))
def test_pages(folder, command):
    main([*COMMANDS[command], "--report", "html=out.html"])
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert f"wheelfix {command}" in page


def test_a_repair_says_what_was_added_and_from_where(folder):
    main([*COMMANDS["repair"], "--format", "html", "-o", "out.html"])
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "1 wheel repaired, 1 wheel unchanged" in page
    assert "Added (1, " in page
    assert "a.dll" in page


def test_a_repair_that_fails_comes_first(folder, capsys):
    assert main(["repair", "dist", "--no-discover", "--report", "html=out.html"]) == 1
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert page.index("not repaired") < page.index("unchanged")


@pytest.mark.parametrize("command", sorted(COMMANDS))
@pytest.mark.parametrize(
    ("request_", "message"),
    [("nonsense=x", "'nonsense' is not a kind of report"), ("json=nowhere/x.json", "nowhere/x.json")],
)
def test_a_slip_is_said_before_the_work_is_done(folder, capsys, command, request_, message):
    assert main([*COMMANDS[command], "--report", request_]) in (2, 4)
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_the_old_spelling_of_diagnose_issue(folder, capsys, monkeypatch):
    """``diagnose --report`` printed the block for an issue until ``--report`` got one meaning."""
    monkeypatch.setenv("PATH", "")  # a compiler of this machine may answer once and be too slow the next time
    main([*COMMANDS["diagnose"], "--issue"])
    block = capsys.readouterr().out
    main(["diagnose", "--report", *COMMANDS["diagnose"][1:]])
    assert capsys.readouterr().out == block
    assert current_spelling(["a.txt", "--report"]) == ["a.txt", "--issue"]
    assert current_spelling(["--report", "a.txt"]) == ["--issue", "a.txt"]
    assert current_spelling(["--report", "json=x", "a.txt"]) == ["--report", "json=x", "a.txt"]
