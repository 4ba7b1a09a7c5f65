"""The GPU code for AMD's and Intel's cards inside a DLL.

HIP: the compiler puts bundles into the section ``.hip_fatbin``, one per source file. A bundle begins with
``__CLANG_OFFLOAD_BUNDLE__``, the number of its entries, and for each its place, its length and what it is for
(``hipv4-amdgcn-amd-amdhsa--gfx1100``). A compressed bundle begins with ``CCOB``; its head alone is unpacked. Both are
documented in Clang's "Clang Offload Bundler"; the layout was checked with the DLLs of bitsandbytes 0.50.2 and with
bundles that clang-offload-bundler 19 made (fixtures/bundles).

SYCL: the linker puts images into a section ``__CLANG_OFFLOAD_BUNDLE__sycl-…`` and lists them in ``.tgtimg``. What each
is for is read by :mod:`wheelfix.pe.syclimages`.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections import Counter
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field
from wheelfix.pe.sections import MagicSearch, without_overlaps
from wheelfix.pe.syclimages import read_sycl_images
from wheelfix.streams.zstd import INSTALL, zstd_errors, zstd_reader

if TYPE_CHECKING:
    from wheelfix.model import ByteSource
    from wheelfix.pe.sections import Headers, Section

HIP_SECTION = ".hip_fat"
"""``.hip_fatbin``, cut to eight letters."""
SYCL_SECTIONS = frozenset({".tgtimg", "__CLANG_"})
SECTIONS = SYCL_SECTIONS | {HIP_SECTION}
"""The sections that show such code."""
BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED = b"CCOB"
ZLIB, ZSTD = 0, 1
MOST_BUNDLES = 20_000
MOST_COMPRESSED = 5_000
MOST_ENTRIES = 300_000
"""Of all bundles of a file, as the two above."""
HEAD = 64 << 10
"""Bytes of an unpacked bundle that hold the list of its entries; more are not unpacked."""
STEP = 1 << 20
_TARGET = rb"^hip[a-z0-9]*-(?:amdgcn|spirv64)-amd-amdhsa-[^-]*-(gfx[0-9a-f]+(?:-[0-9])?(?:-generic)?|amdgcnspirv)"


@dataclass
class OffloadCode:
    """What was found."""

    targets: Counter[str] = field(default_factory=Counter)
    """``gfx1100`` with how often it occurs, ``amdgcnspirv``, ``spir64``, ``intel_pvc``."""
    unread: str = ""
    """Why some code was not read; empty when all was."""


def read_offload_code(source: ByteSource, headers: Headers) -> OffloadCode | None:
    """Return the code for AMD's and Intel's cards, or None for a DLL that has no place for any."""
    names = {section.name for section in headers.sections}
    if not names & SECTIONS:
        return None
    found = OffloadCode()
    hip = [_span(section, source.size) for section in headers.sections if section.name == HIP_SECTION]
    bundles = _Bundles(source, found)
    for start, end in without_overlaps(hip):
        bundles.read(start, end)
    if names & SYCL_SECTIONS:
        _read_sycl(source, headers, found)
    return found


def _span(section: Section, size: int) -> tuple[int, int]:
    return section.offset, min(section.offset + section.size, size)


# --------------------------------------------------------------------------------------------------------------- HIP


class _Bundles:
    """The bundles of a file, one after the other; how many are looked at is counted for the whole file."""

    def __init__(self, source: ByteSource, found: OffloadCode) -> None:
        self._source, self._end, self._found = source, 0, found
        self._search = MagicSearch(source, (BUNDLE, COMPRESSED), STEP)
        self._bundles = self._unpacked_bundles = self._entries = 0

    def read(self, start: int, end: int) -> None:
        """Count the targets of all bundles in a span."""
        self._end = end
        while (place := self._search.next(start, end)) is not None:
            self._bundles += 1
            if self._bundles > MOST_BUNDLES or self._entries > MOST_ENTRIES:
                self._found.unread = f"it has more than {MOST_BUNDLES} bundles, or {MOST_ENTRIES} entries in them"
                return
            head = self._source.read_at(place, min(HEAD, end - place))
            if head.startswith(COMPRESSED):
                length, content = self._compressed(place, head)
                self._count(content)
            else:
                # What follows is code, in which the first letters of a bundle may occur by chance.
                length = self._count(head)
            start = place + max(min(length, end - place), len(COMPRESSED))

    def _compressed(self, place: int, head: bytes) -> tuple[int, bytes]:
        """Return the length of a compressed bundle and the beginning of its content."""
        if len(head) < 32:
            return 0, b""
        version, method = struct.unpack_from("<HH", head, 4)
        header, length = {1: (20, 0), 2: (24, _u32(head, 8)), 3: (32, _u64(head, 8))}.get(version, (0, 0))
        if not header:
            self._found.unread = f"a bundle is compressed in version {version} of the format, which is not known"
            return 0, b""
        left = min(length or self._end, self._end - place)
        return min(length, self._end - place), self._unpacked(place + header, left - header, method)

    def _unpacked(self, at: int, size: int, method: int) -> bytes:
        self._unpacked_bundles += 1
        if self._unpacked_bundles > MOST_COMPRESSED:
            self._found.unread = f"it has more than {MOST_COMPRESSED} compressed bundles"
            return b""
        packed = self._source.read_at(at, max(min(size, 4 * HEAD), 0))
        damaged: tuple[type[Exception], ...] = (zlib.error, EOFError, OSError, ValueError, *zstd_errors())
        try:
            if method == ZLIB:
                return zlib.decompressobj().decompress(packed, HEAD)
            reader = zstd_reader() if method == ZSTD else None
            if reader is None:
                self._found.unread = (
                    f"it is packed with zstd, which this Python cannot unpack ({INSTALL} helps)"
                    if method == ZSTD
                    else f"it is packed with the unknown method {method}"
                )
                return b""
            with reader(io.BytesIO(packed)) as stream:
                return stream.read(HEAD)
        except damaged:
            self._found.unread = "a compressed bundle is damaged"
            return b""

    def _count(self, content: bytes) -> int:
        """Count the entries that a bundle lists, and return where the last of them ends; 0 for a damaged list."""
        if not content.startswith(BUNDLE) or len(content) < len(BUNDLE) + 8:
            return 0
        count, at = _u64(content, len(BUNDLE)), len(BUNDLE) + 8
        end = 0
        while count and self._entries <= MOST_ENTRIES:
            count -= 1
            self._entries += 1
            if at + 24 > len(content):
                return 0
            length = _u64(content, at + 16)
            end = max(end, _u64(content, at) + _u64(content, at + 8))
            name = content[at + 24 : at + 24 + min(length, 256)]
            match = re.match(_TARGET, name)
            if match:
                self._found.targets[match[1].decode("ascii")] += 1
            at += 24 + length
        return end


def _u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


# -------------------------------------------------------------------------------------------------------------- SYCL


def _read_sycl(source: ByteSource, headers: Headers, found: OffloadCode) -> None:
    """Add what the images of SYCL are for."""
    sycl = read_sycl_images(source, headers)
    found.targets.update(sycl.targets)
    if sycl.nameless:
        found.unread = "it has machine code for Intel cards, and does not say for which"
    elif not sycl.images:
        found.unread = "it has images of SYCL, and the table that says what they are for was not found"
