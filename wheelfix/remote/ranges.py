"""A file on a server as a byte source: what is read is fetched by range requests, and kept.

Nothing that a server says is believed without a look: a part must be the one that was asked for, of the file that the
first answer was about. A server that gives no parts is asked for the whole file, once.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
from bisect import bisect_right
from http.client import responses
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.parsing import whole_number
from wheelfix.errors import InputError, NetworkFailure, shown_url
from wheelfix.remote.addresses import file_name
from wheelfix.remote.cache import Cache, Version
from wheelfix.remote.transport import PROXY_ACCOUNT, Attempts, CutShort, ServerAnswer, Transport
from wheelfix.streams.output import AtomicFile
from wheelfix.streams.pool import WorkerPool
from wheelfix.streams.source import FileSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# ------------------------------------------------------------------------------------------------------------- download
# A whole file from a server: under a temporary name, resumed when the connection breaks, named when its hash fits.


LARGEST = 8 << 30
"""Bytes of the largest file that is downloaded; the largest wheels have 4 GB."""


def refuse_status(answer: ServerAnswer, name: str) -> None:
    """Raise the error for an answer that has nothing of the file."""
    status = answer.status
    if status in (200, 206):
        return
    if status in (404, 410):
        raise InputError(f"{name} does not exist", because=f"the server answers {status}", hint="check the address")
    hint = "try again later"
    if status == 407:
        because = "the proxy asks for another user name and password"
        raise NetworkFailure(f"{name} cannot be reached through the proxy", because=because, hint=PROXY_ACCOUNT)
    if status == 401:
        hint = "put user name and password into the URL of the index, into .netrc or into the keyring, as for pip"
    elif status == 403:
        hint = "check that this account may read it"
    # not in the server's words, which may repeat our password
    because = f"the server answers {status} {responses.get(status, '')}".strip()
    raise NetworkFailure(f"{name} cannot be read", because=because, hint=hint)


def download(transport: Transport, url: str, target: Path, *, sha256: str = "", limit: int = LARGEST) -> int:
    """Download a file and return its size; the target appears when it is whole and has the hash, or not at all."""
    name = shown_url(url)
    with AtomicFile(target, in_place=True) as out:  # in the cache, where an earlier one may have been read
        digest, condition, size = hashlib.sha256(), "", -1
        attempts, furthest = Attempts(transport.patience), 0
        while size < 0 or out.position < size:
            before = out.position
            headers = {"Range": f"bytes={before}-", "If-Range": condition} if before else {}
            try:
                with transport.get(url, headers) as answer:
                    refuse_status(answer, name)
                    if before and answer.status == 200:  # it changed, or the server cannot resume: begin again
                        out.rewind(0)
                        digest, before = hashlib.sha256(), 0
                    size = _expected(answer, before, size, limit, name)
                    condition = Version.of(size, answer).condition
                    for piece in answer.chunks((size if size >= 0 else limit) - before):
                        out.write(piece)
                        digest.update(piece)
                if size < 0 or out.position == size:
                    break
                raise CutShort(f"{name} cannot be downloaded", because="the connection was cut")
            except CutShort as error:
                # one that begins again and again comes no further than before
                attempts.note(error, max(0, out.position - furthest))
                furthest = max(furthest, out.position)
                if not condition:  # nothing says whether it is still the same file
                    out.rewind(0)
                    digest, size = hashlib.sha256(), -1
        check_hash(digest.hexdigest(), sha256, name)
        total = out.position
        out.commit()
    return total


def check_hash(found: str, wanted: str, name: str) -> None:
    """Refuse bytes whose hash is another than the index or the lock says."""
    if wanted and found != wanted.lower():
        raise NetworkFailure(
            f"{name} is not what was expected",
            because=f"its sha256 is {found}, expected {wanted.lower()}",
            hint="nothing of it was kept; if a proxy or mirror changes files, use another index",
        )


def _expected(answer: ServerAnswer, before: int, known: int, limit: int, name: str) -> int:
    """Return how many bytes the whole file has, as far as the server says; -1 where it does not."""
    _check_encoding(answer, f"{name} cannot be downloaded")
    length = whole_number(answer.headers.get("Content-Length", "").strip(), 18)
    size = before + length if length is not None else -1
    if answer.status == 206:
        size = _range_of(answer, before, known, name)
    if size > limit:
        raise InputError(f"{name} is not downloaded", because=f"it has {size} bytes, more than {limit}")
    return size


TAIL = 32 << 10
"""Bytes of the first request: they hold the directory of most wheels; the end record is looked for in what follows."""
LEAST = 16 << 10
"""The fewest bytes of a request, where the file has as many."""
GAP = 48 << 10
"""Bytes between two spans that are fetched rather than asking twice, in a large file."""
GAP_SHARE, LEAST_GAP = 256, 4 << 10
"""In a small file it is this part of it, so that a scan does not fetch all of it, but not less than that."""
SMALL = 256 << 10
"""Bytes of a file that is fetched at once: asking for parts takes longer."""
AHEAD = 4 << 20
"""The most that is read ahead of a reader that goes forward."""
CONNECTIONS = 8
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")


class RangeSource:
    """The bytes of a file on a server, fetched as they are read; safe to read from several threads.

    NetworkFailure where the server cannot be reached or gives something else than it was asked for.
    """

    def __init__(self, wheel: RemoteWheel, answer: ServerAnswer) -> None:
        """``answer`` is the first one, with the end of the file: it says how large the file is."""
        self._wheel = wheel
        self._condition = threading.Condition()
        self._in_flight: list[tuple[int, int]] = []
        self._runs: dict[int, int] = {}
        """For each place where a fetched span ended: how long the run of spans up to there is."""
        self._fences: Sequence[int] = ()
        _check_encoding(answer, f"{wheel} cannot be read in parts")
        found = _RANGE.fullmatch(answer.headers.get("Content-Range", "").strip())
        self.size = int(found[3]) if found else 0
        """How many bytes the file has."""
        if self.size > wheel.limit:
            because = f"it would have {self.size} bytes, more than the {wheel.limit} that are expected"
            raise InputError(f"{wheel} is not read", because=because)
        start = max(0, self.size - TAIL)
        _range_of(answer, start, self.size, str(wheel))
        self._version = Version.of(self.size, answer)
        self._segments = wheel.cache.segments(wheel.url, wheel.sha256, self._version)
        with contextlib.suppress(CutShort):  # then the rest is asked for again
            self._keep(answer, start, self.size)

    def close(self) -> None:
        """Do nothing: connections are of the whole run."""

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``, and fetch those that are not here yet."""
        end = min(offset + length, self.size)
        parts = []
        while 0 <= offset < end:
            data = self._segments.read(offset, end)
            if not data:
                self._fetch_from(offset, end)
                continue
            parts.append(data)
            offset += len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def expect(self, spans: Iterable[tuple[int, int]], fences: Sequence[int] = ()) -> None:
        """Fetch what will be read, in as few requests as make sense; ``fences`` are where reading ahead ends."""
        self._fences = sorted(fences) or self._fences
        gap = max(LEAST_GAP, min(GAP, self.size // GAP_SHARE))
        if self.size <= SMALL:
            spans = [(0, self.size)]
        wanted = [
            hole for start, end in joined(spans, gap) for hole in self._segments.missing(start, min(end, self.size))
        ]
        spans_to_fetch = joined(wanted, gap)
        # Threads that wait for a server do not need processors, so there are as many as connections.
        with WorkerPool(min(CONNECTIONS, len(spans_to_fetch))) as pool:
            pool.map(lambda span: self._fetch(*span), spans_to_fetch)

    # ------------------------------------------------------------------------------------------------- fetching

    def _fetch_from(self, start: int, end: int) -> None:
        """Fetch bytes that are missing from ``start`` on, some more ahead of a reader that goes forward."""
        run = self._runs.get(start, 0)
        ahead = max(end, start + min(run // 2, AHEAD), start + LEAST)
        at = bisect_right(self._fences, end - 1)
        fence = self._fences[at] if at < len(self._fences) else self.size
        stop = min(max(end, min(ahead, fence)), self.size)
        stop = min(stop, self._segments.next_start(start, self.size))
        self._fetch(start, stop)
        self._runs[stop] = run + stop - start

    def _fetch(self, start: int, end: int) -> None:
        """Fetch a span, unless another thread is about to."""
        span = (start, end)
        with self._condition:
            while any(first < end and start < last for first, last in self._in_flight):
                self._condition.wait()
            holes = self._segments.missing(start, end)  # less than before, if another thread was here
            if not holes:
                return
            self._in_flight.append(span)
        try:
            for first, last in holes:
                self._request(first, last)
        finally:
            with self._condition:
                self._in_flight.remove(span)
                self._condition.notify_all()

    def _request(self, start: int, end: int) -> None:
        """Fetch a span, and go on where a connection broke."""
        attempts = Attempts(self._wheel.transport.patience)
        while start < end:
            reached = start
            headers = {"Range": f"bytes={start}-{end - 1}"}
            if self._version.condition:
                headers["If-Range"] = self._version.condition
            try:
                with self._wheel.transport.get(self._wheel.url, headers) as answer:
                    self._check_part(answer, start, end)
                    reached = self._keep(answer, start, end)
                if reached < end:
                    raise CutShort(f"{self._wheel} cannot be read", because="the connection was cut")
            except CutShort as error:
                reached = max(reached, self._reached(start, end))
                attempts.note(error, reached - start)
            start = reached

    def _reached(self, start: int, end: int) -> int:
        missing = self._segments.missing(start, end)
        return missing[0][0] if missing else end

    def _keep(self, answer: ServerAnswer, start: int, end: int) -> int:
        """Keep what comes, in parts of bounded size, also if it is cut short; return up to where it came."""
        waiting, place = bytearray(), start
        try:
            for piece in answer.chunks(end - start):
                waiting += piece
                self._wheel.fetched += len(piece)
                if len(waiting) >= AHEAD:
                    self._segments.add(place, bytes(waiting))
                    place += len(waiting)
                    waiting.clear()
        except CutShort:
            self._segments.add(place, bytes(waiting))
            raise
        except BaseException:  # an answer that is wrong at its end was not right before
            self._segments.forget(start, place)
            raise
        self._segments.add(place, bytes(waiting))
        return place + len(waiting)

    def _check_part(self, answer: ServerAnswer, start: int, end: int) -> None:
        """Refuse an answer that is not the part that was asked for, of the same version of the file."""
        if answer.unsafe and self._wheel.hash_proves:
            raise self._changed()  # the first answer came over a safe connection
        if answer.status == 200:
            if Version.of(self._version.size, answer) == self._version and self._version.condition:
                raise NetworkFailure(f"{self._wheel} cannot be read", because="the server stopped giving parts of it")
            raise self._changed()
        if answer.status == 416:
            raise self._changed()
        refuse_status(answer, str(self._wheel))
        _check_encoding(answer, f"{self._wheel} cannot be read in parts")
        if self._version != Version.of(_range_of(answer, start, end, str(self._wheel)), answer):
            raise self._changed()

    def _changed(self) -> NetworkFailure:
        return NetworkFailure(
            f"{self._wheel} changed while it was read",
            because="the server now has another file under this address",
            hint="run again",
        )


def joined(spans: Iterable[tuple[int, int]], gap: int) -> list[tuple[int, int]]:
    """Return spans in order, those with less than ``gap`` between them as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start - found[-1][1] <= gap:
            found[-1] = found[-1][0], max(end, found[-1][1])
        elif start < end:
            found.append((start, end))
    return found


def _check_encoding(answer: ServerAnswer, what: str) -> None:
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise NetworkFailure(
            what,
            because="the server compresses its answers although it was asked not to",
            hint="download the wheel and name the file",
        )


def _range_of(answer: ServerAnswer, start: int, end: int, name: str) -> int:
    """Return the size of the file; NetworkFailure if the part is not the one that was asked for."""
    said = answer.headers.get("Content-Range", "")
    found = _RANGE.fullmatch(said.strip())
    length = answer.headers.get("Content-Length", str(end - start)).strip()
    if found is None or (int(found[1]), int(found[2])) != (start, end - 1) or int(found[3]) < end:
        raise NetworkFailure(
            f"{name} cannot be read in parts",
            because=f"asked for the bytes {start} to {end - 1}, the server answers with "
            + (said if _RANGE.fullmatch(said) else "no valid range"),
            hint="download the wheel and name the file",
        )
    if length != str(end - start):
        because = f"{end - start} bytes belong there, the server announces another number"
        raise NetworkFailure(f"{name} cannot be read in parts", because=because)
    return int(found[3])


# ---------------------------------------------------------------------------------------------------------------- wheel
# A wheel on a server, as commands take it where they take the path of a file.


class RemoteWheel:
    """A wheel on a server: its address, and its bytes on request."""

    def __init__(
        self,
        url: str,
        transport: Transport,
        cache: Cache,
        *,
        name: str = "",
        sha256: str = "",
        page: str = "",
        size: int = 0,
    ) -> None:
        self.url, self.sha256 = url, sha256
        self.page = page
        """Where the hash was read over a connection that anybody on the way can change; empty: over a safe one."""
        self.name = name or file_name(url)
        self.transport, self.cache = transport, cache
        self.limit = size or LARGEST
        """Bytes that it may have: as many as the index says."""
        self.fetched = self.size = 0
        """Bytes that were fetched of it until now, and bytes that it has; 0 before the first request."""

    @property
    def hash_proves(self) -> bool:
        """Whether nobody on the way could have changed the hash: then a file that somebody could is read as a whole."""
        return bool(self.sha256) and not self.page

    def __str__(self) -> str:
        return shown_url(self.url)

    def __repr__(self) -> str:
        return f"RemoteWheel({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteWheel) and other.url == self.url

    def __hash__(self) -> int:
        return hash(self.url)

    @property
    def suffix(self) -> str:
        """As that of a path."""
        return ".whl" if self.name.lower().endswith(".whl") else ""

    def is_dir(self) -> bool:
        """As that of a path."""
        return False

    def open(self, largest_whole: int = LARGEST) -> RangeSource | FileSource:
        """Return its bytes, fetched as they are read, or the whole file where parts are not to be had or prove nothing.

        NetworkFailure where that is impossible. ``largest_whole`` is how many bytes a whole file may have.
        """
        source: RangeSource | FileSource
        with self.transport.get(self.url, {"Range": f"bytes=-{TAIL}"}) as answer:
            insecure = bool(answer.unsafe) and self.hash_proves
            parts = answer.status == 206 and not insecure
            if parts:
                source = RangeSource(self, answer)
            elif answer.status not in (200, 416, 501):
                refuse_status(answer, str(self))
            host = shown_url(answer.unsafe or self.url).split("/")[2]
        if not parts:
            why = f"does not give parts of files: {file_name(self.url)} is downloaded whole"
            if insecure:
                why = f"is asked over plain http: {file_name(self.url)} is downloaded whole, and its hash checked"
            self.transport.say_once(f"{host} {why}")
            source = FileSource(self._download(min(self.limit, largest_whole)))
        self.size = source.size
        return source

    def whole(self) -> Path:
        """Return the whole wheel on this disk, downloaded unless it was before, with the hash that the index has."""
        if self.sha256 and (found := self.cache.wheel(self.sha256)) is not None:
            return found
        return self._download(self.limit)

    def _download(self, limit: int) -> Path:
        place = self.cache.place_for_wheel(self.url, self.sha256)
        self.fetched += download(self.transport, self.url, place, sha256=self.sha256, limit=limit)
        return place


WheelPath: TypeAlias = Path | RemoteWheel
"""Where a wheel is: a file on this disk, or one on a server."""
