"""What the commands print beside their reports: errors, settings, baselines, the block for an issue."""

from __future__ import annotations

import json
import time

import pytest

from tests.archive.byhand import build_zip, wheel_entries
from tests.support.patience import patience
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


FILES = {
    "blank lines": lambda size: "\n" * size + "# wheelfix\n",
    "blanks": lambda size: " " * size + "\n# wheelfix\n",
    "blank lines in a header": lambda size: "[tool" + " " * size + "\n.wheelfix",
    "brackets": lambda size: "[" * size + "wheelfix",
    "dots": lambda size: "a" + ".a" * (size // 2) + "=1",
    "quotes": lambda size: "wheelfix '\"" * (size // 11),
    "keys": lambda size: "[tool.wheelfix]\n" + "".join(f"k{number}=1\n" for number in range(size // 27)),
    "tables": lambda size: "".join(f"[tool.wheelfix.t{number}]\n" for number in range(size // 24)),
    "long key": lambda size: "[tool.wheelfix]\n" + "k" * size + "=1",
    "nested": lambda size: "[tool.wheelfix]\na=" + "[" * size,
}
COMMANDS = (
    ["scan", "x.whl"],
    ["verify", "x.whl"],
    ["repair", "x.whl"],
    ["ci", "x.whl"],
    ["diff", "x.whl", "y.whl"],
    ["roots"],
    ["diagnose", "--text", "x"],
    ["scan", "--show-config"],
)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["pyproject.toml", "wheelfix.toml"])
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind == "blank lines" else kind for kind in FILES]
)
def test_no_file_stops_a_command(kind, name, tmp_path, monkeypatch, capsys):
    (tmp_path / name).write_text(FILES[kind](200_000), "utf-8")
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS if kind == "blank lines" else COMMANDS[:1]:
        start = time.process_time()
        assert main(list(command)) in (0, 1, 2, 3, 5)
        assert time.process_time() - start < patience(5), command
        assert len(capsys.readouterr().err) < 250_000


WHEEL = "demo-1.0-py3-none-any.whl"
ADDRESSES = [
    f"ftp://me:s3cret@h.invalid/{WHEEL}",
    f"file://me:s3cret@h.invalid/{WHEEL}",
    f" https://me:s3cret@h.invalid/{WHEEL}",
    f"https://me:s3/cret@h.invalid/{WHEEL}",
    f"https://me:s3#cret@h.invalid/{WHEEL}",
    f"https://me:s3?cret@h.invalid/{WHEEL}",
    f"sftp://me:s3/cret@h.invalid/{WHEEL}",
]


@pytest.mark.parametrize(
    "command",
    [
        ["scan", "WORD", "--no-discover", "--offline"],
        ["scan", "WORD", "--no-discover", "--offline", "--format", "json"],
        ["scan", "WORD", "--no-discover", "--offline", "--format", "junit"],
        ["scan", "demo==1.0", "--no-discover", "--offline", "--index-url", "WORD"],
        ["scan", "WHEEL", "--no-discover", "--root", "WORD"],
        ["verify", "WORD"],
        ["repair", "WORD", "--no-discover"],
        ["repair", "--locked", "WORD"],
        ["diff", "WORD", "WORD"],
        ["diagnose", "error.txt", "--wheel", "WORD"],
        ["sign", "WORD", "--command", "sign {}"],
        ["ci", "WORD", "--no-discover"],
        ["roots", "--root", "WORD"],
    ],
    ids=" ".join,
)
def test_no_command_prints_a_password(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "error.txt").write_text("ImportError: DLL load failed while importing x")
    (tmp_path / WHEEL).write_bytes(b"PK")
    for address in ADDRESSES:
        main([{"WORD": address, "WHEEL": WHEEL}.get(word, word) for word in command])
        printed = "".join(capsys.readouterr())
        assert printed, address
        assert "s3" not in printed, address
        assert "cret" not in printed, address
