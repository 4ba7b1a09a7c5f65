"""How many inputs and findings there are: the figures that the summary of every format shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.model import Finding, Severity, Verdict
from wheelfix.report.document import DEFAULT, STAGES, Context, FailedInput, split_failures
from wheelfix.report.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wheelfix.model import Json, ScanReport


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
