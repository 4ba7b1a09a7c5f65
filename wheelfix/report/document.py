"""What a document is made from besides the reports: inputs that failed, and which findings count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wheelfix.errors import WheelfixError
    from wheelfix.model import Finding, ScanReport
    from wheelfix.plan.model import Plan


STAGES = {"read": "not readable", "repair": "not repaired", "report": "not reported", "try": "not imported"}
"""What an input that failed at a stage is called in every format."""


@dataclass(frozen=True, slots=True)
class FailedInput:
    """An input that could not be read, repaired, reported or imported, and why; it may have a report all the same."""

    path: str
    error: WheelfixError
    stage: str = "read"
    """Where it failed: a key of :data:`STAGES`."""

    @property
    def words(self) -> str:
        """What the input is called."""
        return STAGES[self.stage]


def split_failures(
    reports: Sequence[ScanReport], failures: Sequence[FailedInput]
) -> tuple[dict[str, FailedInput], list[FailedInput]]:
    """Return the failures of inputs that have a report, by its path, and those that stand alone."""
    paths = {report.path for report in reports}
    of_reports = {failure.path: failure for failure in failures if failure.path in paths}
    return of_reports, [failure for failure in failures if failure.path not in paths]


@dataclass(frozen=True, slots=True)
class PlanReport:
    """What a repair did to one wheel, or would do."""

    plan: Plan
    outcome: str
    """``repaired``, ``unchanged`` or ``planned``."""
    target: str = ""
    """The wheel that came out."""
    faults: tuple[str, ...] = ()
    """Why a planned wheel would not be written."""


LEVELS = {"error": 4, "unsure": 3, "warning": 2, "info": 1, "never": 5}
"""From which severity on a finding fails the build: ``LEVELS[severity] >= LEVELS[fail_on]``."""


def nothing_known(report: ScanReport, finding: Finding) -> bool:
    """There is not a baseline."""
    return False


@dataclass(frozen=True, slots=True)
class Context:
    """What a document should know beyond the reports: which findings count."""

    fail_on: str = "error"
    fail_on_of: Mapping[str, str] = field(default_factory=dict)
    """Where it is another for some inputs, by their paths."""
    known: Callable[[ScanReport, Finding], bool] = nothing_known
    """Whether a finding is in the baseline."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where vendored members came from, by their names in the wheel."""
    skipped: tuple[str, ...] = ()
    """Wheels for other systems, which were not looked at."""
    date: str = ""
    """When the document is made; empty where two runs must give the same bytes."""
    command: str = ""
    """The command line, without secrets."""
    sha256: Mapping[str, str] = field(default_factory=dict)
    """The hashes of wheels, by their paths as reported."""

    def fails(self, report: ScanReport, finding: Finding) -> bool:
        """Whether the finding makes the build fail."""
        level = self.fail_on_of.get(report.path, self.fail_on)
        return LEVELS[finding.severity.value] >= LEVELS[level] and not self.known(report, finding)


DEFAULT = Context()
