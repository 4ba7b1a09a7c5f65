"""Which distribution on PyPI ships a DLL for others, and where it is once installed.

What a distribution ships is in the provider index; ``distributions.toml`` has what names cannot tell, and builds that
are not on PyPI.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, replace
from wheelfix.knowledge.provider_index import provider_index
from wheelfix.knowledge.tables import Checker, NamePattern, PatternIndex, Row, parse_toml, read_text
from wheelfix.model import canonical, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wheelfix.knowledge.provider_index import ShippedDll


@dataclass(frozen=True, slots=True)
class Owner:
    """A distribution that ships certain DLLs for others."""

    distribution: str
    """Its normalised name."""
    folders: tuple[str, ...]
    """Where they lie under the prefix, the usual folder first."""
    patterns: tuple[NamePattern, ...]
    """The DLLs that others may count on; none: all that it ships."""
    source: str
    preloads: bool = False
    """Whether importing the distribution has the DLLs loaded, or their folder searched."""
    at_start: bool = False
    """Whether that happens whenever Python starts, without an import."""
    why: str = ""
    """How that comes, as half a sentence."""
    only: str = ""
    """The builds of the distribution that have them, when those on PyPI do not."""
    tracks_cuda: bool = False
    """Whether the distribution's version begins with that of the CUDA toolkit."""
    cuda: int = 0
    """The major of the toolkit that the distribution is for; 0 when it has nothing to do with CUDA."""
    specifier: str = ""
    """The versions that have the DLL that was asked about, as pip takes them; empty for any."""

    @property
    def folder(self) -> str:
        """The usual folder under the prefix."""
        return self.folders[0]


def parse_distributions(table: str, text: str) -> tuple[Owner, ...]:
    """Turn the table's text into values; every fault is reported at once."""
    check = Checker(table)
    optional = ["folders", "patterns", "preloads", "at_start", "why", "only", "tracks_cuda", "cuda"]
    rows = check.rows(parse_toml(table, text), "distribution", ["name"], optional)
    check.unique("entry", ((row["name"], row.get("only", "")) for row in rows))
    for row in rows:
        check.faults += _faults(row)
    check.finish()
    return tuple(
        Owner(
            distribution=row["name"],
            folders=tuple(row.get("folders", ())),
            patterns=tuple(NamePattern(pattern) for pattern in row.get("patterns", ())),
            source=row["source"],
            preloads=row.get("preloads", False),
            at_start=row.get("at_start", False),
            why=row.get("why", ""),
            only=row.get("only", ""),
            tracks_cuda=row.get("tracks_cuda", False),
            cuda=row.get("cuda", 0),
        )
        for row in rows
    )


def _faults(row: Row) -> Iterator[str]:
    name = row["name"]
    if canonical(name) != name:
        yield f"{name!r} is not normalised"
    if any(folder != folder.strip("/") or "\\" in folder for folder in row.get("folders", ())):
        yield f"{name!r} has a folder that is not relative with forward slashes"
    if "folders" in row and "patterns" not in row:
        yield f"{name!r} has folders without patterns"
    if "only" in row and "folders" not in row:
        yield f"{name!r} has builds that are not on PyPI without folders"
    if row.get("preloads") and not row.get("why"):
        yield f"{name!r} preloads and does not say how"
    if row.get("at_start") and not row.get("preloads"):
        yield f"{name!r} does something when Python starts that does not concern its DLLs"
    if row.get("tracks_cuda") and not row.get("cuda"):
        yield f"{name!r} tracks CUDA without saying which"


@functools.cache
def distributions() -> tuple[Owner, ...]:
    """Return every distribution that is known to ship DLLs for others."""
    return parse_distributions("distributions.toml", read_text("distributions.toml"))


@functools.cache
def _elsewhere() -> PatternIndex[Owner]:
    """The builds that are not on PyPI."""
    return PatternIndex((pattern, owner) for owner in distributions() if owner.folders for pattern in owner.patterns)


@functools.lru_cache(maxsize=16384)
def owners_of(name: str) -> tuple[Owner, ...]:
    """Return the distributions that ship a DLL with exactly that name for others, in the order of the table."""
    key = dll_key(name)
    shipped = {name: [*dlls] for name, dlls in itertools.groupby(provider_index().shipped(key), _distribution)}
    elsewhere = {id(owner) for owner in _elsewhere().matching(key)}
    found = []
    for owner in distributions() if shipped or elsewhere else ():
        if id(owner) in elsewhere:
            found.append(owner)
        elif not owner.folders and owner.distribution in shipped and _counts_on(owner, key):
            dlls = sorted(shipped[owner.distribution], key=lambda dll: -dll.looked_at.index(dll.until))
            folders = tuple(dll.folder for dll in dlls)
            found.append(replace(owner, folders=folders, specifier=versions_with(dlls)))
    return tuple(found)


def _distribution(dll: ShippedDll) -> str:
    return dll.distribution


def _counts_on(owner: Owner, key: str) -> bool:
    return not owner.patterns or any(pattern.fullmatch(key) for pattern in owner.patterns)


def versions_with(dlls: Sequence[ShippedDll]) -> str:
    """Return a specifier of the versions of a distribution that have a DLL in one of its folders; empty for all.

    Whole majors where the versions that were looked at allow it: ``==2021.*``, ``>=2022,<2026``.
    """
    looked_at = dlls[0].looked_at
    having = [version for version in looked_at if any(version in dll.versions for dll in dlls)]
    if len(having) == len(looked_at):
        return ""
    first, last = looked_at.index(having[0]), looked_at.index(having[-1])
    without = [version for version in looked_at[first:last] if version not in having]
    low, high = _major(having[0]), _major(having[-1])
    before, after = looked_at[first - 1 : first], looked_at[last + 1 : last + 2]
    whole = not any(_major(version) == low for version in before) and not any(
        _major(version) == high for version in after
    )
    if whole and low == high and after:
        parts = [f"=={low}.*"]
    elif first == last and not whole:
        parts = [f"=={having[0]}"]
    else:
        parts = [f">={low if whole else having[0]}"] if before else []
        parts += [f"<{high + 1}" if whole else f"<={having[-1]}"] if after else []
    return ",".join([*parts, *(f"!={version}" for version in without)])


def _major(version: str) -> int:
    return int(version.partition("!")[2].partition(".")[0] or version.partition(".")[0].partition("!")[0])
