"""The door: commands found, slips answered, and every way to fail ends in a message and a code."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import types

import pytest

import wheelfix
from tests.support.wheels import build_wheel
from wheelfix.cli import main as door
from wheelfix.cli.commands import COMMANDS, load_command
from wheelfix.errors import EnvironmentFailure, InputError


def run(*argv: str, **settings) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "wheelfix", *argv], capture_output=True, check=False, **settings)


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(option, capsys):
    assert door.main([option]) == 0
    assert capsys.readouterr().out == f"wheelfix {wheelfix.__version__}\n"


def test_help_lists_every_command(capsys):
    assert door.main(["--help"]) == 0
    out = capsys.readouterr().out
    for name, command in COMMANDS.items():
        assert f"  {name:<11} {command.summary}\n" in out
    assert "examples:" in out


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_examples(name, capsys):
    assert door.main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"usage: wheelfix {name}" in out
    assert f"examples:\n  wheelfix {name}" in out
    assert max(map(len, out.splitlines())) <= 100


def test_help_of_a_command_by_word(capsys):
    assert door.main(["help", "explain"]) == 0
    assert "usage: wheelfix explain" in capsys.readouterr().out


def test_no_command_shows_help_and_is_usage(capsys):
    assert door.main([]) == 2
    assert "commands:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "what", "hint"),
    [
        (["scna"], "there is no command 'scna'", "did you mean 'scan'?"),
        (["explian"], "there is no command 'explian'", "did you mean 'explain'?"),
        (["zzzzzz"], "there is no command 'zzzzzz'", "'wheelfix --help' lists the commands"),
        (["--verison"], "wheelfix does not know '--verison'", "did you mean '--version'?"),
        (["explain", "--fromat=json"], "wheelfix explain does not know '--fromat'", "did you mean '--format'?"),
        (
            ["explain", "--form", "json"],
            "wheelfix explain does not know '--form'",
            "did you mean '--format' or '--color'?",
        ),
    ],
)
def test_slips(argv, what, hint, capsys):
    assert door.main(argv) == 2
    assert capsys.readouterr().err == f"wheelfix: error: {what}\n  hint: {hint}\n"


def test_a_wrong_choice_names_the_right_ones(capsys):
    assert door.main(["explain", "--format", "jsno"]) == 2
    assert "'jsno' is not one of text, markdown, json; did you mean 'json'?" in capsys.readouterr().err


def failing(monkeypatch, error: BaseException) -> None:
    """Make ``wheelfix explain`` raise."""

    def execute(args: object) -> int:
        raise error

    module = types.SimpleNamespace(configure_parser=load_command("explain").configure_parser, execute=execute)
    monkeypatch.setattr(door, "load_command", lambda name: module)


def within_a_class(error: BaseException) -> RuntimeError:
    """Return what Python 3.11 makes of an interrupt that falls into the making of a class."""
    wrapped = RuntimeError("Error calling __set_name__ on 'Field' instance")
    wrapped.__cause__ = error
    return wrapped


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        pytest.param(
            InputError("x.whl is no wheel", because="it is no ZIP", hint="build it again"),
            3,
            "wheelfix: error: x.whl is no wheel\n  because: it is no ZIP\n  hint: build it again\n",
            id="input",
        ),
        pytest.param(
            InputError("x.whl", because=("one reason", "another"), hint="fix both"),
            3,
            "wheelfix: error: x.whl\n  because: one reason\n           another\n  hint: fix both\n",
            id="reasons",
        ),
        pytest.param(EnvironmentFailure("no disk"), 4, "wheelfix: error: no disk\n", id="environment"),
        pytest.param(KeyboardInterrupt(), 130, "wheelfix: interrupted\n", id="ctrl-c"),
        pytest.param(within_a_class(KeyboardInterrupt()), 130, "wheelfix: interrupted\n", id="ctrl-c-in-an-import"),
        pytest.param(
            OSError(errno.ENOSPC, "No space left on device", "out.json"),
            4,
            "wheelfix: error: out.json\n  because: No space left on device\n"
            "  hint: free some space, or write to another disk\n",
            id="full disk",
        ),
        pytest.param(
            PermissionError(errno.EACCES, "Permission denied", "a.whl"),
            4,
            "wheelfix: error: a.whl\n  because: Permission denied\n  hint: check the permissions of the "
            "file and of its folder, and whether another program has it open\n",
            id="permission",
        ),
        pytest.param(MemoryError(), 4, "wheelfix: error: out of memory\n  hint: try fewer jobs: -j 1\n", id="memory"),
        pytest.param(BrokenPipeError(errno.EPIPE, "Broken pipe"), 4, "", id="broken pipe"),
    ],
)
def test_every_failure_is_a_message_and_a_code(error, code, message, monkeypatch, capsys):
    failing(monkeypatch, error)
    monkeypatch.delenv("WHEELFIX_DEBUG", raising=False)
    assert door.main(["explain"]) == code
    assert capsys.readouterr().err == message


def test_a_mistake_of_ours_comes_with_the_text_for_a_report(monkeypatch, capsys):
    failing(monkeypatch, ZeroDivisionError("division by zero"))
    monkeypatch.delenv("WHEELFIX_DEBUG", raising=False)
    assert door.main(["explain"]) == 4
    what, cause, place, system, hint = capsys.readouterr().err.splitlines()
    assert what == "wheelfix: error: this should not have happened"
    assert cause == "  because: ZeroDivisionError: division by zero"
    assert place.strip().startswith("at test_main.py:")
    assert "called by cli/main.py:" in place
    assert system.strip().startswith("wheelfix ")
    assert "please report it" in hint


def test_debugging_lets_the_traceback_through(monkeypatch):
    failing(monkeypatch, ZeroDivisionError("x"))
    monkeypatch.setenv("WHEELFIX_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        door.main(["explain"])


def test_start_imports_nothing_heavy():
    code = (
        "import sys; from wheelfix.cli.main import main; main(['--help']); "
        "heavy = {'rich', 'markdown_it', 'pefile', 'packaging', 'importlib.metadata', 'json', 'zipfile', 'difflib'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.endswith("[]\n")


def test_scanning_a_wheel_on_disk_imports_nothing_for_servers(tmp_path):
    requires = ["x[y] >=1.2,<2", "z ==1.*; (os_name == \"nt\") and extra == 'dev'"]
    wheel = build_wheel(tmp_path, "pkg", "1.0", files={"pkg/__init__.py": "VERSION = 1"}, requires=requires)
    code = (
        # From Python 3.14 on argparse imports inspect, for colours.
        "import argparse, sys; argparse.ArgumentParser().format_help(); before = set(sys.modules); "
        f"from wheelfix.cli.main import main; main(['scan', {str(wheel)!r}, '-q']); "
        "heavy = {'requests', 'urllib.request', 'http.client', 'email', 'ssl', 'socket', 'configparser', 'inspect', "
        "'subprocess', 'pickle', 'json', 'pyarrow', 'packaging', 'wheelfix.remote.transport', "
        "'wheelfix.base.workers'}; "
        "print(sorted(heavy & set(sys.modules) - before))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.endswith("[]\n")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437"])
def test_a_poor_console_never_stops_us(encoding):
    result = run("explain", "坏-→", env={**os.environ, "PYTHONIOENCODING": encoding, "FORCE_COLOR": "1"})
    assert result.returncode == 2
    assert b"Traceback" not in result.stderr


def test_a_reader_that_leaves_is_no_traceback():
    process = subprocess.Popen(
        [sys.executable, "-m", "wheelfix", "explain"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait()


def test_as_a_module():
    assert run("--version").stdout.decode().split() == ["wheelfix", wheelfix.__version__]
