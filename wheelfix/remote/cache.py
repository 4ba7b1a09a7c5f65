"""What was fetched before: parts of files and whole wheels, in a folder of bounded size that several runs may share.

Everything in it appears under its name when it is whole, and is checked when it is used: parts by the CRC in their
names, wheels by their sha256. So a run that removes something only makes another one fetch it again. Only what we wrote
is ever removed: in a folder with our mark, files with names of ours, never through a link.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import tempfile
import threading
from bisect import bisect_right, insort
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import is_real_folder, read_file, refuse_link
from wheelfix.base.parsing import size_in_bytes
from wheelfix.base.values import frozen
from wheelfix.errors import EnvironmentFailure, UsageError, reason_of
from wheelfix.remote.addresses import identity
from wheelfix.streams import codec
from wheelfix.streams.output import WorkFolder
from wheelfix.streams.source import FileSource, sha256_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wheelfix.remote.transport import ServerAnswer

LIMIT = 5 << 30
"""Bytes that the cache may have, unless WHEELFIX_CACHE_SIZE says otherwise."""
MARK = ".wheelfix-cache"
"""The file by which a folder is known as a cache of ours."""
_WHEEL_NAME = re.compile(r"(?:unverified-[0-9]{1,10}-)?[0-9a-f]{64}\.whl")
"""Up to 0.1 there were also wheels that no hash identifies."""
_FOLDER_NAME = re.compile(r"[0-9a-f]{40}")


@frozen
class CacheInfo:
    """What the cache has."""

    folder: Path
    limit: int
    wheels: int
    """Whole wheels."""
    files: int
    """Files of which parts are there."""
    size: int


def default_folder() -> Path:
    """Return the folder of the cache: WHEELFIX_CACHE_DIR, or the one that the system has for such things."""
    if said := os.environ.get("WHEELFIX_CACHE_DIR"):
        return Path(said).expanduser().absolute()
    return folder_of_system()


def folder_of_system() -> Path:
    """Return the folder that the system has for a cache of ours."""
    try:
        import platformdirs
    except ImportError:
        base = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME")
        return Path(base or Path.home() / ".cache") / "wheelfix" / "fetched"
    return platformdirs.user_cache_path("wheelfix", appauthor=False) / "fetched"


def default_limit() -> int:
    """Return how large the cache may become."""
    said = os.environ.get("WHEELFIX_CACHE_SIZE", "").strip()
    if not said:
        return LIMIT
    found = size_in_bytes(said)
    if found is None:
        raise UsageError(f"WHEELFIX_CACHE_SIZE={said}", because="it is not a size", hint="write it as 512M or 5G")
    return found


class Cache:
    """A folder for what is fetched; used in a ``with`` block, at whose end it is made as small as it has to be."""

    def __init__(
        self,
        folder: Path | None = None,
        limit: int | None = None,
        *,
        keep: bool = True,
        say: Callable[[str], object] = lambda _: None,
    ) -> None:
        """Without ``keep``, or where the folder cannot be written, one of this run alone is used.

        UsageError for a folder that has files and is not a cache of ours.
        """
        self._work: WorkFolder | None = None
        self.folder = folder or default_folder()
        self.limit = default_limit() if limit is None else limit
        self._lock = threading.RLock()
        self._say, self._checked = say, not keep
        if not keep:
            self.folder = self._of_this_run
        else:
            self._refuse_foreign()

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        if self._work is not None:
            self._work.close()
        self.trim()

    @property
    def _of_this_run(self) -> Path:
        """A folder for this run alone, which is gone at its end."""
        with self._lock:
            self._work = self._work or WorkFolder()
            return self._work.path

    def _refuse_foreign(self) -> None:
        """UsageError if there are files in the folder that we did not write, or links that lead elsewhere."""
        try:
            names = {item.name for item in self.folder.iterdir()}
        except OSError:
            return  # it is made, or seen to be of no use, before the first use
        usual = folder_of_system()  # its name is ours, and those of earlier releases have no mark
        if names and MARK not in names and self.folder != usual:
            raise UsageError(
                f"{self.folder} is not used as a cache",
                because=f"it has files, and no {MARK} that says that wheelfix made it",
                hint="name a new or empty folder with --cache-dir or WHEELFIX_CACHE_DIR",
            )
        for folder in (self._wheels, self._parts):
            if folder.name in names and not is_real_folder(folder):
                raise UsageError(
                    f"{self.folder} is not used as a cache",
                    because=f"{folder} is a link or a file, not a folder",
                    hint="remove it, or name another folder with --cache-dir",
                )

    def _prepare(self) -> None:
        """See before the first use whether the folder can be written."""
        with self._lock:
            if self._checked:
                return
            self._checked = True
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                with contextlib.suppress(FileExistsError), (self.folder / MARK).open("x", encoding="ascii") as mark:
                    mark.write("wheelfix keeps here what it fetched; `wheelfix cache clear` removes it\n")
                with tempfile.TemporaryFile(dir=self.folder):
                    pass
            except OSError as exc:
                self._say(f"{self.folder} cannot be written ({reason_of(exc)}): what is fetched is not kept")
                self.folder = self._of_this_run

    def segments(self, url: str, sha256: str, version: Version) -> Segments:
        """Return the parts of a version of a file; one that nothing identifies is not shared with other runs."""
        self._prepare()
        if not (sha256 or version.condition):
            return Segments(Path(tempfile.mkdtemp(dir=self._of_this_run)))
        known = f"{identity(url)}\n{sha256}\n{version.size}\n{version.tag}\n{version.changed}"
        return Segments(self._parts / hashlib.sha256(known.encode()).hexdigest()[:40])

    def wheel(self, sha256: str) -> Path | None:
        """Return a whole wheel with that hash, or None; its bytes are hashed again."""
        path = self._wheels / f"{sha256}.whl"
        try:
            with FileSource(path, links=False) as source:
                found = sha256_of(source)
            if found == sha256:
                os.utime(path)
                return path
            path.unlink()
        except (OSError, EnvironmentFailure):
            return None
        return None

    def place_for_wheel(self, url: str, sha256: str) -> Path:
        """Return where a whole wheel goes; one of which no hash is known is for this run alone."""
        self._prepare()
        if sha256:
            return self._wheels / f"{sha256}.whl"
        return self._of_this_run / f"{hashlib.sha256(identity(url).encode()).hexdigest()}.whl"

    @property
    def _parts(self) -> Path:
        return self.folder / "parts"

    @property
    def _wheels(self) -> Path:
        return self.folder / "wheels"

    # ------------------------------------------------------------------------------------------------ its size

    def info(self) -> CacheInfo:
        """Return what is in the cache."""
        entries = list(self._entries())
        wheels = sum(1 for _, path, _ in entries if path.parent == self._wheels)
        return CacheInfo(self.folder, self.limit, wheels, len(entries) - wheels, sum(size for _, _, size in entries))

    def trim(self) -> int:
        """Remove what was not used for longest, until the rest is within the limit; return how many bytes went."""
        entries = sorted(self._entries())
        total = sum(size for _, _, size in entries)
        freed = 0
        for _, path, size in entries:
            if total - freed > self.limit and _removed(path):
                freed += size
        return freed

    def clear(self) -> int:
        """Remove everything; return how many bytes went."""
        freed, failed = 0, []
        for _, path, size in list(self._entries()):
            if _removed(path):
                freed += size
            else:
                failed.append(path)
        if failed:
            raise EnvironmentFailure(f"cannot remove {failed[0]}", hint="another run may be using it; try again later")
        return freed

    def _entries(self) -> Iterator[tuple[float, Path, int]]:
        """Yield when each entry of ours was used last, where it is and how large; a folder of parts is one entry."""
        self._refuse_foreign()
        for item in _listed(self._wheels):
            if _WHEEL_NAME.fullmatch(item.name) and item.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    status = item.stat(follow_symlinks=False)
                    yield status.st_mtime, Path(item.path), status.st_size
        for item in _listed(self._parts):
            if _FOLDER_NAME.fullmatch(item.name):
                with contextlib.suppress(OSError):
                    used = item.stat(follow_symlinks=False).st_mtime
                    sizes = [part.stat(follow_symlinks=False).st_size for part in _parts_in(Path(item.path))]
                    yield used, Path(item.path), sum(sizes)


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    """Return what is in a folder, unless that is a link."""
    if not is_real_folder(folder):
        return []
    with contextlib.suppress(OSError), os.scandir(folder) as listing:
        return list(listing)
    return []


def _parts_in(folder: Path) -> list[os.DirEntry[str]]:
    """Return the parts in a folder of parts."""
    return [item for item in _listed(folder) if PART_NAME.fullmatch(item.name) and item.is_file(follow_symlinks=False)]


def _removed(path: Path) -> bool:
    """Remove a wheel, or the parts in a folder; with the folder, unless there is something in it that is not ours."""
    try:
        if path.parent.name == "wheels":
            path.unlink()
            return True
        for part in _parts_in(path):
            Path(part.path).unlink(missing_ok=True)
    except OSError:
        return not path.exists()
    with contextlib.suppress(OSError):
        path.rmdir()
    return True


# ------------------------------------------------------------------------------------------------------------ segments
# Parts of a file that were fetched, each a small file of its own: on disk, so that memory does not grow with them.
# A part appears under its name when it is whole, and its name has its CRC. So several processes may use one folder, and
# one whose part has vanished or is damaged fetches it again.


@frozen
class Version:
    """What distinguishes one version of a file on a server from another."""

    size: int
    tag: str
    """ETag; empty where there is none."""
    changed: str
    """Last-Modified; empty where there is none."""

    @property
    def condition(self) -> str:
        """The value of If-Range: a strong tag, else the date."""
        return self.tag if self.tag and not self.tag.startswith("W/") else self.changed

    @classmethod
    def of(cls, size: int, answer: ServerAnswer) -> Version:
        """Return the version that an answer is about."""
        return cls(size, answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", ""))


_NAME = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,16})-([0-9a-f]{8})")
PART_NAME = re.compile(rf"{_NAME.pattern}|\.[0-9a-f]{{16}}\.tmp")
"""How files are named here, those included that are being written."""
_LARGEST_PART = 4 << 20
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
        try:
            folder.mkdir(parents=True, exist_ok=True)
            refuse_link(folder)
            os.utime(folder)
            names = sorted(path.name for path in folder.iterdir())
        except _VANISHED:
            pass
        except OSError as exc:
            raise _failure(folder, exc) from exc
        for name in names:
            found = _NAME.fullmatch(name)
            if found is not None and int(found[1], 16) < int(found[2], 16) <= int(found[1], 16) + _LARGEST_PART:
                self._note(int(found[1], 16), int(found[2], 16), name)

    def add(self, start: int, data: bytes) -> None:
        """Keep bytes that begin at ``start``."""
        for at in range(0, len(data), _LARGEST_PART):
            self._add(start + at, data[at : at + _LARGEST_PART])

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
            data = read_file(self._folder / name, _LARGEST_PART, links=False)
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


def _failure(folder: Path, error: OSError) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"cannot write {folder}",
        because=error,
        hint="make room there (wheelfix cache clear), or name another folder with --cache-dir or WHEELFIX_CACHE_DIR",
    )
