"""Which symbols ``python3.dll`` offers to extension modules that claim to run on every later Python, and since when."""

from __future__ import annotations

import functools

from wheelfix.knowledge.tables import TableFault, read_text

Version = tuple[int, int]


def parse_stable_abi(table: str, text: str) -> dict[str, Version]:
    """Return symbol to the version that added it; repeated or unreadable lines are refused."""
    symbols: dict[str, Version] = {}
    faults = []
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        name, _, version = line.partition(" ")
        major, _, minor = version.partition(".")
        if not (major.isdigit() and minor.isdigit()) or name in symbols:
            faults.append(f"{line!r} cannot be used")
            continue
        symbols[name] = (int(major), int(minor))
    if not any(line.startswith("# source: ") for line in text.splitlines()):
        faults.append("no source")
    if faults or not symbols:
        raise TableFault(table, faults or ["no symbols"])
    return symbols


@functools.cache
def stable_abi() -> dict[str, Version]:
    """Return every symbol of the stable ABI on Windows with the version that added it."""
    return parse_stable_abi("stable_abi.txt", read_text("stable_abi.txt"))
