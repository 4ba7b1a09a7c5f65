"""What a document is made from: reports, inputs that failed, which findings count, and the figures over all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import Finding, Severity, Verdict
from wheelfix.report.words import count
from wheelfix.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wheelfix.errors import WheelfixError
    from wheelfix.model import Finding, Json, ScanReport
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


# ------------------------------------------------------------------ the figures that the summary of every format shows


@dataclass(frozen=True, slots=True)
class RuleTotal:
    """How often one rule was broken; findings in the baseline are not counted."""

    code: str
    name: str
    severity: Severity
    """The worst that it had."""
    findings: int
    inputs: int

    def __str__(self) -> str:
        findings, inputs = count(self.findings, "finding"), count(self.inputs, "input")
        return f"{self.code} {self.name} ({self.severity}): {findings} in {inputs}"


@dataclass(frozen=True, slots=True)
class Totals:
    """The figures over all inputs of a run."""

    inputs: int
    verdicts: dict[Verdict, int]
    """How many inputs have each verdict, the best first."""
    failed: dict[str, int]
    """How many inputs have no report because they could not be read or repaired, by the words for it."""
    also_failed: dict[str, int]
    """How many inputs have a report and failed nevertheless: those that could not be repaired."""
    skipped: int
    severities: dict[Severity, int]
    """How many findings have each severity; those in the baseline are counted."""
    rules: tuple[RuleTotal, ...]
    """The worst first, then the most frequent."""

    def __str__(self) -> str:
        parts = [f"{number} {verdict}" for verdict, number in self.verdicts.items() if number]
        parts += [f"{number} {words}" for words, number in self.failed.items()]
        parts += [f"{self.skipped} skipped, not for Windows"] if self.skipped else []
        also = "".join(f"; {number} {words}" for words, number in self.also_failed.items())
        return f"{count(self.inputs, 'input')}: {', '.join(parts)}{also}" if parts else "no inputs"

    def to_json(self) -> dict[str, Json]:
        """Return the figures as plain values."""
        failed: dict[str, Json] = {
            words.replace(" ", "_"): self.failed.get(words, 0) + self.also_failed.get(words, 0)
            for words in (STAGES["read"], STAGES["repair"])
        }
        return {
            "inputs": self.inputs,
            **{verdict.value: number for verdict, number in self.verdicts.items()},
            **failed,
            "skipped": self.skipped,
            "findings": {severity.value: number for severity, number in self.severities.items()},
            "rules": [
                {
                    "code": total.code,
                    "name": total.name,
                    "severity": total.severity.value,
                    "findings": total.findings,
                    "inputs": total.inputs,
                }
                for total in self.rules
            ],
        }


def totals(reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT) -> Totals:
    """Return the figures of a run; an input that has a report and failed to be repaired is one input."""
    verdicts = [report.verdict for report in reports]
    of_reports, alone = split_failures(reports, failures)
    return Totals(
        inputs=len(reports) + len(alone) + len(context.skipped),
        verdicts={verdict: verdicts.count(verdict) for verdict in Verdict},
        failed=_by_words(alone),
        also_failed=_by_words(of_reports.values()),
        skipped=len(context.skipped),
        severities=severities(finding for report in reports for finding in report.findings),
        rules=_rules(reports, context),
    )


def _by_words(failures: Iterable[FailedInput]) -> dict[str, int]:
    words = [failure.words for failure in failures]
    return {word: words.count(word) for word in STAGES.values() if word in words}


def severities(findings: Iterable[Finding]) -> dict[Severity, int]:
    """Return how many findings have each severity, the worst first."""
    found = [finding.severity for finding in findings]
    return {severity: found.count(severity) for severity in Severity}


def severity_phrase(findings: Iterable[Finding]) -> str:
    """Return ``1 error, 0 warnings, 7 info``; unsure and info are left out where there is none."""
    numbers = severities(findings)
    parts = [count(numbers[Severity.ERROR], "error")]
    parts += [f"{numbers[Severity.UNSURE]} unsure"] if numbers[Severity.UNSURE] else []
    parts.append(count(numbers[Severity.WARNING], "warning"))
    return ", ".join([*parts, f"{numbers[Severity.INFO]} info"] if numbers[Severity.INFO] else parts)


def _rules(reports: Sequence[ScanReport], context: Context) -> tuple[RuleTotal, ...]:
    found: dict[str, list[tuple[int, Finding]]] = {}
    for number, report in enumerate(reports):
        for finding in report.findings:
            if not context.known(report, finding):
                found.setdefault(finding.code, []).append((number, finding))
    order = list(Severity)
    rows = [
        RuleTotal(
            code,
            entries[0][1].name,
            min((finding.severity for _, finding in entries), key=order.index),
            len(entries),
            len({number for number, _ in entries}),
        )
        for code, entries in found.items()
    ]
    return tuple(sorted(rows, key=lambda row: (order.index(row.severity), -row.findings, row.code)))
