"""One resource of an image: the three directory tables that lead to it, and its bytes.

Read with ``struct`` and not through pefile: a root of CUDA and oneAPI holds thousands of DLLs, the whole resource
section would have to be in memory for pefile (icons and help texts included), and it builds an object for every node.
Resources often lie behind hundreds of megabytes of code, so ask only when a rule or an option needs the answer.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from wheelfix.errors import InputError
from wheelfix.model import Malformed
from wheelfix.pe.sections import RESOURCES, Exhausted, Space, read_headers

if TYPE_CHECKING:
    from wheelfix.model import ByteSource

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
        if isinstance(headers, Malformed):
            return b""
        root, _ = headers.directory(RESOURCES)
        return _leaf(Space(source, headers), root, kind, identifier) if root else b""
    except (InputError, Exhausted):
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
