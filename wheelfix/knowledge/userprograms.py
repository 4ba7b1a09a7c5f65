"""DLLs of programs that users install on their own, and how code that looks for such a program is recognised."""

from __future__ import annotations

import functools

from wheelfix.base.values import dataclass
from wheelfix.knowledge.tables import Checker, NamePattern, parse_toml, read_text
from wheelfix.model import dll_key


@dataclass(frozen=True, slots=True)
class Program:
    """A program that is not a distribution, and whose DLLs packages use."""

    name: str
    pattern: NamePattern
    words: tuple[str, ...]
    """Environment variables that it sets: code that has one of them looks for the program."""
    feature: bool
    """Whether it is a part of Windows that users turn on."""
    source: str


def parse_programs(table: str, text: str) -> tuple[Program, ...]:
    """Turn the table's text into values; every fault is reported at once."""
    tree = parse_toml(table, text)
    check = Checker(table)
    rows = check.rows(tree, "program", ["name", "pattern"], ["words", "feature"])
    check.unique("program", (row["name"] for row in rows))
    check.faults += (
        f"{row['name']!r} needs either words or to be a feature"
        for row in rows
        if ("words" in row) == ("feature" in row)
    )
    check.finish()
    return tuple(
        Program(
            row["name"],
            NamePattern(row["pattern"]),
            tuple(row.get("words", ())),
            row.get("feature", False),
            row["source"],
        )
        for row in rows
    )


@functools.cache
def programs() -> tuple[Program, ...]:
    """Return every entry, in the order of the table."""
    return parse_programs("userprograms.toml", read_text("userprograms.toml"))


def program_of(name: str) -> Program | None:
    """Return the program that has a DLL of that name, or None."""
    key = dll_key(name)
    return next((program for program in programs() if program.pattern.fullmatch(key)), None)
