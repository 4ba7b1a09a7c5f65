"""The file that is whole or not there: temporary names, leftovers, failures, copying."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.interrupts import interrupted_everywhere
from wheelfix.errors import EnvironmentFailure
from wheelfix.streams import output
from wheelfix.streams.output import AtomicFile, remove_stale
from wheelfix.streams.source import FileSource

if TYPE_CHECKING:
    from pathlib import Path

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_appears_when_it_is_whole(tmp_path: Path) -> None:
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
def test_nothing_is_left_after_a_failure(tmp_path: Path, error: type[BaseException]) -> None:
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


def test_patching_and_rewinding(tmp_path: Path) -> None:
    with AtomicFile(tmp_path / "x") as out:
        out.write(b"0123456789")
        out.patch(2, b"ab")
        out.write(b"more")
        out.rewind(5)
        out.write(b"END")
        assert out.position == 8
        out.commit()
    assert (tmp_path / "x").read_bytes() == b"01ab4END"


@pytest.mark.parametrize("copiers", [output._COPIERS, output._COPIERS[1:], ()], ids=["range", "sendfile", "by-hand"])
def test_spans_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copiers: tuple[object, ...]) -> None:
    monkeypatch.setattr(output, "_COPIERS", copiers)
    data = bytes(range(256)) * 20_000
    (tmp_path / "source").write_bytes(data)
    told: list[int] = []
    with FileSource(tmp_path / "source") as source, AtomicFile(tmp_path / "x") as out:
        out.write(b"head")
        out.copy_from(_Origin(source), 1000, 3_000_000, told.append)
        out.write(b"between")
        out.copy_from(_Origin(source), 0, 10)
        out.commit()
    assert (tmp_path / "x").read_bytes() == b"head" + data[1000:3_001_000] + b"between" + data[:10]
    assert sum(told) == 3_000_000


class _Origin:
    """A source as something to copy from."""

    def __init__(self, source: FileSource) -> None:
        self.path = source.path
        self._source = source

    def fileno(self) -> int:
        return self._source._file.fileno()

    def read_at(self, offset: int, length: int) -> bytes:
        return self._source.read_at(offset, length)


def test_without_pwrite_both_threads_share_one_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no pwrite: a lock keeps the copying thread and the writing one apart."""
    monkeypatch.setattr(output, "_COPIERS", ())
    monkeypatch.setattr(output, "_PWRITE", None)
    data = bytes(range(256)) * 40_000
    (tmp_path / "source").write_bytes(data)
    with FileSource(tmp_path / "source") as source, AtomicFile(tmp_path / "x") as out:
        for number in range(20):
            out.copy_from(_Origin(source), number, 400_000)
            out.write(bytes([number]) * 100_000)
        out.commit()
    expected = b"".join(data[number : number + 400_000] + bytes([number]) * 100_000 for number in range(20))
    assert (tmp_path / "x").read_bytes() == expected


def test_an_interrupt_stops_the_copying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_STEP", 10)
    (tmp_path / "source").write_bytes(bytes(1000))
    steps: list[int] = []

    def interrupted() -> None:
        with FileSource(tmp_path / "source") as source, AtomicFile(tmp_path / "out" / "x") as out:

            def tell(done: int) -> None:
                steps.append(done)
                out._stop.wait(5)

            out.copy_from(_Origin(source), 0, 1000, tell)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(steps) <= 1
    assert names(tmp_path / "out") == []


@POSIX
def test_a_way_of_copying_that_fails_here_is_replaced_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: int) -> int:
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(output, "_COPIERS", (refuse, refuse))
    (tmp_path / "source").write_bytes(b"abc" * 100)
    with FileSource(tmp_path / "source") as source, AtomicFile(tmp_path / "x") as out:
        out.copy_from(_Origin(source), 3, 30)
        out.commit()
    assert (tmp_path / "x").read_bytes() == b"abc" * 10


@pytest.mark.parametrize("copiers", [output._COPIERS, ()], ids=["kernel", "by-hand"])
def test_a_source_that_became_shorter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copiers: tuple[object, ...]
) -> None:
    monkeypatch.setattr(output, "_COPIERS", copiers)
    (tmp_path / "source").write_bytes(b"abc")
    with FileSource(tmp_path / "source") as source, AtomicFile(tmp_path / "x") as out:
        out.copy_from(_Origin(source), 0, 100)
        with pytest.raises(EnvironmentFailure, match="changed while it was copied"):
            out.flush()
    assert names(tmp_path) == ["source"]


@pytest.mark.parametrize(
    ("code", "hint"),
    [(errno.ENOSPC, "free some room"), (errno.EACCES, "can be written to"), (errno.EIO, "check the folder")],
)
@pytest.mark.parametrize("call", ["write", "pwrite", "fsync", "copy_file_range"])
def test_what_the_disk_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, hint: str
) -> None:
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
                out.copy_from(_Origin(file), 0, 10)
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


@POSIX
def test_a_full_disk_for_real(tmp_path: Path) -> None:
    """A limit on the size of files stands for a disk without room: the kernel refuses in the middle of a write."""
    script = (
        "import resource, signal, sys, pathlib\n"
        "from wheelfix.streams.output import AtomicFile\n"
        "from wheelfix.errors import EnvironmentFailure\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20))\n"
        "try:\n"
        "    with AtomicFile(pathlib.Path(sys.argv[1])) as out:\n"
        "        for _ in range(10):\n"
        "            out.write(bytes(1 << 20))\n"
        "        out.commit()\n"
        "except EnvironmentFailure as exc:\n"
        "    print(exc.hint)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "x.whl")], capture_output=True, text=True, check=True
    )
    assert "free some room" in ran.stdout
    assert names(tmp_path) == []


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(EnvironmentFailure, match="cannot write"), AtomicFile(tmp_path / "file" / "x.whl"):
        pass


@pytest.mark.parametrize("refuses", [False, True])
def test_what_was_written_is_put_on_the_disk_from_time_to_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: bool
) -> None:
    """It is advice: whether it is taken, or even allowed, changes nothing else."""
    asked: list[str] = []

    def advise(descriptor: int, *_: int) -> None:
        asked.append("open" if os.fstat(descriptor).st_size else "empty")
        if refuses:
            raise OSError(errno.EINVAL, "no advice here")

    monkeypatch.setattr(output, "_ADVISE", advise)
    monkeypatch.setattr(output, "_WRITE_OUT", 1000)
    monkeypatch.setattr(output, "_STEP", 600)
    (tmp_path / "source").write_bytes(bytes(range(256)) * 20)
    with FileSource(tmp_path / "source") as source, AtomicFile(tmp_path / "x") as out:
        out.copy_from(_Origin(source), 0, source.size)
        out.flush()
        while not asked:
            time.sleep(0.001)
        out.commit()
    assert set(asked) == {"open"}
    assert (tmp_path / "x").read_bytes() == (tmp_path / "source").read_bytes()


def test_a_request_to_stop_leaves_nothing_wherever_it_falls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_what_a_killed_run_leaves_is_removed_by_the_next_and_a_living_one_is_left_alone(tmp_path: Path) -> None:
    runs = [
        subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / f"{number}.whl")], stdout=subprocess.PIPE)
        for number in range(2)
    ]
    try:
        for run in runs:
            assert run.stdout is not None
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


def test_other_files_are_never_taken_for_leftovers(tmp_path: Path) -> None:
    for name in (".wheelfix.tmp", "wheelfix-1.tmp", ".wheelfix-1.whl", "x.tmp"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / ".wheelfix-folder.tmp").mkdir()
    assert remove_stale(tmp_path) == ()
    assert len(names(tmp_path)) == 5


@POSIX
def test_a_link_with_such_a_name_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"keep")
    (tmp_path / ".wheelfix-abc.tmp").symlink_to(tmp_path / "precious")
    remove_stale(tmp_path)
    assert (tmp_path / "precious").read_bytes() == b"keep"


def test_where_there_are_no_locks_only_old_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_lock", lambda _: None)
    for name, age in (("old", 7200), ("new", 0)):
        path = tmp_path / f".wheelfix-{name}.tmp"
        path.write_bytes(b"")
        os.utime(path, (time.time() - age, time.time() - age))
    assert [path.name for path in remove_stale(tmp_path)] == [".wheelfix-old.tmp"]
