"""Temporary folders: gone after the work, and after a killed run with the next one; nobody else's are touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest

from tests.support.interrupts import interrupted_everywhere
from wheelfix.errors import EnvironmentFailure
from wheelfix.streams import output
from wheelfix.streams.output import MARK, WorkFolder, remove_left_behind

if TYPE_CHECKING:
    from pathlib import Path

DIES = """
import os
from wheelfix.streams.output import WorkFolder
folder = WorkFolder()
(folder.path / "half.dll").write_bytes(b"MZ")
print(folder.path, flush=True)
os._exit(9)
"""


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_gone_after_the_block(base: Path) -> None:
    with WorkFolder() as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_bytes(b"x")
        assert folder.parent == base
    assert list(base.iterdir()) == []


def test_it_is_gone_with_its_last_user_and_closed_twice_does_no_harm(base: Path) -> None:
    folder = WorkFolder()
    folder.close()
    folder.close()
    folder = WorkFolder()
    del folder
    assert list(base.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="Windows tells the dead from the living by age")
def test_what_a_killed_run_left_goes_with_the_next_one(base: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(base)}
    died = subprocess.run([sys.executable, "-c", DIES], env=environment, capture_output=True, text=True, check=False)
    assert died.returncode == 9, died.stderr
    (left,) = base.iterdir()
    assert str(left) == died.stdout.strip()
    with WorkFolder() as folder:
        assert list(base.iterdir()) == [folder]


def test_an_empty_folder_of_ours_goes_too(base: Path) -> None:
    """Killed between making the folder and marking it, or between the last two steps of removing it."""
    empty, full = base / "wheelfix-abcd1234", base / "wheelfix-abcd5678"
    empty.mkdir()
    full.mkdir()
    (full / "somebody's").write_text("x")
    assert remove_left_behind(base) == (), "a program of another run may be at work in it"
    os.utime(empty, (0, 0))
    assert remove_left_behind(base) == (empty,)
    assert not empty.exists()
    assert full.exists()


def test_the_mark_goes_last(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = WorkFolder()
    (folder.path / "sub").mkdir()
    (folder.path / "file").write_text("x")
    seen: list[tuple[Path, list[str]]] = []
    monkeypatch.setattr(
        shutil, "rmtree", lambda path, **_: seen.append((path, sorted(one.name for one in folder.path.iterdir())))
    )
    folder.close()
    assert [path for path, _ in seen] == [folder.path / "sub", folder.path]
    assert seen[-1][1] == [MARK, "sub"]


def test_a_neighbour_at_work_is_left_alone(base: Path) -> None:
    with WorkFolder() as one, WorkFolder() as other:
        assert sorted(base.iterdir()) == sorted([one, other])
        assert remove_left_behind(base) == ()


def test_folders_that_are_only_called_like_ours_stay(base: Path, tmp_path: Path) -> None:
    (base / "wheelfix-notes").mkdir()
    (base / "wheelfix-file").write_bytes(b"x")
    target = base / "target"
    target.mkdir()
    (target / MARK).write_bytes(b"")
    if os.name == "posix":
        (base / "wheelfix-link").symlink_to(target)
        trap = base / "wheelfix-trap"
        trap.mkdir()
        (trap / MARK).symlink_to(target / MARK)
    before = sorted(path for path in base.rglob("*"))
    assert remove_left_behind(base) == ()
    assert sorted(path for path in base.rglob("*")) == before


def test_without_locks_only_old_folders_go(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_lock", lambda _: None)
    for name, age in (("wheelfix-new", 0), ("wheelfix-old", 1e6)):
        (base / name).mkdir()
        (base / name / MARK).write_bytes(b"")
        os.utime(base / name, (1e9, (base / name).stat().st_mtime - age))
    assert remove_left_behind(base) == (base / "wheelfix-old",)


def test_a_place_that_cannot_be_written_is_said(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(base / "absent"))
    with pytest.raises(EnvironmentFailure, match="temporary folder"):
        WorkFolder()


@pytest.mark.slow
def test_a_request_to_stop_leaves_nothing_wherever_it_falls(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def job() -> None:
        with WorkFolder() as folder:
            (folder / "half.dll").touch()

    moments = 0
    for moment in interrupted_everywhere(job, monkeypatch):
        assert list(base.iterdir()) == []
        moments = moment
    assert moments > 50
