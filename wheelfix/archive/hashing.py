"""Hashes and CRCs of many members at once, on all cores, in memory that does not grow with the wheel.

zlib and hashlib release the interpreter lock, so threads are enough. Large members are streamed one by one,
largest first; small ones are read together with their neighbours, since ten thousand reads cost more than their bytes.
"""

from __future__ import annotations

import os
import struct
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.archive.directory import LOCAL, LOCAL_SIGNATURE
from wheelfix.errors import InputError
from wheelfix.streams import codec
from wheelfix.streams.pool import WorkerPool
from wheelfix.streams.source import InflatedSource

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from wheelfix.archive.reader import Archive, Member

    Chunks: TypeAlias = Callable[[Member], Iterator[bytes | memoryview]]
    """Gives a member's bytes piece by piece; InputError if they are not what they should be."""

_SMALL = 512 << 10
_BATCH = 2 << 20
_STEP = 4 << 20
_LENGTHS = struct.Struct("<I22xHH")
"""Of a local header: its signature, the length of the name and that of the extra field."""
STRONG = ("sha256", "sha384", "sha512", "sha3_256", "sha3_384", "sha3_512", "blake2b", "blake2s")
"""Algorithms that RECORD may use: sha256 or better."""


class Digest(NamedTuple):  # and no dataclass: ten thousand are made
    """What a member's bytes really are, or why they could not be read."""

    member: Member
    algorithm: str = "sha256"
    value: bytes = b""
    error: str = ""
    """Why there is no value: damaged data, a wrong CRC, a wrong size."""


class _Running:
    """Hash, CRC and size of what came by so far."""

    def __init__(self) -> None:
        import hashlib  # it loads OpenSSL: 4 ms, which scans without --verify can do without

        self.sha256 = hashlib.sha256()
        self.crc = self.size = 0

    def take(self, piece: bytes) -> None:
        self.sha256.update(piece)
        self.crc = codec.crc32(piece, self.crc)
        self.size += len(piece)


class HashedReading:
    """A member that is hashed while it is read, so that it is unpacked once for both."""

    def __init__(self, archive: Archive, member: Member) -> None:
        self._member = member
        # On its own, so that the source does not hold us, who hold it: the two would be collected late.
        self._running = _Running()
        self._tapped = member.method == codec.DEFLATED
        self.source = archive.source(member, self._running.take if self._tapped else None)
        """What to read from."""

    def finish(self) -> Digest | None:
        """Unpack the rest and return the digest; None for a member that the usual way has to look at."""
        member = self._member
        if not member.usize or not isinstance(self.source, InflatedSource):
            return None
        try:
            if not self.source.ends_where_it_should():
                return None
        except InputError:
            return None
        if (self._running.size, self._running.crc) != (member.usize, member.crc):
            return None
        return Digest(member, "sha256", self._running.sha256.digest())


def default_jobs() -> int:
    """Return how many threads to use: the processors this process may run on."""
    allowed: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def digests(
    archive: Archive,
    members: Iterable[Member],
    *,
    algorithms: Mapping[str, str] | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    stop: threading.Event | None = None,
    known: Mapping[int, Digest] | None = None,
    chunks: Chunks | None = None,
) -> dict[int, Digest]:
    """Return the digest of each member by its ``entry``; a damaged member gives a digest with an error.

    ``known`` are digests that are known already; a member among them is not read again.
    ``chunks`` unpacks the larger ones, if there is a better way than the archive itself.
    ``algorithms`` names the algorithm for a member's name where it is not sha256; ``progress`` gets the unpacked bytes;
    ``stop`` ends the work early, without the digests that are not there yet.
    """
    wanted = algorithms or {}
    found = {
        entry: digest
        for entry, digest in (known or {}).items()
        if digest.algorithm == wanted.get(digest.member.name, "sha256")
    }
    left = [member for member in members if member.entry not in found]
    if not left:
        return found
    with WorkerPool(jobs or default_jobs()) as pool:
        if progress is not None:
            chunks = _counted(chunks or archive.chunks, progress)
        work = [_digest_steps(archive, batch, wanted, stop, chunks) for batch in _plan(left)]
        for task in [pool.submit_steps(steps) for steps in work]:
            done = task.result()
            found.update((digest.member.entry, digest) for digest in done)
            if progress is not None and len(done) > 1:  # a batch of its own is counted while it is read
                progress(sum(digest.member.usize for digest in done))
    return found


def _counted(chunks: Chunks, progress: Callable[[int], None]) -> Chunks:
    """Return what unpacks a member and says how many bytes it gives, while it does."""

    def counting(member: Member) -> Iterator[bytes | memoryview]:
        for chunk in chunks(member):
            progress(len(chunk))
            yield chunk

    return counting


def digest_work(archive: Archive, members: Iterable[Member]) -> Iterator[Generator[None, None, list[Digest]]]:
    """Give the work of hashing members with sha256, in steps, for a pool that has other work too.

    The longest comes first, then the small ones, which need the interpreter most, and last what needs it least.
    """
    batches = [*_plan([*members])]
    batches[1:] = sorted(batches[1:], key=lambda batch: len(batch) == 1)
    for batch in batches:
        yield _digest_steps(archive, batch, {})


def _digest_steps(
    archive: Archive,
    batch: list[Member],
    algorithms: Mapping[str, str],
    stop: threading.Event | None = None,
    chunks: Chunks | None = None,
) -> Generator[None, None, list[Digest]]:
    """Hash a batch; a large member, which is a batch of its own, in steps."""
    if stop is not None and stop.is_set():
        return []
    first = batch[0]
    if len(batch) == 1:
        steps = _stream_steps(chunks or archive.chunks, first, algorithms.get(first.name, "sha256"), stop)
        return [(yield from steps)]
    start = first.header_offset
    window = archive.read_at(start, batch[-1].header_offset + batch[-1].csize + 4096 - start)
    return [_digest_small(archive, member, window, start, algorithms.get(member.name, "sha256")) for member in batch]


def _plan(members: Sequence[Member]) -> Iterator[list[Member]]:
    """Give batches: large members alone and first, then small ones with their neighbours in the file."""
    for member in sorted(members, key=attrgetter("usize"), reverse=True):
        if member.usize <= _SMALL:
            break
        yield [member]
    batch: list[Member] = []
    small = (member for member in members if member.usize <= _SMALL)
    for member in sorted(small, key=attrgetter("header_offset")):
        if batch and member.header_offset + member.csize - batch[0].header_offset > _BATCH:
            yield batch
            batch = []
        batch.append(member)
    if batch:
        yield batch


def _digest_small(archive: Archive, member: Member, window: bytes, start: int, algorithm: str) -> Digest:
    """Hash a small member out of a window of the file; anything unusual is left to the careful reader."""
    at, usize = member.header_offset - start, member.usize
    if at + LOCAL.size <= len(window) and not archive.why_refused(member):
        signature, name_length, extra_length = _LENGTHS.unpack_from(window, at)
        at += LOCAL.size + name_length + extra_length
        data = window[at : at + member.csize]
        plain = codec.inflate_whole(data, usize) if member.method == codec.DEFLATED else data
        if signature != LOCAL_SIGNATURE or plain is None or len(plain) != usize or codec.crc32(plain) != member.crc:
            return _digest_streaming(archive, member, algorithm)
        import hashlib

        hashed = hashlib.sha256(plain) if algorithm == "sha256" else hashlib.new(algorithm, plain)
        return Digest(member, algorithm, hashed.digest())
    return _digest_streaming(archive, member, algorithm)


def _digest_streaming(archive: Archive, member: Member, algorithm: str) -> Digest:
    steps = _stream_steps(archive.chunks, member, algorithm)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            digest: Digest = end.value
            return digest


def _stream_steps(
    chunks: Chunks, member: Member, algorithm: str, stop: threading.Event | None = None
) -> Generator[None, None, Digest]:
    import hashlib

    total, step = hashlib.new(algorithm), 0
    try:
        for chunk in chunks(member):
            total.update(chunk)
            step += len(chunk)
            if step >= _STEP:
                step = 0
                yield
                if stop is not None and stop.is_set():
                    return Digest(member, algorithm, error="interrupted")
    except InputError as exc:
        return Digest(member, algorithm, error=exc.because or exc.what)
    return Digest(member, algorithm, total.digest())
