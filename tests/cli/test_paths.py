"""What was typed becomes the inputs: patterns, folders, doubles, slips."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import wheelfix
from tests.remote.indexes import index_of
from tests.remote.server import Reply, Server
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from wheelfix.base.options import RemoteOptions, ScanOptions
from wheelfix.cli.common import expand_inputs
from wheelfix.cli.main import main
from wheelfix.errors import UsageError


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with wheels in ``dist``, a package in ``pkg`` and a file whose name looks like a pattern."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dist" / "old").mkdir(parents=True)
    (tmp_path / "pkg").mkdir()
    for name in (
        "dist/b.whl",
        "dist/a.whl",
        "dist/C.WHL",
        "dist/old/z.whl",
        "dist/notes.txt",
        "pkg/x.dll",
        "odd[1].whl",
    ):
        (tmp_path / name).write_bytes(b"")
    return tmp_path


@named_cases(
    "words, expected",
    {
        "a pattern nobody expanded": (["dist/*.whl"], ["dist/a.whl", "dist/b.whl"]),
        "a folder of wheels": (["dist"], ["dist/C.WHL", "dist/a.whl", "dist/b.whl"]),
        "a folder without wheels stays a folder": (["pkg"], ["pkg"]),
        "each once": (["dist/b.whl", "dist/*.whl", "./dist/../dist/b.whl"], ["dist/b.whl", "dist/a.whl"]),
        "a file that looks like a pattern": (["odd[1].whl"], ["odd[1].whl"]),
        "no wheel, but named": (["dist/notes.txt"], ["dist/notes.txt"]),
    },
)
def test_expansion(here, words, expected):
    inputs = expand_inputs(words)
    assert [path.as_posix() for path in inputs.paths] == expected
    assert inputs.failures == ()


@pytest.mark.parametrize(
    "word, what, because",
    [
        ("dist/x*.whl", "the pattern dist/x*.whl matches nothing", "dist holds 3 wheels"),
        ("build/*.whl", "the pattern build/*.whl matches nothing", "there is no folder build"),
        ("dist/d.whl", "dist/d.whl does not exist", "dist holds 3 wheels"),
        ("", "an empty path was given", "check the variable that should hold it"),
    ],
)
def test_what_stands_for_nothing_is_named_and_the_rest_goes_on(here, word, what, because):
    inputs = expand_inputs([word, "dist/a.whl"])
    assert [path.as_posix() for path in inputs.paths] == ["dist/a.whl"]
    assert [(one.error.what, one.error.because or one.error.hint) for one in inputs.failures] == [(what, because)]


def test_a_folder_without_wheels_is_an_error_where_only_wheels_make_sense(here):
    error = expand_inputs(["pkg"], folders=False).failures[0].error
    assert error.what == "the folder pkg holds no wheel"


def test_a_path_that_cannot_be_looked_at(here):
    inputs = expand_inputs(["x" * 5000, "dist/a.whl"])
    assert [path.name for path in inputs.paths] == ["a.whl"]
    assert [one.error.exit_code for one in inputs.failures] in ([3], [4])


def test_nothing_typed(here):
    with pytest.raises(UsageError):
        expand_inputs([])


def files(*, whole: bool) -> dict[str, bytes]:
    found = {
        "demo/__init__.py": b"from demo import _x\n",
        "demo/_x.cp311-win_amd64.pyd": "imports dep.dll, python311.dll:Py_Initialize",
    }
    return {**found, "demo/dep.dll": ""} if whole else found


@pytest.fixture
def wheels(tmp_path: Path) -> list[Path]:
    """Two releases of one distribution, the newer one without a DLL, and a third for 32 bits alone."""
    folder = tmp_path / "files"
    return [
        build_wheel(folder, "demo", files=files(whole=True)),
        build_wheel(folder, "demo", "1.1", files=files(whole=False)),
        build_wheel(folder, "demo", "1.2", files=files(whole=True), tags=("cp311-cp311-win32",)),
    ]


@pytest.fixture
def server(wheels: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("WHEELFIX_CACHE_DIR", str(tmp_path / "cache"))
    with index_of(wheels) as found:
        monkeypatch.setenv("PIP_INDEX_URL", f"{found.url}/simple")
        yield found


def scanned(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, object], str]:
    """Return the exit code, the scan without what is about the place of the file, and what was said."""
    code = main(["scan", "--format", "json", "--no-discover", *words])
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    for wheel in document["wheels"]:
        wheel["path"] = ""
    return code, document, captured.err


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("number", [0, 1])
def test_the_scan_is_that_of_the_file(server, wheels, capsys, by_name, number):
    word = f"demo==1.{number}" if by_name else f"{server.url}/files/{wheels[number].name}"
    code, remote, said = scanned(capsys, word, "--python-version", "3.11")
    assert (code, remote) == scanned(capsys, str(wheels[number]))[:2]
    assert code == number
    assert f"wheelfix: {wheels[number].name}: read " in said


def test_the_newest_release_that_fits_is_taken(server, run):
    assert (
        run("scan", "demo>=1", "--format", "json", "--python-version", "3.11", code=None).document["wheels"][0][
            "version"
        ]
        == "1.1"
    )
    assert (
        run("scan", "demo>=1", "--format", "json", "--platform", "win32", code=None).document["wheels"][0]["version"]
        == "1.2"
    )


def test_diff_of_two_releases(server, run):
    captured = run("diff", "demo==1.0", "demo==1.1", "--python-version", "3.11", "--fail-on-lost", code=1)
    assert captured.out.startswith("demo 1.0 -> 1.1: 1 lost")
    assert captured.err.count("from the server") == 2


@pytest.mark.parametrize(
    "words, code, says",
    [
        (["demo==9"], 3, "there is no wheel of demo==9"),
        (["demo==1.0", "--python-version", "3.7"], 3, "demo==1.0 has no wheel for win_amd64 and Python 3.7"),
        (["demo==1.0", "--platform", "win_arm64"], 3, "version 1.0 has wheels for cp311-win_amd64"),
        (["demo==1.0", "--python-version", "eleven"], 2, "is not a version of Python 3"),
        (["demo==1.0", "--offline"], 4, "--offline was given"),
        (["demo==not a version"], 2, "is neither a file nor a requirement"),
        (["demo==1.0", "--index-url", "ftp://x/simple"], 2, "is not the URL of an index"),
    ],
)
def test_mistakes(server, run, words, code, says):
    assert says in run("scan", *words, code=code).said


def test_a_url_that_is_not_a_wheel(server, run):
    assert "does not end in the name of a wheel" in run("scan", f"{server.url}/files/", code=3).err


def test_a_command_for_files_says_so(server, run):
    assert "this command works on files" in run("verify", "demo==1.0", code=3).err


def test_passwords_are_never_shown(server, run):
    secret = f"{server.url.replace('//', '//me:hunter2@')}/simple"
    captured = run(
        "scan", "demo==1.0", "--python-version", "3.11", "--index-url", secret, "--format", "json", "-v", code=None
    )
    assert all("Authorization" in request.headers for request in server.asked)
    server.fault = lambda request, reply: Reply(403, {}, b"")
    after = run("scan", secret.replace("simple", "files/x-1.0-py3-none-any.whl"), code=None)
    assert "hunter2" not in captured.out + captured.err + after.out + after.err
    assert "answers 403" in after.err


def test_the_python_interface_takes_names(server, wheels):
    report = wheelfix.scan("demo==1.1", ScanOptions(remote=RemoteOptions(python_version="3.11")))
    assert [missing.name for missing in report.missing] == ["dep.dll"]
    assert report.path == f"{server.url}/files/{wheels[1].name}"
