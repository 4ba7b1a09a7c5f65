"""A wheel on a server, as commands take it where they take the path of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.errors import shown_url
from wheelfix.remote.addresses import file_name
from wheelfix.remote.download import LARGEST, download
from wheelfix.remote.ranges import RangeSource

if TYPE_CHECKING:
    from wheelfix.remote.cache import Cache
    from wheelfix.remote.transport import Transport


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
        self._transport, self._cache = transport, cache
        self._limit = size or LARGEST
        """Bytes that it may have: as many as the index says."""
        self.fetched = self.size = 0
        """Bytes that were fetched of it until now, and bytes that it has; 0 before the first request."""

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

    def open(self) -> RangeSource:
        """Return its bytes, fetched as they are read; NetworkFailure where that is impossible."""
        whole = self._cache.place_for_wheel(self.url, self.sha256)

        source = RangeSource(
            self._transport,
            self.url,
            lambda version: self._cache.segments(self.url, self.sha256, version),
            whole,
            sha256=self.sha256,
            hash_proves=not self.page,
            largest=self._limit,
        )
        self.size = source.size
        return source

    def closed(self, source: RangeSource) -> None:
        """Add what a source fetched."""
        self.fetched += source.fetched

    def whole(self) -> Path:
        """Return the whole wheel on this disk, downloaded unless it was before, with the hash that the index has."""
        if self.sha256 and (found := self._cache.wheel(self.sha256)) is not None:
            return found
        place = self._cache.place_for_wheel(self.url, self.sha256)
        self.fetched += download(self._transport, self.url, place, sha256=self.sha256, limit=self._limit)
        return place


WheelPath: TypeAlias = Path | RemoteWheel
"""Where a wheel is: a file on this disk, or one on a server."""
