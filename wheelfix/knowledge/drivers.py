"""Which NVIDIA driver a CUDA release or a version of PTX needs, and which driver is the last for an old card."""

from __future__ import annotations

import functools
import itertools

from wheelfix.base.values import dataclass
from wheelfix.knowledge.tables import Checker, parse_toml, read_text

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Generation:
    """Cards that one last driver serves."""

    name: str
    first: Pair
    last: Pair
    driver: int
    source: str


@dataclass(frozen=True, slots=True)
class Language:
    """A version of PTX."""

    version: Pair
    cuda: Pair
    """The toolkit that brought it."""
    driver: int
    """The first branch that compiles it."""


@dataclass(frozen=True, slots=True)
class Drivers:
    """The content of ``drivers.toml``."""

    needed: dict[tuple[int, ...], int]
    """CUDA major, or major and minor, to the oldest branch that runs it."""
    windows: dict[int, str]
    """Branch to its first driver for Windows."""
    generations: tuple[Generation, ...]
    languages: tuple[Language, ...]
    """Versions of PTX, oldest first."""


def parse_drivers(table: str, text: str) -> Drivers:
    """Turn the table's text into values; every fault is reported at once."""
    tree = parse_toml(table, text)
    check = Checker(table)
    rows = check.rows(tree, "cuda", ["release", "driver"], ["windows"])
    check.unique("release", (row["release"] for row in rows))
    needed = {tuple(int(part) for part in row["release"].split(".")): int(row["driver"]) for row in rows}
    windows = {int(row["driver"]): row["windows"] for row in rows if "windows" in row}
    generations = tuple(
        Generation(row["name"], _pair(row["from"]), _pair(row["to"]), int(row["driver"]), row["source"])
        for row in check.rows(tree, "generation", ["name", "from", "to", "driver"])
    )
    for earlier, later in itertools.pairwise(generations):
        if not earlier.first <= earlier.last < later.first or earlier.driver >= later.driver:
            check.faults.append(f"{earlier.name} and {later.name} are not in order")
    languages = tuple(
        Language(_pair(row["version"]), _pair(row["cuda"]), int(row["driver"]))
        for row in check.rows(tree, "ptx", ["version", "cuda", "driver"])
    )
    for old, new in itertools.pairwise(languages):
        if not (old.version <= new.version and old.cuda < new.cuda and old.driver < new.driver):
            check.faults.append(f"PTX {new.version[0]}.{new.version[1]} is not newer than the entry before")
    check.finish()
    return Drivers(needed, windows, generations, languages)


def _pair(text: str) -> Pair:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


@functools.cache
def _drivers() -> Drivers:
    return parse_drivers("drivers.toml", read_text("drivers.toml"))


def driver_needed(major: int, minor: int) -> int | None:
    """Return the oldest driver branch that runs a CUDA release; None when the table does not know it."""
    needed = _drivers().needed
    return needed.get((major, minor), needed.get((major,)))


def windows_driver(branch: int) -> str:
    """Return the first driver for Windows of a branch, as far as it is known; else the branch."""
    return _drivers().windows.get(branch, str(branch))


def last_driver(major: int, minor: int) -> Generation | None:
    """Return the generation of a compute capability whose drivers have ended; None while there are new ones."""
    card = (major, minor)
    return next((item for item in _drivers().generations if item.first <= card <= item.last), None)


def branch_of(driver: int) -> int:
    """Return the branch of a driver by the first part of its version: 475 is of branch 470, 552 of 550."""
    tables = _drivers()
    branches = {*tables.needed.values(), *(item.driver for item in tables.generations)}
    branches |= {item.driver for item in tables.languages}
    return max((branch for branch in branches if branch <= driver), default=driver)


def driver_for_ptx(version: Pair) -> int | None:
    """Return the oldest driver branch that compiles a version of PTX; None for a version newer than the table."""
    return next((item.driver for item in _drivers().languages if item.version >= version), None)


def cuda_of_driver(driver: int) -> Pair | None:
    """Return the newest CUDA release whose PTX a driver branch compiles; None for branches before the table."""
    return next((item.cuda for item in reversed(_drivers().languages) if item.driver <= driver), None)


def toolkit_driver(cuda: Pair) -> int | None:
    """Return the driver branch that came with a CUDA release; None for a release that the table does not have."""
    return next((item.driver for item in _drivers().languages if item.cuda == cuda), None)
