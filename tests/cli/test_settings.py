"""Options from the command line, variables and files, and what wins."""

from __future__ import annotations

import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.commands import COMMANDS
from wheelfix.cli.main import main
from wheelfix.cli.parsers import command_parser
from wheelfix.cli.settings import read_settings, vocabulary
from wheelfix.demo.forge import forge_dll
from wheelfix.errors import UsageError


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def settings(*argv: str, command: str = "scan", **environ: str):
    return read_settings(command_parser(command), command, list(argv), environ)


def test_without_anything_the_defaults_hold():
    args = settings("x.whl").namespace()
    assert (args.paths, args.fail_on, args.ignore, args.jobs, args.verbose) == (["x.whl"], "error", [], None, False)


def test_a_default_of_one_command_is_its_own():
    assert settings("x.whl", command="verify").namespace().fail_on == "warning"


def test_the_command_line_over_variables_over_the_file(folder):
    (folder / "wheelfix.toml").write_text('fail-on = "info"\nignore = ["WF1"]\nselect = ["WF2"]\nverify = true\n')
    found = settings("x.whl", "--fail-on", "never", WHEELFIX_FAIL_ON="warning", WHEELFIX_IGNORE="WF3, WF4").values()
    assert (found["fail_on"].value, found["fail_on"].where) == ("never", "command line")
    assert (found["ignore"].value, found["ignore"].where) == (["WF3", "WF4"], "environment variable WHEELFIX_IGNORE")
    assert (found["select"].value, found["select"].where) == (["WF2"], "wheelfix.toml:3")
    assert found["verify"].value is True


def test_a_list_on_the_command_line_takes_the_place_of_the_files(folder):
    (folder / "wheelfix.toml").write_text('ignore = ["WF1"]\n')
    assert settings("x.whl", "--ignore", "WF2", "--ignore", "WF3").namespace().ignore == ["WF2", "WF3"]


def test_what_excludes_each_other(folder):
    (folder / "wheelfix.toml").write_text("verbose = true\n")
    args = settings("x.whl", "-q").namespace()
    assert (args.quiet, args.verbose) == (True, False)


def test_for_wheels_of_a_name(folder):
    (folder / "wheelfix.toml").write_text('ignore = ["WF1"]\n[wheels."torch*"]\nignore = ["WF6"]\n')
    found = settings("x.whl")
    assert found.has_wheels
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


@pytest.mark.parametrize(("text", "value"), [("1", True), ("yes", True), ("0", False), ("", False), ("Off", False)])
def test_flags_in_variables(text, value):
    assert settings("x.whl", WHEELFIX_VERIFY=text).namespace().verify is value


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"WHEELFIX_VERIFY": "perhaps"}, "environment variable WHEELFIX_VERIFY: 'perhaps' is neither true nor false"),
        ({"WHEELFIX_JOBS": "0"}, "environment variable WHEELFIX_JOBS: '0' is not a number from 1 on"),
        ({"WHEELFIX_FORMAT": "yaml"}, "environment variable WHEELFIX_FORMAT: 'yaml' is not one of text, json"),
        ({"WHEELFIX_REPORT": "yaml=x"}, "environment variable WHEELFIX_REPORT: 'yaml' is not a kind of report"),
    ],
)
def test_wrong_variables(environ, message):
    with pytest.raises(UsageError) as caught:
        settings("x.whl", **environ)
    assert caught.value.what.startswith(message)


KEYS = {
    ("diagnose", "issue"): "issue-block",
    ("survey", "output"): "survey-folder",
    ("ci", "try"): "trial",
    **{(command, "with"): "beside" for command in ("scan", "ci", "repair")},
    **{(command, "extra"): "lock-extras" for command in ("scan", "ci", "repair")},
    **{(command, "group"): "lock-groups" for command in ("scan", "ci", "repair")},
}
"""Options that have another name in a file, because the same word means something else for another command."""


def test_every_option_of_every_command_can_be_configured():
    known, commands = vocabulary()
    assert set(commands) == set(COMMANDS)
    for command in commands:
        parser = command_parser(command)
        for option in parser.options():
            name = option[2:]
            if command == "sign" and name in ("include", "exclude"):
                continue  # in a file these are about repairs
            if (command, name) in KEYS:
                name = KEYS[command, name]
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
            ):
                assert command in known[name].commands, (command, option)


def test_show_config(folder, capsys, monkeypatch):
    (folder / "wheelfix.toml").write_text('fail-on = "info"\n\n[wheels.torch]\nignore = ["WF6"]\n')
    monkeypatch.setenv("WHEELFIX_JOBS", "3")
    assert main(["scan", "--show-config", "--no-discover"]) == 0
    out = capsys.readouterr().out
    rows = {line.split()[0]: line.split(maxsplit=2)[1:] for line in out.splitlines() if len(line.split()) > 2}
    assert rows["fail-on"] == ["info", "wheelfix.toml:1"]
    assert rows["jobs"] == ["3", "environment variable WHEELFIX_JOBS"]
    assert rows["no-discover"] == ["true", "command line"]
    assert rows["verify"] == ["false", "default"]
    assert "wheels called torch:\nignore  WF6  wheelfix.toml:4\n" in out


def test_wheels_of_a_name_are_scanned_their_own_way(folder, capsys):
    lacking = forge_dll("_x.pyd", imports={"python311.dll": ["Py_Initialize"], "gone.dll": ["f"]})
    for name in ("one", "two"):
        build_wheel(folder / "dist", name, "1.0", files={f"{name}/_x.cp311-win_amd64.pyd": lacking})
    (folder / "wheelfix.toml").write_text('[wheels.one]\nignore = ["WF3"]\n[wheels.two]\nfail-on = "never"\n')
    assert main(["scan", "-q", "dist", "--no-discover"]) == 0
    assert capsys.readouterr().out.split("\n")[:2] == [
        "OK  one-1.0-cp311-cp311-win_amd64.whl",
        "BROKEN  two-1.0-cp311-cp311-win_amd64.whl",
    ]
    (folder / "wheelfix.toml").write_text('[wheels.one]\nignore = ["WF3"]\n')
    assert main(["scan", "-q", "dist", "--no-discover"]) == 1


def test_a_fault_in_the_file_stops_with_its_line(folder, capsys):
    (folder / "wheelfix.toml").write_text("\n\nfial-on = 1\n")
    assert main(["scan", "x.whl"]) == 2
    assert capsys.readouterr().err == (
        "wheelfix: error: wheelfix.toml:3: there is no option 'fial-on'\n  hint: did you mean 'fail-on'?\n"
    )
