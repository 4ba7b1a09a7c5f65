"""What the user says about wheels that are not on this disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

PLATFORMS = ("win_amd64", "win32", "win_arm64")


@dataclass(frozen=True, slots=True)
class RemoteOptions:
    """How to reach wheels that are not on this disk."""

    index_url: str = ""
    """The index to ask; empty: as pip or uv is configured, else PyPI."""
    extra_index_urls: tuple[str, ...] = ()
    offline: bool = False
    """Refuse everything that needs a server."""
    fetch: bool = False
    """Take DLLs that no root has from the index."""
    deps: bool = False
    """Also read the distributions that a wheel requires from the index."""
    platform: str = "win_amd64"
    python_version: str = ""
    """Such as ``3.11``; empty: the newest that there is a wheel for."""
    cache_dir: Path | None = None
    """Where to keep what was fetched; None: the folder that the system has for caches."""
    cache: bool = True
    """Keep what was fetched for the next run."""
