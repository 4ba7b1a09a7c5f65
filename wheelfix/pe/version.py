"""The version resource of a DLL: file and product version, and the vendor's own words."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.model import FileVersion
from wheelfix.pe.resources import VERSION, read_resource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.model import ByteSource

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
