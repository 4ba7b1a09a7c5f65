"""What an answer of the index of providers means for one dependency, and how it is worded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.distributions import owners_of
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.provider_index import Ships, provider_index
from wheelfix.knowledge.system import runtime_file

if TYPE_CHECKING:
    from wheelfix.knowledge.distributions import Owner
    from wheelfix.knowledge.provider_index import ProviderAnswer
    from wheelfix.loader.requirements import Dependency


def is_shippable(name: str) -> bool:
    """Whether a wheel may contain a DLL: it is not a part of the compiler, and its licence allows it."""
    member = family_of(name)
    return runtime_file(name) is None and (member is None or member.family.redistribute)


def has_it(answer: ProviderAnswer) -> bool:
    """Whether the version that pip chooses has it."""
    return answer.ships is Ships.YES or (answer.ships is Ships.SOME and answer.newest)


def owner_entry(name: str, distribution: str) -> Owner | None:
    """The entry of the table of distributions for a DLL of that distribution, one for every build first."""
    entries = [owner for owner in owners_of(name) if owner.distribution == distribution]
    return min(entries, key=lambda owner: bool(owner.only), default=None)


def some_have_it(dependency: Dependency, answer: ProviderAnswer) -> str:
    """Say which versions, or which extra, of a dependency have a DLL."""
    if dependency.extra:
        return f"{dependency.name} has it, but is installed only with the extra {dependency.extra!r}"
    return f"{dependency.name} {answer.having[-1]} has it, {answer.without[-1]} does not"


def other_version_has_it(name: str, distribution: str) -> bool:
    """Whether some other version of the distribution has the DLL."""
    return any(dll.distribution == distribution for dll in provider_index().shipped(name))


def not_in_version(name: str, dependency: Dependency) -> str:
    """Say that the required version does not have a DLL, and which versions do."""
    own = [dll for dll in provider_index().shipped(name) if dll.distribution == dependency.name]
    versions = own[0].versions if own else ()
    shown = versions[0] if len(versions) == 1 else f"{versions[0]} to {versions[-1]}" if versions else ""
    return f"{dependency} does not have it, {dependency.name} {shown} does"
