"""Small, valid PE images written byte by byte, for the demo, the tests and the loaders they are compared with.

No compiler and no network: the machine code is one ``return`` per function. The same arguments always give the same
bytes. Sections in order: ``.text``, ``.data`` (only with delay imports), ``.rdata``, ``.rsrc`` (only with a version or
a manifest), the extra ones, and ``.reloc``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from wheelfix.base.values import dataclass, field, frozen
from wheelfix.model import Machine, Symbol

Export: TypeAlias = "Symbol | tuple[str, int]"
"""A name, an ordinal without a name, or a name with a fixed ordinal."""


@frozen
class ExportTable:
    """Names and ordinals, settled."""

    names: Mapping[str, int]
    forwarders: Mapping[int, str]
    ordinals: frozenset[int]

    @classmethod
    def arrange(cls, exports: Iterable[Export], forwarders: Mapping[Symbol, str]) -> ExportTable:
        """Give every name an ordinal: its own where one is given, the next free one otherwise."""
        entries = list(exports)
        plain = [entry for entry in entries if not isinstance(entry, tuple)]
        names = dict(entry for entry in entries if isinstance(entry, tuple))
        symbols = [*plain, *forwarders]
        taken = {*names.values(), *(symbol for symbol in symbols if isinstance(symbol, int))}
        following = 1
        for symbol in symbols:
            if isinstance(symbol, str) and symbol not in names:
                while following in taken:
                    following += 1
                names[symbol] = following
                taken.add(following)
        targets = {symbol if isinstance(symbol, int) else names[symbol]: to for symbol, to in forwarders.items()}
        return cls(names, targets, frozenset(taken))

    @property
    def functions(self) -> tuple[int, ...]:
        """The ordinals that have code of their own."""
        return tuple(sorted(self.ordinals - self.forwarders.keys()))

    def __bool__(self) -> bool:
        return bool(self.ordinals)


@frozen
class MachineFormat:
    """What differs between machine types."""

    machine: Machine
    code: int
    """IMAGE_FILE_MACHINE_…"""
    wide: bool
    """PE32+ with 8-byte pointers."""

    @property
    def pointer(self) -> int:
        return 8 if self.wide else 4

    @property
    def image_base(self) -> int:
        return 0x1_8000_0000 if self.wide else 0x1000_0000

    def returning(self, value: int, *, pop: int = 0) -> bytes:
        """Return machine code that does nothing but return ``value``; on x86 it may remove ``pop`` argument bytes."""
        if self.machine is Machine.ARM64:  # movz w0, #value; ret
            return struct.pack("<II", 0x52800000 | (value & 0xFFFF) << 5, 0xD65F03C0)
        if self.machine is Machine.ARM:  # movs r0, #value; bx lr
            return struct.pack("<HH", 0x2000 | value & 0xFF, 0x4770)
        leave = b"\xc2" + struct.pack("<H", pop) if pop and self.machine is Machine.X86 else b"\xc3"
        return b"\xb8" + struct.pack("<I", value) + leave  # mov eax, value; ret

    def thunk(self, value: int) -> bytes:
        return struct.pack("<Q" if self.wide else "<I", value)

    def ordinal_thunk(self, ordinal: int) -> bytes:
        return self.thunk(1 << (self.pointer * 8 - 1) | ordinal)


MACHINE_FORMATS = {
    Machine.AMD64: MachineFormat(Machine.AMD64, 0x8664, wide=True),
    Machine.ARM64: MachineFormat(Machine.ARM64, 0xAA64, wide=True),
    Machine.X86: MachineFormat(Machine.X86, 0x014C, wide=False),
    Machine.ARM: MachineFormat(Machine.ARM, 0x01C4, wide=False),
}


RT_VERSION, RT_MANIFEST = 16, 24
ENGLISH_US = 0x0409
UNICODE_PAGE = 0x04B0
SIGNATURE = 0xFEEF04BD


def version_resource(
    rva: int, file: tuple[int, int, int, int], product: tuple[int, int, int, int], strings: Mapping[str, str]
) -> bytes:
    """Return the content of a ``.rsrc`` section that will stand at ``rva``."""
    return _resource(rva, RT_VERSION, 1, _version_info(file, product, strings))


def manifest_resource(rva: int, manifest: str) -> bytes:
    """Return the content of a ``.rsrc`` section with the manifest that a DLL is loaded with."""
    return _resource(rva, RT_MANIFEST, 2, manifest.encode())


def _resource(rva: int, kind: int, identifier: int, data: bytes) -> bytes:
    # Three directories of one entry each (type, name, language), then the data entry, then the data.
    directory = struct.Struct("<IIHHHHII")
    entry_at = 3 * directory.size
    data_at = entry_at + 16
    subdirectory = 0x80000000
    tree = directory.pack(0, 0, 0, 0, 0, 1, kind, subdirectory | directory.size)
    tree += directory.pack(0, 0, 0, 0, 0, 1, identifier, subdirectory | 2 * directory.size)
    tree += directory.pack(0, 0, 0, 0, 0, 1, ENGLISH_US, entry_at)
    return tree + struct.pack("<IIII", rva + data_at, len(data), 0, 0) + data


def _version_info(
    file: tuple[int, int, int, int], product: tuple[int, int, int, int], strings: Mapping[str, str]
) -> bytes:
    fixed = struct.pack(
        "<13I",
        SIGNATURE,
        0x00010000,
        *_halves(file),
        *_halves(product),
        0x3F,  # which flags are meant
        0,
        0x00040004,  # Windows NT, 32-bit base
        2,  # a DLL
        0,
        0,
        0,
    )
    pairs = [_block(key, _text(value), b"", words=len(value) + 1) for key, value in strings.items()]
    table = _block(f"{ENGLISH_US:04X}{UNICODE_PAGE:04X}", b"", _join(pairs))
    string_info = _block("StringFileInfo", b"", table)
    translation = _block("Translation", struct.pack("<HH", ENGLISH_US, UNICODE_PAGE), b"", binary=True)
    var_info = _block("VarFileInfo", b"", translation)
    return _block("VS_VERSION_INFO", fixed, _join([string_info, var_info]), binary=True)


def _halves(version: tuple[int, int, int, int]) -> tuple[int, int]:
    major, minor, build, private = version
    return major << 16 | minor, build << 16 | private


def _block(key: str, value: bytes, children: bytes, *, binary: bool = False, words: int | None = None) -> bytes:
    """Return one node: length, value length (in words for text), type, key, value, children, each on 4 bytes."""
    # The header is 6 bytes, so key and padding together reach the next multiple of 4.
    body = _align(b"\0" * 6 + _text(key)) + value
    if children:
        body = _align(body) + children
    value_length = len(value) if words is None else words
    return struct.pack("<HHH", len(body), value_length, 0 if binary else 1) + body[6:]


def _join(blocks: list[bytes]) -> bytes:
    """Return the blocks one after the other, each but the last padded to 4 bytes."""
    return b"".join(_align(block) for block in blocks[:-1]) + (blocks[-1] if blocks else b"")


def _align(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _text(text: str) -> bytes:
    return text.encode("utf-16-le") + b"\0\0"


Wanted: TypeAlias = "Mapping[str, Iterable[Symbol]] | Sequence[tuple[str, Iterable[Symbol]]]"
"""DLL names with what is wanted from each; pairs where a table shall name one DLL twice."""

FILE_ALIGNMENT = 0x200
SECTION_ALIGNMENT = 0x1000
PE_OFFSET = 0x80
STUB_STRIDE = 16
DIRECTORIES = 16
EXPORT, IMPORT, RESOURCE, SECURITY, RELOCATION, LOAD_CONFIG, IAT, DELAY, COM = 0, 1, 2, 4, 5, 10, 12, 13, 14

CODE = 0x60000020
WRITABLE = 0xC0000040
READ_ONLY = 0x40000040
DISCARDABLE = 0x42000040


def forge_dll(
    name: str,
    *,
    machine: Machine = Machine.AMD64,
    imports: Wanted = (),
    delay_imports: Wanted = (),
    exports: Iterable[Export] = (),
    forwarders: Mapping[Symbol, str] | None = None,
    version: tuple[int, int, int, int] | None = None,
    product_version: tuple[int, int, int, int] | None = None,
    version_strings: Mapping[str, str] | None = None,
    manifest: str = "",
    sections: Mapping[str, bytes] | None = None,
    linker: tuple[int, int] = (14, 0),
    dependent_load_flags: int | None = None,
    managed: bool = False,
    dll_main: bool | None = True,
    is_dll: bool = True,
    certificate: bytes | None = None,
    size: int = 0,
) -> bytes:
    """Return the bytes of an image that calls itself ``name``.

    ``dll_main`` is what the entry point returns, or None for an image without one. ``size`` pads the file with zeros
    behind the last section. ``certificate`` is put into a certificate table as it stands; it signs nothing.
    """
    target = MACHINE_FORMATS.get(machine)
    if target is None:
        raise ValueError(f"{name}: images for {machine} cannot be forged")
    image = _ImageBuilder(target)
    table = ExportTable.arrange(exports, forwarders or {})
    entry = image.add_code(table.functions, dll_main)
    delayed = _pairs(delay_imports)
    if delayed:
        image.begin(".data", WRITABLE)
        slots = [image.add_delay_slots(symbols) for _, symbols in delayed]
    image.begin(".rdata", READ_ONLY)
    image.append_pointer(SECTION_ALIGNMENT)
    wanted = _pairs(imports)
    if wanted:
        image.add_imports(wanted)
    if delayed:
        image.add_delay_imports(delayed, slots)
    if table:
        image.add_exports(name, table)
    if dependent_load_flags is not None:
        image.add_load_config(dependent_load_flags)
    if managed:
        image.add_com_header()
    if version is not None or version_strings:
        file_version = version or (0, 0, 0, 0)
        rva = image.begin(".rsrc", READ_ONLY)
        content = version_resource(rva, file_version, product_version or file_version, version_strings or {})
        image.directories[RESOURCE] = (image.append(content), len(content))
    elif manifest:
        content = manifest_resource(image.begin(".rsrc", READ_ONLY), manifest)
        image.directories[RESOURCE] = (image.append(content), len(content))
    for title, content in (sections or {}).items():
        image.begin(title, READ_ONLY)
        image.append(content)
    image.add_relocations()
    return image.render(entry=entry, linker=linker, is_dll=is_dll, size=size, certificate=certificate)


def _pairs(wanted: Wanted) -> list[tuple[str, tuple[Symbol, ...]]]:
    items = wanted.items() if isinstance(wanted, Mapping) else wanted
    return [(dll, tuple(symbols)) for dll, symbols in items]


@dataclass
class _SectionBuilder:
    name: str
    flags: int
    rva: int
    data: bytearray = field(default_factory=bytearray)


@dataclass
class _ImageBuilder:
    """Sections under construction; the last one is open, and its addresses are known while it grows."""

    target: MachineFormat
    sections: list[_SectionBuilder] = field(default_factory=list)
    directories: dict[int, tuple[int, int]] = field(default_factory=dict)
    pointers: list[int] = field(default_factory=list)
    """Places that hold an absolute address, for the relocations."""
    functions: dict[int, int] = field(default_factory=dict)
    """Address of the code of each exported ordinal."""

    # ------------------------------------------------------------------------------------------------- placing

    def begin(self, name: str, flags: int) -> int:
        """Close the open section, start the next one and return its address."""
        rva = SECTION_ALIGNMENT
        if self.sections:
            last = self.sections[-1]
            rva = _up(last.rva + max(len(last.data), 1), SECTION_ALIGNMENT)
        self.sections.append(_SectionBuilder(name, flags, rva))
        return rva

    def append(self, data: bytes, align: int = 8) -> int:
        """Add ``data`` to the open section and return its address."""
        section = self.sections[-1]
        section.data += bytes(-len(section.data) % align)
        rva = section.rva + len(section.data)
        section.data += data
        return rva

    def reserve(self, length: int, align: int = 8) -> int:
        """Keep room that :meth:`put` fills later."""
        return self.append(bytes(length), align)

    def put(self, rva: int, data: bytes) -> None:
        section = self.sections[-1]
        section.data[rva - section.rva : rva - section.rva + len(data)] = data

    def append_pointer(self, to: int) -> None:
        """Add an absolute address, which the loader relocates."""
        width = self.target.pointer
        self.pointers.append(self.append(self.target.thunk(self.target.image_base + to), width))

    def append_text(self, text: str) -> int:
        return self.append(text.encode() + b"\0", align=2)

    # ------------------------------------------------------------------------------------------------- content

    def add_code(self, ordinals: Iterable[int], dll_main: bool | None) -> int:
        """Write DllMain and one function per exported ordinal; return the entry point's address, or 0."""
        self.begin(".text", CODE)
        main = self.append(self.target.returning(int(dll_main is not False), pop=12), STUB_STRIDE)
        for ordinal in ordinals:
            self.functions[ordinal] = self.append(self.target.returning(ordinal), STUB_STRIDE)
        return 0 if dll_main is None else main

    def add_imports(self, wanted: Sequence[tuple[str, tuple[Symbol, ...]]]) -> None:
        """Write the descriptors, then all address tables in one run, as the IAT directory wants them."""
        descriptors = self.reserve(20 * (len(wanted) + 1), align=4)
        width = self.target.pointer
        lookups = [self.append_lookup(symbols) for _, symbols in wanted]
        table = self.reserve(0)
        length = 0
        for index, ((_, symbols), lookup) in enumerate(zip(wanted, lookups, strict=True)):
            address = self.append(self.peek(lookup, width * (len(symbols) + 1)), width)
            length = address + width * (len(symbols) + 1) - table
            self.put(descriptors + 20 * index, struct.pack("<IIIII", lookup, 0, 0, 0, address))
        for index, (dll, _) in enumerate(wanted):
            self.put(descriptors + 20 * index + 12, struct.pack("<I", self.append_text(dll)))
        self.directories[IMPORT] = (descriptors, 20 * (len(wanted) + 1))
        self.directories[IAT] = (table, length)

    def append_lookup(self, symbols: Sequence[Symbol]) -> int:
        """Write hint/name entries and the table that points at them; return the table's address."""
        thunks = bytearray()
        for symbol in symbols:
            if isinstance(symbol, int):
                thunks += self.target.ordinal_thunk(symbol)
            else:
                thunks += self.target.thunk(self.append(b"\0\0" + symbol.encode() + b"\0", align=2))
        return self.append(bytes(thunks) + bytes(self.target.pointer))

    def peek(self, rva: int, length: int) -> bytes:
        section = self.sections[-1]
        return bytes(section.data[rva - section.rva : rva - section.rva + length])

    def add_delay_slots(self, symbols: Sequence[Symbol]) -> tuple[int, int]:
        """Write the module handle and the address table of one delay import; return where they are."""
        width = self.target.pointer
        handle = self.reserve(width)
        table = self.reserve(0)
        for _ in symbols:
            # Nothing ever calls through it, but the address of real code is what a linker would leave here.
            self.append_pointer(SECTION_ALIGNMENT)
        self.reserve(width, width)
        return handle, table

    def add_delay_imports(
        self, wanted: Sequence[tuple[str, tuple[Symbol, ...]]], slots: Sequence[tuple[int, int]]
    ) -> None:
        descriptors = self.reserve(32 * (len(wanted) + 1), align=4)
        for index, ((dll, symbols), (handle, table)) in enumerate(zip(wanted, slots, strict=True)):
            names = self.append_lookup(symbols)
            row = struct.pack("<8I", 1, self.append_text(dll), handle, table, names, 0, 0, 0)
            self.put(descriptors + 32 * index, row)
        self.directories[DELAY] = (descriptors, 32 * (len(wanted) + 1))

    def add_exports(self, name: str, table: ExportTable) -> None:
        base, last = min(table.ordinals), max(table.ordinals)
        names = sorted(table.names, key=str.encode)  # the loader searches them by bytes, in halves
        header = self.reserve(40, align=4)
        addresses = self.reserve(4 * (last - base + 1), align=4)
        name_table = self.reserve(4 * len(names), align=4)
        ordinal_table = self.append(b"".join(struct.pack("<H", table.names[item] - base) for item in names), align=4)
        for ordinal, rva in self.functions.items():
            self.put(addresses + 4 * (ordinal - base), struct.pack("<I", rva))
        # A target inside the export directory's span is what makes an address a forwarder.
        for ordinal, target in table.forwarders.items():
            self.put(addresses + 4 * (ordinal - base), struct.pack("<I", self.append_text(target)))
        for index, item in enumerate(names):
            self.put(name_table + 4 * index, struct.pack("<I", self.append_text(item)))
        own = self.append_text(name)
        rows = (base, last - base + 1, len(names), addresses, name_table, ordinal_table)
        self.put(header, struct.pack("<IIHHI6I", 0, 0, 0, 0, own, *rows))
        self.directories[EXPORT] = (header, self.reserve(0, align=1) - header)

    def add_load_config(self, dependent_load_flags: int) -> None:
        """Write the load configuration up to its SEH fields; all but the flags is zero, which means "default"."""
        length, place = (0x70, 0x4E) if self.target.wide else (0x48, 0x36)
        content = bytearray(length)
        struct.pack_into("<I", content, 0, length)
        struct.pack_into("<H", content, place, dependent_load_flags)
        self.directories[LOAD_CONFIG] = (self.append(bytes(content)), length)

    def add_com_header(self) -> None:
        """Write the header that makes an image a .NET assembly, with nothing behind it."""
        header = struct.pack("<IHH", 72, 2, 5) + bytes(64)
        self.directories[COM] = (self.append(header), len(header))

    def add_relocations(self) -> None:
        """Write ``.reloc``, one block per page of pointers; ARM64 Windows refuses images that have none."""
        rva = self.begin(".reloc", DISCARDABLE)
        kind = 10 if self.target.wide else 3
        pages: dict[int, list[int]] = {}
        for pointer in sorted(self.pointers):
            pages.setdefault(pointer & ~0xFFF, []).append(kind << 12 | pointer & 0xFFF)
        length = 0
        for page, entries in pages.items():
            entries += [0] * (len(entries) % 2)
            block = struct.pack(f"<II{len(entries)}H", page, 8 + 2 * len(entries), *entries)
            self.append(block, align=4)
            length += len(block)
        self.directories[RELOCATION] = (rva, length)

    # ------------------------------------------------------------------------------------------------- rendering

    def render(
        self, *, entry: int, linker: tuple[int, int], is_dll: bool, size: int, certificate: bytes | None
    ) -> bytes:
        """Return headers, sections, padding and certificate as one file."""
        headers = _up(PE_OFFSET + 24 + (240 if self.target.wide else 224) + 40 * len(self.sections), FILE_ALIGNMENT)
        table, body = b"", b""
        for section in self.sections:
            raw = _up(len(section.data), FILE_ALIGNMENT)
            place = headers + len(body) if raw else 0
            title = section.name.encode()
            if len(title) > 8:
                raise ValueError(f"section name {section.name!r} is longer than 8 bytes")
            row = (max(len(section.data), 1), section.rva, raw, place, 0, 0, 0, 0, section.flags)
            table += struct.pack("<8sIIIIIIHHI", title, *row)
            body += bytes(section.data) + bytes(raw - len(section.data))
        body += bytes(max(0, size - headers - len(body)))
        if certificate is not None:
            body += bytes(-(headers + len(body)) % 8)
            blob = struct.pack("<IHH", 8 + len(certificate), 0x0200, 2) + certificate
            blob += bytes(-len(blob) % 8)
            self.directories[SECURITY] = (headers + len(body), len(blob))
            body += blob
        head = _dos_header() + b"PE\0\0" + self.file_header(is_dll) + self.optional_header(entry, linker, headers)
        head += table
        return head + bytes(headers - len(head)) + body

    def file_header(self, is_dll: bool) -> bytes:
        wide = self.target.wide
        flags = 0x0002 | (0x0020 if wide else 0x0100) | (0x2000 if is_dll else 0)
        return struct.pack("<HHIIIHH", self.target.code, len(self.sections), 0, 0, 0, 240 if wide else 224, flags)

    def optional_header(self, entry: int, linker: tuple[int, int], headers: int) -> bytes:
        wide = self.target.wide
        code = _up(len(self.sections[0].data), FILE_ALIGNMENT)
        data = sum(_up(len(section.data), FILE_ALIGNMENT) for section in self.sections[1:])
        last = self.sections[-1]
        result = struct.pack("<HBB", 0x20B if wide else 0x10B, *linker)
        result += struct.pack("<IIIII", code, data, 0, entry, self.sections[0].rva)
        result += b"" if wide else struct.pack("<I", self.sections[1].rva)
        result += self.target.thunk(self.target.image_base)
        result += struct.pack("<II", SECTION_ALIGNMENT, FILE_ALIGNMENT)
        result += struct.pack("<HHHHHH", 6, 2, 0, 0, 6, 2)
        result += struct.pack("<III", 0, _up(last.rva + len(last.data), SECTION_ALIGNMENT), headers)
        # No checksum (only drivers need one); windowed subsystem; relocatable and no execution of data.
        result += struct.pack("<IHH", 0, 2, 0x0160 if wide else 0x0140)
        result += b"".join(map(self.target.thunk, (0x100000, 0x1000, 0x100000, 0x1000)))
        result += struct.pack("<II", 0, DIRECTORIES)
        return result + b"".join(struct.pack("<II", *self.directories.get(i, (0, 0))) for i in range(DIRECTORIES))


def _dos_header() -> bytes:
    return b"MZ" + bytes(58) + struct.pack("<I", PE_OFFSET) + bytes(PE_OFFSET - 64)


def _up(value: int, step: int) -> int:
    return -(-value // step) * step
