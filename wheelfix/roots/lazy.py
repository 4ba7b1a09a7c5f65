"""An index of roots that is made when the first name is looked up: a wheel with nothing missing never asks."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from wheelfix.remote.client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.base.options import RemoteOptions, RootOptions
    from wheelfix.roots.index import RootIndex


class LazyIndex:
    """Discovers and lists the roots on the first question; safe from several threads once it is prepared."""

    def __init__(self, options: RootOptions, client: Client | None) -> None:
        self._options, self._client = options, client
        self._lock = threading.Lock()
        self._index: RootIndex | None = None

    def open(self) -> RootIndex:
        """Return the index, made now if it was not yet."""
        with self._lock:
            if self._index is None:
                from wheelfix.roots.gather import open_index

                self._index = open_index(self._options)
                if self._client is not None:
                    from wheelfix.roots.fetched import Fetcher

                    self._index.fetcher = Fetcher(self._client, self._options.limits)
            return self._index

    def close(self) -> None:
        """Let go of every open file."""
        if self._index is not None:
            self._index.close()


@contextlib.contextmanager
def lazy_index(options: RootOptions, remote: RemoteOptions | None = None) -> Iterator[LazyIndex]:
    """Give the index of what may be vendored; a root that was named and does not exist is an error at once.

    Where ``remote`` asks for it, what no root has is looked for on the package index.
    """
    client = None
    if remote is not None and remote.fetch:
        client = Client(remote)
        client.refuse_offline("the package index")
    index = LazyIndex(options, client)
    if not all(path.exists() for path in options.named):
        index.open()
    try:
        yield index
    finally:
        index.close()
        if client is not None:
            client.close()
