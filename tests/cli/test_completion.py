"""Completion scripts, asked by the shells themselves where these are installed."""

from __future__ import annotations

import argparse
import functools
import re
import shutil
import subprocess

import pytest

from wheelfix.cli import completion
from wheelfix.cli.commands import block
from wheelfix.cli.settings import whole_parser

render = functools.cache(completion.render)

CASES = [
    pytest.param("wheelfix sc", ["scan"], id="a command"),
    pytest.param("wheelfix scan --fo", ["--format"], id="an option"),
    pytest.param("wheelfix scan --format js", ["json"], id="a value"),
    pytest.param("wheelfix scan --fail-on ", ["error", "info", "never", "unsure", "warning"], id="all values"),
    pytest.param(
        "wheelfix scan --ignore WF30",
        ["WF301", "WF302", "WF303", "WF304", "WF305", "WF306", "WF307", "WF308", "WF309"],
        id="codes",
    ),
    pytest.param("wheelfix explain missing-dep", ["missing-dependency"], id="a name"),
    pytest.param("wheelfix repair --co", ["--color", "--companions", "--config"], id="several options"),
    pytest.param("wheelfix scan dist/a", ["dist/a-1-py3-none-any.whl", "dist/abc/"], id="files"),
]


@pytest.fixture
def here(tmp_path):
    (tmp_path / "dist" / "abc").mkdir(parents=True)
    (tmp_path / "dist" / "a-1-py3-none-any.whl").write_bytes(b"")
    for shell in block("shell")["choices"].split():
        (tmp_path / f"script.{shell}").write_text(render(shell), encoding="utf-8")
    return tmp_path


def ask(folder, *command: str) -> list[str]:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert result.stderr == ""
    return result.stdout.splitlines()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash is installed")
@pytest.mark.parametrize("line, expected", CASES)
def test_bash(here, line, expected):
    words = line.split(" ")
    array = " ".join(f"'{word}'" for word in words)
    state = f"COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}"
    script = f'source script.bash; {state}; _shtab_wheelfix; printf "%s\\n" "${{COMPREPLY[@]}}"'
    # bash itself adds the stroke behind a folder
    assert sorted(ask(here, "bash", "--norc", "-c", script)) == [word.rstrip("/") for word in expected]


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish is installed")
@pytest.mark.parametrize("line, expected", CASES)
def test_fish(here, line, expected):
    lines = ask(here, "fish", "--no-config", "-c", f"source script.fish; complete -C '{line}'")
    assert sorted(text.split("\t")[0] for text in lines) == expected


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh is installed")
def test_zsh_loads_it(here):
    (here / "script.zsh").rename(here / "_wheelfix")
    script = "fpath=($PWD $fpath); autoload -Uz compinit; compinit -D -u; print $_comps[wheelfix]"
    assert ask(here, "zsh", "-f", "-c", script) == ["_wheelfix"]
    assert ask(here, "zsh", "-n", "_wheelfix") == []


@pytest.mark.parametrize("shell", block("shell")["choices"].split())
def test_every_command_and_long_option_is_in_it(shell):
    text = render(shell)
    for name, parser in whole_parser()[1].items():
        assert name in text
        for action in parser.actions():
            shown = action.help != argparse.SUPPRESS
            for word in action.option_strings:
                if word.startswith("--"):
                    option = f"-l {word[2:]}" if shell == "fish" else word
                    assert (re.search(f"{option}(?![\\w-])", text) is not None) >= shown


def test_powershell_is_balanced():
    text = re.sub(r"'(?:[^']|'')*'|^ *#.*$", "''", render("powershell"), flags=re.MULTILINE)
    for opened, closed in ("()", "{}", "[]"):
        assert text.count(opened) == text.count(closed)
    assert "'" not in text.replace("''", "")


def test_on_the_command_line(run):
    assert run("completion", "fish").out == render("fish")
    assert "'tcsh' is not one of bash, zsh, fish, powershell" in run("completion", "tcsh", code=2).err
