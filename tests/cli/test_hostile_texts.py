"""What the commands print beside their reports: errors, settings, baselines, the block for an issue."""

from __future__ import annotations

import json

import pytest

from tests.archive.byhand import build_zip, wheel_entries
from wheelfix.cli.main import main

EVIL = "a\x1b[2J\u202e\x85b"
LINE = "::error::owned ##vso[task.setvariable]"


def mute(text: str) -> None:
    assert not {char for char in text if not char.isprintable() and char != "\n"}
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
    assert "##vso[" not in text


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) in (0, 1, 2, 3, 5)
    said = capsys.readouterr()
    mute(said.out)
    mute(said.err)
    return said.out + said.err


@pytest.mark.parametrize("text", [EVIL, LINE])
@pytest.mark.parametrize(
    "words",
    [
        ("scan", "{}"),
        ("scan", "{}.whl"),
        ("scan", "x.whl", "--select", "{}"),
        ("scan", "x.whl", "--{}"),
        ("{}",),
        ("repair", "x.whl", "--root", "{}"),
        ("diagnose", "{}"),
        ("diagnose", "--text", "ImportError: DLL load failed while importing {}: {}"),
        ("diagnose", "--issue", "--text", 'OSError: [WinError 126] {} Error loading "C:\\{}.dll"'),
        ("diff", "{}", "{}"),
        ("explain", "{}"),
        ("verify", "{}.whl"),
        ("ci", "{}.whl"),
        ("roots", "--root", "{}"),
    ],
    ids=lambda words: " ".join(words),
)
def test_words_of_the_command_line(words, text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(capsys, *(word.replace("{}", text) for word in words))


@pytest.mark.parametrize("text", [EVIL, LINE])
def test_configuration(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    quoted = json.dumps(text)
    (tmp_path / "wheelfix.toml").write_text(f"assume = [{quoted}]\n[wheels.{quoted}]\nignore = [{quoted}]\n", "utf-8")
    assert "wheels called" in run(capsys, "scan", "--show-config")
    (tmp_path / "wheelfix.toml").write_text(f"{quoted} = 1\nfail-on = {quoted}\n", "utf-8")
    assert "has 2 errors" in run(capsys, "scan", "x.whl")


@pytest.mark.parametrize("text", [EVIL, LINE])
def test_baselines_and_saved_scans(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pkg-1.0-py3-none-any.whl").write_bytes(build_zip(wheel_entries()))
    assert main(["scan", "pkg-1.0-py3-none-any.whl", "--baseline", "known.json", "--write-baseline"]) in (0, 1)
    assert main(["scan", "pkg-1.0-py3-none-any.whl", "--format", "json", "-o", "old.json"]) in (0, 1)
    capsys.readouterr()
    known = json.loads((tmp_path / "known.json").read_text())
    key = next(key for key, value in known.items() if isinstance(value, list))
    known[key] = [{"distribution": "pkg", "code": "WF301", "subject": text, "paths": [text]}]
    (tmp_path / "known.json").write_text(json.dumps(known))
    run(capsys, "scan", "pkg-1.0-py3-none-any.whl", "--baseline", "known.json")
    old = json.loads((tmp_path / "old.json").read_text())
    old["wheels"][0].update(name=text, version=text)
    (tmp_path / "new.json").write_text(json.dumps(old))
    for kind in ("text", "markdown", "json"):
        run(capsys, "diff", "old.json", "new.json", "--format", kind)
