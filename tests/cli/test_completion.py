"""Completion scripts, asked by the shells themselves where these are installed."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from wheelfix.cli.commands import COMMANDS
from wheelfix.cli.completion import read_grammar, render
from wheelfix.cli.main import main
from wheelfix.cli.parsers import SHELLS

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
    for shell in SHELLS:
        (tmp_path / f"script.{shell}").write_text(render(shell), encoding="utf-8")
    return tmp_path


def ask(folder, *command: str) -> list[str]:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert result.stderr == ""
    return result.stdout.splitlines()


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash is installed")
@pytest.mark.parametrize(("line", "expected"), CASES)
def test_bash(here, line, expected):
    words = line.split(" ")
    array = " ".join(f"'{word}'" for word in words)
    state = f"COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}"
    script = f'source script.bash; {state}; _wheelfix; printf "%s\\n" "${{COMPREPLY[@]}}"'
    # bash itself adds the stroke behind a folder
    assert sorted(ask(here, "bash", "--norc", "-c", script)) == [word.rstrip("/") for word in expected]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash is installed")
def test_bash_around_an_equals_sign(here):
    script = "source script.bash; COMP_WORDS=(wheelfix scan --format = sa); COMP_CWORD=4; _wheelfix; echo $COMPREPLY"
    assert ask(here, "bash", "--norc", "-c", script) == ["sarif"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish is installed")
@pytest.mark.parametrize(("line", "expected"), CASES)
def test_fish(here, line, expected):
    lines = ask(here, "fish", "--no-config", "-c", f"source script.fish; complete -C '{line}'")
    assert sorted(text.split("\t")[0] for text in lines) == expected


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh is installed")
def test_zsh_loads_it(here):
    script = "autoload -Uz compinit; compinit -D -u; source script.zsh; print $_comps[wheelfix] $+functions[_wheelfix]"
    assert ask(here, "zsh", "-f", "-c", script) == ["_wheelfix 1"]
    assert ask(here, "zsh", "-n", "script.zsh") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_long_option_is_in_it(shell):
    text = render(shell)
    for command in read_grammar():
        assert command.name in text
        for word in command.options:
            assert (f"-l {word.long}" if shell == "fish" else f"--{word.long}") in text


def test_powershell_is_balanced():
    text = re.sub(r"'(?:[^']|'')*'", "''", render("powershell"))
    for opened, closed in ("()", "{}", "[]"):
        assert text.count(opened) == text.count(closed)
    assert "'" not in text.replace("''", "")


def test_powershell_options_do_not_differ_by_case_alone():
    """A hashtable of PowerShell would take the second for the first again, and refuse."""
    for command in read_grammar():
        names = [name.lower() for word in command.options for name in word.names]
        assert len(names) == len(set(names)), command.name


def test_on_the_command_line(capsys):
    assert main(["completion", "fish"]) == 0
    assert capsys.readouterr().out == render("fish")
    assert main(["completion", "tcsh"]) == 2
    assert "'tcsh' is not one of bash, zsh, fish, powershell" in capsys.readouterr().err


def test_grammar_has_every_command():
    assert [command.name for command in read_grammar()] == list(COMMANDS)
