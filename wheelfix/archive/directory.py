"""Where a zip archive keeps its central directory: the records at the end, plain and ZIP64, checked before use.

Offsets follow what Python's zipfile, and so pip, does; whatever another reader could take differently is a fault.
The format is PKWARE's APPNOTE 6.3.10, sections 4.3.6 to 4.3.16.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from wheelfix.archive.faults import PIP, PYPI, UV, ArchiveFault
from wheelfix.base.values import dataclass
from wheelfix.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


@dataclass(frozen=True, slots=True)
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


def locate(read: Callable[[int, int], bytes], size: int, path: Path | str) -> DirectoryLayout:
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


def _find_end(read: Callable[[int, int], bytes], size: int, path: Path | str) -> tuple[int, bytes, int]:
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


def _find_end64(
    read: Callable[[int, int], bytes], end: int, faults: list[ArchiveFault]
) -> tuple[int, int, int, int] | None:
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
