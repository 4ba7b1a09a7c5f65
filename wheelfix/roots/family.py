"""The files that belong to a chosen one: a family comes from one folder and is never mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.families import family_of
from wheelfix.model import fold

if TYPE_CHECKING:
    from wheelfix.roots.index import RootFile, RootIndex


def family_files(index: RootIndex, file: RootFile) -> tuple[RootFile, ...]:
    """Return the DLLs beside a chosen one that must not come from anywhere else, by name.

    For ``cudnn64_8.dll`` these are all other ``cudnn*64_8.dll`` of its folder.
    """
    member = family_of(file.name)
    if member is None:
        return ()
    found = (other for other in index.siblings(file) if member.belongs_with(other.name))
    return tuple(sorted(found, key=lambda other: fold(other.name)))
