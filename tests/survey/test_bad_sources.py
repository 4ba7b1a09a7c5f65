"""Sources that cannot be used: each is a row or an error that says what to do, and the rest of the survey is made."""

from __future__ import annotations

import io
import logging
import subprocess
import sys

import fsspec
import pytest
from fsspec import AbstractFileSystem

from tests.remote.indexes import index_of
from tests.support.surveys import forged_wheel, start_survey
from wheelfix.errors import Exit
from wheelfix.survey.tables import ask

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "url, driver",
    [("s3://bucket/wheels", "s3fs"), ("gs://b/w", "gcsfs"), ("abfs://b/w", "adlfs"), ("https://host/w/", "aiohttp")],
)
def test_a_driver_that_is_not_installed_is_named(url, driver, tmp_path, monkeypatch, run):
    monkeypatch.setitem(sys.modules, driver, None)
    if driver == "aiohttp":
        monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    assert f"hint: pip install {driver}" in run("survey", url, "-o", tmp_path / "out", code=Exit.USAGE).err


class Unreachable(AbstractFileSystem):
    """As fsspec's file system for HTTP: find passes over errors of the server, and logs them."""

    protocol = "unreachable"

    def find(self, path: str, **more: object) -> dict[str, object]:
        logging.getLogger("gcsfs").error("long traceback")
        return {}

    def ls(self, path: str, **more: object) -> list[str]:
        raise ConnectionError("name or service not known")

    def info(self, path: str, **more: object) -> dict[str, object]:
        raise FileNotFoundError(path)


def test_a_server_that_does_not_answer_is_not_an_empty_folder(tmp_path, run):
    fsspec.register_implementation("unreachable", Unreachable, clobber=True)
    words = ["-o", str(tmp_path / "out")]
    said = run("survey", "unreachable://host/wheels", *words, code=Exit.ENVIRONMENT).err
    assert "unreachable://host/wheels cannot be reached" in said
    assert "name or service not known" in said
    assert "long traceback" not in said
    assert (
        "x-1.0-py3-none-any.whl does not exist"
        in run("survey", "unreachable://host/x-1.0-py3-none-any.whl", *words, code=Exit.BAD_INPUT).err
    )


def test_a_line_of_a_list_that_stands_for_nothing_is_a_row_until_it_does(tmp_path, monkeypatch, run):
    there, later = forged_wheel(tmp_path / "a", "there"), tmp_path / "b"
    lines = f"{there}\n{later}\nnosuch://bucket\n{there}\n"
    words = ["survey", "-", "-o", str(tmp_path / "out"), "-q", "-j", "1"]
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    run(*words)
    status = "SELECT file, status, passing FROM wheels ORDER BY ALL"
    failed = [(str(later), "failed", True), ("nosuch://bucket", "failed", True)]
    assert list(ask(tmp_path / "out", status).rows) == sorted([*failed, (there.name, "scanned", False)])
    made = forged_wheel(later, "made")
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    run(*words)
    expected = [failed[1], (there.name, "scanned", False), (made.name, "scanned", False)]
    assert list(ask(tmp_path / "out", status).rows) == sorted(expected)


@pytest.mark.skipif(sys.platform == "win32", reason="makes a symbolic link")
def test_a_link_to_nowhere_is_a_row(tmp_path, run):
    folder = forged_wheel(tmp_path / "w", "there").parent
    (folder / "gone-1.0-cp311-cp311-win_amd64.whl").symlink_to(tmp_path / "nowhere")
    run("survey", folder, "-o", tmp_path / "out", "-q", "-j", "1")
    ((file, error, again),) = ask(tmp_path / "out", "failures").rows
    assert (file, again) == ("gone-1.0-cp311-cp311-win_amd64.whl", True)
    assert "No such file" in error


def test_a_name_with_a_url_is_not_looked_up_by_its_name(tmp_path, run):
    wheel = forged_wheel(tmp_path / "w", "pkg")
    names = tmp_path / "names.txt"
    names.write_text("pkg @ https://example.org/other-1.0-py3-none-any.whl\n")
    with index_of([wheel], as_html=False) as server:
        words = ["--names", str(names), "-o", str(tmp_path / "out"), "--index-url", f"{server.url}/simple"]
        assert "0 wheels to read" in run("survey", *words).err
    ((_, error, _),) = ask(tmp_path / "out", "failures").rows
    assert "it has a URL" in error


def test_an_output_that_is_a_file(tmp_path, run):
    wheel = forged_wheel(tmp_path, "pkg")
    assert f"{wheel} is not a folder" in run("survey", wheel, "-o", wheel, code=Exit.USAGE).err


HOLDER = """\
import sys
from pathlib import Path
from wheelfix.survey.tables import SurveyFolder
folder = SurveyFolder(Path(sys.argv[1]))
folder.open({"assume": [], "no_assume": []})
with folder.locked():
    print(1, flush=True)
    input()
"""


def test_two_surveys_do_not_write_into_one_folder(tmp_path, run):
    wheel, out = forged_wheel(tmp_path, "pkg"), tmp_path / "out"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(out)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline()
        draft = out / ".wheelfix-draft-1"
        draft.mkdir()
        second = start_survey(wheel, "-o", out)
        _, said = second.communicate(timeout=60)
        assert second.returncode == Exit.ENVIRONMENT
        assert f"another survey is writing into {out}" in said
        assert draft.exists(), "it belongs to the other one"
        holder.kill()
    run("survey", wheel, "-o", out, "-q")
    assert not draft.exists(), "the other one was killed"
