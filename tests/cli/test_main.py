"""The door: commands found, slips answered, every way to fail ends in a message and a code; explain and roots."""

from __future__ import annotations

import argparse
import contextlib
import errno
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wheelfix
from tests.support.environments import install
from tests.support.schemas import validate
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix.archive.reader import Archive
from wheelfix.cli import main as door
from wheelfix.cli.commands import COMMANDS
from wheelfix.cli.common import write_result
from wheelfix.cli.main import main
from wheelfix.cli.settings import size
from wheelfix.errors import EnvironmentFailure, Exit, InputError
from wheelfix.exam import verify as exam_verify
from wheelfix.knowledge.tables import tables_date
from wheelfix.report.canvas import TextStyle
from wheelfix.report.document import KINDS, SCAN_KINDS, Document
from wheelfix.report.pages import render_page, render_rules
from wheelfix.rules import registry
from wheelfix.rules.context import Subject
from wheelfix.rules.registry import all_rules, page


def run(*argv: str, **settings) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "wheelfix", *argv], capture_output=True, check=False, **settings)


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(option, capsys):
    assert door.main([option]) == 0
    assert capsys.readouterr().out == f"wheelfix {wheelfix.__version__} (tables of {tables_date()})\n"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_examples(name, capsys):
    assert door.main([name, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"usage: wheelfix {name}" in out
    assert f"examples:\n  wheelfix {name}" in out
    assert max(map(len, out.splitlines())) <= 100


def failing(monkeypatch, error: BaseException) -> None:
    """Make ``wheelfix explain`` raise."""

    def execute(args: object) -> int:
        raise error

    monkeypatch.setattr(door, "load_command", lambda name: execute)


def within_a_class(error: BaseException) -> RuntimeError:
    """Return what Python 3.11 makes of an interrupt that falls into the making of a class."""
    wrapped = RuntimeError("Error calling __set_name__ on 'Field' instance")
    wrapped.__cause__ = error
    return wrapped


@named_cases(
    "error, code, message",
    {
        "input": (
            InputError("x.whl is no wheel", because="it is no ZIP", hint="build it again"),
            3,
            "wheelfix: error: x.whl is no wheel\n  because: it is no ZIP\n  hint: build it again\n",
        ),
        "environment": (EnvironmentFailure("no disk"), 4, "wheelfix: error: no disk\n"),
        "ctrl-c": (KeyboardInterrupt(), 130, "wheelfix: interrupted\n"),
        "ctrl-c-in-an-import": (within_a_class(KeyboardInterrupt()), 130, "wheelfix: interrupted\n"),
        "full disk": (
            OSError(errno.ENOSPC, "No space left on device", "out.json"),
            4,
            "wheelfix: error: out.json\n  because: No space left on device\n"
            "  hint: free some space, or write to another disk\n",
        ),
        "memory": (MemoryError(), 4, "wheelfix: error: out of memory\n  hint: try fewer jobs: -j 1\n"),
        "broken pipe": (BrokenPipeError(errno.EPIPE, "Broken pipe"), 4, ""),
    },
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


def test_a_poor_console_never_stops_us():
    result = run("explain", "坏-→", env={**os.environ, "PYTHONIOENCODING": "ascii", "FORCE_COLOR": "1"})
    assert result.returncode == 2
    assert b"Traceback" not in result.stderr


NAMES = ("alpha", "bad", "omega")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three wheels; a rule fails on the second as no rule should."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHEELFIX_DEBUG", raising=False)
    for name in NAMES:
        build_wheel(
            tmp_path / "dist",
            name,
            files={f"{name}/_x.cp311-win_amd64.pyd": "imports python311.dll:Py_Initialize", f"{name}/__init__.py": ""},
        )
    whole = registry.run

    def run(subject: Subject, *rest: object) -> object:
        paths = [*subject.view.images()] if subject.installed else [subject.name]
        if any("bad" in path for path in paths):
            raise ZeroDivisionError("a mistake of ours")
        return whole(subject, *rest)  # type: ignore[arg-type]

    whole_archive = exam_verify.archive_findings

    def run_for_archive(archive: Archive, *rest: object) -> object:
        if "bad" in archive.shown:
            raise ZeroDivisionError("a mistake of ours")
        return whole_archive(archive, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("wheelfix.exam.examine.run", run)
    monkeypatch.setattr("wheelfix.exam.verify.archive_findings", run_for_archive)
    return tmp_path


def is_told(err: str) -> bool:
    """Whether the text has what a bug report needs."""
    return (
        "ZeroDivisionError: a mistake of ours" in err
        and "in run" in err
        and "Python 3" in err
        and "please report" in err
    )


@pytest.mark.parametrize("jobs", ["1", "4"])
@pytest.mark.parametrize("kind", SCAN_KINDS)
def test_scan(wheels, kind, jobs, run):
    reported = run("scan", "dist", "--format", kind, "-j", jobs, "--no-discover", code=Exit.ENVIRONMENT)
    assert is_told(reported.err)
    assert "Traceback" not in reported.err + reported.out
    if kind not in ("github", "sarif", "concise"):  # which have nothing to say about sound wheels
        assert "alpha" in reported.out
        assert "omega" in reported.out


@pytest.mark.parametrize("words", [["scan", "dist"], ["scan", "env"], ["verify", "dist"], ["ci", "dist"]], ids=" ".join)
def test_documents(wheels, words, run):
    for name in NAMES:
        install(wheels / "dist" / f"{name}-1.0-cp311-cp311-win_amd64.whl", wheels / "env")
    (wheels / "env" / "python.exe").write_bytes(b"MZ")
    reported = run(*words, "--format", "json", *([] if "verify" in words else ["--no-discover"]), code=Exit.ENVIRONMENT)
    assert is_told(reported.err)
    document = json.loads(reported.out)
    validate(document)
    assert [wheel["name"] for wheel in document["wheels"]] == ["alpha", "omega"]
    assert "ZeroDivisionError" in document["failures"][0]["because"]


def test_repair(wheels, run):
    reported = run("repair", "dist", "--format", "json", "--no-discover", code=Exit.ENVIRONMENT)
    assert is_told(reported.err)
    outcomes = {
        entry["path"].split("/")[-1].split("-")[0]: entry["outcome"] for entry in json.loads(reported.out)["wheels"]
    }
    assert outcomes == {"alpha": "unchanged", "bad": "failed", "omega": "unchanged"}
    assert sorted(path.name.split("-")[0] for path in (wheels / "wheelhouse").iterdir()) == ["alpha", "omega"]


@pytest.mark.parametrize("kind", ["text", "json", "markdown"])
def test_diff(wheels, kind, capsys):
    """What could not be read is neither lost nor new."""
    arguments = ["diff", "dist", "dist", "--fail-on-lost", "--format", kind]
    assert main(arguments) == Exit.ENVIRONMENT
    reported = capsys.readouterr()
    assert is_told(reported.err)
    assert "alpha" in reported.out
    assert "omega" in reported.out
    if kind == "json":
        document = json.loads(reported.out)
        validate(document)
        assert document["only_old"] == document["only_new"] == []
        assert [path.split("/")[-1] for path in document["unread"]] == ["bad-1.0-cp311-cp311-win_amd64.whl"]
    else:
        assert "ot compared" in reported.out or "NOT COMPARED" in reported.out


@pytest.mark.parametrize("kind", ["markdown", "json"])
def test_a_report_that_cannot_be_drawn(wheels, kind, monkeypatch, run):
    """A renderer that fails on one report draws the others, and names the one."""
    module, function = KINDS[kind]
    whole = getattr(importlib.import_module(module), function)

    def render(document: Document) -> str:
        if any(report.name == "alpha" for report in document.reports):
            raise KeyError("a mistake of ours")
        return str(whole(document))

    monkeypatch.setattr(f"{module}.{function}", render)
    wheels.joinpath("dist", "bad-1.0-cp311-cp311-win_amd64.whl").unlink()
    out = run("scan", "dist", "--format", kind, "--no-discover", code=Exit.ENVIRONMENT).out
    assert "omega" in out
    assert "KeyError" in out


@pytest.mark.parametrize(
    "text, expected",
    [("512K", 512 << 10), ("2 GiB", 2 << 30), ("77B", 77)],
)
def test_sizes(text, expected):
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "0", "1.5G", "G", "1X", "9" * 20])
def test_what_is_no_size(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a size"):
        size(text)


@pytest.mark.parametrize("command", ["scan", "verify", "repair"])
@pytest.mark.parametrize(
    "option, value, because",
    [
        ("--max-members", "3", "more than 3 members"),
        ("--max-total", "1K", "would unpack to"),
    ],
)
def test_limits_can_be_lowered(command, option, value, because, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wheel = build_wheel(tmp_path / "dist", files={"pkg/a.py": "a = 1\n" * 500, "pkg/b.py": ""})
    assert main([command, str(wheel), "--no-config"]) in (Exit.OK, Exit.FINDINGS)
    capsys.readouterr()
    assert main([command, str(wheel), "--no-config", option, value]) == Exit.BAD_INPUT
    said = capsys.readouterr().err
    assert because in said
    assert f"raise the limit with --limit {option[6:]}=VALUE" in said


def test_a_member_beyond_the_limit_is_a_finding(tmp_path, run):
    wheel = build_wheel(tmp_path, files={"pkg/a.py": "a = 1\n" * 5000})
    document = run("verify", wheel, "--no-config", "--max-size", "1K", "--format", "json", code=Exit.FINDINGS).document
    codes = {finding["code"] for report in document["wheels"] for finding in report["findings"]}
    assert codes & {"WF115", "WF116", "WF121"}


def test_a_result_takes_the_place_of_the_old_one_whole(tmp_path):
    target = tmp_path / "out.json"
    target.write_text("old")
    write_result("new \udcff", target)
    assert target.read_text(encoding="utf-8") == "new ?"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_the_help_of_verify_names_the_threshold_that_it_has(capsys):
    """It failed from warnings on and said that errors were the default."""
    shown = {}
    for command in ("scan", "verify"):
        with contextlib.suppress(SystemExit):
            main([command, "--help"])
        text = " ".join(capsys.readouterr().out.split())
        shown[command] = re.findall(r"(\w+) \(default\)", text.partition("--fail-on")[2])[0]
    assert shown == {"scan": "error", "verify": "warning"}


@named_cases("loud", {"plain": [], "verbose": ["-v"], "quiet": ["-q"]})
def test_versions_of_large_files_count_whatever_is_printed(tmp_path, run, loud):
    """``scan --select WF4 --fail-on warning`` exited with 0, and with 1 if -v was given: MKL is larger than 16 MB."""
    files = {
        "pkg/_x.cp311-win_amd64.pyd": "imports mkl_intel_thread.2.dll",
        "pkg/mkl_intel_thread.2.dll": forge_dll(
            "mkl_intel_thread.2.dll",
            imports={"libiomp5md.dll": ["f"]},
            exports=["f"],
            version=(2025, 3, 0, 0),
            size=17 << 20,
        ),
        "pkg/libiomp5md.dll": "version 5.0.2019.1002",
    }
    wheel = build_wheel(tmp_path, files=files)
    words = ["scan", str(wheel), "--no-discover", "--select", "WF4", "--fail-on", "warning"]
    out = run(*words, *loud, code=1).out
    assert loud == ["-q"] or "WF412" in out


# -------------------------------------------------------------------------------------------------------------- explain
# ``wheelfix explain``: every page on every terminal, by code and by name.


def explain(capsys, *argv: str) -> str:
    assert main(["explain", *argv]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("word", ["wf301", "Missing_Dependency"])
def test_by_code_and_by_name(word, capsys):
    assert explain(capsys, word) == render_page(page("WF301"), TextStyle())


def test_all_in_a_list(capsys):
    out = explain(capsys)
    assert out == render_rules(all_rules(), TextStyle())
    for rule in all_rules():
        assert f"  {rule.code}  " in out


def test_as_markdown(capsys):
    assert explain(capsys, "WF301", "--format", "markdown") == page("WF301")
    assert explain(capsys, "--format", "markdown").startswith("| code | name |")


def test_as_json(capsys):
    document = json.loads(explain(capsys, "WF30", "--format", "json"))
    assert {rule["code"][:4] for rule in document["rules"]} == {"WF30"}


def test_every_page_is_rendered_whole_and_narrow():
    for rule in all_rules():
        text = render_page(page(rule.code), TextStyle(80))
        assert text.isascii(), [line for line in text.splitlines() if not line.isascii()]
        assert "```" not in text
        assert "**" not in text
        for line in text.splitlines():
            assert len(line) <= 80 or line.startswith("    "), (rule.code, line)  # code stays as it is


# ---------------------------------------------------------------------------------------------------------------- roots
# ``wheelfix roots``: what is seen and why, for people and machines.


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A CUDA 11.7 that a variable names, a variable that names nothing, and a plain folder."""
    for name in list(os.environ):
        if name.startswith(("CUDA", "CONDA", "MKL", "ONEAPI", "VIRTUAL_ENV")):
            monkeypatch.delenv(name)
    cuda = tmp_path / "CUDA" / "v11.7"
    (cuda / "bin").mkdir(parents=True)
    (cuda / "version.json").write_text(json.dumps({"cuda": {"name": "CUDA SDK", "version": "11.7.1"}}))
    (cuda / "bin" / "cudart64_110.dll").write_bytes(forge_dll("x.dll"))
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "zlibwapi.dll").write_bytes(forge_dll("x.dll"))
    monkeypatch.setenv("CUDA_PATH", str(cuda))
    monkeypatch.setenv("CUDA_PATH_V12_1", str(tmp_path / "nowhere"))
    return tmp_path


def test_text(machine, run):
    out = run("roots", "--root", machine / "plain", "zlibwapi").out
    assert f"CUDA 11.7.1  {machine / 'CUDA' / 'v11.7'}\n" in out or f"CUDA 11.7  {machine / 'CUDA' / 'v11.7'}\n" in out
    assert "CUDA_PATH" in out
    assert "nowhere: no such folder" in " ".join(out.split())
    assert f"zlibwapi: 1 file\n  {machine / 'plain' / 'zlibwapi.dll'}" in out
    assert out.isascii()


def test_json_fits_its_schema(machine, run):
    document = run("roots", "--format", "json", "--root", machine / "plain", "cudart64_*.dll").document
    validate(document)
    assert [match["name"] for match in document["matches"]] == ["cudart64_110.dll"]
    assert "cuda" in [root["kind"] for root in document["roots"]]


def test_only_what_is_named(machine, run):
    assert run("roots", "-q", "--no-discover", "--root", machine / "plain").out == f"folder  {machine / 'plain'}\n"
