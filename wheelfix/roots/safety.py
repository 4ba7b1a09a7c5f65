"""Who else can put a DLL into a root: world-writable folders on POSIX, generous access lists on Windows."""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.roots import tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wheelfix.roots.host import Host
    from wheelfix.roots.root import Root

OTHERS = {
    "WD": "everyone",
    "S-1-1-0": "everyone",
    "AU": "all authenticated users",
    "S-1-5-11": "all authenticated users",
    "BU": "all users of this machine",
    "S-1-5-32-545": "all users of this machine",
    "IU": "all users of this machine",
    "S-1-5-4": "all users of this machine",
    "BG": "guests",
    "S-1-5-32-546": "guests",
    "AN": "anonymous users",
    "S-1-5-7": "anonymous users",
}
"""Trustees of an access list that stand for people other than the owner and the administrators."""

_WRITING_WORDS = frozenset({"GA", "GW", "FA", "FW", "SD", "WD", "WO", "DC", "DT"})
# Add or change files, delete children, delete, change permissions or the owner, generic all and write. The right to
# add subfolders (4) is not among them: it puts no DLL where one would be taken from.
_WRITING_BITS = 0x0002 | 0x0040 | 0x10000 | 0x40000 | 0x80000 | 0x10000000 | 0x40000000


def with_warnings(root: Root, host: Host) -> Root:
    """Return the root with a warning for each of its folders that others can write to."""
    warnings = tuple(dict.fromkeys((*root.warnings, *_warnings(root, host))))
    return replace(root, warnings=warnings)


def _warnings(root: Root, host: Host) -> Iterator[str]:
    if root.is_file:
        paths = [root.path, root.path.parent]
    else:
        paths = [root.path, *(root.path / entry.path for entry in root.folders if entry.path != ".")]
    for path in paths:
        if who := writers(path, host):
            yield f"{who} can write to {path}"
    if host.os_name != "nt" and (loose := _loose_parent(root.path)) is not None:
        yield f"any user of this machine can replace it, because they can write to {loose}"


def writers(path: Path, host: Host) -> str:
    """Return who, beside owner and administrators, can write to a path; empty when no one can or that is not known."""
    if host.os_name == "nt":
        return ", ".join(writers_by_descriptor(host.descriptor(path)))
    try:
        mode = path.stat().st_mode
    except OSError:
        return ""
    return "any user of this machine" if mode & stat.S_IWOTH else ""


def _loose_parent(path: Path) -> Path | None:
    """Return the nearest folder above in which anyone may rename anything; sticky ones such as /tmp do not count."""
    for parent in tree.real(path).parents:
        try:
            mode = parent.stat().st_mode
        except OSError:
            continue
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return parent
    return None


def writers_by_descriptor(sddl: str) -> tuple[str, ...]:
    """Return the others to whom an access list in SDDL gives writing rights."""
    access = re.search(r"D:([^()]*)((?:\([^()]*\))*)", sddl)
    if access is None:
        return ()
    if "NO_ACCESS_CONTROL" in access[1]:
        return ("everyone",)
    allowed: dict[str, None] = {}
    for entry in re.findall(r"\(([^()]*)\)", access[2]):
        fields = entry.split(";")
        if len(fields) >= 6 and fields[0] in ("A", "XA") and fields[5] in OTHERS and _writes(fields[2]):
            allowed[OTHERS[fields[5]]] = None
    return tuple(allowed)


def _writes(rights: str) -> bool:
    if rights[:2].lower() == "0x":
        try:
            return bool(int(rights, 16) & _WRITING_BITS)
        except ValueError:
            return False
    words = {rights[index : index + 2] for index in range(0, len(rights), 2)}
    return bool(words & _WRITING_WORDS)
