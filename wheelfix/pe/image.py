"""The facts of a DLL that decide whether it loads: machine, imports, delay imports, exports, forwarders.

An own reader on ``struct``: pefile stops after 8192 imported symbols and silently drops the DLLs behind them (MKL's
threading layer, recent torch_python.dll), and needs a gigabyte for torch_cpu.dll where this needs the tables alone.

All addresses of one kind are collected first and read in one ascending sweep: that is fast on a deflate stream, and
no arrangement of pointers can make it run in circles. What is irregular becomes an oddity; only headers that Windows
itself refuses make an image malformed.
"""

from __future__ import annotations

import itertools
import struct
import sys
from array import array
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.errors import InputError
from wheelfix.model import Exports, Image, Import, Machine, Malformed
from wheelfix.pe import sections
from wheelfix.pe.sections import Exhausted, Headers, Space, read_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wheelfix.model import ByteSource, ImageFacts, Symbol

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
        headers = read_headers(source)
        return headers if isinstance(headers, Malformed) else _TableReader(source, headers).image()
    except InputError as exc:
        return Malformed("malformed", str(exc), source.size)


@dataclass(frozen=True, slots=True)
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
            sections.EXPORTS: self._read_exports,
            sections.IMPORTS: self._read_imports,
            sections.DELAY_IMPORTS: self._read_delay_imports,
            sections.LOAD_CONFIG: self._read_load_config,
        }
        for index in sorted(tables, key=lambda index: self.space.locate(self.headers.directory(index)[0])):
            rva, size = self.headers.directory(index)
            if rva:
                try:
                    tables[index](rva, size)
                except Exhausted as exc:
                    self.odd(f"reading stopped: {exc}")
        certificates, length = self.headers.directory(sections.CERTIFICATES)
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
            managed=self.headers.directory(sections.DOTNET)[0] != 0,
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
        gaps = b"\0\0\0\0" in targets.tobytes() and 0 in targets  # the first is fast, the second right
        if indices and (max(indices) >= len(targets) or (gaps and not all(map(targets.__getitem__, indices)))):
            self.odd("some exported names belong to no function")  # and so GetProcAddress does not find them
            real = {index for index, target in enumerate(targets) if target}
            kept = [(at, index) for at, index in zip(name_rvas, indices, strict=False) if index in real]
            name_rvas, indices = array("I", (at for at, _ in kept)), array("H", (index for _, index in kept))
        ordinals = range(base, base + len(targets))
        pointers = [target for target in targets if rva <= target < rva + size]
        if not pointers and not gaps and (listed := self.space.listed_names(name_rvas)) is not None:
            self.exports = Exports(frozenset(listed), frozenset(ordinals))
            return
        names = self.space.names(name_rvas)
        if len(names) < len(name_rvas) and not all(map(names.__contains__, name_rvas)):
            self.odd("some exported names cannot be read")
        self.exports = Exports(
            names=frozenset(names.values()),
            ordinals=frozenset(itertools.compress(ordinals, targets)),
            forwarders=self._forwarders(pointers, base, targets, zip(name_rvas, indices, strict=False), names),
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
            if at in names and index < len(targets) and targets[index] in homes:
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
