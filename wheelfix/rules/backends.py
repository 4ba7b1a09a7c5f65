"""Backends: several files that each need another release of a DLL, and of which only one is loaded.

torchaudio has ``_torio_ffmpeg4.pyd``, ``…5`` and ``…6``, which import avutil-56, avutil-57 and avutil-58, and uses the
one that loads.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.model import dll_key

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.model import Edge, Image

_Group: TypeAlias = "tuple[str, str, str]"
"""A folder, the name of files in it without digits, and the name of a DLL that they import, without digits."""


class Backends:
    """The images of a package by what they import, so that one lookup shows whether a need has an alternative."""

    def __init__(self, images: Mapping[str, Image]) -> None:
        self._members: dict[_Group, dict[str, set[str]]] = {}
        self._counts: dict[tuple[_Group, str], int] = {}
        shapes: dict[str, str] = {}
        for path, image in images.items():
            folder, name = posixpath.split(path)
            own = without_digits(name)
            for item in image.imports:
                key = dll_key(item.dll)
                shape = shapes.get(key) or shapes.setdefault(key, without_digits(key))
                group = (folder, own, shape)
                names = self._members.setdefault(group, {}).setdefault(path, set())
                if key not in names:
                    names.add(key)
                    self._counts[group, key] = self._counts.get((group, key), 0) + 1

    def _group(self, edge: Edge) -> _Group:
        folder, name = posixpath.split(edge.importer)
        return folder, without_digits(name), without_digits(edge.name)

    def has_other(self, edge: Edge) -> bool:
        """Whether another file of the importer's kind imports another release of the DLL, and not this one."""
        group = self._group(edge)
        return len(self._members.get(group, ())) > self._counts.get((group, dll_key(edge.name)), 0)

    def others(self, edge: Edge) -> list[str]:
        """The names of such files."""
        key = dll_key(edge.name)
        members = self._members.get(self._group(edge), {})
        return [posixpath.basename(path) for path, names in members.items() if key not in names]


def without_digits(name: str) -> str:
    """Return a name in which every number is the same."""
    return re.sub("[0-9]+", "#", dll_key(name))
