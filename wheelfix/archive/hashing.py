"""Hashes and CRCs of many members at once, on all cores, in memory that does not grow with the wheel.

zlib and hashlib let go of the interpreter lock, so threads are enough. Large members are streamed one by one,
largest first; small ones are read together with their neighbours, since ten thousand reads cost more than their bytes.
"""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from operator import attrgetter
from typing import TYPE_CHECKING

from wheelfix.archive import codec
from wheelfix.archive.directory import LOCAL
from wheelfix.errors import InputError
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from wheelfix.archive.reader import Archive, Member

_SMALL = 512 << 10
_BATCH = 2 << 20
STRONG = ("sha256", "sha384", "sha512", "sha3_256", "sha3_384", "sha3_512", "blake2b", "blake2s")
"""Algorithms that RECORD may use: sha256 or better."""


@dataclass(frozen=True, slots=True)
class Digest:
    """What a member's bytes really are, or why they could not be read."""

    member: Member
    algorithm: str = "sha256"
    value: bytes = b""
    error: str = ""
    """Why there is no value: damaged data, a wrong CRC, a wrong size."""


class _Running:
    """Hash, CRC and size of what came by so far."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()
        self.crc = self.size = 0

    def take(self, piece: bytes) -> None:
        self.sha256.update(piece)
        self.crc = codec.crc32(piece, self.crc)
        self.size += len(piece)


class HashedReading:
    """A member that is hashed while somebody reads it, so that it is unpacked once for both."""

    def __init__(self, archive: Archive, member: Member) -> None:
        self._member = member
        # On its own, so that the source does not hold us, who hold it: nobody would collect the two for a long time.
        self._running = _Running()
        self._tapped = member.method == codec.DEFLATED
        self.source = archive.source(member, self._running.take if self._tapped else None)
        """What to read from."""

    def finish(self) -> Digest | None:
        """Unpack the rest and return the digest; None for a member that the usual way has to look at."""
        member = self._member
        if not self._tapped or not member.usize:
            return None
        try:
            self.source.read_at(member.usize - 1, 1)
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
) -> dict[int, Digest]:
    """Return the digest of each member by its ``entry``; a damaged member gives a digest with an error.

    ``known`` are digests that somebody else has already; a member among them is not read again.
    ``algorithms`` names the algorithm for a member's name where it is not sha256; ``progress`` is told unpacked bytes;
    ``stop`` ends the work early, without the digests that are not there yet.
    """
    wanted = algorithms or {}
    found = {
        entry: digest
        for entry, digest in (known or {}).items()
        if digest.algorithm == wanted.get(digest.member.name, "sha256")
    }
    work = iter(_plan([member for member in members if member.entry not in found]))
    lock = threading.Lock()
    stop = stop or threading.Event()
    trouble: list[BaseException] = []

    def worker() -> None:
        try:
            while not stop.is_set():
                with lock:
                    batch = next(work, None)
                if batch is None:
                    return
                done = _digest_batch(archive, batch, wanted, stop)
                with lock:
                    found.update((digest.member.entry, digest) for digest in done)
                    if progress is not None:
                        progress(sum(digest.member.usize for digest in done))
        except BaseException as exc:
            trouble.append(exc)
            stop.set()

    _run_threads(worker, jobs or default_jobs(), stop)
    if trouble:
        raise trouble[0]
    return found


def digest_work(
    archive: Archive, members: Iterable[Member], stop: threading.Event
) -> Iterator[Callable[[], list[Digest]]]:
    """Give the pieces of work that hash members with sha256, the longest first, for a pool that has other work too."""
    for batch in _plan([*members]):
        yield functools.partial(_digest_batch, archive, batch, {}, stop)


def _run_threads(worker: Callable[[], None], jobs: int, stop: threading.Event) -> None:
    """Run ``worker`` in so many threads; an interrupt of this thread stops them."""
    if jobs <= 1:
        worker()
        return
    threads = [threading.Thread(target=worker, daemon=True) for _ in range(jobs)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        stop.set()
        raise


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


def _digest_batch(
    archive: Archive, batch: list[Member], algorithms: Mapping[str, str], stop: threading.Event
) -> list[Digest]:
    if len(batch) == 1:
        return [_digest_streaming(archive, batch[0], algorithms.get(batch[0].name, "sha256"), stop)]
    start = batch[0].header_offset
    window = archive.read_at(start, batch[-1].header_offset + batch[-1].csize + 4096 - start)
    return [_digest_small(archive, member, window, start, algorithms.get(member.name, "sha256")) for member in batch]


def _digest_small(archive: Archive, member: Member, window: bytes, start: int, algorithm: str) -> Digest:
    """Hash a small member out of a window of the file; anything unusual is left to the careful reader."""
    at = member.header_offset - start
    header = window[at : at + LOCAL.size]
    if len(header) == LOCAL.size and header[:4] == b"PK\x03\x04" and not archive.why_refused(member):
        *_, name_length, extra_length = LOCAL.unpack(header)
        at += LOCAL.size + name_length + extra_length
        data = window[at : at + member.csize]
        plain = codec.inflate_whole(data, member.usize) if member.method == codec.DEFLATED else data
        if plain is not None and len(plain) == member.usize and codec.crc32(plain) == member.crc:
            return Digest(member, algorithm, hashlib.new(algorithm, plain).digest())
    return _digest_streaming(archive, member, algorithm)


def _digest_streaming(archive: Archive, member: Member, algorithm: str, stop: threading.Event | None = None) -> Digest:
    total = hashlib.new(algorithm)
    try:
        for chunk in archive.chunks(member):
            total.update(chunk)
            if stop is not None and stop.is_set():
                return Digest(member, algorithm, error="interrupted")
    except InputError as exc:
        return Digest(member, algorithm, error=exc.because or exc.what)
    return Digest(member, algorithm, total.digest())
