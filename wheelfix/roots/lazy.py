"""An index of roots that is made when the first name is looked up: a wheel with nothing missing never asks."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from wheelfix.options import as_paths

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.options import RootOptions
    from wheelfix.roots.index import RootFile, RootIndex


class LazyIndex:
    """Discovers and lists the roots on the first question; safe from several threads after :meth:`prepare`."""

    def __init__(self, options: RootOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._index: RootIndex | None = None

    def open(self) -> RootIndex:
        """Return the index, made now if it was not yet."""
        with self._lock:
            if self._index is None:
                from wheelfix.roots.gather import open_index

                self._index = open_index(self._options)
            return self._index

    def prepare(self) -> None:
        """List the roots now."""
        self.open().prepare()

    def candidates(self, name: str) -> tuple[RootFile, ...]:
        """Return every file of that name, whatever its case."""
        return self.open().candidates(name)

    def shown_version(self, file: RootFile) -> str:
        """Return the version of the library that a file is, as far as it is known without unpacking much."""
        return self.open().shown_version(file)

    def close(self) -> None:
        """Let go of every open file."""
        if self._index is not None:
            self._index.close()


@contextlib.contextmanager
def lazy_index(options: RootOptions) -> Iterator[LazyIndex]:
    """The index of what may be vendored: late, unless a root that was named is not there, which is said at once."""
    index = LazyIndex(options)
    named = (options.roots, options.cuda, options.cudnn, options.oneapi, options.conda)
    if not all(path.exists() for given in named for path in as_paths(given)):
        index.open()
    try:
        yield index
    finally:
        index.close()
