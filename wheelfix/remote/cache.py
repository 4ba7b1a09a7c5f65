"""What was fetched before: parts of files and whole wheels, in a folder of bounded size that several runs may share.

Everything in it appears under its name when it is whole, and is checked when it is used: parts by the CRC in their
names, wheels by their sha256. So a run that removes something only makes another one fetch it again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.remote.addresses import without_secrets
from wheelfix.remote.segments import Segments
from wheelfix.streams.source import FileSource, sha256_of
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wheelfix.remote.ranges import Version

LIMIT = 5 << 30
"""Bytes that the cache may have, unless WHEELFIX_CACHE_SIZE says otherwise."""
_UNVERIFIED = f"unverified-{os.getpid()}-"
"""How names of wheels begin that no hash identifies: they are of this process alone."""
_SIZE = re.compile(r"([0-9]{1,12})\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
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
    found = _SIZE.fullmatch(said)
    if found is None:
        raise UsageError(f"WHEELFIX_CACHE_SIZE={said}", because="it is not a size", hint="write it as 512M or 5G")
    return int(found[1]) << (10 * " KMGT".index(found[2].upper() or " "))


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
        """Without ``keep``, or where the folder cannot be written, a temporary one is used, and removed at the end."""
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self.folder = folder or default_folder()
        self.limit = default_limit() if limit is None else limit
        self._lock = threading.Lock()
        self._private = 0
        self._say, self._checked = say, False
        if not keep:
            self._use_temporary()

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, *_: object) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()
        else:
            self.trim()

    def _use_temporary(self) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="wheelfix-", ignore_cleanup_errors=True)
        self.folder, self._checked = Path(self._temporary.name), True

    def _prepare(self) -> None:
        """See before the first use whether the folder can be written."""
        with self._lock:
            if self._checked:
                return
            self._checked = True
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=self.folder):
                    pass
            except OSError as exc:
                reason = exc.strerror or str(exc)
                self._say(f"{self.folder} cannot be written ({reason}): what is fetched is not kept")
                self._use_temporary()

    def segments(self, url: str, sha256: str, version: Version) -> Segments:
        """Return the parts of a version of a file; one that nothing identifies is not shared with other runs."""
        self._prepare()
        known = f"{without_secrets(url)}\n{sha256}\n{version.size}\n{version.tag}\n{version.changed}"
        if not (sha256 or version.condition):
            with self._lock:
                self._private += 1
                known += f"\n{os.getpid()}\n{id(self)}\n{self._private}"
        return Segments(self._parts / hashlib.sha256(known.encode()).hexdigest()[:40])

    def wheel(self, sha256: str) -> Path | None:
        """Return a whole wheel with that hash, or None; its bytes are hashed again."""
        path = self._wheels / f"{sha256}.whl"
        try:
            with FileSource(path) as source:
                found = sha256_of(source).hex()
            if found == sha256:
                os.utime(path)
                return path
            path.unlink()
        except (OSError, EnvironmentFailure):
            return None
        return None

    def place_for_wheel(self, url: str, sha256: str) -> Path:
        """Return where a whole wheel goes: by its hash, or by its address where no hash is known."""
        self._prepare()
        name = sha256 or _UNVERIFIED + hashlib.sha256(without_secrets(url).encode()).hexdigest()
        return self._wheels / f"{name}.whl"

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
        freed, yesterday = 0, time.time() - 86400
        for used, path, size in entries:
            stale = path.name.startswith("unverified-") and (path.name.startswith(_UNVERIFIED) or used < yesterday)
            if total - freed <= self.limit and not stale:
                continue
            if _removed(path):
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
        """Yield when each entry was used last, where it is and how large; a folder of parts is one entry."""
        for folder in (self._wheels, self._parts):
            with contextlib.suppress(OSError), os.scandir(folder) as listing:
                for item in listing:
                    with contextlib.suppress(OSError):
                        status = item.stat(follow_symlinks=False)
                        size = status.st_size if item.is_file(follow_symlinks=False) else _size_of(Path(item.path))
                        yield status.st_mtime, Path(item.path), size


def _size_of(folder: Path) -> int:
    total = 0
    with contextlib.suppress(OSError), os.scandir(folder) as listing:
        for item in listing:
            with contextlib.suppress(OSError):
                total += item.stat(follow_symlinks=False).st_size
    return total


def _removed(path: Path) -> bool:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    except OSError:
        return not path.exists()
    return True
