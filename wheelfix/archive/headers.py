"""The records of a zip archive as bytes: local headers, directory entries and the end, ZIP64 exactly where needed."""

from __future__ import annotations

import struct

from wheelfix.archive.directory import (
    CENTRAL,
    CENTRAL_SIGNATURE,
    END,
    END64,
    END64_SIGNATURE,
    END_SIGNATURE,
    LOCAL,
    LOCAL_SIGNATURE,
    LOCATOR,
    LOCATOR_SIGNATURE,
    MAX16,
    MAX32,
)
from wheelfix.archive.local import UNICODE_PATH, ZIP64, extra_fields
from wheelfix.archive.members import UTF8
from wheelfix.base.values import dataclass, replace

UNIX = 3
PLAIN_VERSION, ZIP64_VERSION = 20, 45
NO_DATE = 1 << 21 | 1 << 16
"""The DOS stamp of 1980-01-01, the earliest there is."""


@dataclass(frozen=True, slots=True)
class Header:
    """What is said of one member in its local header and its directory entry."""

    name: bytes
    method: int
    crc: int
    csize: int
    usize: int
    dos_stamp: int
    external_attr: int
    create_system: int = UNIX
    level_flags: int = 0
    """The bits in which Info-ZIP notes the compression level; kept so that old entries stay as they were."""
    local_extra: bytes = b""
    central_extra: bytes = b""

    @property
    def flags(self) -> int:
        """UTF-8 where the name needs it; never a data descriptor."""
        return self.level_flags | (0 if self.name.isascii() else UTF8)

    def with_data(self, *, method: int, crc: int, csize: int, usize: int) -> Header:
        """Return the same header for other data."""
        return replace(self, method=method, crc=crc, csize=csize, usize=usize)

    def local(self) -> bytes:
        """Return the bytes that stand before the data."""
        wide = self.csize >= MAX32 or self.usize >= MAX32
        extra, csize, usize = self.local_extra, self.csize, self.usize
        if wide:  # in a local header both sizes must be there (APPNOTE 4.5.3)
            extra = struct.pack("<HHQQ", ZIP64, 16, usize, csize) + extra
            csize = usize = MAX32
        return (
            LOCAL.pack(
                LOCAL_SIGNATURE,
                ZIP64_VERSION if wide else PLAIN_VERSION,
                self.flags,
                self.method,
                self.dos_stamp,
                self.crc,
                csize,
                usize,
                len(self.name),
                len(extra),
            )
            + self.name
            + extra
        )

    def central(self, offset: int) -> bytes:
        """Return the directory's entry for a local header at ``offset``."""
        values, wide = [], []
        for value in (self.usize, self.csize, offset):
            values.append(min(value, MAX32))
            if value >= MAX32:
                wide.append(value)
        extra = self.central_extra
        if wide:
            extra = struct.pack(f"<HH{len(wide)}Q", ZIP64, 8 * len(wide), *wide) + extra
        version = ZIP64_VERSION if wide else PLAIN_VERSION
        usize, csize, short_offset = values
        return (
            CENTRAL.pack(
                CENTRAL_SIGNATURE,
                version | self.create_system << 8,
                version,
                self.flags,
                self.method,
                self.dos_stamp,
                self.crc,
                csize,
                usize,
                len(self.name),
                len(extra),
                0,
                0,
                0,
                self.external_attr,
                short_offset,
            )
            + self.name
            + extra
        )


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
