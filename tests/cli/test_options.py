"""How many things there are to learn: the options that help shows, those that it hides, and the words of delvewheel."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from tests.remote.indexes import index_of
from tests.support.wheels import build_wheel, folder_of
from wheelfix.cli.commands import COMMANDS, Parser
from wheelfix.cli.settings import WITHOUT_CONFIGURATION, command_parser, current_spelling, read_settings
from wheelfix.errors import UsageError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder ``dist`` with a wheel without its DLL, and a folder ``dlls`` that has it."""
    monkeypatch.chdir(tmp_path)
    build_wheel(tmp_path / "dist", files={"pkg/_x.cp311-win_amd64.pyd": "imports helper.dll"})
    folder_of(tmp_path / "dlls", "helper.dll")


def long_names(parser: Parser) -> set[str]:
    actions = [action for action in parser.actions() if action.help != argparse.SUPPRESS]
    return {next(name for name in action.option_strings if name.startswith("--"))
            for action in actions if any(name.startswith("--") for name in action.option_strings)}  # fmt: skip


def test_there_are_at_most_70_options():
    assert len(set().union(*(long_names(command_parser(name)) for name in COMMANDS))) <= 70


@pytest.mark.parametrize("name", ["scan", "repair", "ci", "diagnose"])
def test_h_shows_the_ten_that_matter_and_help_shows_all(name, run):
    short = run(name, "-h").out
    whole = run(name, "--help").out
    options = long_names(command_parser(name))
    listed = [line.split()[0] for line in short.splitlines() if line.startswith(("  -", "  --"))]
    assert 9 <= len(listed) <= 10
    assert "\nexamples:\n" in short
    assert f"'wheelfix {name} --help' has all" in short
    assert all(option in whole for option in options)
    assert whole.count("\n") > 1.5 * short.count("\n")
    assert short.startswith(f"usage: wheelfix {name} [OPTION ...]")


@pytest.mark.parametrize("name", COMMANDS)
def test_only_commands_that_read_a_file_have_options_for_it(name):
    assert ("--config" in long_names(command_parser(name))) is (name not in WITHOUT_CONFIGURATION)


def test_what_follows_the_dashes_of_ci_goes_to_try():
    words = current_spelling("ci", ["dist", "--try", "--", "--module", "a", "--no-deps"])
    args = read_settings(command_parser("ci"), "ci", words).namespace()
    assert (args.trial, args.trial_module, args.trial_no_deps) == (True, ["a"], True)
    with pytest.raises(UsageError, match="options of 'wheelfix try'"):
        current_spelling("ci", ["dist", "--", "--module", "a"])


def test_python_is_a_folder_or_its_program(tmp_path, run):
    (tmp_path / "env" / "Lib" / "site-packages").mkdir(parents=True)
    (tmp_path / "env" / "python.exe").write_bytes(b"MZ")
    outputs = []
    for python in ("env", "env/python.exe"):
        outputs.append(run("scan", "dist", "--python", python, "--no-discover", code=1).out.replace(python, "PYTHON"))
    assert outputs[0].partition("What to do")[0] == outputs[1].partition("What to do")[0]


# ------------------------------------------------------------------------------------------- what people type first


def test_a_name_alone_is_the_newest_wheel_on_the_index(tmp_path, monkeypatch, run):
    files = {"demo/_x.cp311-win_amd64.pyd": ""}
    wheels = [build_wheel(tmp_path / "files", "demo", version, files=files) for version in ("1.2", "1.10")]
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("WHEELFIX_CACHE_DIR", str(tmp_path / "cache"))
    with index_of(wheels) as server:
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple")
        assert run("scan", "demo", "--python-version", "3.11", "--no-discover").out.startswith("demo-1.10-")
        err = run("scan", "dsit", code=3).err
        assert "dsit is neither a file or folder here nor a project on the package index" in err
