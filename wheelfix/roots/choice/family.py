"""The files that belong to a chosen one: a family comes from one folder and is never mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.companions import companions_of
from wheelfix.knowledge.families import family_of
from wheelfix.model import fold

if TYPE_CHECKING:
    from wheelfix.roots.index import RootFile, RootIndex


def family_files(index: RootIndex, file: RootFile) -> tuple[RootFile, ...]:
    """Return the DLLs beside a chosen one that are vendored with it and must not come from anywhere else, by name.

    For ``cudnn64_8.dll`` these are its six parts. Which members of a family are used is for the companions to say: an
    MKL folder holds BLACS too, which multiplying matrices does not need and which wants an MPI.
    """
    member = family_of(file.name)
    if member is None:
        return ()
    siblings = [other for other in index.siblings(file) if member.belongs_with(other.name)]
    found: dict[str, RootFile] = {}
    pending = [file]
    for one in pending:  # grows while it is walked: the threading layer brings the core, the core its kernels
        needs = [need for need in companions_of(one.name) if need.vendored_by_default]
        for other in siblings:
            if other.key not in found and any(need.matches(other.name) for need in needs):
                found[other.key] = other
                pending.append(other)
    return tuple(sorted(found.values(), key=lambda other: fold(other.name)))
