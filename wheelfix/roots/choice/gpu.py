"""Whether candidates have GPU code that runs on the user's card, asked before they are vendored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.cards import capability_of, library_release
from wheelfix.knowledge.families import family_of
from wheelfix.roots.choice.family import family_files
from wheelfix.roots.choice.outcome import Objection

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.roots.index import RootFile, RootIndex


def gpu_objection(
    index: RootIndex, card: str, runs: Callable[[tuple[str, ...]], bool], *, fatal: bool = False
) -> Callable[[RootFile], Objection | None]:
    """Return the objection for :class:`~wheelfix.roots.choice.outcome.Terms` that asks for code for a card.

    ``runs`` tells whether something among architectures such as ``sm_86`` and ``ptx_86`` runs on it. A DLL without any
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
    member, capability = family_of(name), capability_of(card)
    return library_release(member.family.group, member.family.title, capability) if member and capability else ""
