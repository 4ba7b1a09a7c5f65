"""Compress bytes on all cores, with the same result on any number of them.

A file is cut into blocks that are deflated independently, each knowing the 32 KiB before it, and joined by empty
blocks (what pigz does). So one DLL of 500 MB keeps every core busy, and memory holds only the blocks under way.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from wheelfix.archive import codec
from wheelfix.errors import EnvironmentFailure
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future
    from types import TracebackType

    from wheelfix.model import ByteSource

BLOCK = 1 << 20
"""Bytes that are deflated as one piece; changing it changes the bytes of every wheel we write."""
_WINDOW = 32 << 10


@dataclass(frozen=True, slots=True)
class Packed:
    """What became of a file's bytes."""

    method: int
    crc: int
    csize: int
    usize: int
    sha256: bytes
    """Empty if nobody wanted it."""


class Deflating:
    """Threads that deflate; used in a ``with`` block."""

    def __init__(self, compressor: codec.Compressor, jobs: int) -> None:
        self.compressor = compressor
        self._depth = 2 * jobs
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="wheelfix-deflate")

    def __enter__(self) -> Deflating:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def pack(self, source: ByteSource, write: Callable[[bytes], None], what: str, *, hashed: bool = True) -> Packed:
        """Deflate the source and write it out in order; a small one that does not shrink is stored."""
        total, crc, csize = _Total(hashed), 0, 0
        pending: deque[Future[bytes]] = deque()
        dictionary = b""
        for block, last in _blocks(source, what):
            total.update(block)
            crc = codec.crc32(block, crc)
            if last and not dictionary:
                packed = self._pool.submit(_deflate, self.compressor, block, b"", True).result()
                method, data = (codec.DEFLATED, packed) if len(packed) < len(block) else (codec.STORED, block)
                write(data)
                return Packed(method, crc, len(data), source.size, total.digest())
            pending.append(self._pool.submit(_deflate, self.compressor, block, dictionary, last))
            dictionary = block[-_WINDOW:]
            while len(pending) >= self._depth or (last and pending):
                data = pending.popleft().result()
                csize += len(data)
                write(data)
        return Packed(codec.DEFLATED, crc, csize, source.size, total.digest())

    def store(self, source: ByteSource, write: Callable[[bytes], None], what: str, *, hashed: bool = True) -> Packed:
        """Write the source out as it is."""
        total, crc = _Total(hashed), 0
        for block, _ in _blocks(source, what):
            total.update(block)
            crc = codec.crc32(block, crc)
            write(block)
        return Packed(codec.STORED, crc, source.size, source.size, total.digest())


class _Total:
    """The sha256 of what comes by, if it is wanted."""

    def __init__(self, hashed: bool) -> None:
        self._sha256 = hashlib.sha256() if hashed else None

    def update(self, block: bytes) -> None:
        if self._sha256 is not None:
            self._sha256.update(block)

    def digest(self) -> bytes:
        return self._sha256.digest() if self._sha256 is not None else b""


def _blocks(source: ByteSource, what: str) -> Iterator[tuple[bytes, bool]]:
    """Give the source's blocks, and with each whether it is the last; an empty source has one empty block."""
    at, size = 0, source.size
    while True:
        wanted = min(BLOCK, size - at)
        block = source.read_at(at, wanted) if wanted else b""
        if len(block) != wanted:
            raise EnvironmentFailure(f"{what} changed while it was read", because="it became shorter")
        at += wanted
        yield block, at >= size
        if at >= size:
            return


def _deflate(compressor: codec.Compressor, block: bytes, dictionary: bytes, last: bool) -> bytes:
    deflater = compressor.deflater(dictionary)
    return deflater.compress(block) + deflater.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)
