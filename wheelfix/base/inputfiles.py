"""Files that others wrote: regular files only, read up to a limit; and a run never writes to a file that it reads.

A path may lead to a pipe that never ends, to a device, or through a link to a file of somebody else. Whether two paths
are one file is decided by device and number (inode), so that links, mounts and other spellings make no difference.
"""

from __future__ import annotations

import io
import os
import stat
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_FileId: TypeAlias = tuple[int, int]
_HEADS = (b"MZ", b"PK\3\4", b"PK\5\6", b"BZh")
"""How programs, DLLs, wheels and conda packages begin."""


class UnfitFile(OSError, ValueError):
    """A file that is not opened or read: not a regular file, a link where there may be none, or too large."""


def open_regular(path: Path, *, links: bool = True) -> io.FileIO:
    """Open a regular file for reading; UnfitFile for anything else, and without ``links`` for a link.

    That is looked at before it is opened, which may wait for ever or have effects, and again afterwards.
    """
    _refuse_odd(path.stat() if links else path.lstat())
    flags = getattr(os, "O_NONBLOCK", 0) | (0 if links else getattr(os, "O_NOFOLLOW", 0))
    file = io.FileIO(path, "rb", opener=lambda name, usual: os.open(name, usual | flags))
    try:
        status = os.fstat(file.fileno())
        _refuse_odd(status)
        _RUN.read(status, path)
    except BaseException:
        file.close()
        raise
    return file


def is_real_folder(path: Path) -> bool:
    """Whether a path is a folder, and no link or junction to one."""
    try:
        status = path.lstat()
    except OSError:
        return False
    is_junction = getattr(status, "st_file_attributes", 0) & 0x400  # FILE_ATTRIBUTE_REPARSE_POINT
    return stat.S_ISDIR(status.st_mode) and not is_junction


def _refuse_odd(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "a link" if stat.S_ISLNK(status.st_mode) else ""
        raise UnfitFile(f"it is {what or 'a device or pipe'}, not a regular file")


def read_file(path: Path, limit: int, *, links: bool = True) -> bytes:
    """Return the bytes of a regular file; UnfitFile if it has more than ``limit``."""
    with open_regular(path, links=links) as file:
        parts, left = [], limit + 1
        while left and (part := file.read(min(left, 1 << 20))):  # a file of a system may say that it has no bytes
            parts.append(part)
            left -= len(part)
    if not left:
        raise UnfitFile(f"it is larger than {f'{limit >> 20} MiB' if limit >> 20 else f'{limit} bytes'}")
    return b"".join(parts)


# ------------------------------------------------------------------------------------------------ read or written


class _Run:
    """The files that one command reads, and those that it is going to write: none is both."""

    def __init__(self) -> None:
        self.active = False
        """Only where a whole command runs: a program that uses our functions may read now and write later."""
        self.inputs: dict[_FileId, str] = {}
        self.targets: dict[_FileId, str] = {}

    def read(self, status: os.stat_result, path: Path) -> None:
        if self.active and (key := _id(status)) is not None:
            self.inputs.setdefault(key, str(path))
            if key in self.targets:
                raise _clash(self.targets[key], str(path))

    def write(self, path: Path, *, later: bool) -> None:
        status = _status(path)
        key = _id(status) if status is not None else None
        if self.active and key is not None:
            if key in self.inputs:
                raise _clash(str(path), self.inputs[key])
            if later:
                self.targets.setdefault(key, str(path))


_RUN = _Run()


def begin_run(inputs: Iterable[Path] = ()) -> None:
    """Begin a command: until :func:`end_run` what is read is not written; ``inputs`` are known to be read."""
    end_run()
    _RUN.active = True
    will_read(inputs)


def end_run() -> None:
    """Forget what was read."""
    _RUN.active = False
    _RUN.inputs.clear()
    _RUN.targets.clear()


def will_read(paths: Iterable[Path]) -> None:
    """Note files that this run reads; UsageError if it is going to write one of them."""
    for path in paths:
        status = _status(path)
        if status is not None:
            _RUN.read(status, path)


def check_target(path: Path) -> None:
    """UsageError if this run reads the file that it is about to replace."""
    _RUN.write(path, later=False)


def check_text_target(path: Path) -> None:
    """UsageError if a report may not go to a file: the run reads it, or it is a program, a DLL or a package."""
    _RUN.write(path, later=True)
    status = _status(path)
    if status is None:
        return
    try:
        with io.FileIO(path) as file:
            head = file.read(256)
    except OSError:
        return  # one that can be written to, but not read
    if head.startswith(_HEADS) and b"\0" in head:
        raise UsageError(
            f"{path} is not overwritten",
            because="it is a program, a DLL or a package, not a report",
            hint="name another file, or remove this one first",
        )


def refuse_same(target: Path, source: Path, hint: str) -> None:
    """UsageError if a target is the file that it is made from."""
    one, other = _status(target), _status(source)
    if one is not None and other is not None and os.path.samestat(one, other):
        raise UsageError(f"{source} is not overwritten", because=f"it is the same file as {target}", hint=hint)


def _clash(target: str, source: str) -> UsageError:
    because = f"this run reads it as {source}" if target != source else "this run reads it"
    return UsageError(f"{target} is not overwritten", because=because, hint="name another file")


def _status(path: Path) -> os.stat_result | None:
    """The status of a regular file; None for anything else."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _id(status: os.stat_result) -> _FileId | None:
    return (status.st_dev, status.st_ino) if status.st_ino else None
