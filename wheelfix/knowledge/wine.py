"""Where Wine's loader differs from Windows', as ``wine_deviations.toml`` has it."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.knowledge.tables import Checker, parse_toml, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLE = "wine_deviations.toml"
PHASES = ("map", "bind")
NOT_FOUND = re.compile(
    r'import_dll Library (?P<dll>.{1,300}?) \(which is needed by L"(?P<by>[^"\n]{0,400})"\) not found'
)
"""A fault in which Wine and Windows agree (126), unless the library was found and failed for its own reasons."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """One way in which Wine does something else than Windows."""

    id: str
    what: str
    wine: str
    """What Wine does."""
    source: str
    log: re.Pattern[str] | None = None
    """The line of Wine's log that shows it; None where no line does."""
    windows: int | None = None
    """The code that Windows gives; None where another line says more."""
    phase: str = ""
    """``map`` while files are searched and mapped, ``bind`` while imports are connected to exports."""


def parse_deviations(table: str, text: str) -> tuple[Deviation, ...]:
    """Turn the table's text into values; every fault is reported at once."""
    check = Checker(table)
    rows = check.rows(parse_toml(table, text), "deviation", ["id", "what", "wine"], ["log", "windows", "phase"])
    check.unique("id", (row["id"] for row in rows))
    found = []
    for row in rows:
        if "phase" in row:
            check.one_of("phase", row["phase"], PHASES)
        if "windows" in row and "log" not in row:
            check.faults.append(f"{row['id']} has a code, and no line of the log that shows it")
        found.append(Deviation(**{**row, "log": check.pattern(row["log"]) if "log" in row else None}))
    check.finish()
    return tuple(found)


@functools.cache
def deviations() -> tuple[Deviation, ...]:
    """Return the table."""
    return parse_deviations(TABLE, read_text(TABLE))


def deviation(name: str) -> Deviation:
    """Return one row."""
    return next(row for row in deviations() if row.id == name)


def shown_by(log: Iterable[str]) -> tuple[Deviation, ...]:
    """Return the deviations that the lines of a log show, in the order of the table."""
    lines = list(log)
    return tuple(row for row in deviations() if row.log is not None and any(row.log.search(line) for line in lines))
