"""What the ``.pth`` and ``.start`` files of site-packages import whenever Python starts, and which folders they add."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from wheelfix.loader.view import SITE_PACKAGES, parent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.view import FileView

START_FILES = (3, 15)
"""The first Python that reads ``.start`` files (PEP 829); with one of the same name, it skips imports of a ``.pth``."""


def _site_files(view: FileView, suffix: str) -> Iterator[str]:
    for file in view.own_files:
        if file.path.endswith(suffix) and parent(file.path) == SITE_PACKAGES:
            yield file.path


def _lines(view: FileView, path: str) -> list[str]:
    return [line.strip() for line in (view.read_text(path, 1 << 16) or "").lstrip("\ufeff").splitlines()]


def imported_by_path_files(view: FileView, python: tuple[int, int] | None) -> Iterator[str]:
    """The modules that ``.pth`` files import."""
    starts = set(_site_files(view, ".start")) if python is not None and python >= START_FILES else set()
    for path in _site_files(view, ".pth"):
        if f"{path.removesuffix('.pth')}.start" not in starts:
            yield from (name for line in _lines(view, path) for name in _imported_by_line(line))


def imported_by_start_files(view: FileView, python: tuple[int, int] | None) -> Iterator[str]:
    """The modules of the entry points in ``.start`` files; an older Python does not read them."""
    if python is not None and python < START_FILES:
        return
    for path in _site_files(view, ".start"):
        for line in _lines(view, path):
            entry = re.fullmatch(r"([A-Za-z_][\w.]*):[A-Za-z_][\w.]*", line)
            if entry is not None:
                yield entry[1]


def roots_of_path_files(view: FileView) -> list[str]:
    """The folders that ``.pth`` files put on ``sys.path``."""
    every = (line for path in _site_files(view, ".pth") for line in _lines(view, path))
    lines = (line.replace("\\", "/") for line in every if line and not line.startswith(("#", "import ")))
    return [posixpath.normpath(f"{SITE_PACKAGES}/{line}") for line in lines if ":" not in line]


def _imported_by_line(line: str) -> list[str]:
    """The modules that a line of a ``.pth`` file imports."""
    match = re.match(r"import\s+([\w.]+(?:\s*,\s*[\w.]+)*)", line)
    return [name.strip() for name in match[1].split(",")] if match else []
