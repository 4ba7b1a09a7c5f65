"""The files that belong to a chosen one, and whether all of them have GPU code for the user's card.

A family comes from one folder and is never mixed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.cards import capability_of_arch, library_release
from wheelfix.knowledge.companions import companions_of
from wheelfix.knowledge.families import family_of
from wheelfix.model import fold
from wheelfix.roots.choice.model import Objection

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.rootfile import RootFile


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


def gpu_objection(
    index: RootIndex, card: str, runs: Callable[[tuple[str, ...]], bool], *, fatal: bool = False
) -> Callable[[RootFile], Objection | None]:
    """Return the objection for :class:`~wheelfix.roots.choice.model.Terms` that asks for code for a card.

    ``runs`` says whether something among architectures such as ``sm_86`` and ``ptx_86`` runs on it. A DLL without any
    GPU code, such as ``cudnn64_8.dll``, is as good as the family beside it, which does its work.
    """

    def objection(file: RootFile) -> Objection | None:
        for part in (file, *family_files(index, file)):
            archs = index.archs(part)
            if archs and not runs(archs):
                subject = "it" if part is file else part.name
                reason = f"{subject} has no code for {card}, only for {', '.join(archs)}"
                better = _better(part.name, card)
                return Objection(f"{reason}; take {better}" if better else reason, fatal)
        return None

    return objection


def _better(name: str, card: str) -> str:
    """Return the release of a library that has code for a card, as far as the tables know."""
    member, capability = family_of(name), capability_of_arch(card)
    return library_release(member.family.group, member.family.title, capability) if member and capability else ""
