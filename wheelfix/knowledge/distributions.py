"""Tells which distribution on PyPI brings a DLL, and where it lies once installed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wheelfix.knowledge.families import demangle
from wheelfix.knowledge.tables import Checker, NamePattern, PatternIndex, parse_toml, read_text
from wheelfix.model import canonical, dll_key
from wheelfix.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Owner:
    """A distribution that brings certain DLLs."""

    distribution: str
    """Its normalised name."""
    folders: tuple[str, ...]
    """Where they lie under the prefix, the usual folder first."""
    patterns: tuple[NamePattern, ...]
    source: str
    preloads: bool = False
    """Whether importing the distribution has the DLLs loaded, or their folder searched."""
    why: str = ""
    """How that comes, as half a sentence."""
    only: str = ""
    """The builds of the distribution that have them, when not all do."""
    tracks_cuda: bool = False
    """Whether the distribution's version begins with that of the CUDA toolkit."""
    cuda: int = 0
    """The major of the toolkit that the distribution is for; 0 when it has nothing to do with CUDA."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """What the name of a DLL says about its release, to the versions of the distribution that have it."""

    @property
    def folder(self) -> str:
        """The usual folder under the prefix."""
        return self.folders[0]

    def brings(self, name: str) -> bool:
        """Whether a DLL of that name comes with the distribution."""
        key = dll_key(name)
        return any(pattern.fullmatch(key) for pattern in self.patterns)


def parse_distributions(table: str, text: str) -> tuple[Owner, ...]:
    """Turn the table's text into values; every fault is told at once."""
    tree = parse_toml(table, text)
    check = Checker(table)
    rows = check.rows(
        tree,
        "distribution",
        ["name", "folders", "patterns"],
        ["preloads", "why", "only", "tracks_cuda", "cuda", "versions"],
    )
    check.unique("entry", ((row["name"], row.get("only", "")) for row in rows))
    owners = []
    for row in rows:
        name = row["name"]
        if canonical(name) != name:
            check.faults.append(f"{name!r} is not normalised")
        if any(folder != folder.strip("/") or "\\" in folder for folder in row["folders"]):
            check.faults.append(f"{name!r} has a folder that is not relative with forward slashes")
        if row.get("preloads") and not row.get("why"):
            check.faults.append(f"{name!r} preloads and does not say how")
        for wanted in row.get("versions", {}).values():
            check.specifier(wanted)
        if row.get("tracks_cuda") and not row.get("cuda"):
            check.faults.append(f"{name!r} tracks CUDA without saying which")
        owners.append(
            Owner(
                distribution=name,
                folders=tuple(row["folders"]),
                patterns=tuple(NamePattern(pattern) for pattern in row["patterns"]),
                source=row["source"],
                preloads=row.get("preloads", False),
                why=row.get("why", ""),
                only=row.get("only", ""),
                tracks_cuda=row.get("tracks_cuda", False),
                cuda=row.get("cuda", 0),
                versions=dict(row.get("versions", {})),
            )
        )
    check.finish()
    return tuple(owners)


@functools.cache
def distributions() -> tuple[Owner, ...]:
    """Return every distribution that is known to bring DLLs."""
    return parse_distributions("distributions.toml", read_text("distributions.toml"))


@functools.cache
def _owners() -> PatternIndex[Owner]:
    return PatternIndex((pattern, owner) for owner in distributions() for pattern in owner.patterns)


@functools.lru_cache(maxsize=16384)
def owners_of(name: str) -> tuple[Owner, ...]:
    """Return the distributions that bring a DLL of that name, in the order of the table."""
    found = {id(owner): owner for owner in _owners().matching(demangle(dll_key(name)))}
    return tuple(found.values())


def folders_of(distribution: str) -> tuple[str, ...]:
    """Return the folders under the prefix that a distribution puts DLLs into."""
    wanted = canonical(distribution)
    found = (folder for owner in distributions() if owner.distribution == wanted for folder in owner.folders)
    return tuple(dict.fromkeys(found))
