"""How a new wheel shall differ from the one it is made of, checked and put in order before a byte is written."""

from __future__ import annotations

import datetime
import os
import time
from operator import attrgetter
from typing import TYPE_CHECKING

from wheelfix.archive import names
from wheelfix.archive.directory import NO_DATE, Member
from wheelfix.archive.record import SIGNATURES, Row
from wheelfix.base.parsing import whole_number
from wheelfix.base.values import field, frozen
from wheelfix.errors import CannotRepair, UsageError
from wheelfix.streams.source import FileSource, MemorySource

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from wheelfix.archive.reader import Archive
    from wheelfix.model import ByteSource

_SUSPICIOUS = frozenset({"unsafe-path", "upward-name", "backslash-name"})
"""Kinds of faults after which the names of kept members are looked at, too."""


@frozen
class NewMember:
    """A file to put into a wheel; exactly one of path, data, source and packed says where its bytes come from."""

    name: str
    """Its place in the wheel."""
    path: Path | None = None
    """A file on disk."""
    data: bytes | None = None
    """The bytes themselves."""
    source: ByteSource | None = None
    """Anything that can be read at any place."""
    packed: tuple[Archive, Member] | None = None
    """A member of another archive, whose packed bytes are copied as they are."""
    sha256: str = ""
    """What the plan saw, in hexadecimal; other bytes are refused. Empty: anything."""

    def __post_init__(self) -> None:
        given = [value for value in (self.path, self.data, self.source, self.packed) if value is not None]
        if len(given) != 1:
            raise UsageError(f"{self.name!r} needs one place its bytes come from, not {len(given)}")

    @property
    def origin(self) -> str:
        """Where the bytes come from, for messages."""
        if self.path is not None:
            return str(self.path)
        return f"{self.packed[0].path}: {self.packed[1].name}" if self.packed is not None else self.name

    def open(self) -> ByteSource:
        """Return the bytes for reading at any place."""
        if self.path is not None:
            return FileSource(self.path)
        if self.packed is not None:
            archive, member = self.packed
            return archive.source(member)
        return self.source or MemorySource(self.data or b"")


@frozen
class WheelChanges:
    """How a new wheel differs from the one it is made of."""

    dist_info: str
    """The dist-info folder in the new wheel, without a slash."""
    drop: frozenset[Member] = frozenset()
    """Members that are left out; RECORD and its signatures need not be named."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Old to new names, an empty one leaves the member out. Backslashes are written as slashes without an entry."""
    add: tuple[NewMember, ...] = ()
    """New members; one with an old name replaces the old member."""
    rows: tuple[Row, ...] = ()
    """Rows of kept members under their new names, in the order RECORD shall have; rows that are missing are made."""
    by_name: bool = False
    """Order the kept members by name: a file system has listed those of the source, each in its own order."""


@frozen
class MemberOrder:
    """The members of the new wheel, in the order in which they are written; RECORD follows them."""

    groups: tuple[tuple[tuple[Member, ...], tuple[NewMember, ...]], ...]
    """Old members, in the order of the file or of their names, and the new ones behind them: first outside dist-info,
    then in it."""
    replaced: Mapping[str, Member]
    """Old members that a new one (or the new RECORD) takes the place of, by new name."""
    kept_files: frozenset[str]
    """The new names of all old members but folders."""


def arrange(source: Archive, changes: WheelChanges) -> MemberOrder:
    """Put the members of the new wheel in order; CannotRepair if it would not be a valid wheel."""
    folder = changes.dist_info + "/"
    gone = {member.entry for member in changes.drop}
    ours = {folder + "RECORD", *(folder + name for name in SIGNATURES)}
    taken = ours | {new.name for new in changes.add}
    kept: list[Member] = []
    final: list[str] = []
    replaced: dict[str, Member] = {}
    rename = changes.rename.get
    for member in sorted(source.members, key=attrgetter("name" if changes.by_name else "header_offset")):
        name = rename(member.name, member.name)
        if member.entry in gone or not name:
            continue
        if name in taken:
            replaced.setdefault(name, member)
        else:
            kept.append(member)
            final.append(name)
    new = sorted(changes.add, key=attrgetter("name"))
    if any(member.name in ours for member in new):
        raise UsageError("RECORD is written by the writer itself")
    suspicious = changes.rename or any(fault.kind in _SUSPICIOUS for fault in source.faults)
    _check_names(source.path, final, [member.name for member in new], look_at_kept=bool(suspicious))
    groups = tuple(
        (
            tuple(member for member, name in zip(kept, final, strict=True) if name.startswith(folder) == inside),
            tuple(member for member in new if member.name.startswith(folder) == inside),
        )
        for inside in (False, True)
    )
    return MemberOrder(groups, replaced, frozenset(name for name in final if name[-1] != "/"))


def _check_names(path: Path, kept: Sequence[str], new: Sequence[str], *, look_at_kept: bool) -> None:
    """CannotRepair if the new wheel would have two members of a name, or a name that is unsafe to unpack."""
    final = [*kept, *new]
    unknown = final if look_at_kept else new
    for name in (one for one in unknown if not names.is_plain(one)):
        reason = names.why_unsafe(name) or ("folders must be separated by slashes" if "\\" in name else "")
        if reason:
            raise CannotRepair(f"{path}: refusing to write {name!r}", because=reason)
    if len(set(final)) != len(final):
        twice = sorted(name for name in set(final) if final.count(name) > 1)[0]
        raise CannotRepair(f"{path}: {twice!r} would be in the wheel twice", hint="drop one of them")
    fresh = frozenset(new)
    for first, second in names.collisions(final):  # new names come last
        if second in fresh:
            because = "on Windows they are one file"
            raise CannotRepair(f"{path}: {first!r} and {second!r} clash", because=because)
    for file, folder in names.files_as_folders(frozenset(final)):
        below = next((name for name in (final if file in fresh else new) if name.startswith(folder)), "")
        if below:
            because = "one is a file where the other has a folder"
            raise CannotRepair(f"{path}: {file!r} and {below!r} clash", because=because)


_LAST_SECOND = 253_402_300_799
"""The last second of the year 9999, beyond which dates cannot be written."""


def source_date_epoch() -> int | None:
    """Return the seconds since 1970 that SOURCE_DATE_EPOCH names, None if it is not set; UsageError if it is wrong."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "").strip()
    if not text:
        return None
    seconds = whole_number(text, digits=12)
    if seconds is None or seconds > _LAST_SECOND:
        raise UsageError(
            f"SOURCE_DATE_EPOCH is {text[:40]!r}",
            because="it must be a number of seconds since 1970, not beyond the year 9999",
            hint="unset it, or set it to the output of `git log -1 --format=%ct`",
        )
    return seconds


def new_stamp(members: Iterable[Member]) -> int:
    """Return the DOS stamp of new members: SOURCE_DATE_EPOCH, else that of the newest member."""
    epoch = source_date_epoch()
    if epoch is None:
        return max((stamp for stamp in {member.dos_stamp for member in members} if _is_date(stamp)), default=NO_DATE)
    year, month, day, hour, minute, second, *_ = time.gmtime(epoch)
    if year < 1980:
        return NO_DATE
    if year > 2107:
        year, month, day, hour, minute, second = 2107, 12, 31, 23, 59, 58
    return (year - 1980) << 25 | month << 21 | day << 16 | hour << 11 | minute << 5 | second // 2


def _is_date(stamp: int) -> bool:
    year, month, day = 1980 + (stamp >> 25), stamp >> 21 & 15, stamp >> 16 & 31
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return (stamp >> 11 & 31) < 24 and (stamp >> 5 & 63) < 60 and (stamp & 31) < 30
