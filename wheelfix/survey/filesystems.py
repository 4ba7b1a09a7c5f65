"""The only module that knows fsspec: wheels in buckets and on servers, by URL."""

from __future__ import annotations

import logging
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from wheelfix.errors import EnvironmentFailure, InputError, UsageError, shown_url
from wheelfix.remote.addresses import split_url

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        raise UsageError(
            f"{shown_url(url)} cannot be read", because="fsspec is not installed", hint="pip install wheelfix[survey]"
        ) from exc
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
