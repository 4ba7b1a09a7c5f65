"""A DLL as bytes: headers, sections, addresses, and the tables that decide whether it loads."""

from __future__ import annotations

import itertools
import re
import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from wheelfix.base.values import frozen
from wheelfix.errors import InputError
from wheelfix.model import ByteSource, Exports, Image, ImageFacts, Import, Machine, Malformed, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


# ------------------------------------------------------------------------------------------------------------- sections
# Where things lie in a PE file: headers, sections, and addresses turned into file offsets.
# Everything else in this room starts here. Reading is bounded: a :class:`Space` hands out a budget of bytes that
# no real image needs and a hostile one soon spends.

EXPORTS, IMPORTS, RESOURCES, CERTIFICATES, LOAD_CONFIG, DELAY_IMPORTS, DOTNET = 0, 1, 2, 4, 10, 13, 14
"""Indices of the data directories that are read here."""

PE32_PLUS = 0x20B
OPTIONAL_HEADERS = {0x10B: struct.Struct("<2xBB24xII24xI28xI"), PE32_PLUS: struct.Struct("<2xBB20xQI24xI44xI")}
"""Of the linker's version, the image's base, the alignment of sections, the size of all headers, and the number of data
directories."""

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


class Exhausted(InputError):
    """An image asked for more reading than any real one does."""


class NotAnImage(InputError):
    """Bytes are not a PE image; ``facts`` says why."""

    def __init__(self, kind: str, reason: str, size: int) -> None:
        super().__init__(reason)
        self.facts = Malformed(kind, reason, size)


@frozen
class Section:
    """A section as its header describes it."""

    name: str
    rva: int
    vsize: int
    """Size in memory; zero in some old images, then the file's size counts."""
    offset: int
    size: int
    """Bytes in the file."""


@frozen
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


def read_headers(source: ByteSource) -> Headers:
    """Return the headers; NotAnImage for bytes that are not a PE image that Windows would map."""
    size = source.size
    if size == 0:
        raise NotAnImage("empty", "the file has no bytes", 0)
    head = source.read_at(0, HEAD)
    if head.startswith(LFS):
        raise NotAnImage("lfs-pointer", "a git-lfs pointer lies where the DLL should be", size)
    if head[:2] != b"MZ":
        raise NotAnImage("not-pe", f"it begins with {head[:4]!r}, a PE file begins with b'MZ'", size)
    if len(head) < 64:
        raise NotAnImage("truncated", f"{size} bytes are less than a DOS header", size)
    (at,) = struct.unpack_from("<I", head, 60)
    if at + 24 > size:
        raise NotAnImage("truncated", f"the PE header should be at byte {at}, the file has {size}", size)
    head = head[at:] if at + 24 + 240 <= len(head) else source.read_at(at, HEAD)
    if head[:4] != b"PE\0\0":
        raise NotAnImage("not-pe", f"no PE signature at byte {at}; a DOS or 16-bit program", size)
    return _coff(source, head, at)


def _coff(source: ByteSource, head: bytes, at: int) -> Headers:
    """Read the COFF and optional headers; ``head`` begins with the PE signature, which is at byte ``at``."""
    size = source.size
    machine, count, _, _, _, optional_size, characteristics = struct.unpack_from("<HHIIIHH", head, 4)
    optional = head[24 : 24 + optional_size]
    if len(optional) < optional_size and at + 24 + optional_size > size:
        raise NotAnImage("truncated", "the file ends within the optional header", size)
    magic = int.from_bytes(optional[:2], "little")
    layout = OPTIONAL_HEADERS.get(magic)
    if layout is None:
        raise NotAnImage("malformed", f"the optional header has magic {magic:#x}, not PE32 or PE32+", size)
    fixed = layout.size
    if len(optional) < fixed:
        raise NotAnImage("malformed", f"the optional header has {len(optional)} bytes, {fixed} are needed", size)
    major, minor, image_base, alignment, header_size, claimed = layout.unpack_from(optional)
    usable = min(claimed, 16, (len(optional) - fixed) // 8)
    directories = tuple(struct.iter_unpack("<II", optional[fixed : fixed + 8 * usable]))
    oddities = [] if claimed <= 16 else [f"{claimed} data directories are claimed, 16 exist"]
    table = source.read_at(at + 24 + optional_size, 40 * count)
    if len(table) < 40 * count:
        raise NotAnImage("truncated", f"the file ends within the table of {count} sections", size)
    sections, odd, cut = _sections(table, size)
    if cut:
        raise NotAnImage("truncated", cut, size)
    return Headers(
        machine=machine,
        is_dll=bool(characteristics & 0x2000),
        wide=magic == PE32_PLUS,
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
        ordered = sorted(set(rvas))
        at = 0
        while at < len(ordered):
            start = ordered[at]
            run = ordered[at : bisect_left(ordered, start + WINDOW, at)]
            del run[next((index for index in range(1, len(run)) if run[index] - run[index - 1] > GAP), len(run)) :]
            block = self.read(start, run[-1] - start + NAME_LIMIT).decode("latin-1")
            # The block may end with its section; what lies behind it is for the next round.
            del run[max(bisect_left(run, start + len(block)), 1) :]
            self._cut(block, run, found)
            at += len(run)
        return found

    def _cut(self, block: str, run: list[int], found: dict[int, str]) -> None:
        """Cut the names that begin at the addresses of ``run`` out of the block that begins at the first."""
        start, plain = run[0], block.isascii()
        for rva in run:
            begin = rva - start
            end = block.find("\0", begin, begin + NAME_LIMIT)
            if end > begin:
                name = block[begin:end]
                found[rva] = name if plain or name.isascii() else text(name.encode("latin-1"))
                self._names -= end - begin
                if self._names < 0:
                    raise Exhausted("its names overlap to more than the file's own size")


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
        self._source, self._step = source, step
        self._pattern = re.compile(b"|".join(map(re.escape, magics)))
        self._longest = max(map(len, magics))
        self._at, self._block = 0, b""

    def next(self, at: int, end: int) -> int | None:
        """Return the first place from ``at`` to ``end`` where one of them begins."""
        while at < end:
            if not self._at <= at <= self._at + len(self._block) - self._longest:
                self._at, self._block = at, self._source.read_at(at, self._step)
            if found := self._pattern.search(self._block, at - self._at):
                place = self._at + found.start()
                return place if place < end else None
            if len(self._block) < self._step:
                return None
            at = self._at + len(self._block) - self._longest + 1
        return None


# ---------------------------------------------------------------------------------------------------------------- image
# The facts of a DLL that decide whether it loads: machine, imports, delay imports, exports, forwarders.
# An own reader on ``struct``: pefile stops after 8192 imported symbols and silently drops the DLLs behind them (MKL's
# threading layer, recent torch_python.dll), and needs a gigabyte for torch_cpu.dll where this needs the tables alone.
#
# All addresses of one kind are collected first and read in one ascending sweep: that is fast on a deflate stream, and
# no arrangement of pointers can make it run in circles. What is irregular becomes an oddity; only headers that Windows
# itself refuses make an image malformed.


MACHINES = {
    0x8664: Machine.AMD64,
    0x014C: Machine.X86,
    0xAA64: Machine.ARM64,
    0xA641: Machine.ARM64EC,
    0xA64E: Machine.ARM64,
    0x01C0: Machine.ARM,
    0x01C2: Machine.ARM,
    0x01C4: Machine.ARM,
}
MAX_DLLS = 4096
"""Imported DLLs that are read; real images have some dozens."""
MAX_SYMBOLS = 300_000
"""Imported or exported symbols that are read of one image; a DLL can export 65 536."""
MAX_ODDITIES = 16


def read_image(source: ByteSource) -> ImageFacts:
    """Return the facts of a PE image, or why it is none; never raises because of its bytes."""
    try:
        return _TableReader(source, read_headers(source)).image()
    except NotAnImage as exc:
        return exc.facts
    except InputError as exc:
        return Malformed("malformed", str(exc), source.size)


@frozen
class _Descriptor:
    """One row of an import table: where the name and the wanted symbols are."""

    name: int
    thunks: int
    spare: int
    """The other thunk array, for images that have no lookup table."""
    shift: int = 0
    """What to subtract from addresses within the thunks: the image base in old delay imports."""


class _TableReader:
    """Reads the tables of one image, and notes what is odd about them."""

    def __init__(self, source: ByteSource, headers: Headers) -> None:
        self.source = source
        self.headers = headers
        self.space = Space(source, headers)
        self.oddities = list(headers.oddities)
        self.symbols_left = MAX_SYMBOLS
        self.imports: tuple[Import, ...] = ()
        self.delay_imports: tuple[Import, ...] = ()
        self.exports = Exports()
        self.load_flags = 0
        self.hybrid = False

    def image(self) -> Image:
        """Read every table, in the order in which they lie in the file."""
        tables: dict[int, Callable[[int, int], None]] = {
            EXPORTS: self._read_exports,
            IMPORTS: self._read_imports,
            DELAY_IMPORTS: self._read_delay_imports,
            LOAD_CONFIG: self._read_load_config,
        }
        for index in sorted(tables, key=lambda index: self.space.locate(self.headers.directory(index)[0])):
            rva, size = self.headers.directory(index)
            if rva:
                try:
                    tables[index](rva, size)
                except Exhausted as exc:
                    self.odd(f"reading stopped: {exc}")
        certificates, length = self.headers.directory(CERTIFICATES)
        if certificates and certificates + length > self.source.size:
            self.odd("the certificate table lies outside the file")
        return Image(
            machine=self._machine(),
            size=self.source.size,
            is_dll=self.headers.is_dll,
            imports=self.imports,
            delay_imports=self.delay_imports,
            exports=self.exports,
            linker=self.headers.linker,
            dependent_load_flags=self.load_flags,
            managed=self.headers.directory(DOTNET)[0] != 0,
            sections=tuple(section.name for section in self.headers.sections),
            signed=bool(certificates and length),
            oddities=tuple(self.oddities),
        )

    def odd(self, what: str) -> None:
        """Note an oddity, once, and not without end."""
        if len(self.oddities) < MAX_ODDITIES and what not in self.oddities:
            self.oddities.append(what)

    def _machine(self) -> Machine:
        machine = MACHINES.get(self.headers.machine, Machine.UNKNOWN)
        if machine is Machine.UNKNOWN:
            self.odd(f"machine {self.headers.machine:#06x} is unknown")
        if self.hybrid and machine is Machine.AMD64:
            return Machine.ARM64EC
        if self.hybrid and machine is Machine.ARM64:
            self.odd("arm64x: serves ARM64 and x64 processes")
        if self.hybrid and machine is Machine.X86:
            self.odd("chpe: x86 with ARM64 code inside")
        return machine

    # ------------------------------------------------------------------------------------------------- imports

    def _read_imports(self, rva: int, size: int) -> None:
        rows = self._rows(rva, "<IIIII", "import")
        descriptors = []
        for lookup, stamp, _, name, address_table in rows:
            if not name or not address_table:
                # Here Windows stops reading, whatever the lookup table says; LIEF and pefile go on.
                if name:
                    self.odd("the import table ends at a row that names a DLL and has no address table")
                break
            if not lookup and stamp:
                # Bound in advance, and no lookup table: the thunks hold addresses, the names are gone.
                self.odd("bound imports without a lookup table: the symbols are not known")
                address_table = 0
            descriptors.append(_Descriptor(name, lookup or address_table, address_table))
        self.imports = self._resolve(descriptors, "import")

    def _read_delay_imports(self, rva: int, size: int) -> None:
        descriptors = []
        for attributes, name, _, address_table, lookup, _, _, _ in self._rows(rva, "<IIIIIIII", "delay import"):
            if not name:
                break
            # Linkers before Visual C++ 7 wrote virtual addresses here, of 32 bits.
            base = 0 if attributes & 1 else self.headers.image_base & 0xFFFFFFFF
            if base and name < base:
                self.odd("a delay import is not marked as relative, but its addresses are")
                base = 0
            descriptors.append(_Descriptor(name - base, max(lookup - base, 0), max(address_table - base, 0), base))
        self.delay_imports = self._resolve(descriptors, "delay import")

    def _rows(self, rva: int, form: str, what: str) -> Iterable[tuple[int, ...]]:
        """Return the rows of a table that ends with a row of zeros, at most MAX_DLLS of them."""
        width = struct.calcsize(form)
        block = self.space.read(rva, width * (MAX_DLLS + 1))
        if not block:
            self.odd(f"the {what} table lies outside the file")
        return struct.iter_unpack(form, block[: len(block) - len(block) % width])

    def _resolve(self, descriptors: list[_Descriptor], what: str) -> tuple[Import, ...]:
        """Turn rows into imports: first all DLL names, then all thunks, then all symbol names."""
        if len(descriptors) > MAX_DLLS:
            self.odd(f"more than {MAX_DLLS} DLLs in the {what} table; the rest was not read")
            del descriptors[MAX_DLLS:]
        dlls = self.space.names(descriptor.name for descriptor in descriptors)
        usable = [descriptor for descriptor in descriptors if descriptor.name in dlls]
        if len(usable) < len(descriptors):
            self.odd(f"{len(descriptors) - len(usable)} {what}s have no readable DLL name")
        try:
            symbols = self._symbols(usable, what)
        except Exhausted as exc:
            self.odd(f"the symbols of the {what}s were not read: {exc}")
            symbols = [()] * len(usable)
        return tuple(Import(dlls[row.name], wanted) for row, wanted in zip(usable, symbols, strict=True))

    def _symbols(self, descriptors: list[_Descriptor], what: str) -> list[tuple[Symbol, ...]]:
        thunks: dict[int, array[int]] = {}
        for row in sorted(descriptors, key=lambda row: row.thunks):
            if row.thunks not in thunks:
                thunks[row.thunks] = self._thunks(row.thunks) or self._thunks(row.spare)
            self.symbols_left -= len(thunks[row.thunks])
            if self.symbols_left < 0:
                raise Exhausted(f"there are more than {MAX_SYMBOLS}")
        flag = 1 << 63 if self.headers.wide else 1 << 31
        # Behind a thunk's address lie two bytes of hint, then the name.
        names = self.space.names(
            thunk - row.shift + 2 for row in descriptors for thunk in thunks[row.thunks] if thunk < flag
        )
        result: list[tuple[Symbol, ...]] = []
        lost = 0
        for row in descriptors:
            skip = 2 - row.shift
            wanted: list[Symbol | None] = [
                names.get(thunk + skip) if thunk < flag else thunk & 0xFFFF for thunk in thunks[row.thunks]
            ]
            kept = tuple(symbol for symbol in wanted if symbol is not None)
            lost += len(wanted) - len(kept)
            result.append(kept)
        if lost:
            self.odd(f"{lost} symbols in the {what} table have no readable name")
        return result

    def _thunks(self, rva: int) -> array[int]:
        """Return the thunks at an address, up to the closing zero."""
        code, width = ("Q", 8) if self.headers.wide else ("I", 4)
        length = 512 * width
        while True:
            block = self.space.read(rva, length)
            values = _integers(code, block)
            try:
                return values[: values.index(0)]
            except ValueError:
                # A section that ends without the zero is followed by zeros in memory.
                if len(block) < length or len(values) > MAX_SYMBOLS:
                    return values
            length *= 4

    # ------------------------------------------------------------------------------------------------- exports

    def _read_exports(self, rva: int, size: int) -> None:
        head = self.space.read(rva, 40)
        if len(head) < 40:
            self.odd("the export table lies outside the file")
            return
        base, functions, named, function_table, name_table, ordinal_table = struct.unpack_from("<IIIIII", head, 16)
        if max(functions, named) > MAX_SYMBOLS:
            self.odd(f"{max(functions, named)} exports are claimed; {MAX_SYMBOLS} are read")
            functions, named = min(functions, MAX_SYMBOLS), min(named, MAX_SYMBOLS)
        targets = _integers("I", self.space.read(function_table, 4 * functions))
        name_rvas = _integers("I", self.space.read(name_table, 4 * named))
        indices = _integers("H", self.space.read(ordinal_table, 2 * named))
        if len(targets) < functions or len(name_rvas) < named or len(indices) < named:
            self.odd("the export table is cut off")
        # GetProcAddress does not find a name that belongs to no function.
        listed = [*zip(name_rvas, indices, strict=False)]
        entries = [(at, index) for at, index in listed if index < len(targets) and targets[index]]
        if len(entries) < len(listed):
            self.odd("some exported names belong to no function")
        names = self.space.names(at for at, _ in entries)
        if not all(at in names for at, _ in entries):
            self.odd("some exported names cannot be read")
        pointers = [target for target in targets if rva <= target < rva + size]
        self.exports = Exports(
            names=frozenset(names.values()),
            ordinals=frozenset(itertools.compress(range(base, base + len(targets)), targets)),
            forwarders=self._forwarders(pointers, base, targets, entries, names),
        )

    def _forwarders(
        self,
        pointers: list[int],
        base: int,
        targets: array[int],
        entries: Iterable[tuple[int, int]],
        names: dict[int, str],
    ) -> dict[Symbol, str]:
        """Return the exports that point into the export table itself, at the name of their true home.

        A named one is in the answer twice, by name and by ordinal, since it can be imported either way.
        """
        if not pointers:
            return {}
        homes = self.space.names(pointers)
        if not all(map(homes.__contains__, pointers)):
            self.odd("some forwarders cannot be read")
        result: dict[Symbol, str] = {base + index: homes[at] for index, at in enumerate(targets) if at in homes}
        for at, index in entries:
            if at in names and targets[index] in homes:
                result[names[at]] = homes[targets[index]]
        return result

    # --------------------------------------------------------------------------------------------- load config

    def _read_load_config(self, rva: int, size: int) -> None:
        block = self.space.read(rva, 320)
        if len(block) < 4:
            self.odd("the load configuration lies outside the file")
            return
        # Its own first field, not the directory, says how much of it there is.
        block = block[: int.from_bytes(block[:4], "little")]
        flags_at, metadata_at, width = (78, 200, 8) if self.headers.wide else (54, 124, 4)
        if len(block) >= flags_at + 2:
            self.load_flags = int.from_bytes(block[flags_at : flags_at + 2], "little")
        if len(block) >= metadata_at + width:
            self.hybrid = any(block[metadata_at : metadata_at + width])


def _integers(code: str, block: bytes) -> array[int]:
    values = array(code)
    values.frombytes(block[: len(block) - len(block) % values.itemsize])
    if sys.byteorder == "big":
        values.byteswap()
    return values
