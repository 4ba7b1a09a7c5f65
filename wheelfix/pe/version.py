"""The version resource of a DLL: file and product version, and the vendor's own words.

Read with ``struct`` and not through pefile: a root of CUDA and oneAPI holds thousands of DLLs, the whole resource
section would have to be in memory for pefile (icons, manifests and help texts included), and it builds an object for
every node. Here three directory tables and the one leaf are read, some kilobytes. The resource often lies behind
hundreds of megabytes of code, so ask only when a rule or an option needs the answer.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from wheelfix.errors import InputError
from wheelfix.model import FileVersion, Malformed
from wheelfix.pe.sections import RESOURCES, Exhausted, Space, read_headers
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.model import ByteSource

VERSION_TYPE = 16
ENGLISH = 0x0409
MAX_ENTRIES = 4096
MAX_LEAF = 64 << 10
MAX_STRINGS = 256
FIXED_SIGNATURE = 0xFEEF04BD
DIRECTORY = 1 << 31
"""The bit that distinguishes a table of entries from a leaf."""


def read_version(source: ByteSource) -> FileVersion | None:
    """Return what the version resource says, or None if there is none that can be read."""
    try:
        headers = read_headers(source)
        if isinstance(headers, Malformed):
            return None
        root, _ = headers.directory(RESOURCES)
        leaf = _leaf(Space(source, headers), root) if root else b""
    except (InputError, Exhausted):
        return None
    return parse_version(leaf)


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


def _leaf(space: Space, root: int) -> bytes:
    """Walk type, name and language, and return the bytes of the first version resource, English ones before others."""
    entries = _entries(space, root)
    kind = entries.get(VERSION_TYPE, 0)
    if not kind & DIRECTORY:
        return b""
    names = _entries(space, root + (kind & ~DIRECTORY))
    name = next(iter(names.values()), 0)
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


@dataclass(frozen=True, slots=True)
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
