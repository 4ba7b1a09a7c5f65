"""What the output keeps of each report."""

from __future__ import annotations

import argparse
import hashlib
import json

import pytest

from tests.support.wheels import build_wheel, folder_of
from tools.forge import forge_dll
from wheelfix.cli.common import Output, command_line, now
from wheelfix.cli.main import main
from wheelfix.cli.settings import current_spelling
from wheelfix.exam.scan import scan


@pytest.mark.parametrize("kind, others, kept", [("text", (), False), ("text", ("json",), True), ("json", (), True)])
def test_images_are_kept_only_for_documents(kind, others, kept, tmp_path):
    """A thousand wheels took 1.6 GB, although text that has been written needs nothing but the findings."""
    files = {"pkg/__init__.py": "from . import _core\n", "pkg/_core.pyd": "imports gone.dll"}
    report = scan(build_wheel(tmp_path, files=files))
    requests = [(other, tmp_path / other) for other in others]
    given = {"format": kind, "report": requests, "quiet": True, "verbose": False, "fail_on": "error", "color": "never"}
    output = Output(argparse.Namespace(**given))
    output.add(report)
    assert bool(output.reports[0].images) is kept
    assert bool(output.reports[0].resolution.edges) is kept
    assert output.reports[0].verdict is report.verdict
    assert output.failed


TEXT = 'OSError: [WinError 126] The specified module could not be found. Error loading "C:\\e\\a.dll"'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A wheel whose module needs a DLL, a wheel that needs nothing, and a folder with the DLL."""
    monkeypatch.chdir(tmp_path)
    build_wheel(
        tmp_path / "dist",
        "one",
        files={"one/_x.cp311-win_amd64.pyd": "imports python311.dll:Py_Initialize, a.dll", "one/__init__.py": ""},
    )
    build_wheel(tmp_path / "dist", "two", files={"two/__init__.py": ""})
    folder_of(tmp_path / "dlls", "a.dll")
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


def test_a_repair_that_fails_comes_first(folder, run):
    run("repair", "dist", "--no-discover", "--report", "html=out.html", code=1)
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert page.index("not repaired") < page.index("unchanged")


def test_the_old_spelling_of_diagnose_issue(folder, capsys, monkeypatch):
    """``diagnose --report`` printed the block for an issue until ``--report`` got one meaning."""
    monkeypatch.setenv("PATH", "")  # a compiler of this machine may answer once and be too slow the next time
    main([*COMMANDS["diagnose"], "--issue"])
    block = capsys.readouterr().out
    main(["diagnose", "--report", *COMMANDS["diagnose"][1:]])
    assert capsys.readouterr().out == block
    assert current_spelling("diagnose", ["a.txt", "--report"]) == ["a.txt", "--issue"]
    assert current_spelling("diagnose", ["--report", "a.txt"]) == ["--issue", "a.txt"]
    assert current_spelling("diagnose", ["--report", "json=x", "a.txt"]) == ["--report", "json=x", "a.txt"]


@pytest.mark.parametrize(
    "argv, shown",
    [
        (["scan", "a b.whl", "C:\\x\\y.whl"], "wheelfix scan 'a b.whl' C:\\x\\y.whl"),
        (["scan", "/home/me/dist/*.whl"], "wheelfix scan ~/dist/*.whl"),
        (["scan", "https://host/x.whl?sig=abc&y=1"], "wheelfix scan https://host/x.whl"),
        (["scan", "--api-token", "hush", "dist"], "wheelfix scan --api-token *** dist"),
        (["scan", "--password=hush"], "wheelfix scan --password=***"),
        (["scan", "ghp_0123456789abcdefghij"], "wheelfix scan ***"),
    ],
)
def test_a_command_line_without_secrets(argv, shown):
    assert command_line(argv, home="/home/me") == shown


def test_the_date_is_utc_and_can_be_set(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert now() == "1970-01-01 00:00 UTC"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "-5")
    assert now().endswith("UTC")


def test_the_page_has_date_command_and_hash(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    wheel = build_wheel(tmp_path / "dist", "one", files={"one/__init__.py": ""})
    run("scan", "dist", "--no-discover", "--report", "html=out.html", code=None)
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "wheelfix scan dist --no-discover --report html=out.html" in page
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() in page
    assert " UTC" in page


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Builds ``dist/demo-*.whl`` whose module imports these DLLs."""
    monkeypatch.chdir(tmp_path)

    def make(*imports: str) -> None:
        module = forge_dll("_x.pyd", imports={name: ["f"] for name in imports})
        build_wheel(tmp_path / "dist", "demo", files={"demo/_x.cp311-win_amd64.pyd": module})

    return make


def scan_with_baseline(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(["scan", "dist", "--no-discover", "--baseline", "known.json", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_known_findings_pass_new_ones_fail_cured_ones_are_said(build, capsys):
    build("gone.dll")
    code, _, err = scan_with_baseline(capsys, "--write-baseline")
    assert (code, err) == (0, "wheelfix: 1 finding written to known.json\n")

    code, out, err = scan_with_baseline(capsys)
    assert (code, err) == (0, "")
    assert "Known, in the baseline (1): WF301" in out
    assert "Verdict: broken (1 error, 0 warnings; nothing new)" in out
    assert scan_with_baseline(capsys, "-q")[1] == "BROKEN  demo-1.0-cp311-cp311-win_amd64.whl  (nothing new)\n"
    assert json.loads(scan_with_baseline(capsys, "--format", "json")[1])["wheels"][0]["findings"][0]["known"] is True

    build("gone.dll", "lost.dll")
    code, out, _ = scan_with_baseline(capsys)
    assert code == 1
    assert "lost.dll" in out
    assert "; 1 new)" in out

    build("kernel32.dll")
    code, _, err = scan_with_baseline(capsys, "-q")
    assert (code, err) == (
        0,
        "wheelfix: the baseline still has WF301 for demo, gone.dll: no longer found\n",
    )
