"""The file that is whole or not there: temporary names, leftovers, failures, copying."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.interrupts import interrupted_everywhere
from tests.support.tables import named_cases
from wheelfix.errors import EnvironmentFailure
from wheelfix.streams import output
from wheelfix.streams.output import MARK, AtomicFile, WorkFolder, remove_left_behind, remove_stale
from wheelfix.streams.source import FileSource

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_appears_when_it_is_whole(tmp_path):
    target = tmp_path / "new" / "x.whl"
    with AtomicFile(target) as out:
        out.write(b"hello ")
        out.write(b"world")
        assert out.position == 11
        assert not target.exists()
        (only,) = names(target.parent)
        assert only.startswith(output.PREFIX)
        assert only.endswith(output.SUFFIX)
        out.commit()
    assert target.read_bytes() == b"hello world"
    assert names(target.parent) == ["x.whl"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_after_a_failure(tmp_path, error):
    target = tmp_path / "x.whl"
    target.write_bytes(b"old")

    def fail() -> None:
        with AtomicFile(target) as out:
            out.write(b"new" * 1_000_000)
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == ["x.whl"]
    assert target.read_bytes() == b"old"


def test_patching_and_rewinding(tmp_path):
    with AtomicFile(tmp_path / "x") as out:
        out.write(b"0123456789")
        out.patch(2, b"ab")
        out.write(b"more")
        out.rewind(5)
        out.write(b"END")
        assert out.position == 8
        out.commit()
    assert (tmp_path / "x").read_bytes() == b"01ab4END"


def refused(*_: int) -> int:
    raise OSError(errno.EXDEV, "another file system")


IN_KERNEL = named_cases("in_kernel", {"kernel": output._COPY_FILE_RANGE, "refused": refused, "by-hand": None})


@IN_KERNEL
def test_spans_are_copied(tmp_path, monkeypatch, in_kernel):
    monkeypatch.setattr(output, "_COPY_FILE_RANGE", in_kernel)
    data = bytes(range(256)) * 20_000
    (tmp_path / "source").write_bytes(data)
    with FileSource(tmp_path / "source") as source, AtomicFile(tmp_path / "x") as out:
        out.write(b"head")
        out.copy_from(source, 1000, 3_000_000)
        out.write(b"between")
        out.copy_from(source, 0, 10)
        out.commit()
    assert (tmp_path / "x").read_bytes() == b"head" + data[1000:3_001_000] + b"between" + data[:10]


def test_without_pwrite_both_threads_share_one_position(tmp_path, monkeypatch):
    """Windows has no pwrite: a lock keeps the copying thread and the writing one apart."""
    monkeypatch.setattr(output, "_COPY_FILE_RANGE", None)
    monkeypatch.setattr(output, "_PWRITE", None)
    data = bytes(range(256)) * 40_000
    (tmp_path / "source").write_bytes(data)
    with FileSource(tmp_path / "source") as source, AtomicFile(tmp_path / "x") as out:
        for number in range(20):
            out.copy_from(source, number, 400_000)
            out.write(bytes([number]) * 100_000)
        out.commit()
    expected = b"".join(data[number : number + 400_000] + bytes([number]) * 100_000 for number in range(20))
    assert (tmp_path / "x").read_bytes() == expected


def test_an_interrupt_stops_the_copying(tmp_path, monkeypatch):
    monkeypatch.setattr(output, "_STEP", 10)
    (tmp_path / "source").write_bytes(bytes(1000))
    steps = []

    def interrupted() -> None:
        with FileSource(tmp_path / "source") as source, AtomicFile(tmp_path / "out" / "x") as out:

            def note(done: int) -> None:
                steps.append(done)
                out._stop.wait(5)

            monkeypatch.setattr(out, "_note", note)
            out.copy_from(source, 0, 1000)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(steps) <= 1
    assert names(tmp_path / "out") == []


@IN_KERNEL
def test_a_source_that_became_shorter(tmp_path, monkeypatch, in_kernel):
    monkeypatch.setattr(output, "_COPY_FILE_RANGE", in_kernel)
    (tmp_path / "source").write_bytes(b"abc")
    with FileSource(tmp_path / "source") as source, AtomicFile(tmp_path / "x") as out:
        out.copy_from(source, 0, 100)
        with pytest.raises(EnvironmentFailure, match="changed while it was copied"):
            out.flush()
    assert names(tmp_path) == ["source"]


@pytest.mark.parametrize(
    "code, hint",
    [(errno.ENOSPC, "free some room"), (errno.EACCES, "can be written to"), (errno.EIO, "check the folder")],
)
@pytest.mark.parametrize("call", ["write", "pwrite", "fsync", "copy_file_range"])
def test_what_the_disk_refuses(tmp_path, monkeypatch, call, code, hint):
    def refuse(*_: object) -> int:
        raise OSError(code, os.strerror(code))

    def attempt() -> None:
        with FileSource(source) as file, AtomicFile(tmp_path / "out" / "x.whl") as out:
            if call in {"write", "fsync"}:
                monkeypatch.setattr(os, call, refuse)
                monkeypatch.setattr(output, "_PWRITE", None)
            else:
                monkeypatch.setattr(output, f"_{call.upper()}", refuse)
            try:
                out.write(b"data")
                out.copy_from(file, 0, 10)
                out.commit()
            finally:
                monkeypatch.undo()

    if not hasattr(os, call):
        pytest.skip(f"there is no os.{call} here")
    source = tmp_path / "source"
    source.write_bytes(bytes(10))

    with pytest.raises(EnvironmentFailure, match="cannot write") as caught:
        attempt()
    assert hint in caught.value.hint
    assert os.strerror(code) in caught.value.because
    assert names(tmp_path / "out") == []


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(EnvironmentFailure, match="cannot write"), AtomicFile(tmp_path / "file" / "x.whl"):
        pass


@pytest.mark.parametrize("refuses", [False, True])
def test_what_was_written_is_put_on_the_disk_from_time_to_time(tmp_path, monkeypatch, refuses):
    """It is advice: whether it is taken, or even allowed, changes nothing else."""
    asked = []

    def advise(descriptor: int, *_: int) -> None:
        asked.append("open" if os.fstat(descriptor).st_size else "empty")
        if refuses:
            raise OSError(errno.EINVAL, "no advice here")

    monkeypatch.setattr(output, "_ADVISE", advise)
    monkeypatch.setattr(output, "_WRITE_OUT", 1000)
    monkeypatch.setattr(output, "_STEP", 600)
    (tmp_path / "source").write_bytes(bytes(range(256)) * 20)
    with FileSource(tmp_path / "source") as source, AtomicFile(tmp_path / "x") as out:
        out.copy_from(source, 0, source.size)
        out.flush()
        while not asked:
            time.sleep(0.001)
        out.commit()
    assert set(asked) == {"open"}
    assert (tmp_path / "x").read_bytes() == (tmp_path / "source").read_bytes()


def test_a_request_to_stop_leaves_nothing_wherever_it_falls(tmp_path, monkeypatch):
    target = tmp_path / "x.whl"
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)

    def job() -> None:
        with AtomicFile(target) as out:
            out.write(b"whole")
            out.commit()

    before = after = 0
    for _moment in interrupted_everywhere(job, monkeypatch):
        assert names(tmp_path) in ([], ["x.whl"])
        before, after = before + (not target.exists()), after + target.exists()
        target.unlink(missing_ok=True)
    assert before > 20
    assert after > 5


KILLED = (
    "import sys, pathlib, time\n"
    "from wheelfix.streams.output import AtomicFile\n"
    "with AtomicFile(pathlib.Path(sys.argv[1])) as out:\n"
    "    out.write(bytes(3 << 20))\n"
    "    print('ready', flush=True)\n"
    "    time.sleep(60)\n"
)


@POSIX
def test_what_a_killed_run_leaves_is_removed_by_the_next_and_a_living_one_is_left_alone(tmp_path):
    runs = [
        subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / f"{number}.whl")], stdout=subprocess.PIPE)
        for number in range(2)
    ]
    try:
        for run in runs:
            assert run.stdout.readline() == b"ready\n"
        assert len(names(tmp_path)) == 2
        assert remove_stale(tmp_path) == ()
        runs[0].send_signal(signal.SIGKILL)
        runs[0].wait()
        assert len(remove_stale(tmp_path)) == 1
        assert len(names(tmp_path)) == 1
    finally:
        for run in runs:
            run.kill()
            run.wait()
    with AtomicFile(tmp_path / "x.whl") as out:
        assert len(names(tmp_path)) == 1
        out.commit()
    assert names(tmp_path) == ["x.whl"]


def test_other_files_are_never_taken_for_leftovers(tmp_path):
    for name in (".wheelfix.tmp", "wheelfix-1.tmp", ".wheelfix-1.whl", "x.tmp"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / ".wheelfix-folder.tmp").mkdir()
    assert remove_stale(tmp_path) == ()
    assert len(names(tmp_path)) == 5


@POSIX
def test_a_link_with_such_a_name_is_not_followed(tmp_path):
    (tmp_path / "precious").write_bytes(b"keep")
    (tmp_path / ".wheelfix-abc.tmp").symlink_to(tmp_path / "precious")
    remove_stale(tmp_path)
    assert (tmp_path / "precious").read_bytes() == b"keep"


def test_where_there_are_no_locks_only_old_files_go(tmp_path, monkeypatch):
    monkeypatch.setattr(output, "lock", lambda _: None)
    for name, age in (("old", 7200), ("new", 0)):
        path = tmp_path / f".wheelfix-{name}.tmp"
        path.write_bytes(b"")
        os.utime(path, (time.time() - age, time.time() - age))
    assert [path.name for path in remove_stale(tmp_path)] == [".wheelfix-old.tmp"]


# ----------------------------------------------------------------------------------------------------------- workfolder
# Temporary folders: gone after the work, and after a killed run with the next one; nobody else's are touched.


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


def test_it_is_gone_after_the_block(base):
    with WorkFolder() as folder:
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_bytes(b"x")
        assert folder.parent == base
    assert list(base.iterdir()) == []


def test_it_is_gone_with_its_last_user_and_closed_twice_does_no_harm(base):
    folder = WorkFolder()
    folder.close()
    folder.close()
    folder = WorkFolder()
    del folder
    assert list(base.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="Windows tells the dead from the living by age")
def test_what_a_killed_run_left_goes_with_the_next_one(base):
    environment = {**os.environ, "TMPDIR": str(base)}
    died = subprocess.run([sys.executable, "-c", DIES], env=environment, capture_output=True, text=True, check=False)
    assert died.returncode == 9, died.stderr
    (left,) = base.iterdir()
    assert str(left) == died.stdout.strip()
    with WorkFolder() as folder:
        assert list(base.iterdir()) == [folder]


def test_an_empty_folder_of_ours_goes_too(base):
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


def test_the_mark_goes_last(base, monkeypatch):
    folder = WorkFolder()
    (folder.path / "sub").mkdir()
    (folder.path / "file").write_text("x")
    seen = []
    monkeypatch.setattr(
        shutil, "rmtree", lambda path, **_: seen.append((path, sorted(one.name for one in folder.path.iterdir())))
    )
    folder.close()
    assert [path for path, _ in seen] == [folder.path / "sub", folder.path]
    assert seen[-1][1] == [MARK, "sub"]


def test_a_neighbour_at_work_is_left_alone(base):
    with WorkFolder() as one, WorkFolder() as other:
        assert sorted(base.iterdir()) == sorted([one, other])
        assert remove_left_behind(base) == ()


def test_folders_that_are_only_called_like_ours_stay(base, tmp_path):
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


def test_without_locks_only_old_folders_go(base, monkeypatch):
    monkeypatch.setattr(output, "lock", lambda _: None)
    for name, age in (("wheelfix-new", 0), ("wheelfix-old", 1e6)):
        (base / name).mkdir()
        (base / name / MARK).write_bytes(b"")
        os.utime(base / name, (1e9, (base / name).stat().st_mtime - age))
    assert remove_left_behind(base) == (base / "wheelfix-old",)


def test_a_place_that_cannot_be_written_is_said(base, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(base / "absent"))
    with pytest.raises(EnvironmentFailure, match="temporary folder"):
        WorkFolder()


@pytest.mark.slow
def test_a_request_to_stop_leaves_nothing_in_a_work_folder_wherever_it_falls(base, monkeypatch):
    def job() -> None:
        with WorkFolder() as folder:
            (folder / "half.dll").touch()

    moments = 0
    for moment in interrupted_everywhere(job, monkeypatch):
        assert list(base.iterdir()) == []
        moments = moment
    assert moments > 50
