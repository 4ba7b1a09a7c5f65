"""Damage a wheel as people and tools do: a DLL without its file, its row, its end, its place or the line that finds it.

Each damage is one function: a wheel's members in, changed members out. RECORD matches the result, except for
``gone-listed``, where the row of a missing DLL stays.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import zipfile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Members = dict[str, bytes]
_RECORD = re.compile(r"[^/]+\.dist-info/RECORD")


def gone(members: Members, dll: str) -> None:
    """Take a DLL out."""
    del members[_named(members, dll)]


def truncated(members: Members, dll: str) -> None:
    """Cut a DLL in half."""
    name = _named(members, dll)
    members[name] = members[name][: len(members[name]) // 2]


def moved(members: Members, dll: str) -> None:
    """Put a DLL one folder deeper, where nothing looks."""
    name = PurePosixPath(_named(members, dll))
    members[str(name.parent / "moved" / name.name)] = members.pop(str(name))


def line_gone(members: Members, line: str) -> None:
    """Take a line of Python code out, the last one with this text in the first file that has it."""
    pattern = re.compile(rf"^([ \t]*){re.escape(line)}", re.MULTILINE)
    for name in sorted(members):
        text = members[name].decode("utf-8", "replace") if name.endswith(".py") else ""
        if found := list(pattern.finditer(text)):
            changed = text[: found[-1].start()] + found[-1][1] + "pass" + text[found[-1].end() :]
            members[name] = changed.encode()
            return
    raise LookupError(f"no file has the line {line!r}")


DAMAGES: dict[str, Callable[[Members, str], None]] = {
    "gone": gone,
    "gone-listed": gone,
    "truncated": truncated,
    "moved": moved,
    "line gone": line_gone,
}


def damage(wheel: Path, kind: str, what: str, target: Path) -> None:
    """Write the wheel with one damage to another path. ``what`` is how a DLL's name begins, or a line of code."""
    with zipfile.ZipFile(wheel) as source:
        before = {info.filename: source.read(info) for info in source.infolist() if not info.is_dir()}
    members = dict(before)
    DAMAGES[kind](members, what)
    record = next(name for name in members if _RECORD.fullmatch(name))
    if kind != "gone-listed":
        members[record] = _record(members, record)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        for name, data in members.items():
            made.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def _named(members: Members, start: str) -> str:
    return next(name for name in sorted(members) if name.rpartition("/")[2].lower().startswith(start.lower()))


def _record(members: Members, record: str) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for name, data in members.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.writerow([name, "", ""] if name == record else [name, f"sha256={digest}", len(data)])
    return text.getvalue().encode()
