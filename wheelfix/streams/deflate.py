"""Compress bytes on all cores, with the same result on any number of them.

A file is cut into blocks that are deflated independently, each knowing the 32 KiB before it, and joined by empty
blocks (what pigz does). So one DLL of 500 MB keeps every core busy, and memory holds only the blocks under way. Files
follow one another without a pause: while the last blocks of one are deflated, the next is begun.
"""

from __future__ import annotations

import functools
import hashlib
import zlib
from collections import deque
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.errors import EnvironmentFailure
from wheelfix.streams import codec
from wheelfix.streams.pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from wheelfix.model import ByteSource
    from wheelfix.streams.pool import Task

BLOCK = 2 << 20
"""Bytes that are deflated as one piece; changing it changes the bytes of every wheel we write."""
WINDOW = 32 << 10
"""How far back a deflate stream can refer."""
_PART = 64 << 10
"""How much of a block is looked at before the rest is judged; then twice as much, and so on."""
_DENSE = 0.55
"""What does not shrink to this is dense: packed GPU code, pictures. Looking for repetitions there is useless."""


@dataclass(frozen=True, slots=True)
class DeflatedData:
    """What became of a file's bytes."""

    method: int
    crc: int
    csize: int
    usize: int
    sha256: bytes
    """Empty if it was not asked for."""


class Deflating:
    """Threads that deflate; used in a ``with`` block."""

    def __init__(self, compressor: codec.Compressor, jobs: int) -> None:
        self.compressor = compressor
        self.depth = jobs + 2 + jobs // 8
        """How many blocks, of how many files, may be under way: a few are waiting, so that no thread has to."""
        self._pool = WorkerPool(jobs, background=True)
        self._unread: deque[Packing] = deque()
        self._under_way = 0

    def __enter__(self) -> Deflating:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._pool.close(cancel=True)

    def begin(self, source: ByteSource, what: str, *, hashed: bool = True) -> Packing:
        """Begin to deflate a source when those before it leave room; what was begun has to be written in turn."""
        packing = Packing(self, source, what, hashed)
        if self.compressor.method == codec.DEFLATED:
            self._unread.append(packing)
            self._read_on()
        return packing

    def deflate(self, block: bytes, dictionary: bytes, last: bool) -> Task[bytes]:
        """Have a block deflated."""
        self._under_way += 1
        return self._pool.submit(functools.partial(_deflate, self.compressor, block, dictionary, last))

    def take(self, deflated: Task[bytes]) -> bytes:
        """Wait for a block, and let others take its place."""
        data = deflated.result()
        self._under_way -= 1
        self._read_on()
        return data

    def _read_on(self) -> None:
        while self._unread and self._under_way < self.depth:
            if not self._unread[0].read_block():
                self._unread.popleft()


class Packing:
    """A source on its way through the threads."""

    def __init__(self, deflating: Deflating, source: ByteSource, what: str, hashed: bool) -> None:
        self.source, self.what = source, what
        self._deflating = deflating
        self._blocks = _blocks(source, what)
        self._hashed, self._sha256 = hashed, hashlib.sha256()
        self._crc = 0
        self._before = b""
        self._only: bytes | None = None
        """The block, if there is no other."""
        self._pending: deque[Task[bytes]] = deque()

    def read_block(self) -> bool:
        """Read one block and have it deflated; False if there is no more."""
        block, last = next(self._blocks, (None, True))
        if block is None:
            return False
        if self._hashed:
            self._sha256.update(block)
        self._crc = codec.crc32(block, self._crc)
        self._only = block if last and not self._before else None
        self._pending.append(self._deflating.deflate(block, self._before, last))
        self._before = block[-WINDOW:]
        return True

    def write(self, write: Callable[[bytes], None]) -> DeflatedData:
        """Write the source out, deflated if that is what is wanted; a small one that does not shrink is stored."""
        if self._deflating.compressor.method == codec.STORED:
            return self.store(write)
        csize = 0
        while self._pending:
            data = self._deflating.take(self._pending.popleft())
            if self._only is not None and len(data) >= len(self._only):
                write(self._only)
                return self._packed(codec.STORED, len(self._only))
            csize += len(data)
            write(data)
        return self._packed(codec.DEFLATED, csize)

    def store(self, write: Callable[[bytes], None]) -> DeflatedData:
        """Write the source out as it is."""
        sha256, crc = hashlib.sha256(), 0
        for block, _ in _blocks(self.source, self.what):
            if self._hashed:
                sha256.update(block)
            crc = codec.crc32(block, crc)
            write(block)
        size = self.source.size
        return DeflatedData(codec.STORED, crc, size, size, sha256.digest() if self._hashed else b"")

    def _packed(self, method: int, csize: int) -> DeflatedData:
        sha256 = self._sha256.digest() if self._hashed else b""
        return DeflatedData(method, self._crc, csize, self.source.size, sha256)


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
    """Deflate a block."""
    if compressor.mixed and len(block) > _PART:
        return _deflate_mixed(compressor, memoryview(block), dictionary, last)
    deflater = compressor.deflater(dictionary)
    return deflater.compress(block) + deflater.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)


def _deflate_mixed(compressor: codec.Compressor, block: memoryview, dictionary: bytes, last: bool) -> bytes:
    """Deflate a block in parts, each of which shows whether it is worth looking for repetitions in the next."""
    packed: list[bytes | bytearray] = []
    at, length, deflater = 0, _PART, compressor.deflater(dictionary)
    while at < len(block):
        part = block[at : at + length]
        packed += deflater.compress(part), deflater.flush(zlib.Z_SYNC_FLUSH)
        at, length = at + len(part), 2 * length
        if len(packed[-2]) + len(packed[-1]) >= _DENSE * len(part):
            at = _deflate_dense(block, at, packed)
            length, deflater = _PART, compressor.deflater(block[at - WINDOW : at])
    return b"".join([*packed, codec.LAST] if last else packed)


def _deflate_dense(block: memoryview, at: int, packed: list[bytes | bytearray]) -> int:
    """Deflate pieces of a block as long as it stays dense; return where that ends."""
    while piece := block[at : at + codec.PIECE]:
        dense = codec.pack_piece(piece)
        if dense is None or len(dense) < _DENSE * len(piece):
            break
        packed.append(dense)
        at += len(piece)
    return at
