"""``wheelfix scan`` from the command line to the last byte: small wheels in, verdicts, documents and codes out."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll
from wheelfix.schemas import load_schema


@pytest.fixture
def dist(tmp_path, monkeypatch):
    """A folder with a whole wheel, one whose module lacks a DLL, and a file that is no wheel."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    folder = tmp_path / "dist"
    whole = forge_dll("_x.pyd", imports={"python311.dll": ["Py_Initialize"]}, exports=["PyInit__x"])
    lacking = forge_dll(
        "_x.pyd", imports={"python311.dll": ["Py_Initialize"], "gone.dll": ["f"]}, exports=["PyInit__x"]
    )
    build_wheel(folder, "good", "1.0", files={"good/__init__.py": "", "good/_x.cp311-win_amd64.pyd": whole})
    build_wheel(folder, "bad", "2.0", files={"bad/__init__.py": "", "bad/_x.cp311-win_amd64.pyd": lacking})
    (tmp_path / "junk-1.0-py3-none-any.whl").write_bytes(b"this is no archive")
    return folder


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(["scan", *argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_whole_wheel(dist, capsys):
    code, out, err = run(capsys, "dist/good-*.whl")
    assert (code, err) == (0, "")
    assert out.split() == ["good-1.0-cp311-cp311-win_amd64.whl", "OK"]


def test_a_lacking_wheel(dist, capsys):
    code, out, err = run(capsys, "dist/bad-*.whl", "--no-discover")
    assert (code, err) == (1, "")
    assert "import bad._x will raise:\n  ImportError: DLL load failed while importing _x:" in out
    assert "gone.dll  imported, required" in out
    assert "WF301 missing-dependency" in out
    assert out.isascii()


def test_only_the_verdict(dist, capsys):
    code, out, _ = run(capsys, "-q", "dist")
    assert code == 1
    assert out == "BROKEN  bad-2.0-cp311-cp311-win_amd64.whl\nOK  good-1.0-cp311-cp311-win_amd64.whl\n"


def test_every_edge(dist, capsys):
    _, out, _ = run(capsys, "-v", "dist/bad-*.whl")
    assert "|- gone.dll -> MISSING" in out
    assert "`- Python: python311.dll" in out


def test_many_end_with_a_summary(dist, capsys):
    _, out, _ = run(capsys, "dist")
    assert out.endswith("2 inputs: 1 ok, 1 broken\n")


def test_one_bad_input_does_not_stop_the_others(dist, capsys):
    code, out, err = run(capsys, "-q", "junk-1.0-py3-none-any.whl", "nothing*.whl", "dist/good-*.whl")
    assert code == 3
    assert out == "OK  good-1.0-cp311-cp311-win_amd64.whl\n"
    assert "wheelfix: error: the pattern nothing*.whl matches nothing" in err
    assert "junk-1.0-py3-none-any.whl" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 1),
        (("--fail-on", "never"), 0),
        (("--ignore", "WF3"), 0),
        (("--ignore", "missing-dependency"), 0),
        (("--select", "WF1"), 0),
        (("--select", "WF301,WF2"), 1),
    ],
)
def test_which_findings_count(dist, capsys, options, code):
    assert run(capsys, "-q", "dist/bad-*.whl", *options)[0] == code


class TestJson:
    def test_fits_the_schema_and_is_the_same_twice(self, dist, capsys):
        first = run(capsys, "dist", "junk-1.0-py3-none-any.whl", "--format", "json")
        second = run(capsys, "dist", "junk-1.0-py3-none-any.whl", "--format", "json")
        assert first == second
        document = json.loads(first[1])
        jsonschema.validate(document, load_schema("scan-1"), cls=jsonschema.Draft202012Validator)
        assert [wheel["verdict"] for wheel in document["wheels"]] == ["broken", "ok"]
        bad = document["wheels"][0]
        assert bad["images"][0]["imports"] == ["python311.dll", "gone.dll"]
        assert bad["missing"][0]["needed_by"] == ["bad/_x.cp311-win_amd64.pyd"]
        assert bad["first_failure"]["code"] == 126
        assert len(document["failures"]) == 1

    def test_what_stands_for_nothing_is_named_as_it_was_typed(self, dist, capsys):
        document = json.loads(run(capsys, "dist", "nothing*.whl", "--format", "json")[1])
        assert [failure["path"] for failure in document["failures"]] == ["nothing*.whl"]

    def test_into_a_file(self, dist, capsys):
        code, out, _ = run(capsys, "dist/bad-*.whl", "--format", "json", "-o", "out.json")
        assert (code, out) == (1, "")
        assert json.loads((dist.parent / "out.json").read_bytes())["schema"] == "wheelfix.scan/1"
        assert not list(dist.parent.glob(".*.tmp"))


def test_several_reports_at_once(dist, capsys):
    argv = [f"--report={kind}=out.{kind}" for kind in ("json", "sarif", "github", "junit", "markdown", "html", "text")]
    code, _, err = run(capsys, "-q", "dist", *argv)
    assert (code, err) == (1, "")
    written = {path.suffix[1:]: path.read_text(encoding="utf-8") for path in dist.parent.glob("out.*")}
    assert sorted(written) == ["github", "html", "json", "junit", "markdown", "sarif", "text"]
    assert all("gone.dll" in text for text in written.values())
    assert "→" in written["markdown"]


def test_a_github_job_gets_a_summary(dist, capsys, monkeypatch, tmp_path):
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    code, out, _ = run(capsys, "dist", "--format", "github")
    assert code == 1
    assert out.startswith("::error file=dist/bad-2.0-cp311-cp311-win_amd64.whl,title=WF301 missing-dependency")
    assert summary.read_text(encoding="utf-8").startswith("before\n## wheelfix\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--ignore", "WF999", "dist"], "--ignore 'WF999' matches no finding code or name"),
        (["--select", "missing-dependancy", "dist"], "did you mean missing-dependency"),
        (["--assume", "vcredits", "dist"], "--assume vcredits"),
        (["--assume", "vcredist", "--no-assume", "vcredist", "dist"], "vcredist is both assumed and not assumed"),
        (["--report", "sarfi=x", "dist"], "did you mean 'sarif'?"),
        (["--report", "sarif", "dist"], "'sarif' has no file; write it as sarif=FILE"),
        (["--fail-on", "eror", "dist"], "did you mean 'error'"),
        (["-j", "0", "dist"], "'0' is not a number from 1 on"),
        (["-q", "-v", "dist"], "not allowed with argument"),
        (["--root", "nowhere", "dist"], "the file or folder does not exist"),
        (["-o", "dist", "dist"], "dist is a folder"),
        ([], "PATH"),
    ],
)
def test_misuse(dist, capsys, argv, message):
    code, _, err = run(capsys, *argv)
    assert code == 2
    assert message in err


def test_a_file_that_cannot_be_written(dist, capsys):
    code, _, err = run(capsys, "dist", "-o", "no/such/folder/out.txt")
    assert code == 4
    assert "there is no folder" in err


def printed(encoding, monkeypatch, *words):
    """The exit code of a scan on a console with an encoding, and the bytes that it prints."""
    console = io.TextIOWrapper(io.BytesIO(), encoding)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", console)
        code = main(["scan", *words])
    console.flush()
    return code, console.buffer.getvalue()


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp932", "utf-8"])
@pytest.mark.parametrize("force", ["", "1"])
def test_any_console_shows_any_name(dist, encoding, force, monkeypatch, capsys):
    lacking = forge_dll("_x.pyd", imports={"missing-\u00fc.dll": ["f"]})
    build_wheel(dist, "odd", "1.0", files={"odd/gr\u00fcn-\u5305-\U0001f3a1.pyd": lacking})
    monkeypatch.setenv("FORCE_COLOR", force)
    code, out = printed(encoding, monkeypatch, "-v", "dist")
    assert code == 1
    assert capsys.readouterr().err == ""
    assert (b"\x1b[" in out) is bool(force)
    assert "missing-" in out.decode(encoding)


def test_a_process_with_such_a_console(dist):
    lacking = forge_dll("_x.pyd", imports={"missing-\u00fc.dll": ["f"]})
    build_wheel(dist, "odd", "1.0", files={"odd/gr\u00fcn-\u5305-\U0001f3a1.pyd": lacking})
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "FORCE_COLOR": "1", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "wheelfix", "scan", "-v", "dist"]
    result = subprocess.run(command, env=environ, capture_output=True, check=False)
    assert (result.returncode, result.stderr) == (1, b"")
    result.stdout.decode("ascii")


@pytest.mark.parametrize("kind", ["text", "json", "html", "junit"])
def test_the_table_of_targets_on_a_console_of_western_europe(tmp_path, kind, monkeypatch):
    """Story: ``--format html > report.html`` wrote cp1252 into a document that says it is UTF-8, and so for JUnit."""
    for name, dll, function in (("one", "mfplat.dll", "MFStartup"), ("two", "kernel32.dll", "CloseHandle")):
        module = forge_dll("gr\u00fcn.pyd", imports={dll: [function]}, exports=["PyInit_gr\u00fcn"])
        build_wheel(tmp_path, name, "1.0", files={f"{name}/gr\u00fcn.pyd": module})
    monkeypatch.setenv("NO_COLOR", "1")
    words = [str(tmp_path), "--no-discover", "--target", "all", "--format", kind]
    code, out = printed("cp1252", monkeypatch, *words)
    assert code == 1
    text = out.decode("cp1252" if kind == "text" else "utf-8")
    assert all(name in text for name in ("windows-11", "windows-10-1809", "windows-n", "server-core-2022", "wine"))
    if kind == "text":
        row = next(line for line in text.splitlines() if line.strip().startswith("one-1.0") and "ok " in line)
        assert row.split()[1:] == ["ok", "ok", "broken", "broken", "risky", "ok"]
    elif kind == "json":
        document = json.loads(text)
        assert [target["verdict"] for target in document["wheels"][0]["targets"]][2] == "broken"
    else:
        assert "gr\u00fcn" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_an_environment_failure(dist, capsys):
    code, _, err = run(capsys, "dist", "-o", "/dev/full")
    assert code == 4
    assert "No space left" in err


class TestLockfile:
    """Options that name a lock file, with and without wheels beside it on the command line."""

    def test_everything_that_is_locked(self, dist, tmp_path, capsys):
        lock = tmp_path / "requirements.txt"
        lock.write_text("".join(f"{path.name.split('-')[0]}\n" for path in dist.glob("*.whl")))
        code, out, _ = run(capsys, "--lockfile", str(lock), "--with", str(dist), "--format", "json")
        assert code == 1
        assert {wheel["name"] for wheel in json.loads(out)["wheels"]} == set(lock.read_text().split())

    def test_no_wheel_of_it_is_there(self, tmp_path, capsys):
        (tmp_path / "requirements.txt").write_text("flux==1.0\n")
        code, _, err = run(capsys, "--lockfile", str(tmp_path / "requirements.txt"))
        assert code == 3
        assert "no wheel of what it names was found" in err

    @pytest.mark.parametrize("option", ["--extra", "--group"])
    def test_parts_of_no_lock_file(self, dist, capsys, option):
        code, _, err = run(capsys, str(dist), option, "gui")
        assert code == 2
        assert f"{option} says what is installed of a lock file" in err
