"""Small views for tests: a dictionary of paths and DLLs becomes a :class:`FileView`."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from tests.support.images import content
from wheelfix.loader.view import FileView, ViewFile
from wheelfix.streams.source import MemorySource


def make_view(files: Mapping[str, bytes | str]) -> FileView:
    """A view of the given files, by their paths in the prefix; images may be in words."""
    encoded = {path: content(path, data) for path, data in files.items()}
    return FileView(
        ViewFile(path, path.removeprefix("Lib/site-packages/"), len(data), functools.partial(MemorySource, data))
        for path, data in encoded.items()
    )
