"""Where things lie in a PE file: headers, sections, and addresses turned into file offsets.

Everything else in this room starts here. Reading is bounded: a :class:`Space` hands out a budget of bytes that
no real image needs and a hostile one soon spends.
"""

from __future__ import annotations

import operator
import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.model import Malformed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wheelfix.model import ByteSource

EXPORTS, IMPORTS, RESOURCES, CERTIFICATES, LOAD_CONFIG, DELAY_IMPORTS, DOTNET = 0, 1, 2, 4, 10, 13, 14
"""Indices of the data directories that are read here."""

HEAD = 4096
LFS = b"version https://git-lfs.github.com/spec/"
PAGE = 4096
NAME_LIMIT = 16 << 10
"""Longest name that is read; compilers shorten theirs at 4096 bytes."""
WINDOW = 1 << 20
GAP = 32 << 10
"""Names are read in one block as long as they are no further apart than this, and the block no larger than WINDOW."""
SLACK = 32 << 20
"""Bytes that may be read of an image beyond three times its size."""


class Exhausted(Exception):
    """An image asked for more reading than any real one does."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section as its header describes it."""

    name: str
    rva: int
    vsize: int
    """Size in memory; zero in some old images, then the file's size counts."""
    offset: int
    size: int
    """Bytes in the file."""


@dataclass(frozen=True, slots=True)
class Headers:
    """The headers of one PE image."""

    machine: int
    is_dll: bool
    wide: bool
    """PE32+: addresses of 64 bits."""
    linker: tuple[int, int]
    image_base: int
    alignment: int
    """Of sections in memory."""
    header_size: int
    checksum_at: int
    """File offset of the checksum field."""
    directories_at: int
    """File offset of the data directories."""
    directories: tuple[tuple[int, int], ...]
    sections: tuple[Section, ...]
    oddities: tuple[str, ...] = ()

    def directory(self, index: int) -> tuple[int, int]:
        """Return address and size of a data directory, zeros when there is none."""
        return self.directories[index] if index < len(self.directories) else (0, 0)


def read_headers(source: ByteSource) -> Headers | Malformed:
    """Return the headers, or why these bytes are not a PE image that Windows would map."""
    size = source.size
    if size == 0:
        return Malformed("empty", "the file has no bytes", 0)
    head = source.read_at(0, HEAD)
    if head.startswith(LFS):
        return Malformed("lfs-pointer", "a git-lfs pointer lies where the DLL should be", size)
    if head[:2] != b"MZ":
        return Malformed("not-pe", f"it begins with {head[:4]!r}, a PE file begins with b'MZ'", size)
    if len(head) < 64:
        return Malformed("truncated", f"{size} bytes are less than a DOS header", size)
    (at,) = struct.unpack_from("<I", head, 60)
    if at + 24 > size:
        return Malformed("truncated", f"the PE header should be at byte {at}, the file has {size}", size)
    head = head[at:] if at + 24 + 240 <= len(head) else source.read_at(at, HEAD)
    if head[:4] != b"PE\0\0":
        return Malformed("not-pe", f"no PE signature at byte {at}; a DOS or 16-bit program", size)
    return _coff(source, head, at)


def _coff(source: ByteSource, head: bytes, at: int) -> Headers | Malformed:
    """Read the COFF and optional headers; ``head`` begins with the PE signature, which is at byte ``at``."""
    size = source.size
    machine, count, _, _, _, optional_size, characteristics = struct.unpack_from("<HHIIIHH", head, 4)
    optional = head[24 : 24 + optional_size]
    if len(optional) < optional_size and at + 24 + optional_size > size:
        return Malformed("truncated", "the file ends within the optional header", size)
    magic = int.from_bytes(optional[:2], "little")
    if magic not in (0x10B, 0x20B):
        return Malformed("malformed", f"the optional header has magic {magic:#x}, not PE32 or PE32+", size)
    wide = magic == 0x20B
    fixed = 112 if wide else 96
    if len(optional) < fixed:
        return Malformed("malformed", f"the optional header has {len(optional)} bytes, {fixed} are needed", size)
    major, minor = optional[2], optional[3]
    image_base = struct.unpack_from("<Q", optional, 24)[0] if wide else struct.unpack_from("<I", optional, 28)[0]
    (alignment,) = struct.unpack_from("<I", optional, 32)
    (header_size,) = struct.unpack_from("<I", optional, 60)
    (claimed,) = struct.unpack_from("<I", optional, fixed - 4)
    usable = min(claimed, 16, (len(optional) - fixed) // 8)
    directories = tuple(struct.iter_unpack("<II", optional[fixed : fixed + 8 * usable]))
    oddities = [] if claimed <= 16 else [f"{claimed} data directories are claimed, 16 exist"]
    table = source.read_at(at + 24 + optional_size, 40 * count)
    if len(table) < 40 * count:
        return Malformed("truncated", f"the file ends within the table of {count} sections", size)
    sections, odd, cut = _sections(table, size)
    if cut:
        return Malformed("truncated", cut, size)
    return Headers(
        machine=machine,
        is_dll=bool(characteristics & 0x2000),
        wide=wide,
        linker=(major, minor),
        image_base=image_base,
        alignment=alignment,
        header_size=header_size,
        checksum_at=at + 24 + 64,
        directories_at=at + 24 + fixed,
        directories=directories,
        sections=sections,
        oddities=(*oddities, *odd),
    )


def _sections(table: bytes, size: int) -> tuple[tuple[Section, ...], list[str], str]:
    """Return the sections, what is odd about them, and where the file was cut, if it was."""
    sections = []
    oddities: list[str] = []
    border = 0
    for raw, vsize, rva, length, offset in struct.iter_unpack("<8sIIII16x", table):
        name = text(raw.rstrip(b"\0"))
        sections.append(Section(name, rva, vsize, offset, length))
        if rva < border and len(oddities) < 8:
            oddities.append(f"section {name} overlaps the one before it")
        border = max(border, rva + (vsize or length))
        if not length or not offset:
            continue
        needed = offset + (min(length, vsize) if vsize else length)
        if needed > size:
            return (), [], f"section {name} ends at byte {needed}, the file has {size}"
        if offset + length > size and len(oddities) < 8:
            oddities.append(f"the padding of section {name} is cut off")
    return tuple(sections), oddities, ""


def text(raw: bytes) -> str:
    """Return a name as text: UTF-8 where it is that, else byte for byte."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


class Space:
    """An image's addresses: reads bytes and names by RVA, within a budget."""

    def __init__(self, source: ByteSource, headers: Headers) -> None:
        self._source = source
        self._budget = 3 * source.size + SLACK
        self._names = 2 * source.size
        # Below a page the file is mapped as it lies, and addresses are offsets.
        flat = headers.alignment < PAGE
        spans = [(0, min(headers.header_size, source.size), 0)]
        for section in headers.sections:
            if section.offset and section.size:
                extent = min(section.size, -(-(section.vsize or section.size) // PAGE) * PAGE)
                offset = section.offset if flat else section.offset & ~0x1FF
                spans.append((section.rva, extent + section.offset - offset, offset))
        if flat:
            spans = [(0, source.size, 0)]
        spans.sort()
        self._spans = spans
        self._starts = [start for start, _, _ in spans]

    def locate(self, rva: int) -> tuple[int, int]:
        """Return the file offset of an address, and how many bytes follow it in its section; (0, 0) if unmapped."""
        if rva <= 0:
            return 0, 0
        start, extent, offset = self._spans[bisect_right(self._starts, rva) - 1]
        at = offset + rva - start
        left = min(extent - (rva - start), self._source.size - at)
        return (at, left) if left > 0 else (0, 0)

    def read(self, rva: int, length: int) -> bytes:
        """Return up to ``length`` bytes at an address; fewer where its section ends, none where nothing is mapped."""
        at, left = self.locate(rva)
        length = min(length, left)
        if length <= 0:
            return b""
        self._budget -= length
        if self._budget < 0:
            raise Exhausted("it asks to be read more than three times over")
        return self._source.read_at(at, length)

    def names(self, rvas: Iterable[int]) -> dict[int, str]:
        """Return the zero-terminated name at each address, read in one ascending sweep; unmapped ones are left out.

        A name that does not end within NAME_LIMIT, or is empty, is left out too.
        """
        found: dict[int, str] = {}
        ordered = sorted(rvas)
        if len(set(ordered)) < len(ordered):
            ordered = list(dict.fromkeys(ordered))
        at, count = 0, len(ordered)
        while at < count:
            start = ordered[at]
            run = ordered[at : bisect_left(ordered, start + WINDOW, at)]
            gaps = list(map(operator.sub, run[1:], run))
            if gaps and max(gaps) > GAP:
                del run[next(index for index, gap in enumerate(gaps) if gap > GAP) + 1 :]
            block = self.read(start, run[-1] - start + NAME_LIMIT).decode("latin-1")
            # The block may end with its section; what lies behind it is for the next round.
            del run[max(bisect_left(run, start + len(block)), 1) :]
            adjacent = _adjacent(block, array("Q", run))
            found.update(zip(run, adjacent, strict=True) if adjacent else self._scattered(block, run))
            at += len(run)
        return found

    def listed_names(self, rvas: array[int]) -> list[str] | None:
        """Return the names at these addresses, if they lie there one after the other, as linkers write exports."""
        names: list[str] = []
        at, count = 0, len(rvas)
        while at < count:
            start = rvas[at]
            run = rvas[at : bisect_left(rvas, start + WINDOW, at)]
            if not run or not 0 <= run[-1] - start < WINDOW:
                return None
            found = _adjacent(self.read(start, run[-1] - start + NAME_LIMIT).decode("latin-1"), run)
            if found is None:
                return None
            names += found
            at += len(run)
        return names

    def _scattered(self, block: str, run: list[int]) -> dict[int, str]:
        """Cut the names that begin at the addresses of ``run`` out of the block that begins at the first."""
        found: dict[int, str] = {}
        start, left, plain = run[0], self._names, block.isascii()
        for rva in run:
            begin = rva - start
            end = block.find("\0", begin, begin + NAME_LIMIT)
            if end > begin:
                name = block[begin:end]
                found[rva] = name if plain or name.isascii() else text(name.encode("latin-1"))
                left -= end - begin
                if left < 0:
                    raise Exhausted("its names overlap to more than the file's own size")
        self._names = left
        return found


def _adjacent(block: str, run: array[int]) -> list[str] | None:
    """Cut the names as one, if they follow one another without a break; else None."""
    end = block.find("\0", run[-1] - run[0])
    if end < 0:
        return None
    block = block[:end]
    parts = block.split("\0")
    lengths = array(run.typecode, map(len, parts))
    if len(parts) != len(run) or not block.isascii() or not 0 < min(lengths) <= max(lengths) < NAME_LIMIT:
        return None
    # Each begins behind the one before it and its zero. All of these additions are one, of numbers with an address in
    # each digit. No digit can overflow: from there on all addresses would be lower than the first, and the last is not.
    zeros = array(run.typecode, [1]) * (len(run) - 1)
    return parts if _number(run[:-1]) + _number(lengths[:-1]) + _number(zeros) == _number(run[1:]) else None


def _number(digits: array[int]) -> int:
    return int.from_bytes(digits.tobytes(), sys.byteorder)


def without_overlaps(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the same bytes in ascending order, none twice: sections of a hostile file may all be the same ones."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        start = max(start, found[-1][1]) if found else start
        if start < end:
            found.append((start, end))
    return found


class MagicSearch:
    """Finds where texts occur in a source; each block is read once, however many there are in it."""

    def __init__(self, source: ByteSource, magics: Sequence[bytes], step: int) -> None:
        self._source, self._magics, self._step = source, magics, step
        self._longest = max(map(len, magics))
        self._at, self._block = 0, b""
        self._places = dict.fromkeys(magics, -1)
        """Where each occurs next in the block, so that none is looked for twice in the same bytes."""

    def next(self, at: int, end: int) -> int | None:
        """Return the first place from ``at`` to ``end`` where one of them begins."""
        while at < end:
            if not self._at <= at <= self._at + len(self._block) - self._longest:
                self._at, self._block = at, self._source.read_at(at, self._step)
                self._places = dict.fromkeys(self._magics, -1)
            for magic, place in self._places.items():
                if place < at - self._at:
                    found = self._block.find(magic, at - self._at)
                    self._places[magic] = found if found >= 0 else len(self._block)
            place = min(self._places.values())
            if place < len(self._block):
                return self._at + place if self._at + place < end else None
            if len(self._block) < self._step:
                return None
            at = self._at + len(self._block) - self._longest + 1
        return None
