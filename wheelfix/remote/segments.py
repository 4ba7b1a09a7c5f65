"""Parts of a file that were fetched, each a small file of its own: on disk, so that memory does not grow with them.

A part appears under its name when it is whole, and its name has its CRC. So several processes may use one folder, and
one whose part has vanished or is damaged fetches it again.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
from bisect import bisect_right, insort
from collections import OrderedDict
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import UnfitFile, is_real_folder, read_file
from wheelfix.errors import EnvironmentFailure
from wheelfix.streams import codec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAME = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,16})-([0-9a-f]{8})")
PART_NAME = re.compile(rf"{_NAME.pattern}|\.[0-9a-f]{{16}}\.tmp")
"""How files are named here, those included that are being written."""
LARGEST = 4 << 20
"""Bytes of a part; what is longer is kept as several."""
_IN_MEMORY = 16 << 20
_VANISHED = (FileNotFoundError, FileExistsError)
"""What is raised when another run removes a folder at the moment in which it is made or written to."""


class Segments:
    """The parts of one file that have been fetched; safe for several threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._spans: list[tuple[int, int, str]] = []
        self._recent: OrderedDict[str, bytes] = OrderedDict()
        self._remembered = 0
        names: list[str] = []
        with _failing(folder), contextlib.suppress(*_VANISHED):
            folder.mkdir(parents=True, exist_ok=True)
            if folder.exists() and not is_real_folder(folder):
                raise UnfitFile("it is a link")
            os.utime(folder)
            names = sorted(path.name for path in folder.iterdir())
        for name in names:
            found = _NAME.fullmatch(name)
            if found is not None and int(found[1], 16) < int(found[2], 16) <= int(found[1], 16) + LARGEST:
                self._note(int(found[1], 16), int(found[2], 16), name)

    def add(self, start: int, data: bytes) -> None:
        """Keep bytes that begin at ``start``."""
        for at in range(0, len(data), LARGEST):
            self._add(start + at, data[at : at + LARGEST])

    def _add(self, start: int, data: bytes) -> None:
        name = f"{start:x}-{start + len(data):x}-{codec.crc32(data):08x}"
        partial = self._folder / f".{secrets.token_hex(8)}.tmp"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)  # another process may have made room
            partial.write_bytes(data)
            partial.replace(self._folder / name)
        except _VANISHED:
            pass  # the bytes are in memory, and else read from the server again
        except OSError as exc:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise _failure(self._folder, exc) from exc
        with self._lock:
            self._note(start, start + len(data), name)
            self._remember(name, data)

    def _note(self, start: int, end: int, name: str) -> None:
        """Take a part into the list, unless others cover it already."""
        at = bisect_right(self._spans, (start, 1 << 63, ""))
        before = self._spans[at - 1] if at else None
        if before is None or before[1] < end:
            insort(self._spans, (start, end, name))

    def forget(self, start: int, end: int) -> None:
        """Remove what lies between two places: it was not what it should be."""
        with self._lock:
            gone = [span for span in self._spans if start <= span[0] and span[1] <= end]
            self._spans = [span for span in self._spans if span not in gone]
            for _, _, name in gone:
                self._remembered -= len(self._recent.pop(name, b""))
        for _, _, name in gone:
            with contextlib.suppress(OSError):
                (self._folder / name).unlink()

    def read(self, start: int, end: int) -> bytes:
        """Return bytes from ``start`` on, as many as one part has up to ``end``; nothing if they were not fetched."""
        with self._lock:
            found = self._at(start)
            data = self._recent.get(found[2]) if found else None
            if found and data is not None:
                self._recent.move_to_end(found[2])
                return data[start - found[0] : end - found[0]]
        if found is None:
            return b""
        first, last, name = found
        with contextlib.suppress(OSError):
            data = read_file(self._folder / name, LARGEST, links=False)
            if len(data) == last - first and f"{codec.crc32(data):08x}" == name[-8:]:
                with self._lock:
                    self._remember(name, data)
                return data[start - first : end - first]
            (self._folder / name).unlink()
        with self._lock:  # it vanished, or it is damaged
            self._spans = [span for span in self._spans if span[2] != name]
        return b""

    def _at(self, place: int) -> tuple[int, int, str] | None:
        """Return a part that has a place; the last ones that begin before it are looked at."""
        at = bisect_right(self._spans, (place, 1 << 63, ""))
        for span in reversed(self._spans[max(0, at - 8) : at]):
            if span[0] <= place < span[1]:
                return span
        return None

    def _remember(self, name: str, data: bytes) -> None:
        if name not in self._recent:
            self._recent[name] = data
            self._remembered += len(data)
        while self._remembered > _IN_MEMORY and len(self._recent) > 1:
            self._remembered -= len(self._recent.popitem(last=False)[1])

    def next_start(self, place: int, otherwise: int) -> int:
        """Return where the next part after a place begins."""
        with self._lock:
            at = bisect_right(self._spans, (place, 1 << 63, ""))
            return self._spans[at][0] if at < len(self._spans) else otherwise

    def missing(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the spans between two places that were not fetched."""
        found, place = [], start
        while place < end:
            with self._lock:
                span = self._at(place)
            if span is not None:
                place = span[1]
                continue
            stop = min(end, self.next_start(place, end))
            found.append((place, stop))
            place = stop
        return found


@contextlib.contextmanager
def _failing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise _failure(folder, exc) from exc


def _failure(folder: Path, error: OSError) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"cannot write {folder}",
        because=error.strerror or str(error),
        hint="make room there (wheelfix cache clear), or name another folder with --cache-dir or WHEELFIX_CACHE_DIR",
    )
