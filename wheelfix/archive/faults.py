"""Faults of an archive and of its RECORD, as values: what is wrong, where, and who will refuse it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from wheelfix.base.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

PIP, UV, PYPI, INSTALLER = "pip", "uv", "pypi", "installer"


@frozen
class ArchiveFault:
    """Something irregular in a zip archive."""

    kind: str
    """Kebab-case; ``rules/archive.py`` maps kinds to codes."""
    subject: str
    """The member's name; empty when the fault is the archive's own."""
    message: str
    rejected_by: tuple[str, ...] = ()
    """Who refuses such an archive: ``pip``, ``uv``, ``installer``, ``pypi``."""


@frozen
class RecordFault:
    """A disagreement between RECORD and the archive, or within RECORD."""

    kind: str
    """Likewise."""
    path: str
    """The path the row or member is about."""
    message: str
    expected: str = ""
    """What RECORD says, where that helps."""
    found: str = ""
    """What the archive holds."""
    rejected_by: tuple[str, ...] = ()
    """Who refuses such a wheel; ``installer`` where it is asked to check RECORD."""


class FaultList:
    """Faults of an archive as they are found; of each kind only so many are kept, the rest are counted."""

    LIMIT = 10_000

    def __init__(self) -> None:
        self._faults: list[ArchiveFault] = []
        self._counts: Counter[str] = Counter()

    def add(self, faults: Iterable[ArchiveFault]) -> None:
        """Take up faults, as many of each kind as can be listed."""
        for fault in faults:
            self._counts[fault.kind] += 1
            if self._counts[fault.kind] <= self.LIMIT:
                self._faults.append(fault)

    def result(self) -> tuple[ArchiveFault, ...]:
        """Return all faults, with one more for each kind that had too many."""
        more = [
            ArchiveFault(kind, "", f"and {count - self.LIMIT} more members like this")
            for kind, count in self._counts.items()
            if count > self.LIMIT
        ]
        return (*self._faults, *more)
