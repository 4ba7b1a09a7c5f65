"""PE files with one section whose every byte the test decides: for what no honest writer would produce."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from wheelfix.streams.source import MemorySource

RVA = 0x1000
"""Address of the section."""
OFFSET = 0x400
"""Its place in the file."""
PE_AT = 0x80


def raw_pe(
    body: bytes = b"",
    directories: Mapping[int, tuple[int, int]] | None = None,
    *,
    wide: bool = True,
    machine: int = 0x8664,
    characteristics: int = 0x2022,
    alignment: int = 0x1000,
    vsize: int | None = None,
    image_base: int = 0x10000000,
    claimed_directories: int = 16,
    sections: int = 1,
    magic: int | None = None,
) -> bytes:
    """Return a file with headers, and ``body`` as the one section (or the same section several times)."""
    entries = b"".join(struct.pack("<II", *(directories or {}).get(index, (0, 0))) for index in range(16))
    optional = bytearray(112 if wide else 96)
    struct.pack_into("<HBB", optional, 0, magic if magic is not None else (0x20B if wide else 0x10B), 14, 44)
    struct.pack_into("<Q" if wide else "<I", optional, 24 if wide else 28, image_base)
    struct.pack_into("<II", optional, 32, alignment, 0x200)
    struct.pack_into("<I", optional, 60, OFFSET)
    struct.pack_into("<I", optional, len(optional) - 4, claimed_directories)
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", machine, sections, 0, 0, 0, len(optional) + 128, characteristics)
    section = struct.pack(
        "<8sIIIIIIHHI", b".rdata", len(body) if vsize is None else vsize, RVA, len(body), OFFSET, 0, 0, 0, 0, 0
    )
    head = b"MZ".ljust(60, b"\0") + struct.pack("<I", PE_AT)
    file = head.ljust(PE_AT, b"\0") + coff + bytes(optional) + entries + section * sections
    return file.ljust(OFFSET, b"\0") + body


def patched(file: bytes, at: int, form: str, *values: int) -> bytes:
    """Return the file with other numbers at an offset."""
    size = struct.calcsize(form)
    return file[:at] + struct.pack(form, *values) + file[at + size :]


class Counting(MemorySource):
    """Bytes that count how much is asked of them."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.calls = 0
        self.total = 0

    def read_at(self, offset: int, length: int) -> bytes:
        data = super().read_at(offset, length)
        self.calls += 1
        self.total += len(data)
        return data
