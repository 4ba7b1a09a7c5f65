"""The comparison of two versions runs each one's own code, names what differs, and fails on nothing but crashes."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pytest

from tests.real.listing import listed
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from tools import compare
from tools.compare import Answer, Row, Subject, Version, differences, page, subjects, usual_base
from tools.damages import damage

RECORD = "p-1.0.dist-info/RECORD"
FILES = {
    "p/__init__.py": "import os\n\ndef add():\n    os.add_dll_directory('a')\n    os.add_dll_directory('b')\n\nadd()\n",
    "p/_m.cp311-win_amd64.pyd": "imports near.dll:call",
    "p/near.dll": "exports call",
}


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return build_wheel(tmp_path / "wheels", "p", files=FILES)


@named_cases(
    "kind, what, gone, come",
    {
        "gone": ("gone", "NEAR", {"p/near.dll"}, set()),
        "gone, its row left": ("gone-listed", "near", {"p/near.dll"}, set()),
        "moved": ("moved", "near", {"p/near.dll"}, {"p/moved/near.dll"}),
        "truncated": ("truncated", "near", set(), set()),
        "line": ("line gone", "os.add_dll_directory(", set(), set()),
    },
)
def test_damages(tmp_path, wheel, kind, what, gone, come):
    damage(wheel, kind, what, tmp_path / "damaged.whl")
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(tmp_path / "damaged.whl") as after:
        names = set(before.namelist()), set(after.namelist())
        assert (names[0] - names[1], names[1] - names[0]) == (gone, come)
        rows = {line.partition(",")[0] for line in after.read(RECORD).decode().splitlines()}
        assert rows == names[kind != "gone-listed"]
        changed = {name for name in names[0] & names[1] if before.read(name) != after.read(name)}
        expected = {"truncated": {"p/near.dll", RECORD}, "line gone": {"p/__init__.py", RECORD}}
        assert changed == expected.get(kind, {RECORD} if kind != "gone-listed" else set())
        if kind == "line gone":
            assert after.read("p/__init__.py").decode().count("    pass'b')") == 1


def test_every_wheel_of_the_list_is_one_that_ci_downloads(tmp_path, monkeypatch):
    monkeypatch.setenv("WHEELFIX_WHEELS", str(tmp_path))
    there, absent = subjects([])
    assert not there
    assert len(absent) > 30
    first = tmp_path / absent[0]
    first.touch()
    there, left = subjects([])
    assert {subject.wheel for subject in there} == {first}
    assert left == absent[1:]
    assert set(absent) <= {entry.file for entry in listed() if entry.in_ci}


@named_cases(
    "old, new, expected",
    {
        "same": ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, []),
        "value": ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, ["a[1].b: 2 -> 3"]),
        "length": ({"a": [1]}, {"a": [1, 2]}, ["a: [1] -> [1, 2]"]),
        "absent": ({"a": "x"}, {}, ["a: x -> (absent)"]),
    },
)
def test_differences(old, new, expected):
    assert list(differences(old, new)) == expected


def test_the_page():
    rows = [
        Row(Subject(Path("a.whl")), Answer("ok"), Answer("ok")),
        Row(
            Subject(Path("b.whl"), "gone", "x.dll"),
            Answer("ok", ["WF1 info p: a", "WF2 info p: b", "WF2 info p: b"]),
            Answer("broken", ["WF1 info p: a", "WF2 info p: b", "WF3 error p: c"]),
        ),
        Row(Subject(Path("c.whl")), Answer("crash", crash="Traceback\nOops"), Answer("ok")),
    ]
    assert page(rows, ["z.whl"], "v1") == (
        "3 wheels compared with v1: 2 differ, 2 in their verdict; +1 −3 findings.\n"
        "**1 crashes of the version before.**\n"
        "\n"
        "Left out, because they are not in the cache: z.whl.\n"
        "\n"
        "| wheel | verdict | findings |\n"
        "| --- | --- | --- |\n"
        "| b.whl, gone: x.dll | **ok → broken** | +1 −1 |\n"
        "| c.whl | **crash → ok** | −2 |\n"
        "\n"
        "**b.whl, gone: x.dll**\n"
        "\n"
        "```diff\n"
        "- WF2 info p: b\n"
        "+ WF3 error p: c\n"
        "```\n"
        "\n"
        "**c.whl**\n"
        "\n"
        "```diff\n"
        "- Traceback\n"
        "- Oops\n"
        "```\n"
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with two commits."""
    for words in (["init", "-q", "-b", "work"], *[["commit", "-q", "--allow-empty", "-m", text] for text in "ab"]):
        run_git(tmp_path, *words)
    return tmp_path


def run_git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.hooksPath=/dev/null"]
    return subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="not possible on this machine: there is no git")
class TestUsualBase:
    def test_the_commit_before_where_nothing_else_is_known(self, clone):
        assert usual_base(clone) == run_git(clone, "rev-parse", "HEAD~1")

    def test_where_the_branch_began(self, clone):
        run_git(clone, "update-ref", "refs/remotes/origin/main", "HEAD")
        began = run_git(clone, "rev-parse", "HEAD")
        for text in "cd":
            run_git(clone, "commit", "-q", "--allow-empty", "-m", text)
        assert usual_base(clone) == began

    def test_none_in_a_shallow_clone(self, clone, tmp_path_factory, monkeypatch, capsys):
        shallow = tmp_path_factory.mktemp("shallow")
        run_git(shallow, "clone", "-q", "--depth", "1", "--no-tags", clone.as_uri(), "c")
        run_git(shallow / "c", "update-ref", "-d", "refs/remotes/origin/work")
        assert usual_base(shallow / "c") == ""
        monkeypatch.setattr(compare, "usual_base", lambda: "")
        assert compare.main([]) == 0
        assert "Nothing to compare with" in capsys.readouterr().out


def stand_in(folder: Path, body: str) -> Path:
    """A checkout whose ``main`` has this body."""
    cli = folder / "wheelfix" / "cli"
    cli.mkdir(parents=True)
    for package in (cli.parent, cli):
        (package / "__init__.py").touch()
    (cli / "main.py").write_text("def main(words):\n    " + body.replace("\n", "\n    ") + "\n", encoding="utf-8")
    return folder


OTHER = 'print(\'{"wheels": [{"verdict": "odd", "findings": []}]}\')\nreturn 1'


@pytest.mark.slow
class TestVersions:
    def test_each_runs_its_own_code(self, tmp_path, wheel):
        old = Version(stand_in(tmp_path / "old", OTHER))
        (row,) = compare.compare(old, Version(compare.HERE), [Subject(wheel, "gone", "near")])
        assert (row.old.verdict, row.new.verdict) == ("odd", "broken")
        assert any(line.startswith("+ WF301 error") for line in row.lines)

    def test_code_of_elsewhere_is_refused(self, tmp_path, wheel):
        body = f"import sys\nsys.modules['wheelfix.x'] = x = type(sys)('x')\nx.__file__ = {str(wheel)!r}"
        with pytest.raises(SystemExit, match="from elsewhere"):
            Version(stand_in(tmp_path / "old", body)).examine(wheel)

    @named_cases(
        "body, crash",
        {
            "exception": ("raise KeyError(words[0])", "KeyError: 'scan'"),
            "death": ("import os\nos._exit(9)", "the process ended with 9"),
            "exit code": ("return 77", "exit code 77"),
            "process": ("import subprocess, sys\nsubprocess.run([sys.executable])", "another process"),
        },
    )
    def test_only_a_crash_of_this_version_fails(self, tmp_path, wheel, capsys, monkeypatch, body, crash):
        monkeypatch.setattr(compare, "HERE", stand_in(tmp_path / "new", body))
        good = str(stand_in(tmp_path / "good", OTHER))
        assert compare.main([good, str(wheel)]) == 1
        reported = capsys.readouterr().out
        assert crash in reported
        assert "**1 crashes of this version.**" in reported
        monkeypatch.setattr(compare, "HERE", Path(good))
        assert compare.main([str(tmp_path / "new"), str(wheel)]) == 0
        assert "**1 crashes of the version before.**" in capsys.readouterr().out

    def test_a_checkout_agrees_with_itself_also_in_repairs(self, wheel, capsys):
        assert compare.main([str(compare.HERE), str(wheel), "--repair"]) == 0
        assert "1 wheels compared" in (reported := capsys.readouterr().out)
        assert ": 0 differ" in reported

    def test_a_revision_is_checked_out_and_removed(self, wheel, capsys):
        if not compare.git("rev-parse", "HEAD"):
            pytest.skip("not possible on this machine: this is no clone")
        assert compare.main(["HEAD", str(wheel)]) == 0
        assert "1 wheels compared with HEAD" in capsys.readouterr().out
        assert tempfile.gettempdir() + "/wheelfix-compare-" not in compare.git("worktree", "list")

    def test_a_revision_that_is_none(self, wheel):
        with pytest.raises(SystemExit, match="cannot be checked out"):
            compare.main(["no-such-revision", str(wheel)])
