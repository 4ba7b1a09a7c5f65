"""What a diagnosis has to go by: what was asked, and what the text and the files gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.options import ScanOptions
from wheelfix.base.values import dataclass, field
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from wheelfix.diagnosis.answer import Evidence, Explained
    from wheelfix.diagnosis.case import ScannedPackage
    from wheelfix.diagnosis.symptoms import Symptom
    from wheelfix.diagnosis.symptoms.recordings import Recording
    from wheelfix.diagnosis.symptoms.stream import Text
    from wheelfix.diagnosis.symptoms.symptom import Log
    from wheelfix.loader.places import Environment

SHOWN = 6
"""Symptoms or packages that the evidence names; more are counted."""


@dataclass(frozen=True, slots=True)
class DiagnoseRequest:
    """What there is to go by."""

    text: Text | None = None
    """An error text: decoded, as bytes, or an open file."""
    text_source: str = "the text"
    """How to name it: a file, ``stdin``, ``--text``."""
    environment: Path | None = None
    wheels: tuple[Path, ...] = ()
    package: str = ""
    active: Path | None = None
    """The environment that is active where we run; used when nothing better is known."""
    options: ScanOptions = field(default_factory=ScanOptions)


@dataclass
class GatheredEvidence:
    """What has been put together so far."""

    log: Log | None = None
    recordings: tuple[Recording, ...] = ()
    environment: Environment | None = None
    how: str = ""
    """How the environment came to be known, when the user did not name it."""
    cases: list[ScannedPackage] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    examine_other: Callable[[str], ScannedPackage | None] = lambda name: None
    """Examines another distribution of the environment, by its name."""

    def case_of(self, explained: Explained, case: ScannedPackage) -> ScannedPackage:
        """The case of the distribution that a cause is in, which need not be the one that the text names."""
        wanted = canonical(explained.package)
        if canonical(case.exam.identity.name) == wanted:
            return case
        for other in self.cases:
            if canonical(other.exam.identity.name) == wanted and bool(other.wheel) == bool(case.wheel):
                return other
        return self.examine_other(wanted) or case

    @property
    def symptoms(self) -> tuple[Symptom, ...]:
        return self.log.symptoms if self.log else ()
