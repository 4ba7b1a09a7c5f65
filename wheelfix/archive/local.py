"""The headers that stand before the members' data, and how they differ from the central directory.

A reader that streams (uv, PyPI's check) believes these; one that seeks (pip) believes the directory. Where the two
disagree, an attacker can show each reader another wheel.
"""

from __future__ import annotations

import struct
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.archive.directory import LOCAL, MAX32
from wheelfix.archive.members import DESCRIPTOR, NEWEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from wheelfix.archive.members import Member, OpenFile

ZIP64, UNICODE_PATH = 0x0001, 0x7075
_ENTRY, _OFFSET = attrgetter("entry"), attrgetter("header_offset")
_CSIZE, _EXTRA = attrgetter("csize"), attrgetter("extra")
_SLASH = ord("/")
_USUAL_EXTRA = 64
WINDOW, SMALL_WINDOW = 64 << 10, 256
"""Bytes that are read around a header: of a file on this disk, and of one on a server, where bytes cost more."""


class Local(NamedTuple):
    """Where a member's data are, and what its local header says otherwise than the directory."""

    member: Member
    data: int
    """Where the packed bytes begin in the file; 0 if there is no header."""
    flags: int
    extra: bytes
    announced: int = 0
    """How many sizes the header leaves to its ZIP64 field."""
    differences: tuple[str, ...] = ()
    """Field and both values, such as ``size: 10 in the directory, 12 in the header``."""

    @property
    def end(self) -> int:
        """Where the packed bytes end in the file."""
        return self.data + self.member.csize


def read_locals(archive: OpenFile, members: Iterable[Member]) -> Iterator[Local]:
    """Give the local header of each member, in the order asked; that of the file is the fastest."""
    directory, make = archive.directory, tuple.__new__
    window, start, end = b"", 0, 0
    for member in members:
        at, entry, flags = member.header_offset, member.entry, member.flags
        name_end = 30 + (directory[entry + 28] | directory[entry + 29] << 8)
        # Neighbours are read together: ten thousand system calls take longer than the bytes between the headers.
        if at < start or at + name_end + _USUAL_EXTRA > end:
            window = archive.read_at(at, max(archive.window, name_end + _USUAL_EXTRA))
            start, end = at, at + len(window)
        here = at - start
        # The same fields in the same order, so most headers compare as a whole.
        if (
            window.startswith(directory[entry + 6 : entry + 30], here + 4)
            and window.startswith(directory[entry + 46 : entry + 16 + name_end], here + 30)
            and window.startswith(b"PK\x03\x04", here)
            and not flags & DESCRIPTOR
            and member.csize < MAX32
            and member.usize < MAX32
        ):
            extra_length = window[here + 28] | window[here + 29] << 8
            data = at + name_end + extra_length
            extra = window[here + name_end : data - start] if extra_length else b""
            if len(extra) == extra_length:
                yield make(Local, (member, data, flags, extra, 0, ()))
                continue
        yield _compare(archive, member)


def header_spans(members: Sequence[Member], end: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Return where the headers are, with some room for extra fields, and where one member ends and the next begins."""
    starts = sorted(map(_OFFSET, members))
    longest = LOCAL.size + max((len(member.raw_name) for member in members), default=0) + _USUAL_EXTRA
    spans = [(start, min(start + max(longest, SMALL_WINDOW), end)) for start in starts]
    return spans, [*starts, end]


def headers_are_regular(
    read_at: Callable[[int, int], bytes], directory: bytes, directory_at: int, members: Sequence[Member], reach: int
) -> bool:
    """Whether one member begins where the other ends, and each has the header that the directory alone would make.

    This is so in nearly every wheel, and seen in half of the time that a look at each header takes. ``reach`` is how
    many bytes are read at once.
    """
    if any(map(_EXTRA, members)):
        return False
    starts = [*map(_OFFSET, members), directory_at]
    entries = [*map(_ENTRY, members), len(directory)]
    if starts[0] != 0:
        return False
    window, first = b"", 0
    for at, after, entry, stop, packed in zip(
        starts, starts[1:], entries, entries[1:], map(_CSIZE, members), strict=False
    ):
        length = stop - entry - 16  # fixed part and name, as there are neither extra fields nor comments
        if at + length + packed != after or (directory[stop - 1] == _SLASH and packed):
            return False
        here = at - first
        if here + length > len(window):
            window, first, here = read_at(at, max(reach, length)), at, 0
        # From the version on the header has the same fields in the same order, then the name.
        header = b"PK\x03\x04" + directory[entry + 6 : entry + 32] + directory[entry + 46 : stop]
        if window[here : here + length] != header:
            return False
    return True


def _compare(archive: OpenFile, member: Member) -> Local:
    """Read one header with care and list every field in which it differs."""
    at = member.header_offset
    header = archive.read_at(at, LOCAL.size)
    if len(header) < LOCAL.size or header[:4] != b"PK\x03\x04":
        return Local(member, 0, 0, b"", differences=(f"signature: there is no header at {at}",))
    _, needed, flags, method, stamp, crc, csize, usize, name_length, extra_length = LOCAL.unpack(header)
    tail = archive.read_at(at + LOCAL.size, name_length + extra_length)
    name, extra = tail[:name_length], tail[name_length:]
    data = at + LOCAL.size + name_length + extra_length
    announced = (usize, csize).count(MAX32)
    usize, csize = _widen(extra, usize, csize)
    stated = {"flags": flags, "method": method, "date": stamp, "CRC": crc, "packed size": csize, "size": usize}
    known = {
        "flags": member.flags,
        "method": member.method,
        "date": member.dos_stamp,
        "CRC": member.crc,
        "packed size": member.csize,
        "size": member.usize,
    }
    if flags & DESCRIPTOR:  # then zeros are allowed
        for field in ("CRC", "packed size", "size"):
            if not stated[field]:
                stated[field] = known[field]
    differences = [
        f"{field}: {known[field]} in the directory, {value} in the header"
        for field, value in stated.items()
        if value != known[field]
    ]
    if needed & 0xFF > NEWEST:  # lower ones differ without harm
        differences.append(f"version: the header asks for {(needed & 0xFF) / 10}, {NEWEST / 10} is the latest")
    if name != member.raw_name:
        shown = name[:200].decode("utf-8", "backslashreplace")
        differences.append(f"name: {member.name!r} in the directory, {shown!r} in the header")
    if len(tail) < name_length + extra_length:
        differences.append("extra: the header reaches beyond the end of the file")
    return Local(member, data, flags, extra, announced, tuple(differences))


def _widen(extra: bytes, usize: int, csize: int) -> tuple[int, int]:
    """Return a local header's sizes, taken from the ZIP64 field where they are too big for 32 bits."""
    if MAX32 in (usize, csize):
        for tag, body in extra_fields(extra):
            if tag == ZIP64 and len(body) >= 8:
                first, last = struct.unpack_from("<Q", body)[0], struct.unpack_from("<Q", body, len(body[:16]) - 8)[0]
                return (first if usize == MAX32 else usize), (last if csize == MAX32 else csize)
    return usize, csize


def extra_fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """Give tag and body of each extra field; what does not fit is given with tag -1."""
    at = 0
    while at < len(extra):
        if at + 4 > len(extra):
            yield -1, extra[at:]
            return
        tag, length = struct.unpack_from("<HH", extra, at)
        if at + 4 + length > len(extra):
            yield -1, extra[at:]
            return
        yield tag, extra[at + 4 : at + 4 + length]
        at += 4 + length
