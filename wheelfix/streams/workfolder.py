"""A temporary folder that is gone after the work, and that the next run removes if the work was killed.

Each folder holds a file that its process keeps locked. A folder of ours whose file is not locked was left behind.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.errors import EnvironmentFailure
from wheelfix.streams.interrupts import defer_interrupts
from wheelfix.streams.output import _lock as lock

if TYPE_CHECKING:
    from types import TracebackType

PREFIX = "wheelfix-"
MARK = ".wheelfix-work"
"""The locked file; its name also keeps us from touching a folder that only happens to be called like ours."""
_QUIET = 24 * 3600.0
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
            self._make(base)
        except OSError as exc:
            raise EnvironmentFailure(
                "cannot make a temporary folder", because=exc.strerror or str(exc), hint="set TMPDIR to another place"
            ) from exc

    @defer_interrupts
    def _make(self, base: Path) -> None:
        import tempfile

        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
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
    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
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
    for folder in sorted(base.glob(f"{PREFIX}*")):
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
        return old and len(folder.name) == len(PREFIX) + 8 and not any(folder.iterdir())
    try:
        ours = lock(descriptor)
        return time.time() - status.st_mtime > _QUIET if ours is None else ours
    finally:
        os.close(descriptor)
