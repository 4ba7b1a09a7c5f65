"""Which symbols the DLLs of Python have: ``python311.dll`` and its like, and ``python3.dll`` with the stable ABI."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wheelfix.knowledge.system import python_of
from wheelfix.knowledge.tables import TableFault, entries, read_text, without_source
from wheelfix.model import dll_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from wheelfix.model import Symbol

Version = tuple[int, int]


def parse_stable_abi(table: str, text: str) -> dict[str, Version]:
    """Return symbol to the version that added it; repeated or unreadable lines are refused."""
    symbols: dict[str, Version] = {}
    faults = without_source(text)
    for line in entries(text):
        name, _, version = line.partition(" ")
        major, _, minor = version.partition(".")
        if not (major.isdigit() and minor.isdigit()) or name in symbols:
            faults.append(f"{line!r} cannot be used")
            continue
        symbols[name] = (int(major), int(minor))
    if faults or not symbols:
        raise TableFault(table, faults or ["no symbols"])
    return symbols


@functools.cache
def stable_abi() -> dict[str, Version]:
    """Return every symbol of the stable ABI on Windows with the version that added it."""
    return parse_stable_abi("stable_abi.txt", read_text("stable_abi.txt"))


_UNLISTED = ("_", "PyUnstable_")
"""How names begin that a patch release may add; the table does not have them."""


def parse_python_exports(table: str, text: str) -> dict[int, frozenset[str]]:
    """Return minor version to the public names that its DLL exports; unreadable lines are refused."""
    faults = without_source(text)
    together: dict[str, list[str]] = {}  # most names are in the same few versions, which are parsed once
    for line in entries(text):
        name, _, minors = line.partition(" ")
        together.setdefault(minors, []).append(name)
    found: dict[int, set[str]] = {}
    for minors, names in together.items():
        versions = minors.split()
        if not versions or not all(map(str.isdigit, versions)):
            faults += [f"{f'{name} {minors}'.rstrip()!r} cannot be used" for name in names]
            continue
        for minor in versions:
            found.setdefault(int(minor), set()).update(names)
    if faults or not found:
        raise TableFault(table, faults or ["no symbols"])
    return {minor: frozenset(names) for minor, names in found.items()}


@functools.cache
def python_exports() -> dict[int, frozenset[str]]:
    """Return the public exports of ``python310.dll`` and its successors, by minor version."""
    return parse_python_exports("python_exports.txt", read_text("python_exports.txt"))


def missing_from_python(dll: str, symbols: Iterable[Symbol]) -> tuple[Symbol, ...]:
    """Return those of some imported symbols that an interpreter's DLL does not export, as far as a table knows it."""
    version = python_of(dll)
    known: Collection[str] | None = None
    if dll_key(dll) == "python3.dll":
        known = stable_abi()
    elif version is not None and version[0] == 3 and not version[2]:
        known = python_exports().get(version[1])
    if known is None:
        return ()
    public = (symbol for symbol in symbols if isinstance(symbol, str) and symbol.startswith("Py"))
    return tuple(symbol for symbol in public if symbol not in known and not symbol.startswith(_UNLISTED))
