"""Where the wheels of a survey come from: folders, lists and, by fsspec, buckets and servers."""

from __future__ import annotations

import contextlib
import logging
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from wheelfix.archive.names import name_parts
from wheelfix.base.values import dataclass
from wheelfix.errors import EnvironmentFailure, InputError, MissingExtra, UsageError, shown_url
from wheelfix.remote.addresses import split_url
from wheelfix.remote.client import Client
from wheelfix.streams.output import WorkFolder
from wheelfix.streams.source import FileSource, sha256_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.base.options import RemoteOptions
    from wheelfix.remote.ranges import WheelPath


# ---------------------------------------------------------------------------------------------------------- filesystems
# The only module that knows fsspec: wheels in buckets and on servers, by URL.

_URL = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_VERSIONS = ("ETag", "etag", "mtime", "LastModified", "updated", "created", "md5Hash", "crc32c")
"""Keys under which file systems give a value that changes with the content; the first that is there counts."""

DRIVERS = ("s3fs", "gcsfs", "adlfs", "aiohttp", "paramiko")
"""What fsspec needs for a kind of URL, where the module has the name of the project."""
LOGGERS = ("fsspec", "s3fs", "botocore", "aiobotocore", "gcsfs", "google", "adlfs", "azure", "aiohttp", "asyncio")


def is_url(text: str) -> bool:
    """Whether a text is the URL of something, and not a path; ``C:/wheels`` is a path."""
    return _URL.match(text) is not None


def list_wheels(url: str) -> Iterator[tuple[str, str, int, str]]:
    """Give URL, file name, size and version of each wheel at or below a URL."""
    system, path = _open(url)
    try:
        found = {path: system.info(path)} if path.lower().endswith(".whl") else system.find(path, detail=True)
        if not found:
            system.ls(path, detail=False)  # raises what find hides: where a server does not answer, it finds nothing
    except FileNotFoundError as exc:
        raise InputError(f"{shown_url(url)} does not exist", hint="check the name and the access") from exc
    except Exception as exc:  # every file system has errors of its own
        raise _unreachable(url, exc) from exc
    wheels = sorted(name for name in found if name.lower().endswith(".whl"))
    if not wheels:
        raise InputError(f"{shown_url(url)} holds no wheel", hint="name the folder in the bucket that holds them")
    for name in wheels:
        info = found[name]
        version = next((str(info[key]) for key in _VERSIONS if info.get(key)), "")
        yield system.unstrip_protocol(name), PurePosixPath(name).name, _size(info), version


def _size(info: dict[str, Any]) -> int:
    size = info.get("size")
    return size if isinstance(size, int) else 0


def copy_file(url: str, target: Path) -> None:
    """Copy a file from a URL to the disk."""
    system, path = _open(url)
    try:
        system.get_file(path, str(target))
    except FileNotFoundError as exc:
        raise InputError(f"{shown_url(url)} does not exist") from exc
    except Exception as exc:
        raise _unreachable(url, exc) from exc


def _open(url: str) -> tuple[Any, str]:
    split_url(url)
    try:
        import fsspec
    except ImportError as exc:
        raise MissingExtra(f"{shown_url(url)} cannot be read", "fsspec", extra="survey") from exc
    for name in LOGGERS:  # what they log besides raising it would be printed, with its traceback
        if not (logger := logging.getLogger(name)).handlers:
            logger.addHandler(logging.NullHandler())
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as exc:
        hint = f"pip install {_driver(exc)}" if _driver(exc) in DRIVERS else ""
        raise UsageError(f"{shown_url(url)} cannot be read", because=str(exc), hint=hint) from exc
    except ValueError as exc:
        hint = "a URL such as s3://, gs://, abfs:// or https://, or a folder"
        raise UsageError(f"{shown_url(url)} cannot be read", because=str(exc), hint=hint) from exc
    return system, path


def _driver(exc: ImportError) -> str:
    """Return the module that could not be imported."""
    return next((cause.name for cause in (exc, exc.__cause__) if isinstance(cause, ImportError) and cause.name), "")


def _unreachable(url: str, exc: Exception) -> EnvironmentFailure:
    because = " ".join(str(exc).split())[:300] or type(exc).__name__
    return EnvironmentFailure(
        f"{shown_url(url)} cannot be reached",
        because=because.replace(url, shown_url(url)),
        hint="check the name and the access",
    )


def named(place: str) -> str:
    """Return how tables name a place that was listed: a URL without what may grant access."""
    if not is_url(place):
        return place
    parts = split_url(place)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


# -------------------------------------------------------------------------------------------------------------- sources
# Where the wheels of a survey come from: a folder, a URL, a list, a package index.


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
