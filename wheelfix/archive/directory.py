"""The records of a zip archive: end, central directory, members and local headers, read and written."""

from __future__ import annotations

import stat
import struct
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.archive import names
from wheelfix.archive.faults import PIP, PYPI, UV, ArchiveFault
from wheelfix.base.values import frozen
from wheelfix.errors import InputError
from wheelfix.streams import codec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from wheelfix.archive.reader import Archive
    from wheelfix.base.options import Limits
    from wheelfix.streams.source import ReadAt


# ------------------------------------------------------------------------------------------------------------ directory
# Where a zip archive keeps its central directory: the records at the end, plain and ZIP64, checked before use.
# Offsets follow what Python's zipfile, and so pip, does; whatever another reader could take differently is a fault.
# The format is PKWARE's APPNOTE 6.3.10, sections 4.3.6 to 4.3.16.

END = struct.Struct("<IHHHHIIH")
END64 = struct.Struct("<IQHHIIQQQQ")
LOCATOR = struct.Struct("<IIQI")
CENTRAL = struct.Struct("<IHHHHIIIIHHHHHII")
LOCAL = struct.Struct("<IHHHIIIIHH")
END_SIGNATURE, END64_SIGNATURE, LOCATOR_SIGNATURE = 0x06054B50, 0x06064B50, 0x07064B50
CENTRAL_SIGNATURE, LOCAL_SIGNATURE = 0x02014B50, 0x04034B50
MAX16, MAX32 = 0xFFFF, 0xFFFFFFFF
_MARKS = tuple(b"PK" + mark for mark in (b"\x05\x06", b"\x01\x02", b"\x03\x04", b"\x06\x06", b"\x06\x07", b"\x07\x08"))
"""How the parts of an archive begin."""


@frozen
class DirectoryLayout:
    """Where the parts of an archive are in the file."""

    start: int
    """Where the archive begins: what every offset in it counts from."""
    directory: int
    """Where the central directory begins in the file."""
    directory_size: int
    entries: int
    """How many entries the end record claims."""
    comment: bytes
    faults: tuple[ArchiveFault, ...]


def locate(read: ReadAt, size: int, path: Path | str) -> DirectoryLayout:
    """Find the central directory of the file; InputError if there is none."""
    at, tail, tail_at = _find_end(read, size, path)
    faults: list[ArchiveFault] = []
    _, disk, first_disk, here, entries, length, offset, comment_length = END.unpack_from(tail, at - tail_at)
    comment = tail[at - tail_at + END.size :][:comment_length]
    _check_tail(tail, at - tail_at, comment_length, faults)
    if (disk, first_disk) not in {(0, 0), (MAX16, MAX16)}:
        faults.append(ArchiveFault("multi-disk", "", "the archive claims to span several disks", (UV,)))
    if here != entries:
        message = f"the end record says {here} of {entries} members are on this disk"
        faults.append(ArchiveFault("multi-disk", "", message, (UV, PYPI)))
    end = at
    found = _find_end64(read, at, faults)
    if found is not None:
        end, entries64, length64, offset64 = found
        plain, wide = (entries, length, offset), (entries64, length64, offset64)
        for low, high, limit in zip(plain, wide, (MAX16, MAX32, MAX32), strict=True):
            if low not in {limit, high}:
                message = f"the end record says {low} where its ZIP64 form says {high}"
                faults.append(ArchiveFault("zip64-mismatch", "", message, (UV,)))
        entries, length, offset = wide
    start = end - length - offset
    if start < 0 or length > end:
        raise _no_zip(path, "its directory would begin before the file does", "the file is damaged or cut short")
    if start and entries and read(end - length, 4) != b"PK\x01\x02" and read(offset, 4) == b"PK\x01\x02":
        message = f"{start} bytes lie between the directory and the end record"
        faults.append(ArchiveFault("hidden-data", "", message, (PIP, UV, PYPI)))
        return DirectoryLayout(0, offset, length, entries, comment, tuple(faults))
    if start:
        message = f"{start} bytes precede the archive"
        faults.append(ArchiveFault("prefix-data", "", message, (UV, PYPI)))
    return DirectoryLayout(start, end - length, length, entries, comment, tuple(faults))


def _find_end(read: ReadAt, size: int, path: Path | str) -> tuple[int, bytes, int]:
    """Return where the last end record is, and the tail of the file that holds it with its place."""
    tail_at = max(0, size - END.size - MAX16)
    tail = read(tail_at, size - tail_at)
    at = tail.rfind(b"PK\x05\x06", 0, max(0, len(tail) - END.size + 4))
    if at < 0:
        raise _no_zip(path, *_what_instead(read(0, 512), size))
    return tail_at + at, tail, tail_at


def _what_instead(head: bytes, size: int) -> tuple[str, str]:
    """Return why a file without an end record is not an archive, and what to try."""
    if size == 0:
        return "it is empty", "fetch or build the file again"
    if head.startswith(b"version https://git-lfs"):
        return "it is a git-lfs pointer", "run git lfs pull"
    if head.startswith(b"PK\x03\x04"):
        return "it has no end record, so it was cut short", "fetch or build the file again"
    if head.lstrip()[:1] == b"<":
        return "it looks like a web page", "fetch the file again; the server may have answered with an error page"
    if head.startswith((b"\x1f\x8b", b"BZh")):
        return (
            "it is a compressed tar archive, such as a source distribution",
            "build a wheel from it first: python -m build --wheel, or pip wheel",
        )
    return "it has no end record", "check that this is a wheel"


def _no_zip(path: Path | str, because: str, hint: str) -> InputError:
    return InputError(f"{path} is not a zip archive", because=because, hint=hint)


def _check_tail(tail: bytes, at: int, comment_length: int, faults: list[ArchiveFault]) -> None:
    """Note what follows the end record, and other end records that a reader could take instead."""
    left = len(tail) - at - END.size - comment_length
    comment = tail[at + END.size :][:comment_length]
    if left > 0:
        by = (UV, PYPI) if tail[len(tail) - left :].strip(b"\0") else (PYPI,)
        faults.append(ArchiveFault("trailing-data", "", f"{left} bytes follow the archive", by))
    elif left < 0:
        message = f"{-left} bytes are missing from the comment's {comment_length} bytes"
        faults.append(ArchiveFault("archive-comment", "", message, (UV, PYPI)))
    elif b"PK\x05\x06" in comment:
        message = "the archive's comment holds the mark of an end record, which some readers take for the true one"
        faults.append(ArchiveFault("archive-comment", "", message, (PIP, UV)))
    elif contains_mark(comment):
        message = "the archive's comment looks like a part of another archive"
        faults.append(ArchiveFault("archive-comment", "", message, (UV,)))
    elif comment_length:
        faults.append(ArchiveFault("archive-comment", "", f"the archive has a comment of {comment_length} bytes", ()))
    earlier = tail.rfind(b"PK\x05\x06", 0, at)
    while earlier >= 0:
        if earlier + END.size + END.unpack_from(tail, earlier)[7] == len(tail):
            message = "a second end record lies in the comment of the first; readers disagree on which one counts"
            faults.append(ArchiveFault("trailing-data", "", message, (UV, PYPI)))
            break
        earlier = tail.rfind(b"PK\x05\x06", 0, earlier)


def contains_mark(comment: bytes) -> bool:
    """Whether a comment could be taken for a part of an archive, which uv refuses."""
    return any(mark in comment for mark in _MARKS)


def _find_end64(read: ReadAt, end: int, faults: list[ArchiveFault]) -> tuple[int, int, int, int] | None:
    """Return place, entries, size and offset from the ZIP64 end record, if a locator points to one."""
    raw = read(end - LOCATOR.size, LOCATOR.size) if end >= LOCATOR.size else b""
    if len(raw) < LOCATOR.size:
        return None
    signature, disk, claimed, disks = LOCATOR.unpack(raw)
    if signature != LOCATOR_SIGNATURE:
        return None
    # zipfile takes the record that stands before the locator; others follow the locator's offset.
    near = end - LOCATOR.size - END64.size
    for place in dict.fromkeys((near, claimed)):
        raw = read(place, END64.size) if 0 <= place <= near else b""
        if len(raw) == END64.size and raw[:4] == b"PK\x06\x06":
            break
    else:
        message = "a ZIP64 locator points to no ZIP64 record"
        faults.append(ArchiveFault("zip64-malformed", "", message, (UV, PYPI)))
        return None
    _, record_size, _, _, _, _, here, entries, length, offset = END64.unpack(raw)
    if disk or disks > 1 or here != entries:
        faults.append(ArchiveFault("multi-disk", "", "the ZIP64 record speaks of several disks", (PIP, PYPI)))
    if record_size != END64.size - 12 or place != near:
        message = f"the ZIP64 end record has a size of {record_size} instead of {END64.size - 12}"
        by = (UV, PYPI) if place == near else (PIP, UV, PYPI)
        faults.append(ArchiveFault("zip64-malformed", "", message, by))
    elif claimed != place and claimed != offset + length:
        message = f"the ZIP64 locator points to {claimed}, the record is at {place}"
        faults.append(ArchiveFault("zip64-mismatch", "", message, (UV,)))
    return place, entries, length, offset


# -------------------------------------------------------------------------------------------------------------- members
# The entries of a central directory as values, read quickly, and with every number checked.
# The directory is read with ``struct``, since a torch wheel has ten thousand members and ``zipfile`` makes an object
# with twenty attributes of each.


ENCRYPTED, DESCRIPTOR, PATCHED, STRONG_ENCRYPTION, UTF8 = 0x0001, 0x0008, 0x0020, 0x0040, 0x0800
"""Flag bits of an entry."""
METHODS = frozenset({codec.STORED, codec.DEFLATED})
_ODD_FLAGS = ~0x0806  # all but UTF-8 and the two bits with which Info-ZIP notes the compression level
_PLAIN_TYPES = frozenset({0, stat.S_IFREG >> 12, stat.S_IFDIR >> 12})


NEWEST = 63
"""The version 6.3 of the format, times ten: readers refuse a member that asks for a later one (in the lower byte)."""


# A NamedTuple and no dataclass: it is made ten thousand times per wheel, and made four times as fast.
class Member(NamedTuple):
    """One entry of the central directory."""

    name: str
    """With forward slashes, however the archive spells it."""
    method: int
    flags: int
    crc: int
    csize: int
    usize: int
    header_offset: int
    """Where its local header is in the file (not in the archive, which may begin later)."""
    external_attr: int
    dos_stamp: int
    """DOS date (high half) and time."""
    create_system: int
    extra: bytes
    comment: bytes
    entry: int
    """Where its entry is in :attr:`Archive.directory`."""
    spelled: bytes | None
    """The name's bytes where they are not simply the name in UTF-8."""

    @property
    def raw_name(self) -> bytes:
        """The name as the archive spells it."""
        return self.name.encode("utf-8") if self.spelled is None else self.spelled

    @property
    def is_dir(self) -> bool:
        """Whether the entry stands for a folder."""
        return self.name.endswith("/")

    @property
    def mode(self) -> int:
        """Unix type and permission bits, 0 where the archive has none."""
        return self.external_attr >> 16


def parse_directory(
    directory: bytes, start: int, limits: Limits, path: Path | str
) -> tuple[list[Member], list[Member]]:
    """Return all members, and those among them that deserve a second look; ``start`` is added to their offsets."""
    text = directory.decode("latin-1")  # slices of it are names, as long as they are ASCII
    unpack, make = CENTRAL.unpack_from, tuple.__new__  # what Member() does, without a call of Python code
    large = min(limits.ratio_from, limits.max_member_size)
    members: list[Member] = []
    odd: list[Member] = []
    at, end = 0, len(directory)
    while at < end:
        try:
            signature, made, needed, flags, method, stamp, crc, csize, usize, n, x, c, disk, _, attributes, offset = (
                unpack(directory, at)
            )
        except struct.error:
            raise _damaged(path, at) from None
        stop = at + 46 + n
        if signature != CENTRAL_SIGNATURE or stop + x + c > end:
            raise _damaged(path, at)
        name, spelled = text[at + 46 : stop], None
        extra = directory[stop : stop + x] if x else b""
        comment = directory[stop + x : stop + x + c] if c else b""
        # Flags that are not usual, Unix types beyond file and folder, and whatever else deserves a second look.
        suspicious = (
            flags & _ODD_FLAGS
            or method not in METHODS
            or (attributes >> 28) not in _PLAIN_TYPES
            or disk
            or c
            or needed & 0xFF > NEWEST
            or (method == 0 and csize != usize)
            or usize > large
        )
        if csize == MAX32 or usize == MAX32 or offset == MAX32:
            suspicious = True
            usize, csize, offset = _widen(extra, usize, csize, offset)
        if not name.isascii() or "\\" in name:
            spelled = directory[at + 46 : stop]
            name = names.normalise(decode_name(spelled))
            suspicious = True
            if flags & UTF8 and name.encode("utf-8") == spelled:
                spelled = None
        member = make(Member, (name, method, flags, crc, csize, usize, offset + start, attributes, stamp, made >> 8,
                               extra, comment, at, spelled))  # fmt: skip
        members.append(member)
        if suspicious:
            odd.append(member)
        at = stop + x + c
        if len(members) > limits.max_members:
            raise too_much(path, f"it has more than {limits.max_members} members", "max_members")
    return members, odd


def _widen(extra: bytes, *values: int) -> tuple[int, ...]:
    """Return sizes and an offset, those that are too big for 32 bits taken from the ZIP64 field."""
    body = next((body for tag, body in extra_fields(extra) if tag == ZIP64), b"")
    wide = iter(struct.unpack_from(f"<{len(body) // 8}Q", body))
    return tuple(next(wide, value) if value == MAX32 else value for value in values)


def decode_name(raw: bytes) -> str:
    """Return a name that is not flagged as UTF-8, or wrongly so: as UTF-8 if it is, else as DOS wrote it."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp437")


def too_much(path: Path | str, because: str, limit: str) -> InputError:
    """Return the error for an archive that exceeds one of the limits."""
    name = {"max_directory": "members", "max_member_size": "size"}.get(limit, limit.removeprefix("max_"))
    hint = f"this looks like an attack; if it is none, raise the limit with --limit {name}=VALUE"
    return InputError(f"{path} asks for too much", because=because, hint=hint)


def _damaged(path: Path | str, at: int) -> InputError:
    because = f"its directory is broken at entry byte {at}"
    return InputError(f"{path} is a damaged zip archive", because=because, hint="fetch or build the file again")


# ---------------------------------------------------------------------------------------------------------------- local
# The headers that stand before the members' data, and how they differ from the central directory.
# A reader that streams (uv, PyPI's check) believes these; one that seeks (pip) believes the directory. Where the two
# disagree, an attacker can show each reader another wheel.


ZIP64, UNICODE_PATH = 0x0001, 0x7075
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


def read_locals(archive: Archive, members: Iterable[Member]) -> Iterator[Local]:
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
    starts = sorted(map(attrgetter("header_offset"), members))
    longest = LOCAL.size + max((len(member.raw_name) for member in members), default=0) + _USUAL_EXTRA
    spans = [(start, min(start + max(longest, SMALL_WINDOW), end)) for start in starts]
    return spans, [*starts, end]


def _compare(archive: Archive, member: Member) -> Local:
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
    usize, csize = _widen_local(extra, usize, csize)
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


def _widen_local(extra: bytes, usize: int, csize: int) -> tuple[int, int]:
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


# -------------------------------------------------------------------------------------------------------------- headers
# The records of a zip archive as bytes: local headers, directory entries and the end, ZIP64 exactly where needed.


UNIX = 3
LEVEL_FLAGS = 0x0006
"""The bits in which Info-ZIP notes the compression level; they are kept so that old entries stay as they were."""
PLAIN_VERSION, ZIP64_VERSION = 20, 45
NO_DATE = 1 << 21 | 1 << 16
"""The DOS stamp of 1980-01-01, the earliest there is."""


def local_header(member: Member, extra: bytes = b"") -> bytes:
    """Return the regular header that stands before a member's data, with those of some extra fields that may stay."""
    name, extra, version = member.name.encode(), without_sizes(extra), PLAIN_VERSION
    csize, usize = member.csize, member.usize
    if csize >= MAX32 or usize >= MAX32:  # in a local header both sizes must be there (APPNOTE 4.5.3)
        extra = struct.pack("<HHQQ", ZIP64, 16, usize, csize) + extra
        csize, usize, version = MAX32, MAX32, ZIP64_VERSION
    stated = _flags(member), member.method, member.dos_stamp, member.crc, csize, usize
    return LOCAL.pack(LOCAL_SIGNATURE, version, *stated, len(name), len(extra)) + name + extra


def central_entry(member: Member) -> bytes:
    """Return the regular entry of a member in the directory, without its comment."""
    name, extra, version = member.name.encode(), without_sizes(member.extra), PLAIN_VERSION
    numbers = member.usize, member.csize, member.header_offset
    if wide := [number for number in numbers if number >= MAX32]:
        extra = struct.pack(f"<HH{len(wide)}Q", ZIP64, 8 * len(wide), *wide) + extra
        version = ZIP64_VERSION
    usize, csize, offset = (min(number, MAX32) for number in numbers)
    made = version | member.create_system << 8
    stated = _flags(member), member.method, member.dos_stamp, member.crc, csize, usize
    lengths = len(name), len(extra), 0  # the last is that of the comment
    where = 0, 0, member.external_attr, offset
    return CENTRAL.pack(CENTRAL_SIGNATURE, made, version, *stated, *lengths, *where) + name + extra


def _flags(member: Member) -> int:
    """UTF-8 where the name needs it, and how well it was compressed; never a data descriptor."""
    return member.flags & LEVEL_FLAGS | (0 if member.name.isascii() else UTF8)


def end_of_archive(entries: int, size: int, offset: int) -> bytes:
    """Return the records that close an archive with a directory of that many entries, that size and that place."""
    wide = b""
    if entries >= MAX16 or size >= MAX32 or offset >= MAX32:
        version = ZIP64_VERSION
        wide = END64.pack(
            END64_SIGNATURE, END64.size - 12, version | UNIX << 8, version, 0, 0, entries, entries, size, offset
        ) + LOCATOR.pack(LOCATOR_SIGNATURE, 0, offset + size, 1)
    count = min(entries, MAX16)
    return wide + END.pack(END_SIGNATURE, 0, 0, count, count, min(size, MAX32), min(offset, MAX32), 0)


def without_sizes(extra: bytes) -> bytes:
    """Return extra fields without those about sizes and names, and without broken ones."""
    kept = b""
    for tag, body in extra_fields(extra):
        if tag not in {-1, ZIP64, UNICODE_PATH}:
            kept += struct.pack("<HH", tag, len(body)) + body
    return kept
