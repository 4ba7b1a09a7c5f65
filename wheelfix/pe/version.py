"""What a DLL says about its origin: resources, version information, and the tools that built it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from wheelfix.base.values import frozen
from wheelfix.errors import InputError
from wheelfix.model import ByteSource, FileVersion
from wheelfix.pe.image import RESOURCES, Space, read_headers

if TYPE_CHECKING:
    from collections.abc import Iterator


# ------------------------------------------------------------------------------------------------------------ resources
# One resource of an image: the three directory tables that lead to it, and its bytes.
# Read with ``struct`` and not through pefile: a root of CUDA and oneAPI holds thousands of DLLs, the whole resource
# section would have to be in memory for pefile (icons and help texts included), and it builds an object for every node.
# Resources often lie behind hundreds of megabytes of code, so ask only when a rule or an option needs the answer.

VERSION, MANIFEST = 16, 24
"""Types of resources."""
ENGLISH = 0x0409
MAX_ENTRIES = 4096
MAX_LEAF = 64 << 10
DIRECTORY = 1 << 31
"""The bit that distinguishes a table of entries from a leaf."""


def read_resource(source: ByteSource, kind: int, identifier: int | None = None) -> bytes:
    """Return the resource of a type and an identifier, or the first of the type; empty if there is none to read."""
    try:
        headers = read_headers(source)
        root, _ = headers.directory(RESOURCES)
        return _leaf(Space(source, headers), root, kind, identifier) if root else b""
    except InputError:
        return b""


def _leaf(space: Space, root: int, kind: int, identifier: int | None) -> bytes:
    """Walk type, name and language, and return the bytes of what is there, English before other languages."""
    table = _entries(space, root).get(kind, 0)
    if not table & DIRECTORY:
        return b""
    names = _entries(space, root + (table & ~DIRECTORY))
    name = next(iter(names.values()), 0) if identifier is None else names.get(identifier, 0)
    if not name & DIRECTORY:
        return b""
    languages = _entries(space, root + (name & ~DIRECTORY))
    leaf = languages.get(ENGLISH, next(iter(languages.values()), DIRECTORY))
    entry = b"" if leaf & DIRECTORY else space.read(root + leaf, 8)
    if len(entry) < 8:
        return b""
    rva, size = struct.unpack("<II", entry)
    return space.read(rva, min(size, MAX_LEAF))


def _entries(space: Space, rva: int) -> dict[int, int]:
    """Return the entries of a resource directory, from identifier (or address of the name) to offset."""
    head = space.read(rva, 16)
    if len(head) < 16:
        return {}
    named, numbered = struct.unpack_from("<HH", head, 12)
    table = space.read(rva + 16, 8 * min(named + numbered, MAX_ENTRIES))
    return dict(struct.iter_unpack("<II", table[: len(table) & ~7]))


# -------------------------------------------------------------------------------------------------------------- version
# The version resource of a DLL: file and product version, and the vendor's own words.


MAX_STRINGS = 256
FIXED_SIGNATURE = 0xFEEF04BD


def read_version(source: ByteSource) -> FileVersion | None:
    """Return what the version resource says, or None if there is none that can be read."""
    return parse_version(read_resource(source, VERSION))


def parse_version(leaf: bytes) -> FileVersion | None:
    """Return the facts of a VS_VERSIONINFO block, or None if the bytes are none."""
    top = next(_blocks(leaf, 0, len(leaf)), None)
    if top is None or top.key != "VS_VERSION_INFO":
        return None
    file = product = (0, 0, 0, 0)
    if top.length >= 52 and top.value + 52 <= top.end:
        signature, _, *words = struct.unpack_from("<II8H", leaf, top.value)
        if signature == FIXED_SIGNATURE:
            file = (words[1], words[0], words[3], words[2])
            product = (words[5], words[4], words[7], words[6])
    strings: dict[str, str] = {}
    for info in _blocks(leaf, _aligned(top.value + top.length), top.end):
        if info.key == "StringFileInfo":
            for table in _blocks(leaf, info.value, info.end):
                for string in _blocks(leaf, table.value, table.end):
                    if string.key and len(strings) < MAX_STRINGS:
                        strings.setdefault(string.key, _utf16(leaf, string.value, string.end).strip())
    return FileVersion(file, product, strings)


@frozen
class _ResourceNode:
    """One node of the version resource: a key, a value, and children behind it."""

    key: str
    value: int
    length: int
    end: int


def _blocks(data: bytes, at: int, end: int) -> Iterator[_ResourceNode]:
    """Yield the nodes that lie one after another between two offsets; stops at the first that makes no sense."""
    while at + 6 <= end:
        size, length, _ = struct.unpack_from("<HHH", data, at)
        if size < 6:
            return
        stop = min(at + size, end)
        key = _utf16(data, at + 6, stop)
        yield _ResourceNode(key, _aligned(at + 6 + len(key.encode("utf-16-le")) + 2), length, stop)
        at = _aligned(at + size)


def _aligned(offset: int) -> int:
    return (offset + 3) & ~3


def _utf16(data: bytes, start: int, end: int) -> str:
    """Return the text from ``start`` up to a zero or the end."""
    raw = data[start : end - (end - start) % 2]
    return raw.decode("utf-16-le", errors="replace").partition("\0")[0]


# -------------------------------------------------------------------------------------------------------------- toolset
# Which Visual C++ compilers made a DLL: the Rich header that Microsoft's linker leaves behind the DOS stub.
# The linker version in the PE header names the last tool alone. cuDNN 8.9 was linked by 14.20 from objects that 14.29
# compiled, and it is the compilers that decide how new a C++ runtime must be. Their build numbers are the third part of
# the runtime's file version (msvcp140.dll 14.44.35211), so the two compare without a table.
#
# The header begins behind the DOS stub, at byte 128: "DanS", three zeros, then pairs of a tool (product and build) and
# how many objects it made. Every word is masked with a key, which stands, unmasked, behind "Rich" at the end.


PAGE = 4096
DOS_STUB = 128
"""Bytes before the header; each linker of Microsoft writes the same."""
COMPILERS = frozenset(range(0x104, 0x10F))
"""Products of Visual Studio 2015 and later: C, C++, and both after whole-program or profile-guided optimisation."""


def newest_compiler(source: ByteSource) -> int:
    """Return the build of the newest C or C++ compiler in the Rich header: 35207 belongs to 14.44; 0 without one."""
    try:
        read_headers(source)
        head = source.read_at(DOS_STUB, PAGE - DOS_STUB)
    except InputError:
        return 0
    return max((build for product, build in _rich(head) if product in COMPILERS), default=0)


def _rich(head: bytes) -> list[tuple[int, int]]:
    """Return product and build of each row of the Rich header."""
    body, _, after = head.partition(b"Rich")
    if len(body) % 8 or len(body) < 16 or len(after) < 4:
        return []
    key = int.from_bytes(after[:4], "little")
    words = [word ^ key for (word,) in struct.iter_unpack("<I", body)]
    if words[:4] != [int.from_bytes(b"DanS", "little"), 0, 0, 0]:
        return []
    return [(tool >> 16, tool & 0xFFFF) for tool in words[4::2]]
