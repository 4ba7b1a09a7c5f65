"""Whether a file can be trusted because only its user could have written it, as git requires of a repository.

On POSIX the owner and the permissions decide. On Windows the owner decides, where Windows names one: folders that are
made at the root of a drive let every user write by default, so that an access list alone is not a reason to refuse.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRUSTED_ON_WINDOWS = frozenset({"BA", "SY", "LA", "S-1-5-18", "S-1-5-32-544"})
"""Administrators and the system itself, who can change everything anyway."""


def distrust(path: Path) -> str:
    """Return why a file may have been written by another user, or nothing."""
    if os.name == "nt":
        return distrust_by_owner(_owner_on_windows(path), _user_on_windows())
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
    number = whole_number(caller, digits=10)
    if number is not None and hasattr(os, "geteuid") and os.geteuid() == 0:
        own.add(number)
    return frozenset(own)


def _is_private_group(group: int) -> bool:
    """Whether a group has one user: many systems give each user a group of the same name, and let it write."""
    try:
        import grp
        import pwd

        entry, user = grp.getgrgid(group), pwd.getpwuid(os.geteuid())
    except (ImportError, KeyError):
        return False
    return group == 0 or (entry.gr_name == user.pw_name and not set(entry.gr_mem) - {user.pw_name})


def _name(user: int) -> str:
    try:
        import pwd

        return pwd.getpwuid(user).pw_name
    except (ImportError, KeyError):
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


def _owner_on_windows(path: Path) -> str:
    import ctypes

    library = getattr(ctypes, "WinDLL", None)
    if library is None:
        return ""
    advapi, kernel = library("advapi32"), library("kernel32")
    owner_only = 1  # OWNER_SECURITY_INFORMATION
    needed = ctypes.c_uint32(0)
    advapi.GetFileSecurityW(str(path), owner_only, None, 0, ctypes.byref(needed))
    buffer = ctypes.create_string_buffer(needed.value or 1)
    if not needed.value or not advapi.GetFileSecurityW(str(path), owner_only, buffer, needed, ctypes.byref(needed)):
        return ""
    text = ctypes.c_wchar_p()
    convert = advapi.ConvertSecurityDescriptorToStringSecurityDescriptorW
    if not convert(buffer, 1, owner_only, ctypes.byref(text), None):
        return ""
    found = owner_in_descriptor(text.value or "")
    kernel.LocalFree(text)
    return found


def _user_on_windows() -> str:
    """Return the security identifier of the user we run as; empty where Windows does not say."""
    import ctypes

    library = getattr(ctypes, "WinDLL", None)
    if library is None:
        return ""
    advapi, kernel = library("advapi32"), library("kernel32")
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
