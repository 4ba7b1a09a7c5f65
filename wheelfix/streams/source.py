"""Bytes that can be read at any place, whether they lie in a file or deflated inside a wheel."""

from __future__ import annotations

import os
import threading
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.inputfiles import open_regular
from wheelfix.base.values import dataclass
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.streams import codec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from wheelfix.model import ByteSource


# --------------------------------------------------------------------------------------------------------------- packed
# A deflate stream that is inflated step by step, and places in it from which that can go on.

INPUT_STEP, FIRST_STEP = 256 << 10, 128 << 10
"""Compressed bytes fed at once. The first steps are smaller, because many a DLL is not read any further."""
ReadAt: TypeAlias = "Callable[[int, int], bytes]"
"""Reads so many bytes from a place."""
OUTPUT_STEP = 1 << 20
"""Most bytes that one step may inflate to. Larger pieces leave the processor's cache, and the system has to give
memory for each of them again: steps of 4 MiB took a fifth longer."""
FIRST = 2 << 20
"""Inflated bytes that come in first steps."""
LEAST_STEP, MOST_STEP = 8 << 10, 4 << 20
"""Compressed bytes fed at once where each of them costs: as many as are expected to lead to the place that is read."""
SHORT = 128 << 10
"""Compressed bytes of a stream that is fed at once: its tables are usually near its end."""
LEAST_SHARE = 64
"""Of a long stream at least this part is fed at once, so that there are not too many steps."""
CHECKPOINT_STEP = 4 << 20
"""First distance between checkpoints; it doubles whenever there are more than CHECKPOINTS."""
CHECKPOINTS = 32


@dataclass
class Position:
    """A place in a deflate stream from which inflating can go on."""

    inflater: codec.Inflater
    consumed: int = 0
    """Compressed bytes handed to the inflater."""
    reached: int = 0
    """Inflated bytes that came out of it."""

    def fork(self) -> Position:
        """The same place, for another reader to continue from."""
        return Position(self.inflater.copy(), self.consumed, self.reached)


# --------------------------------------------------------------------------------------------------------------- source
# Bytes that can be read at any place, whether they lie in a file or deflated inside a wheel.
# The facts of a DLL are scattered over it, yet a wheel holds it as one deflate stream that only runs forward.
# :class:`InflatedSource` inflates as far as asked and remembers the last few megabytes, which nearly always is
# enough. On the way it leaves checkpoints behind (a copy of the inflater, 40 KB): a jump back that is longer costs a
# few megabytes of inflating, never a restart.


CACHE = 8 << 20
"""Inflated bytes that are remembered."""
PIECE = 64 << 10
"""Bytes that are taken at once from front to back: as many as stay in the processor's cache."""


class FileSource:
    """A file on disk as a byte source; safe to read from several threads, closed by ``with``, or with its last user."""

    def __init__(self, path: Path, *, links: bool = True) -> None:
        self.path = path
        try:
            self._file = open_regular(path, links=links)
            self._state = self._look()
        except OSError as exc:
            raise EnvironmentFailure(f"cannot read {path}", because=exc) from exc
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """How many bytes the file had when it was opened."""
        return self._state[0]

    def fileno(self) -> int:
        """Return the descriptor of the open file."""
        return self._file.fileno()

    def _look(self) -> tuple[int, int]:
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns

    def has_changed(self) -> bool:
        """Whether the file was written to since it was opened."""
        return self._look() != self._state

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``."""
        length = min(length, self.size - offset)
        if offset < 0 or length <= 0:
            return b""
        try:
            data = self._read(offset, length)
            # One call may return less than asked (Linux stops at 2 GiB); nothing at all means the end.
            while 0 < len(data) < length and (more := self._read(offset + len(data), length - len(data))):
                data += more
        except (OSError, ValueError) as exc:  # ValueError: it is closed
            raise EnvironmentFailure(f"cannot read {self.path}", because=exc) from exc
        return data

    def _read(self, offset: int, length: int) -> bytes:
        if hasattr(os, "pread"):
            data: bytes = os.pread(self._file.fileno(), length, offset)
            return data
        with self._lock:
            self._file.seek(offset)
            return self._file.read(length) or b""

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> FileSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Views hand sources out without knowing when the reader is done; the last reference closes the file.
        if hasattr(self, "_file"):
            self._file.close()


class StoredSource:
    """A member that lies uncompressed in an archive."""

    def __init__(self, read: ReadAt, size: int) -> None:
        self._read = read
        self._size = size

    @property
    def size(self) -> int:
        """How many bytes the member has."""
        return self._size

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``."""
        length = min(length, self._size - offset)
        return self._read(offset, length) if offset >= 0 and length > 0 else b""


class MemorySource(StoredSource):
    """Bytes in memory as a byte source."""

    def __init__(self, data: bytes) -> None:
        super().__init__(lambda offset, length: data[offset : offset + length], len(data))


class InflatedSource:
    """A deflated member, inflated only as far as it is read, in bounded memory; safe to read from several threads.

    Raises InputError when the stream is damaged or ends before ``usize`` bytes came out; bytes behind ``usize``
    are never looked at.
    """

    def __init__(
        self,
        read_compressed: ReadAt,
        csize: int,
        usize: int,
        *,
        cache: int = CACHE,
        sparing: bool = False,
    ) -> None:
        """``sparing`` reads no more packed bytes than it takes, in more steps, because they come from a server."""
        self._read, self._csize, self._usize = read_compressed, csize, usize
        self._budget, self._sparing = cache, sparing
        self._lock = threading.Lock()
        self._recent: deque[tuple[int, bytes]] = deque()
        self._remembered = 0
        self._head = self._frontier = Position(codec.inflater())
        """Where it was inflated last, and how far it was ever inflated."""
        self._checkpoints, self._spacing = list[Position](), CHECKPOINT_STEP

    @property
    def size(self) -> int:
        """How many bytes the member claims to inflate to."""
        return self._usize

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``, inflating what that takes."""
        end = min(offset + length, self.size)
        if offset < 0 or end <= offset:
            return b""
        with self._lock:
            parts = []
            while offset < end:
                start, chunk = self._chunk_at(offset, end)
                part = chunk[offset - start : end - start]
                parts.append(part)
                offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def end_fault(self) -> str:
        """Why the stream does not end with the last byte, and the packed bytes with the stream; reads to the end."""
        if self.size:
            self.read_at(self.size - 1, 1)
        with self._lock:
            place, goes_on = self._frontier, not self._frontier.inflater.eof
            while goes_on:
                more, goes_on = self._inflate(place, 1)
                if more:
                    return f"it unpacks to more than its {self.size} bytes"
            if not place.inflater.eof:
                return "its deflate stream has no end"
            behind = place.consumed < self._csize or place.inflater.unused_data
            return "bytes follow the end of its deflate stream" if behind else ""

    def _chunk_at(self, offset: int, end: int) -> tuple[int, bytes]:
        """Return the chunk that holds ``offset``, and where it begins; ``end`` is how far is read."""
        for start, chunk in reversed(self._recent):
            if start <= offset < start + len(chunk):
                return start, chunk
        if offset >= self._frontier.reached:
            self._head = self._frontier
        else:
            nearest = next((place for place in reversed(self._checkpoints) if place.reached <= offset), None)
            if not (nearest.reached if nearest else 0) <= self._head.reached <= offset:
                self._head = nearest.fork() if nearest else Position(codec.inflater())
        while True:
            start = self._head.reached
            chunk = self._step(self._head, end)
            if self._head is self._frontier:
                self._keep_place()
            if self._head.reached + self._budget > offset:  # else it would soon be forgotten
                self._remember(start, chunk)
            if self._head.reached > offset:
                return start, chunk

    def _step(self, place: Position, wanted: int) -> bytes:
        """Inflate the next chunk, on the way to the place ``wanted``; InputError when the stream is damaged."""
        chunk, goes_on = b"", True
        while goes_on and not chunk:
            chunk, goes_on = self._inflate(place, min(OUTPUT_STEP, self.size - place.reached), wanted)
        if not chunk:
            short = f"it unpacks to {place.reached} bytes instead of {self.size}"
            raise self._damaged(place, short if place.inflater.eof else "its deflate stream is cut short")
        return chunk

    def _inflate(self, place: Position, room: int, wanted: int = 0) -> tuple[bytes, bool]:
        """Inflate up to ``room`` bytes; also return whether there may be more."""
        data = place.inflater.unconsumed_tail
        if not data:
            data = self._portion(place, wanted)
            place.consumed += len(data)
        try:
            chunk = place.inflater.decompress(data, room)
        except codec.inflate_error() as exc:
            raise self._damaged(place, f"its deflate stream is damaged ({exc})") from exc
        place.reached += len(chunk)
        return chunk, bool(data or chunk) and not place.inflater.eof

    def _portion(self, place: Position, wanted: int) -> bytes:
        """The next packed bytes, to reach the place ``wanted``; none when there are no more."""
        consumed, reached = place.consumed, place.reached
        step = FIRST_STEP if reached < FIRST else INPUT_STEP
        if self._sparing and wanted > reached:
            # less than the share of the distance, since a step more costs less than bytes that nobody reads
            packed, unpacked = self._csize, max(self.size, 1)
            if reached > FIRST_STEP and consumed * unpacked < packed * reached:
                packed, unpacked = consumed, reached
            expected = (wanted - reached) * packed * 7 // (unpacked * 10)
            step = max(LEAST_STEP, self._csize // LEAST_SHARE, min(expected, MOST_STEP))
            if self._csize <= SHORT:
                step = self._csize
        return self._read(consumed, min(step, self._csize - consumed)) if consumed < self._csize else b""

    def _damaged(self, place: Position, why: str) -> InputError:
        return InputError(
            f"a compressed member is damaged after {place.reached} of {self.size} bytes",
            because=why,
            hint="download or build the wheel again",
        )

    def _keep_place(self) -> None:
        """Keep a copy of how far the stream was inflated, if the last one is far behind."""
        last = self._checkpoints[-1].reached if self._checkpoints else 0
        if self._frontier.reached - last >= self._spacing:
            self._checkpoints.append(self._frontier.fork())
            if len(self._checkpoints) > CHECKPOINTS:
                del self._checkpoints[1::2]
                self._spacing *= 2

    def _remember(self, start: int, chunk: bytes) -> None:
        self._recent.append((start, chunk))
        self._remembered += len(chunk)
        while self._remembered > self._budget and len(self._recent) > 1:
            self._remembered -= len(self._recent.popleft()[1])


class HashingSource:
    """A source whose bytes are hashed once and in order, as far as they are read; for one reader."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._sha256 = codec.hasher()
        self._crc = self._hashed = 0

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self._source.size

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``; those before them are hashed first."""
        for skipped in chunks(self._source, self._hashed, offset, PIECE):
            self._hash(skipped)
        data = self._source.read_at(offset, length)
        if offset + len(data) > self._hashed:
            self._hash(data[self._hashed - offset :])
        return data

    def _hash(self, data: bytes) -> None:
        self._sha256.update(data)
        self._crc = codec.crc32(data, self._crc)
        self._hashed += len(data)

    def finish(self, crc: int | None = None) -> bytes:
        """Read the rest and return the SHA-256; InputError for another CRC, and for bytes behind those of a member."""
        self.read_at(self.size, 0)
        reason = self._source.end_fault() if isinstance(self._source, InflatedSource) else ""
        if reason or crc not in {None, self._crc}:
            raise InputError("the bytes of a member are not those that the archive says", because=reason)
        return self._sha256.digest()


def chunks(source: ByteSource, start: int = 0, end: int | None = None, step: int = 1 << 20) -> Iterator[bytes]:
    """Yield the bytes from ``start`` to ``end`` in pieces; stops early where the source does."""
    end = source.size if end is None else min(end, source.size)
    while start < end:
        piece = source.read_at(start, min(step, end - start))
        if not piece:
            return
        yield piece
        start += len(piece)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file; EnvironmentFailure if it cannot be read."""
    with FileSource(path) as source:
        return sha256_of(source)


def sha256_of(source: ByteSource) -> str:
    """Return the SHA-256 of all bytes in hexadecimal."""
    digest = codec.hasher()
    for piece in chunks(source):
        digest.update(piece)
    return digest.hexdigest()
