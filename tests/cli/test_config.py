"""Configuration files: what they may say, and where a fault stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wheelfix.cli.config import KeyLines, Option, find_file, read_configuration, table_header
from wheelfix.errors import UsageError

OPTIONS = {
    option.key: option
    for option in (
        Option("fail-on", "text", ("error", "warning", "never"), commands=frozenset({"scan"}), per_wheel=True),
        Option("ignore", "list", commands=frozenset({"scan"}), per_wheel=True),
        Option("verify", "flag", commands=frozenset({"scan"}), per_wheel=True),
        Option("jobs", "number", commands=frozenset({"scan", "repair"})),
        Option("root", "list", is_path=True, commands=frozenset({"scan", "repair"}), per_wheel=True),
        Option("report", "list", is_path=True, commands=frozenset({"scan"})),
        Option("wheel-dir", "text", is_path=True, commands=frozenset({"repair"})),
    )
}


def read(tmp_path, text: str, name: str = "wheelfix.toml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_configuration(path, OPTIONS, ("scan", "repair"))


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
    assert [(item.key, item.value, item.where, item.command, item.wheel) for item in found.settings] == [
        ("fail-on", "warning", "wheelfix.toml:2", "", ""),
        ("ignore", ("WF605", "WF3"), "wheelfix.toml:3", "", ""),
        ("wheel-dir", str(tmp_path / "out"), "wheelfix.toml:6", "repair", ""),
        ("jobs", 2, "wheelfix.toml:7", "repair", ""),
        ("verify", True, "wheelfix.toml:10", "", "Torch*"),
    ]
    assert [item.key for item in found.for_command("scan")] == ["fail-on", "ignore"]
    assert [item.key for item in found.for_command("repair")] == ["fail-on", "ignore", "wheel-dir", "jobs"]
    assert [item.key for item in found.for_wheel("torch_vision")] == ["verify"]
    assert list(found.for_wheel("numpy")) == []


def test_in_pyproject(tmp_path):
    text = '[project]\nname = "x"\n\n[tool.wheelfix]\nscan.fail-on = "never"\n'
    text += '\n[tool.wheelfix.wheels.torch]\nignore = "WF1"\n'
    found = read(tmp_path, text, "pyproject.toml")
    assert [(item.key, item.value, item.where) for item in found.settings] == [
        ("fail-on", "never", "pyproject.toml:5"),
        ("ignore", ("WF1",), "pyproject.toml:8"),
    ]


def test_paths_count_from_the_file(tmp_path):
    found = read(tmp_path, f'root = ["a", "{(tmp_path / "b").as_posix()}"]\nreport = "sarif=out.sarif"\n')
    assert found.settings[0].value == (str(tmp_path / "a"), str(tmp_path / "b"))
    assert found.settings[1].value == (f"sarif={tmp_path / 'out.sarif'}",)


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ('\nfial-on = "error"', "wheelfix.toml:2: there is no option 'fial-on'", "did you mean 'fail-on'?"),
        ("[repair]\nverify = true", "wheelfix.toml:2: there is no option 'verify' of repair", "--show-config"),
        ('fail-on = "eror"', "wheelfix.toml:1: fail-on is one of error, warning, never, not 'eror'", "'error'?"),
        ("fail-on = true", "wheelfix.toml:1: fail-on is a text, not True", ""),
        ("verify = 1", "wheelfix.toml:1: verify is true or false, not 1", ""),
        ("jobs = 0", "wheelfix.toml:1: jobs is a number from 1 on, not 0", ""),
        ("ignore = [1]", "wheelfix.toml:1: ignore is a list of texts, not [1]", ""),
        ("[wheels.torch]\n\njobs = 1", "wheelfix.toml:3: 'jobs' cannot differ from wheel to wheel", "above the wheels"),
        ('wheels = ["torch"]', "wheelfix.toml:1: wheels holds one table for each name", ""),
        ("wheels = { torch = { xyz = 1 } }", "wheelfix.toml:1: there is no option 'xyz'", "--show-config"),
        ("fail-on = ", "is not valid TOML", ""),
        ("wheels = 1", "wheelfix.toml:1: wheels holds one table for each name", ""),
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
    assert "wheelfix.toml:2: jobs is a number" in str(caught.value)


def test_no_utf8(tmp_path):
    (tmp_path / "wheelfix.toml").write_bytes(b'ignore = "\xff"')
    with pytest.raises(UsageError, match="not UTF-8"):
        read_configuration(tmp_path / "wheelfix.toml", OPTIONS, ())


KEYS = st.sampled_from([*OPTIONS, "wheels", "scan", "repair", "nope", '"a.b"', "x.y", "fail_on"])
VALUES = st.sampled_from(
    ['"error"', "1", "true", "[]", '["a", "b"]', "{}", "{ jobs = 1 }", "1.5", "1979-05-27", "[[1]]"]
)
HEADERS = st.sampled_from(["[wheels]", '[wheels."t*"]', "[scan]", "[repair.x]", "[[scan]]", "[tool.wheelfix]", ""])
LINES = st.one_of(HEADERS, st.builds("{} = {}".format, KEYS, VALUES), st.text(max_size=20))


@given(st.lists(LINES, max_size=8).map("\n".join), st.sampled_from(["wheelfix.toml", "pyproject.toml"]))
def test_any_text_gives_settings_or_a_fault(tmp_path_factory, text, name):
    path = tmp_path_factory.mktemp("any") / name
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        found = read_configuration(path, OPTIONS, ("scan", "repair"))
    except UsageError as error:
        assert name in error.what  # noqa: PT017  # either outcome is right
    else:
        assert all(item.key in OPTIONS for item in found.settings)


@pytest.mark.parametrize("text", ["tool = 1", "[tool]\nwheelfix = 1"])
def test_a_project_file_whose_table_is_none(tmp_path, text):
    with pytest.raises(UsageError, match=r"tool\.wheelfix is not a table"):
        read(tmp_path, text, "pyproject.toml")


def test_a_text_nested_without_end(tmp_path):
    with pytest.raises(UsageError):
        read(tmp_path, "a = " + "[" * 100_000)


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


TEXT = """\
[project]
name = "x"

[tool.wheelfix]
ignore = ["WF605"]
scan.verbose = true

[[tool.wheelfix.wheels]]
match = "a*"
[tool."wheelfix".'repair']
in-place = { deep = 1 }
"""


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("ignore",), 5),
        (("scan", "verbose"), 6),
        (("wheels",), 8),
        (("wheels", "match"), 9),
        (("repair", "in-place"), 11),
        (("repair", "in-place", "deep"), 11),
        (("repair", "unknown"), 10),
        (("unknown",), 4),
    ],
)
def test_a_key_has_a_line_or_that_of_the_table_around_it(keys: tuple[str, ...], line: int) -> None:
    assert KeyLines(TEXT, ("tool", "wheelfix")).find(keys) == line


def test_without_the_table_there_is_no_line() -> None:
    assert KeyLines("a = 1\n", ("tool", "wheelfix")).find(("ignore",)) == 0


@pytest.mark.parametrize("line", ["", "a = [1]", "[", "[a", "[a b]", "[a.]", "# [a]"])
def test_what_is_not_the_header_of_a_table(line: str) -> None:
    assert table_header(line) == ()
