"""One writer for a folder: a lock on a file that ends with the process, however that ends."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 30  # a byte that nothing reads: on Windows a locked one cannot be read by others

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    _TAKEN: tuple[type[OSError], ...] = (OSError,)
else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    _TAKEN = (BlockingIOError,)


@contextlib.contextmanager
def locked_file(path: Path) -> Iterator[bool]:
    """Lock a file and give True, or False if another process has it; a file system without locks counts as ours."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:  # on a read-only disk nothing is written, so the first part reports it
        yield True
        return
    try:
        try:
            _lock(descriptor)
        except _TAKEN:
            yield False
            return
        except OSError:
            pass
        yield True
    finally:
        os.close(descriptor)


def name_file(draft: Path, target: Path) -> None:
    """Give a file its name unless another has it, so that two that begin at once have one file to lock."""
    try:
        os.link(draft, target)
    except FileExistsError:
        return
    except OSError:  # a file system without links
        draft.replace(target)
