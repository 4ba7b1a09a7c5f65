"""Which parts of its family a DLL loads by name, and must therefore come with it."""

from __future__ import annotations

from typing import TypeVar

from wheelfix.knowledge.companions import companions_of
from wheelfix.knowledge.families import family_of

T = TypeVar("T")


def loaded_by(name: str, siblings: dict[T, str], cuda: str | None) -> list[T]:
    """Which of some files a DLL, and what it loads, loads by name."""
    found: dict[T, None] = {}
    asking = [name]
    while asking:
        needs = [need for need in companions_of(asking.pop(), cuda=cuda) if need.vendored_by_default]
        for sibling, own in siblings.items():
            if sibling not in found and any(need.matches(own) for need in needs):
                found[sibling] = None
                asking.append(own)
    return list(found)


def family_companions(name: str, cuda: str | None) -> tuple[str, ...]:
    member = family_of(name)
    if member is None:
        return ()
    found = []
    for need in companions_of(name, cuda=cuda):
        other = family_of(need.names[0]) if need.names and need.required else None
        if other and other.family.id == member.family.id:
            found.append(need.names[0])
    return tuple(found)
