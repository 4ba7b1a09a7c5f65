"""A resource as bytes: the directory tree of ``.rsrc`` with one VS_VERSIONINFO or one manifest in it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

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
