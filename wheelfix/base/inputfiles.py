"""Files that others wrote: regular files only, read up to a limit; and a run never writes to a file that it reads.

A path may lead to a pipe that never ends, to a device, or through a link to a file of somebody else. Whether two paths
are one file is decided by device and number (inode), so that links, mounts and other spellings make no difference.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from wheelfix.errors import UsageError

if sys.platform != "win32":
    import grp
    import pwd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType


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
        return _is_real_folder(path.lstat())
    except OSError:
        return False


def refuse_link(folder: Path) -> None:
    """Raise an error for a link or junction; FileNotFoundError if nothing is there, also if that is so by now."""
    if not _is_real_folder(folder.lstat()):
        raise UnfitFile("it is a link")


def _is_real_folder(status: os.stat_result) -> bool:
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


# ------------------------------------------------------------------------------------------------------------ ownership
# Whether a file can be trusted because only its user could have written it, as git requires of a repository.
# On POSIX the owner and the permissions decide. On Windows the owner decides, where Windows names one: folders that are
# made at the root of a drive let every user write by default, so that an access list alone is not a reason to refuse.


TRUSTED_ON_WINDOWS = frozenset({"BA", "SY", "LA", "S-1-5-18", "S-1-5-32-544"})
"""Administrators and the system itself, who can change everything anyway."""


def distrust(path: Path) -> str:
    """Return why a file may have been written by another user, or nothing."""
    if os.name == "nt":
        return distrust_by_owner(owner_in_descriptor(security_descriptor(path, OWNER)), _user_on_windows())
    try:
        seen = [path.lstat(), path.stat()]  # a link can be planted as well as a file
    except OSError as error:
        return f"its owner cannot be seen ({error.strerror})"
    users = _own_users()
    return next((why for status in seen if (why := distrust_by_status(status, users, _is_private_group))), "")


def distrust_by_status(
    status: os.stat_result, users: frozenset[int], is_private: Callable[[int], bool] = lambda group: False
) -> str:
    """Return what owner and permissions of a POSIX file say against it, or nothing."""
    if status.st_uid not in users:
        return f"it belongs to another user ({_name(status.st_uid)})"
    if stat.S_ISLNK(status.st_mode):
        return ""  # everybody may write to a link, which means nothing
    if status.st_mode & stat.S_IWOTH:
        return "every user of this machine can write to it"
    if status.st_mode & stat.S_IWGRP and not is_private(status.st_gid):
        return f"the group {status.st_gid} can write to it"
    return ""


def _own_users() -> frozenset[int]:
    """Return whose files count as our own: ours, root's, and under sudo those of the user who called it."""
    own = {os.geteuid(), 0} if hasattr(os, "geteuid") else {0}
    caller = os.environ.get("SUDO_UID", "")
    if re.fullmatch("[0-9]{1,10}", caller) and hasattr(os, "geteuid") and os.geteuid() == 0:
        own.add(int(caller))
    return frozenset(own)


def _is_private_group(group: int) -> bool:
    """Whether a group has one user: many systems give each user a group of the same name, and let it write."""
    if sys.platform == "win32":
        return False
    try:
        entry, user = grp.getgrgid(group), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return group == 0 or (entry.gr_name == user.pw_name and not set(entry.gr_mem) - {user.pw_name})


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name if sys.platform != "win32" else f"user id {user}"
    except KeyError:
        return f"user id {user}"


# ------------------------------------------------------------------------------------------------------------- Windows


def distrust_by_owner(owner: str, user: str) -> str:
    """Return why the owner of a Windows file, spelled as in SDDL, is a reason to refuse it; empty if not known."""
    if not owner or not user or owner == user or owner in TRUSTED_ON_WINDOWS:
        return ""
    return f"it belongs to another user ({owner})"


def owner_in_descriptor(sddl: str) -> str:
    """Return the owner in a security descriptor: ``O:S-1-5-21-1-2-3-1001D:…`` or ``O:BAG:…``."""
    found = re.match(r"O:(S-1(?:-[0-9]+)+|[A-Z]{2})", sddl)
    return found[1] if found else ""


def _windows() -> tuple[Any, Any, Any]:
    """Return ctypes, advapi32 and kernel32; None for each where this is not Windows."""
    import ctypes

    library = getattr(ctypes, "WinDLL", None)
    return (None, None, None) if library is None else (ctypes, library("advapi32"), library("kernel32"))


OWNER, ACCESS_LIST = 1, 4
"""The parts of a security descriptor: OWNER_SECURITY_INFORMATION, DACL_SECURITY_INFORMATION."""


def security_descriptor(path: Path, part: int) -> str:
    """Return a part of a file's security descriptor as Windows writes it down; empty when unknown."""
    ctypes, advapi, kernel = _windows()
    if ctypes is None:
        return ""
    needed = ctypes.c_uint32(0)
    advapi.GetFileSecurityW(str(path), part, None, 0, ctypes.byref(needed))
    buffer = ctypes.create_string_buffer(needed.value or 1)
    if not needed.value or not advapi.GetFileSecurityW(str(path), part, buffer, needed, ctypes.byref(needed)):
        return ""
    text = ctypes.c_wchar_p()
    convert = advapi.ConvertSecurityDescriptorToStringSecurityDescriptorW
    if not convert(buffer, 1, part, ctypes.byref(text), None):
        return ""
    found = text.value or ""
    kernel.LocalFree(text)
    return found


def _user_on_windows() -> str:
    """Return the security identifier of the user we run as; empty where Windows does not say."""
    ctypes, advapi, kernel = _windows()
    if ctypes is None:
        return ""
    kernel.GetCurrentProcess.restype = ctypes.c_void_p
    token, needed = ctypes.c_void_p(), ctypes.c_uint32(0)
    query, token_user = 8, 1
    if not advapi.OpenProcessToken(ctypes.c_void_p(kernel.GetCurrentProcess()), query, ctypes.byref(token)):
        return ""
    try:
        advapi.GetTokenInformation(token, token_user, None, 0, ctypes.byref(needed))
        buffer = ctypes.create_string_buffer(needed.value or 1)
        if not advapi.GetTokenInformation(token, token_user, buffer, needed, ctypes.byref(needed)):
            return ""
        text = ctypes.c_wchar_p()
        identifier = ctypes.c_void_p.from_buffer(buffer)  # TOKEN_USER begins with the pointer
        if not advapi.ConvertSidToStringSidW(identifier, ctypes.byref(text)):
            return ""
        found = text.value or ""
        kernel.LocalFree(text)
        return found
    finally:
        kernel.CloseHandle(token)


# --------------------------------------------------------------------------------------------------------------- listed
# The modules of a package, by listing its folder: a new file there counts without being named anywhere.


_SUFFIXES = (".py", ".pyc")


def listed_modules(package: ModuleType) -> list[str]:
    """Return the names of the modules of a package, sorted.

    ``pkgutil.iter_modules`` gives the same, and imports :mod:`inspect`, which takes 5 ms; it is asked where the package
    is not in a folder.
    """
    found: set[str] = set()
    for folder in map(Path, package.__path__):
        if not folder.is_dir():
            found.update(module.name for module in importlib.import_module("pkgutil").iter_modules([str(folder)]))
            continue
        for path in folder.iterdir():
            if path.suffix in _SUFFIXES or (path / "__init__.py").is_file():
                found.add(path.stem)
    return sorted(found - {"__init__"})


def own_data(package: str, name: str) -> bytes:
    """Return a file of a package of ours, which may be running from a zip; OSError if it is not there."""
    spec = sys.modules[package].__spec__
    loader: Any = spec.loader if spec else None
    data: bytes = loader.get_data(os.path.join(sys.modules[package].__path__[0], *name.split("/")))  # noqa: PTH118
    return data
