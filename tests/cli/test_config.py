"""Configuration files: what they may say, where a fault stands, and what wins over what."""

from __future__ import annotations

import os
from unittest import mock

import pytest

from tests.support.wheels import build_wheel, library
from wheelfix.cli.commands import COMMANDS
from wheelfix.cli.settings import (
    Setting,
    command_parser,
    find_file,
    read_configuration,
    read_settings,
    vocabulary,
)
from wheelfix.errors import UsageError


def read(tmp_path, text: str, name: str = "wheelfix.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_configuration(path)


def test_settings_with_their_places(tmp_path):
    found = read(
        tmp_path,
        """\
# a comment
fail-on = "warning"
ignore = ["WF605", "WF3"]

[repair]
wheel_dir = "out"
jobs = 2

[wheels."Torch*"]
verify = true
""",
    )
    assert list(found) == [
        Setting("fail-on", "warning", "wheelfix.toml:2"),
        Setting("ignore", ["WF605", "WF3"], "wheelfix.toml:3"),
        Setting("wheel-dir", str(tmp_path / "out"), "wheelfix.toml:6", "repair"),
        Setting("jobs", 2, "wheelfix.toml:7", "repair"),
        Setting("verify", True, "wheelfix.toml:10", "", "Torch*"),
    ]


def test_in_pyproject(tmp_path):
    text = '[project]\nname = "x"\n\n[tool.wheelfix]\nscan.fail-on = "never"\n'
    text += '\n[tool.wheelfix.wheels.torch]\nignore = "WF1"\n'
    assert list(read(tmp_path, text, "pyproject.toml")) == [
        Setting("fail-on", "never", "pyproject.toml:5", "scan"),
        Setting("ignore", "WF1", "pyproject.toml:8", "", "torch"),
    ]


def test_paths_count_from_the_file(tmp_path):
    found = read(tmp_path, f'root = ["a", "{(tmp_path / "b").as_posix()}"]\nreport = "sarif=out.sarif"\n')
    assert found[0].value == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert found[1].value == f"sarif={tmp_path / 'out.sarif'}"


@pytest.mark.parametrize(
    "text, what, hint",
    [
        ('\nfial-on = "error"', "wheelfix.toml:2: there is no option 'fial-on'", "did you mean 'fail-on'?"),
        ("[repair]\nverify = true", "wheelfix.toml:2: there is no option 'verify' of repair", "--help"),
        (
            'fail-on = "eror"',
            "wheelfix.toml:1: fail-on cannot be used: 'eror' is not one of error, unsure, warning, info, never; did "
            "you mean 'error'?",
            "",
        ),
        ("fail-on = true", "wheelfix.toml:1: fail-on is a text or number, not True", ""),
        ("gpu = false", "wheelfix.toml:1: gpu is a text or number, not False", ""),
        ("ignore = [[1]]", "wheelfix.toml:1: ignore is a list of texts, not [[1]]", ""),
        ("jobs = 0", "wheelfix.toml:1: jobs cannot be used: '0' is not a number from 1 on", ""),
        ("[wheels.torch]\n\njobs = 1", "wheelfix.toml:3: 'jobs' cannot differ from wheel to wheel", "above the wheels"),
        ('wheels = ["torch"]', "wheelfix.toml:1: wheels holds one table for each name", ""),
        ("wheels = { torch = { xyz = 1 } }", "wheelfix.toml:1: there is no option 'xyz'", "--help"),
        ("fail-on = ", "is not valid TOML", ""),
    ],
)
def test_faults_name_key_and_line(tmp_path, text, what, hint):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert what in caught.value.what
    assert hint in caught.value.hint


def test_a_fault_of_syntax_names_its_line(tmp_path):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, "a = 1\nb = = 2\n")
    assert "line 2" in caught.value.because


def test_every_fault_is_told_at_once(tmp_path):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, "nope = 1\njobs = 0\n")
    assert "wheelfix.toml:1: there is no option 'nope'" in str(caught.value)
    assert "wheelfix.toml:2: jobs cannot be used" in str(caught.value)


def test_no_utf8(tmp_path):
    (tmp_path / "wheelfix.toml").write_bytes(b'ignore = "\xff"')
    with pytest.raises(UsageError, match="not UTF-8"):
        read_configuration(tmp_path / "wheelfix.toml")


@pytest.mark.parametrize("text", ["tool = 1", "[tool]\nwheelfix = 1"])
def test_a_project_file_whose_table_is_none(tmp_path, text):
    with pytest.raises(UsageError, match=r"tool\.wheelfix is not a table"):
        read(tmp_path, text, "pyproject.toml")


class TestFinding:
    def test_the_nearest_file_above(self, tmp_path):
        below = tmp_path / "a" / "b"
        below.mkdir(parents=True)
        (tmp_path / "pyproject.toml").write_text("[tool.wheelfix.scan]\n")
        (below.parent / "pyproject.toml").write_text("[tool.other]\n")
        assert find_file(below) == tmp_path / "pyproject.toml"
        (below / "wheelfix.toml").write_text("")
        assert find_file(below) == below / "wheelfix.toml"

    def test_our_own_file_before_the_projects(self, tmp_path):
        (tmp_path / "pyproject.toml").write_text("[tool.wheelfix]\n")
        (tmp_path / "wheelfix.toml").write_text("")
        assert find_file(tmp_path) == tmp_path / "wheelfix.toml"

    def test_somebodys_broken_project_file_is_not_our_affair(self, tmp_path):
        (tmp_path / "pyproject.toml").write_bytes(b"[[[\xff")
        assert find_file(tmp_path) is None or find_file(tmp_path).parent != tmp_path


# ------------------------------------------------------------------------------------------------------------ tomllines
# The line of each key in a TOML text, for messages about it.


# ------------------------------------------------------------------------------------------------------------- settings
# Options from the command line, variables and files, and what wins.


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(*argv: str, command: str = "scan", **environ: str):
    with mock.patch.dict(os.environ, environ):
        return read_settings(command_parser(command), command, list(argv))


def test_the_command_line_over_variables_over_the_file(folder):
    (folder / "wheelfix.toml").write_text('fail-on = "info"\nignore = ["WF1"]\nselect = ["WF2"]\nverify = true\n')
    found = settings("x.whl", "--fail-on", "never", WHEELFIX_FAIL_ON="warning", WHEELFIX_IGNORE="WF3, WF4").values()
    assert (found["fail_on"].value, found["fail_on"].where) == ("never", "command line")
    assert (found["ignore"].value, found["ignore"].where) == (["WF3", "WF4"], "environment variable WHEELFIX_IGNORE")
    assert (found["select"].value, found["select"].where) == (["WF2"], "wheelfix.toml:3")
    assert found["verify"].value is True


def test_what_excludes_each_other(folder):
    (folder / "wheelfix.toml").write_text("verbose = true\n")
    args = settings("x.whl", "-q").namespace()
    assert (args.quiet, args.verbose) == (True, False)


def test_for_wheels_of_a_name(folder):
    (folder / "wheelfix.toml").write_text('ignore = ["WF1"]\n[wheels."torch*"]\nignore = ["WF6"]\n')
    found = settings("x.whl")
    assert found.namespace("TorchVision").ignore == ["WF6"]
    assert found.namespace("numpy").ignore == ["WF1"]
    assert settings("x.whl", "--ignore", "WF2").namespace("torch").ignore == ["WF2"]


def test_a_file_is_named_or_refused(folder):
    (folder / "wheelfix.toml").write_text('fail-on = "info"\n')
    (folder / "other.toml").write_text('fail-on = "never"\n')
    assert settings("x.whl", "--config", "other.toml").namespace().fail_on == "never"
    assert settings("x.whl", WHEELFIX_CONFIG="other.toml").namespace().fail_on == "never"
    assert settings("x.whl", "--no-config").namespace().fail_on == "error"
    with pytest.raises(UsageError, match="there is no configuration file"):
        settings("x.whl", "--config", "nowhere.toml")


@pytest.mark.parametrize("text, value", [("yes", True), ("", False), ("Off", False)])
def test_flags_in_variables(text, value):
    assert settings("x.whl", WHEELFIX_VERIFY=text).namespace().verify is value


@pytest.mark.parametrize(
    "environ, message",
    [
        (
            {"WHEELFIX_VERIFY": "perhaps"},
            "WHEELFIX_VERIFY: verify is true or false, not 'perhaps'",
        ),
        ({"WHEELFIX_JOBS": "0"}, "WHEELFIX_JOBS: jobs cannot be used: '0' is not a number"),
        ({"WHEELFIX_FORMAT": "yaml"}, "WHEELFIX_FORMAT: format cannot be used: 'yaml' is not one of text, json"),
        (
            {"WHEELFIX_REPORT": "yaml=x"},
            "WHEELFIX_REPORT: report cannot be used: 'yaml' is not a kind",
        ),
    ],
)
def test_wrong_variables(environ, message):
    with pytest.raises(UsageError) as caught:
        settings("x.whl", **environ)
    assert caught.value.what.startswith(f"environment variable {message}")


@pytest.mark.parametrize("wanted", [True, False])
def test_an_option_that_is_on_by_default_is_set_as_it_is_called(folder, wanted):
    """Of two arguments for it, the first turns it off."""
    (folder / "wheelfix.toml").write_text(f"sbom = {str(wanted).lower()}\n")
    assert settings("x.whl", command="repair").namespace().sbom is wanted
    (folder / "wheelfix.toml").unlink()
    assert settings("x.whl", command="repair", WHEELFIX_SBOM=str(wanted)).namespace().sbom is wanted


def test_what_a_command_takes_counts_for_that_command(folder):
    """A scan takes several packages, a repair one."""
    (folder / "wheelfix.toml").write_text('[scan]\npackage = ["a", "b"]\n[repair]\npackage = "a"\n')
    assert settings("x", command="scan").namespace().package == ["a", "b"]
    assert settings("--env", "x", command="repair").namespace().package == "a"
    (folder / "wheelfix.toml").write_text('[repair]\npackage = ["a", "b"]\n')
    with pytest.raises(UsageError, match="package is a text"):
        settings("x", command="repair")


SETTING_KEYS = {
    ("diagnose", "issue"): "issue-block",
    ("survey", "output"): "survey-folder",
    ("ci", "try"): "trial",
    ("sign", "wheel-dir"): "output-dir",
    **{(command, "with"): "beside" for command in ("scan", "ci", "repair")},
    **{(command, "extra"): "lock-extras" for command in ("scan", "ci", "repair")},
    **{(command, "group"): "lock-groups" for command in ("scan", "ci", "repair")},
}
"""Options that have another name in a file, because the same word means something else for another command."""


DELVEWHEEL = "add-path add-dll no-dll ignore-existing ignore-in-wheel analyze-existing analyze-existing-exes".split()
"""Its words for options of ours, which have another name in a file."""


def test_every_option_of_every_command_can_be_configured():
    known = vocabulary()
    for command in COMMANDS:
        parser = command_parser(command)
        for option in parser.options():
            name = option[2:]
            if command == "sign" and name in ("include", "exclude"):
                continue  # in a file these are about repairs
            if (command, name) in SETTING_KEYS:
                name = SETTING_KEYS[command, name]
            elif command == "ci" and name.startswith("try-"):
                name = f"trial-{name[4:]}"
            elif command == "try" and f"trial-{name}" in known:
                name = f"trial-{name}"
            if name == "report" and command in ("repair", "diff", "diagnose"):
                continue  # what a file says for `report` is about scans, which have other kinds
            if option.startswith("--") and name not in (
                "help",
                "config",
                "no-config",
                "show-config",
                "no-sbom",
                "command",
                *DELVEWHEEL,
            ):
                assert command in known[name], (command, option)


def test_the_users_own_file_may_name_toolkits_anywhere(folder, tmp_path_factory, run, monkeypatch):
    """The file of a project may not: anybody can put one into a folder."""
    monkeypatch.setattr("sys.platform", "linux")
    home, toolkit = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("toolkit")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    (toolkit / "gone.dll").write_bytes(library("gone.dll"))
    own = home / "wheelfix" / "wheelfix.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f"root = ['{toolkit}']\nno-discover = true\nfail-on = 'never'\n")
    (folder / "wheelfix.toml").write_text('fail-on = "error"\n')
    build_wheel(folder / "dist", "one", files={"one/_x.cp311-win_amd64.pyd": "imports gone.dll"})
    assert str(toolkit) in run("scan", code=1).out  # the project's file overrides the user's
    out = run("repair", "--show-config").out
    assert f"configured by {own} and {(folder / 'wheelfix.toml').resolve()}" in out
    assert f"{toolkit}" in out
    assert f"{own}:1" in out
    assert "configured by no file" in run("scan", "--config", "none", "--show-config").out
    (folder / "wheelfix.toml").write_text(f"root = ['{toolkit}']\n")
    assert "leads out of the folder of the file" in run("scan", code=2).err
