"""A fault of an archive or of its RECORD, as a value: what is wrong, where, and who will refuse it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PIP, UV, PYPI, INSTALLER = "pip", "uv", "pypi", "installer"


@frozen
class ArchiveFault:
    """Something irregular in a zip archive or its RECORD, or a disagreement between the two."""

    kind: str
    """Kebab-case; ``rules/archive.py`` maps kinds to codes."""
    subject: str
    """The member or the row that it is about; empty when the fault is the archive's own."""
    message: str
    rejected_by: tuple[str, ...] = ()
    """Who refuses such a wheel: ``pip``, ``uv``, ``pypi``, or ``installer``, as it does where it checks RECORD."""
    expected: str = ""
    """What RECORD says, where that helps."""
    found: str = ""
    """What the archive holds."""


Faults: TypeAlias = "Iterator[ArchiveFault]"
"""What a check finds."""


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
