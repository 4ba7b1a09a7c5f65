"""Tells from a linker version which compiler built a DLL, and which C++ runtime that asks for."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from wheelfix.knowledge.tables import Checker, parse_toml, read_text

Pair = tuple[int, int]


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


def parse_toolchains(table: str, text: str) -> Toolchains:
    """Turn the table's text into values; ranges that overlap are refused."""
    tree = parse_toml(table, text)
    check = Checker(table)
    linkers = tuple(
        Linker(_pair(row["from"]), _pair(row["to"]), row["product"], row["source"], row.get("vague", False))
        for row in check.rows(tree, "linker", ["from", "to", "product"], ["vague"])
    )
    ordered = sorted(linkers, key=lambda linker: linker.first)
    for number, linker in enumerate(ordered):
        if linker.last < linker.first:
            check.faults.append(f"{linker.product} ends before it begins")
        if number and ordered[number - 1].last >= linker.first:
            check.faults.append(f"{linker.product} overlaps {ordered[number - 1].product}")
    rows = check.rows(tree, "python", ["release", "vcruntime"])
    check.unique("python", (row["release"] for row in rows))
    python = {tuple(int(part) for part in row["release"].split(".")): _pair(row["vcruntime"]) for row in rows}
    check.finish()
    return Toolchains(linkers, python)


def _pair(text: str) -> Pair:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


@functools.cache
def toolchains() -> Toolchains:
    """Return what is known about compilers and runtimes."""
    return parse_toolchains("toolchains.toml", read_text("toolchains.toml"))


def linker_of(version: Pair) -> Linker | None:
    """Return the range a linker version falls into, or None."""
    return next((linker for linker in toolchains().linkers if linker.first <= version <= linker.last), None)


def runtime_needed(version: Pair) -> Pair | None:
    """Return the oldest Visual C++ runtime that may serve a DLL with that linker version; None if it tells nothing."""
    linker = linker_of(version)
    return None if linker is None or linker.vague or version[0] != 14 else version


def python_runtime(release: tuple[int, ...]) -> Pair | None:
    """Return the vcruntime140 that a Python release brings, as far as the table knows that very release."""
    return toolchains().python.get(release)
