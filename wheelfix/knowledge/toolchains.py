"""Which toolset made a DLL, from its linker version or its compiler's build, and which C++ runtime that requires."""

from __future__ import annotations

import itertools

from wheelfix.base.values import dataclass
from wheelfix.knowledge.tables import Checker, Pair, pair, table


@dataclass(frozen=True, slots=True)
class Linker:
    """A range of linker versions and the product they belong to."""

    first: Pair
    last: Pair
    product: str
    source: str
    vague: bool = False
    """The number says nothing about the C++ runtime."""


@dataclass(frozen=True, slots=True)
class Toolchains:
    """The content of ``toolchains.toml``."""

    linkers: tuple[Linker, ...]
    python: dict[tuple[int, ...], Pair]
    """Python release to the vcruntime140 that lies beside its ``python.exe``."""
    compilers: tuple[tuple[int, Pair], ...]
    """The first build of each toolset's compilers, oldest first."""


@table("toolchains.toml")
def toolchains(check: Checker) -> Toolchains:
    """Return what is known about compilers and runtimes; ranges that overlap are refused."""
    linkers = check.values("linker", Linker)
    for linker in linkers:
        if linker.last < linker.first:
            check.faults.append(f"{linker.product} ends before it begins")
    for before, linker in itertools.pairwise(sorted(linkers, key=lambda linker: linker.first)):
        if before.last >= linker.first:
            check.faults.append(f"{linker.product} overlaps {before.product}")
    rows = check.rows(check.tree, "python", ["release", "vcruntime"])
    check.unique("python", (row["release"] for row in rows))
    python = {tuple(int(part) for part in row["release"].split(".")): pair(row["vcruntime"]) for row in rows}
    builds = check.rows(check.tree, "compiler", ["toolset", "build"])
    compilers = tuple((int(row["build"]), pair(row["toolset"])) for row in builds)
    for (build, toolset), (later, newer) in itertools.pairwise(compilers):
        if build >= later or toolset >= newer:
            check.faults.append(f"compilers of {newer[0]}.{newer[1]} are not newer than those before")
    return Toolchains(linkers, python, compilers)


def linker_of(version: Pair) -> Linker | None:
    """Return the range a linker version falls into, or None."""
    return next((linker for linker in toolchains().linkers if linker.first <= version <= linker.last), None)


def runtime_needed(version: Pair) -> Pair | None:
    """Return the oldest Visual C++ runtime that may serve a DLL with that linker version; None if it says nothing."""
    linker = linker_of(version)
    return None if linker is None or linker.vague or version[0] != 14 else version


def toolset_of_build(build: int) -> Pair | None:
    """Return the toolset of a compiler by its build, or an earlier one where that is not known; None before 2015."""
    return next((toolset for first, toolset in reversed(toolchains().compilers) if first <= build), None)


def python_runtime(release: tuple[int, ...]) -> tuple[str, Pair] | None:
    """Return the newest Python of a release (3.11) whose vcruntime140 is known, and the version of that."""
    known = {found: runtime for found, runtime in toolchains().python.items() if found[: len(release)] == release}
    return (".".join(map(str, max(known))), known[max(known)]) if known else None
