"""Where the wheels of a survey come from: a folder, a URL, a list, a package index."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.wheelname import name_parts
from wheelfix.base.values import dataclass
from wheelfix.errors import InputError
from wheelfix.remote.client import Client
from wheelfix.streams.source import FileSource, sha256_of
from wheelfix.streams.workfolder import WorkFolder
from wheelfix.survey.filesystems import copy_file, is_url, list_wheels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.remote.remoteoptions import RemoteOptions
    from wheelfix.remote.wheel import WheelPath


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A wheel before it is read; can be pickled, and opened on another machine that reaches it."""

    place: str
    """A path or a URL."""
    file: str
    """The file name of the wheel."""
    size: int = 0
    """0 if that is not known before it is opened."""
    modified: str = ""
    """What tells one content of the place from a later one."""
    sha256: str = ""
    """From a trusted source, such as a package index; empty if it has to be computed."""
    in_parts: bool = False
    """Whether it is on a server that gives parts of files: of a wheel whose hash is known only those are read."""

    @property
    def key(self) -> tuple[str, int, str]:
        """By which a survey recognises what it has read."""
        return self.place, self.size, self.modified


def wheel_sources(words: Iterable[str]) -> Iterator[WheelSource]:
    """Give the Windows wheels of folders, files and URLs, each once; InputError for what stands for nothing."""
    seen: set[str] = set()
    for word in words:
        for source in _sources_of(word):
            if source.place not in seen and is_for_windows(source.file):
                seen.add(source.place)
                yield source


def _sources_of(word: str) -> Iterator[WheelSource]:
    if is_url(word):
        for place, file, size, modified in list_wheels(word):
            yield WheelSource(place, file, size, modified)
        return
    path = Path(word)
    if path.is_file():
        yield local_source(path)
    elif path.is_dir():
        yield from (local_source(found) for found in sorted(path.rglob("*.whl")) if not found.is_dir())
    else:
        raise InputError(f"{word} does not exist", hint="name a folder, a wheel or a URL such as s3://bucket/wheels")


def local_source(path: Path) -> WheelSource:
    """Return a file on this disk as a source; one that cannot be looked at is reported when it is opened."""
    try:
        status = path.stat()
    except OSError:
        return WheelSource(str(path), path.name)
    return WheelSource(str(path), path.name, status.st_size, str(status.st_mtime_ns))


def is_for_windows(file: str) -> bool:
    """Whether a file name may be that of a wheel for Windows; odd names are looked at as well."""
    if not file.lower().endswith(".whl"):
        return False
    platform = name_parts(file).get("platform", "").lower()
    return not platform or any(tag == "any" or tag.startswith("win") for tag in platform.split("."))


@contextlib.contextmanager
def opened(source: WheelSource, options: RemoteOptions) -> Iterator[tuple[WheelPath, str]]:
    """Give the wheel, and its hash: the file itself, a copy that is gone afterwards, or its parts on a server."""
    if source.in_parts:
        with Client(options) as client:
            wheel = client.wheel_at(source.place, name=source.file, sha256=source.sha256)
            if source.sha256:
                yield wheel, source.sha256
            else:
                path = wheel.whole()
                yield path, file_sha256(path)
    elif is_url(source.place):
        with WorkFolder() as folder:
            target = folder / source.file
            copy_file(source.place, target)
            yield target, file_sha256(target)
    else:
        path = Path(source.place)
        yield path, source.sha256 or file_sha256(path)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file; EnvironmentFailure if it cannot be read."""
    with FileSource(path) as source:
        return sha256_of(source).hex()
