"""Files and folders that are whole or gone: atomic files, and temporary folders that no kill leaves behind."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import stat
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from wheelfix.base.inputfiles import check_target
from wheelfix.errors import EnvironmentFailure
from wheelfix.streams.pool import Task, WorkerPool, defer_interrupts

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# --------------------------------------------------------------------------------------------------------- atomic files
# A file that appears under its name only when it is whole, and copying of spans into it within the kernel.
# The temporary file lies in the target folder, is locked while it is written, and is removed on any failure. What a
# killed process left behind has no lock, so the next run knows it and removes it.

PREFIX, SUFFIX = ".wheelfix-", ".tmp"
_QUIET = 60.0 if os.name == "nt" else 3600.0
"""Seconds without a write after which a file that cannot be locked counts as left behind."""
_PWRITE: Callable[[int, bytes | memoryview, int], int] | None = getattr(os, "pwrite", None)
_COPY_FILE_RANGE: Callable[[int, int, int, int, int], int] | None = getattr(os, "copy_file_range", None)
_ADVISE: Callable[[int, int, int, int], None] | None = getattr(os, "posix_fadvise", None)
_DO_NOT_NEED: int = getattr(os, "POSIX_FADV_DONTNEED", 0)
_STEP = 128 << 20
"""Bytes copied at once; in steps of 32 MB, 3 GB took up to half as long again."""
_WRITE_OUT = 512 << 20
"""Bytes after which the system begins to put them on the disk; more often, it keeps the copying thread waiting."""
_BUFFER, _LARGE = 1 << 20, 256 << 10
_NOT_SUPPORTED = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF, errno.ENOTSUP}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} if hasattr(errno, "EDQUOT") else {errno.ENOSPC, errno.EFBIG}


class Origin(Protocol):
    """An open file that spans are copied from."""

    path: Path

    def fileno(self) -> int: ...
    def read_at(self, offset: int, length: int, /) -> bytes: ...


class AtomicFile:
    """A file under a temporary name; :meth:`commit` gives it its own, and without that it is gone after the block.

    Spans are copied by a thread of their own, so that the writer can meanwhile prepare what comes next. UsageError for
    a file that this run reads, unless it is to be changed ``in_place``.
    """

    def __init__(self, target: Path, *, in_place: bool = False) -> None:
        self.target = target
        self._in_place = in_place
        self.position = 0
        """Where the next bytes go."""
        self._buffer = bytearray()
        self._descriptor = -1
        self._in_kernel = True
        self._copying: list[Task[None]] = []
        self._settling: Task[None] | None = None
        self._thread = WorkerPool(1)
        self._beside = WorkerPool(1)
        self._waiting = 0
        """Bytes written since the system was last asked to put them on the disk."""
        self._stop = threading.Event()
        self._seeking = threading.Lock()

    @defer_interrupts
    def __enter__(self) -> AtomicFile:
        if not self._in_place:
            check_target(self.target)
        with _environment(self.target):
            self.target.parent.mkdir(parents=True, exist_ok=True)
            remove_stale(self.target.parent)
            self._open()
        return self

    def _open(self) -> None:
        while True:
            self.path = self.target.parent / f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}"
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
            self._descriptor = os.open(self.path, flags, 0o666)
            if lock(self._descriptor) is not False and self.path.exists():
                return
            self._close()  # another run took it for a leftover just now

    @defer_interrupts
    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.close(cancel=True)
        self._beside.close(cancel=True)
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                self._close()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes; small ones are gathered first."""
        if len(data) >= _LARGE:
            self.hand_over()
            self._write_at(self.position, data)
            self.position += len(data)
            return
        self.position += len(data)
        self._buffer += data
        if len(self._buffer) >= _BUFFER:
            self.hand_over()

    def hand_over(self) -> None:
        """Hand gathered bytes to the system; spans may still be copied."""
        if self._buffer:
            data, self._buffer = self._buffer, bytearray()
            self._write_at(self.position - len(data), data)

    def _write_at(self, offset: int, data: bytes | bytearray | memoryview) -> None:
        view = memoryview(data)
        with _environment(self.target):
            while view:
                done = self._write_some(offset, view)
                offset, view = offset + done, view[done:]
        self._note(len(data))

    def _note(self, length: int) -> None:
        """Count what was written, and from time to time have it put on the disk, so that little is left for the end."""
        self._waiting += length
        if _ADVISE is not None and self._waiting >= _WRITE_OUT:
            self._waiting = 0
            self._beside.submit(
                functools.partial(_ADVISE, self._descriptor, 0, 0, _DO_NOT_NEED)
            )  # no more than advice: it may fail

    def _write_some(self, offset: int, data: bytes | memoryview) -> int:
        if _PWRITE is not None:
            return _PWRITE(self._descriptor, data, offset)
        with self._seeking:  # Windows: one position for both threads
            os.lseek(self._descriptor, offset, os.SEEK_SET)
            return os.write(self._descriptor, data)

    def patch(self, offset: int, data: bytes) -> None:
        """Overwrite bytes that were written before."""
        self.hand_over()
        self._write_at(offset, data)

    def rewind(self, offset: int) -> None:
        """Forget everything from ``offset`` on; no span may have been copied behind it."""
        self.hand_over()
        with _environment(self.target):
            os.ftruncate(self._descriptor, offset)
        self.position = offset

    def copy_from(self, origin: Origin, offset: int, length: int) -> None:
        """Append a span of another open file, within the kernel where that is possible; :meth:`flush` waits for it."""
        copy = functools.partial(self._copy, origin, offset, self.position, length)
        self._copying.append(self._thread.submit(copy))
        self.hand_over()
        self.position += length

    def _copy(self, origin: Origin, offset: int, position: int, length: int) -> None:
        while length and not self._stop.is_set():
            with _environment(self.target):
                done = self._copy_some(origin, offset, position, min(length, _STEP))
            if not done:
                raise EnvironmentFailure(f"{origin.path} changed while it was copied", because="it became shorter")
            self._note(done)
            offset, position, length = offset + done, position + done, length - done

    def _copy_some(self, origin: Origin, offset: int, position: int, length: int) -> int:
        """Copy up to ``length`` bytes in the best way that works here; 0 if there are no more."""
        if self._in_kernel and _COPY_FILE_RANGE is not None:
            try:
                return _COPY_FILE_RANGE(origin.fileno(), self._descriptor, length, offset, position)
            except io.UnsupportedOperation:  # no file on this machine: other spans may come from one
                pass
            except OSError as exc:
                if exc.errno not in _NOT_SUPPORTED:
                    raise
                self._in_kernel = False
        data = origin.read_at(offset, min(length, _BUFFER))
        return self._write_some(position, data) if data else 0

    def flush(self) -> None:
        """Hand everything to the system and wait for what is still being copied."""
        self.hand_over()
        copying, self._copying = self._copying, []
        for task in copying:
            task.result()

    def settle(self) -> None:
        """Hand everything to the system and begin to flush it to disk, while it is read back; nothing may follow."""
        self.flush()
        self._settling = self._thread.submit(functools.partial(os.fsync, self._descriptor))

    def sync(self) -> None:
        """Make what was written last, still under the temporary name."""
        self.flush()
        with _environment(self.target):
            os.fsync(self._descriptor)

    def commit(self) -> None:
        """Make the file whole on the disk, then give it its name."""
        self.flush()
        with _environment(self.target):
            if self._settling is None:
                os.fsync(self._descriptor)
            else:
                self._settling.result()
            self._beside.close(cancel=True)  # before the file is closed: another may get its number
            if os.name == "posix":  # renamed first, so that it is locked as long as it has its temporary name
                self.path.replace(self.target)
                self._close()
            else:
                self._close()
                self.path.replace(self.target)
        _sync_folder(self.target.parent)


def remove_stale(folder: Path) -> tuple[Path, ...]:
    """Remove temporary files that dead processes left in the folder; return which."""
    removed = []
    for path in sorted(folder.glob(f"{PREFIX}*{SUFFIX}")):
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0))
            try:
                ours, age = lock(descriptor), time.time() - os.fstat(descriptor).st_mtime
                stale = age > _QUIET if ours is None else ours
                if stale and os.name == "posix":
                    path.unlink()
                    removed.append(path)
            finally:
                os.close(descriptor)
            if stale and os.name != "posix":
                path.unlink()  # Windows refuses while it is open elsewhere
                removed.append(path)
    return tuple(removed)


def lock(descriptor: int) -> bool | None:
    """Try to lock a file: True if it is ours now, False if it is another's, None where there are no locks."""
    if sys.platform == "win32":  # there an open file cannot be removed, which is lock enough
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _sync_folder(folder: Path) -> None:
    """Make the new name last; a file system that cannot do this keeps the file all the same."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _environment(target: Path) -> Iterator[None]:
    """Turn what the system refuses into a failure that says what to do."""
    try:
        yield
    except OSError as exc:
        if exc.errno in _FULL:
            hint = "free some room, or choose another folder with --wheel-dir"
        elif isinstance(exc, PermissionError) or exc.errno == errno.EROFS:
            hint = "choose a folder that can be written to, or close the program that has the file open"
        else:
            hint = "check the folder and the disk"
        raise EnvironmentFailure(f"cannot write {target}", because=exc, hint=hint) from exc


# ----------------------------------------------------------------------------------------------------------- workfolder
# A temporary folder that is gone after the work, and that the next run removes if the work was killed.
# Each folder holds a file that its process keeps locked. A folder of ours whose file is not locked was left behind.


FOLDER_PREFIX = "wheelfix-"
MARK = ".wheelfix-work"
"""The locked file; its name also keeps us from touching a folder that only happens to be called like ours."""
_QUIET_FOLDER = 24 * 3600.0
"""Seconds after which a folder counts as left behind where files cannot be locked."""
_PROGRAM = 3600.0
"""Seconds after which an empty folder does: no program that we run takes longer (wheelfix/base/programs.py)."""


class WorkFolder:
    """A folder for intermediate files: gone after its ``with`` block, or with its last user, or when Python ends."""

    def __init__(self) -> None:
        import tempfile  # 3 ms, and a run rarely needs such a folder

        try:
            base = Path(tempfile.gettempdir())
            remove_left_behind(base)
            self._make(lambda: tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=base))
        except OSError as exc:
            raise EnvironmentFailure(
                "cannot make a temporary folder", because=exc, hint="set TMPDIR to another place"
            ) from exc

    @defer_interrupts
    def _make(self, new_folder: Callable[[], str]) -> None:
        while True:
            self.path = Path(new_folder())
            mark = self.path / MARK
            try:
                descriptor = os.open(mark, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
            except FileNotFoundError:
                continue  # another run took the empty folder for a leftover
            self._remove = weakref.finalize(self, _remove, self.path, descriptor)
            if lock(descriptor) is not False and mark.exists():
                return
            self._remove()  # another run took it for a leftover just now

    def __enter__(self) -> Path:
        return self.path

    @defer_interrupts
    def __exit__(self, *_: object) -> None:
        self.close()

    @defer_interrupts
    def close(self) -> None:
        """Remove the folder with everything in it."""
        self._remove()


@defer_interrupts
def _remove(folder: Path, descriptor: int) -> None:
    os.close(descriptor)
    _clear(folder)


def _clear(folder: Path) -> None:
    """Remove a folder, its mark last, so that what a kill leaves of it is still known as ours, or empty."""
    import shutil

    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != MARK:
                path.unlink()
    shutil.rmtree(folder, ignore_errors=True)


def remove_left_behind(base: Path) -> tuple[Path, ...]:
    """Remove folders of ours that a killed run left in ``base``; return which."""
    removed = []
    for folder in sorted(base.glob(f"{FOLDER_PREFIX}*")):
        with contextlib.suppress(OSError):
            if _is_left_behind(folder):
                if os.name == "nt":
                    (folder / MARK).unlink(missing_ok=True)  # refused while it is open elsewhere: then the rest stays
                    (folder / MARK).touch()
                _clear(folder)
                removed.append(folder)
    return tuple(removed)


def _is_left_behind(folder: Path) -> bool:
    """Whether a folder is ours and its process is dead; others may have put anything into a shared place."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
        return False
    try:
        descriptor = os.open(folder / MARK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        # Its process was killed between two steps. Or it is the folder that a program of another run works in.
        old = time.time() - status.st_mtime > _PROGRAM
        return old and len(folder.name) == len(FOLDER_PREFIX) + 8 and not any(folder.iterdir())
    try:
        ours = lock(descriptor)
        return time.time() - status.st_mtime > _QUIET_FOLDER if ours is None else ours
    finally:
        os.close(descriptor)
