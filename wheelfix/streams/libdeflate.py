"""Pieces of a deflate stream, packed and unpacked by libdeflate, which is faster than zlib-ng and takes whole buffers.

It knows no streams, so two facts of the format help. A block's first bit says whether it is the last: cleared, and
with an empty block behind it that ends at a byte, what libdeflate made can be followed by more. And a stored block
may come before a piece, with the bytes that the piece refers back to.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Buffer  # type: ignore[attr-defined]  # from Python 3.12 on

PIECE = (64 << 10) - 1
"""Bytes of which libdeflate's level 1 makes a single block, even if they do not shrink."""
LAST = b"\x03\x00"
"""A last block with nothing in it."""
_EMPTY = b"\x00\x00\xff\xff"
"""Of a stored block with nothing in it: all but the three bits at its head."""
_MORE = b"\x01\x01\x00\xfe\xff" + b"."
"""A last block with a full stop in it, which comes out only if nothing before it was a last block."""


class _Libdeflate(Protocol):
    __version__: str
    DeflateError: type[Exception]

    def deflate_compress(self, data: Buffer, compresslevel: int = ..., /) -> bytearray: ...
    def deflate_decompress(self, data: Buffer, originalsize: int, /) -> bytearray: ...


@functools.cache
def _library() -> _Libdeflate | None:
    try:
        import deflate
    except ImportError:
        return None
    return cast("_Libdeflate", deflate)


def version() -> str:
    """Return the version of the package with libdeflate; nothing if it is not installed."""
    library = _library()
    return library.__version__ if library is not None else ""


def pack_piece(piece: memoryview) -> bytearray | None:
    """Deflate up to PIECE bytes into blocks that end at a byte and are not the last; None if there is no such way."""
    library = _library()
    assert library is not None
    stream = library.deflate_compress(piece, 1)
    if not stream[0] & 1:  # several blocks, and where the last begins is not known
        return None
    stream[0] ^= 1
    # Nor does anybody say how many bits of the last byte are left. If the head of the empty block, three zeros, fits in
    # there, it is there already; else it takes a byte of its own. Where both could be, what unpacks is right.
    for rest in (b"", b"\0") if stream[-1] < 1 << 5 else (b"\0",):
        joined = stream + rest + _EMPTY
        if stream[-1] >= 1 << 5 or unpack_piece(joined, b"", len(piece)) is not None:
            return joined
    return None


def unpack_piece(packed: Buffer, before: Buffer, size: int) -> memoryview | None:
    """Inflate a piece that ends at a byte and is not the last; None if it is damaged or has not just that size.

    ``before`` are the bytes that come before it, up to 32 KiB: it may refer to them.
    """
    library, known = _library(), len(before)
    assert library is not None
    head = b"\0" + known.to_bytes(2, "little") + (known ^ 0xFFFF).to_bytes(2, "little")
    try:
        plain = library.deflate_decompress(b"".join((head, before, packed, _MORE)), known + size + 1)
    except library.DeflateError:
        return None
    whole = len(plain) == known + size + 1 and plain[-1:] == _MORE[-1:]
    return memoryview(plain)[known:-1] if whole else None
