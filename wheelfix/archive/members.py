"""The entries of a central directory as values, read quickly, and with every number checked.

The directory is read with ``struct``, since a torch wheel has ten thousand members and ``zipfile`` makes an object
with twenty attributes of each.
"""

from __future__ import annotations

import stat
import struct
from typing import TYPE_CHECKING, NamedTuple, Protocol

from wheelfix.archive import names
from wheelfix.archive.directory import CENTRAL, CENTRAL_SIGNATURE, MAX32
from wheelfix.base.values import dataclass
from wheelfix.errors import InputError
from wheelfix.streams import codec

if TYPE_CHECKING:
    from pathlib import Path

ENCRYPTED, DESCRIPTOR, PATCHED, STRONG_ENCRYPTION, UTF8 = 0x0001, 0x0008, 0x0020, 0x0040, 0x0800
"""Flag bits of an entry."""
METHODS = frozenset({codec.STORED, codec.DEFLATED})
_ODD_FLAGS = ~0x0806  # all but UTF-8 and the two bits with which Info-ZIP notes the compression level
_PLAIN_TYPES = frozenset({0, stat.S_IFREG >> 12, stat.S_IFDIR >> 12})


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an archive may ask of us before we refuse it."""

    max_members: int = 100_000
    """The largest wheels have some ten thousand; a hundred thousand still fit into 250 MB of memory."""
    max_directory: int = 128 << 20
    """Bytes of the central directory."""
    max_member_size: int = 32 << 30
    max_total: int = 256 << 30
    """Bytes of all members unpacked."""
    max_ratio: float = 200.0
    """Unpacked to packed size; deflate itself cannot exceed 1032."""
    ratio_from: int = 1 << 30
    """Below this size no ratio is suspicious: it is unpacked in seconds."""


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


class OpenFile(Protocol):
    """An open archive as its headers are read from it."""

    directory: bytes
    """The bytes of the central directory."""

    @property
    def window(self) -> int: ...
    def read_at(self, offset: int, length: int, /) -> bytes: ...


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


def _widen(extra: bytes, usize: int, csize: int, offset: int) -> tuple[int, int, int]:
    """Return the sizes and the offset with those that are too big for 32 bits taken from the ZIP64 field."""
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack_from("<HH", extra, at)
        if tag == 1:
            body = memoryview(extra)[at + 4 : at + 4 + length]
            values = [usize, csize, offset]
            for index, value in enumerate(values):
                if value == MAX32 and len(body) >= 8:
                    (values[index],) = struct.unpack_from("<Q", body)
                    body = body[8:]
            return values[0], values[1], values[2]
        at += 4 + length
    return usize, csize, offset


def decode_name(raw: bytes) -> str:
    """Return a name that is not flagged as UTF-8, or wrongly so: as UTF-8 if it is, else as DOS wrote it."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp437")


def too_much(path: Path | str, because: str, limit: str) -> InputError:
    """Return the error for an archive that exceeds one of the limits."""
    option = {"max_directory": "--max-members", "max_member_size": "--max-size"}.get(
        limit, "--" + limit.replace("_", "-")
    )
    hint = f"this looks like an attack; if it is none, raise the limit with {option}"
    return InputError(f"{path} asks for too much", because=because, hint=hint)


def _damaged(path: Path | str, at: int) -> InputError:
    because = f"its directory is broken at entry byte {at}"
    return InputError(f"{path} is a damaged zip archive", because=because, hint="fetch or build the file again")
