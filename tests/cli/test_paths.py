"""What was typed becomes the inputs: patterns, folders, doubles, slips."""

from __future__ import annotations

import pytest

from wheelfix.cli.paths import expand_inputs
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


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(["dist/a.whl"], ["dist/a.whl"], id="a file"),
        pytest.param(["dist/*.whl"], ["dist/a.whl", "dist/b.whl"], id="a pattern nobody expanded"),
        pytest.param(["dist/**/*.whl"], ["dist/a.whl", "dist/b.whl", "dist/old/z.whl"], id="a deep pattern"),
        pytest.param(["dist"], ["dist/C.WHL", "dist/a.whl", "dist/b.whl"], id="a folder of wheels"),
        pytest.param(["pkg"], ["pkg"], id="a folder without wheels stays a folder"),
        pytest.param(
            ["dist/b.whl", "dist/*.whl", "./dist/../dist/b.whl"], ["dist/b.whl", "dist/a.whl"], id="each once"
        ),
        pytest.param(["odd[1].whl"], ["odd[1].whl"], id="a file that looks like a pattern"),
        pytest.param(["dist/notes.txt"], ["dist/notes.txt"], id="no wheel, but named"),
    ],
)
def test_expansion(here, words, expected):
    inputs = expand_inputs(words)
    assert [path.as_posix() for path in inputs.paths] == expected
    assert inputs.failures == ()


@pytest.mark.parametrize(
    ("word", "what", "because"),
    [
        ("dist/x*.whl", "the pattern dist/x*.whl matches nothing", "dist holds 3 wheels"),
        ("build/*.whl", "the pattern build/*.whl matches nothing", "there is no folder build"),
        ("*.zip", "the pattern *.zip matches nothing", "this folder holds 1 wheel"),
        ("dist/d.whl", "dist/d.whl does not exist", "dist holds 3 wheels"),
        ("", "an empty path was given", ""),
    ],
)
def test_what_stands_for_nothing_is_named_and_the_rest_goes_on(here, word, what, because):
    inputs = expand_inputs([word, "dist/a.whl"])
    assert [path.as_posix() for path in inputs.paths] == ["dist/a.whl"]
    assert [(error.what, error.because) for error in inputs.failures] == [(what, because)]


def test_a_folder_in_which_something_is_installed_is_no_folder_of_wheels(here):
    """scipy 1.17.1 and numpy 2.0.2 install an empty file with the name of their wheel."""
    (here / "dist/a-1.dist-info").mkdir()
    assert [str(path) for path in expand_inputs(["dist"], folders=True).paths] == ["dist"]
    assert len(expand_inputs(["dist"], folders=False).paths) == 3


def test_a_folder_without_wheels_is_an_error_where_only_wheels_make_sense(here):
    (error,) = expand_inputs(["pkg"], folders=False).failures
    assert error.what == "the folder pkg holds no wheel"


def test_a_path_that_cannot_be_looked_at(here):
    inputs = expand_inputs(["x" * 5000, "dist/a.whl"])
    assert [path.name for path in inputs.paths] == ["a.whl"]
    assert [error.exit_code for error in inputs.failures] in ([3], [4])


def test_nothing_typed(here):
    with pytest.raises(UsageError):
        expand_inputs([])
