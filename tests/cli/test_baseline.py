"""``--baseline`` and ``--write-baseline`` on the command line."""

from __future__ import annotations

import json

import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Builds ``dist/demo-*.whl`` whose module imports these DLLs."""
    monkeypatch.chdir(tmp_path)

    def make(*imports: str) -> None:
        module = forge_dll("_x.pyd", imports={name: ["f"] for name in imports})
        build_wheel(tmp_path / "dist", "demo", "1.0", files={"demo/_x.cp311-win_amd64.pyd": module})

    return make


def scan(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(["scan", "dist", "--no-discover", "--baseline", "known.json", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_known_findings_pass_new_ones_fail_cured_ones_are_said(build, capsys):
    build("gone.dll")
    code, _, err = scan(capsys, "--write-baseline")
    assert (code, err) == (0, "wheelfix: 1 finding written to known.json\n")

    code, out, err = scan(capsys)
    assert (code, err) == (0, "")
    assert "Known, in the baseline (1): WF301" in out
    assert "Verdict: broken (1 error, 0 warnings; nothing new)" in out
    assert scan(capsys, "-q")[1] == "BROKEN  demo-1.0-cp311-cp311-win_amd64.whl  (nothing new)\n"
    assert json.loads(scan(capsys, "--format", "json")[1])["wheels"][0]["findings"][0]["known"] is True

    build("gone.dll", "lost.dll")
    code, out, _ = scan(capsys)
    assert code == 1
    assert "lost.dll" in out
    assert "; 1 new)" in out

    build("kernel32.dll")
    code, _, err = scan(capsys, "-q")
    assert (code, err) == (
        0,
        "wheelfix: the baseline still has WF301 for demo, gone.dll: no longer found\n",
    )


def test_misuse(build, capsys):
    build("gone.dll")
    assert main(["scan", "dist", "--write-baseline"]) == 2
    assert "--write-baseline needs --baseline FILE" in capsys.readouterr().err
    code, _, err = scan(capsys)
    assert code == 2
    assert "there is not a baseline known.json\n  hint: --write-baseline makes it" in err


def test_what_is_known_is_not_listed_as_missing(build, capsys):
    build("gone.dll")
    scan(capsys, "--write-baseline")
    assert "Missing (" not in scan(capsys)[1]
    build("gone.dll", "lost.dll")
    out = scan(capsys)[1]
    assert "Missing (1)" in out
    assert out.count("gone.dll") == out.count("gone.dll", 0, out.index("Missing"))  # in the prediction only


def test_statistics(build, capsys):
    build("gone.dll", "lost.dll")
    assert main(["scan", "dist", "--no-discover", "--statistics"]) == 1
    assert "Findings by rule\n  2  WF301  " in capsys.readouterr().out
    assert main(["scan", "dist", "--no-discover", "--statistics", "--format", "concise"]) == 1
    said = capsys.readouterr()
    assert [line.split()[1] for line in said.out.splitlines()] == ["WF301", "WF301"]
    assert "2 findings of 1 rule" in said.err


@pytest.mark.parametrize(("choice", "coloured"), [("always", True), ("never", False), ("auto", False)])
def test_colour_is_a_choice(build, capsys, choice, coloured):
    build("gone.dll")
    assert main(["scan", "dist", "--no-discover", "--color", choice]) == 1
    assert ("\x1b[" in capsys.readouterr().out) is coloured
