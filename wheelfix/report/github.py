"""Workflow commands that GitHub Actions turns into annotations of a run.

GitHub keeps ten errors, ten warnings and ten notices of a step, so findings of one code in one wheel share one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import Finding, ScanReport, Severity
from wheelfix.report.document import DEFAULT, Context, FailedInput, split_failures
from wheelfix.report.safe import legible, workflow_data, workflow_property
from wheelfix.report.totals import totals
from wheelfix.report.words import count, label, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {Severity.ERROR: "error", Severity.UNSURE: "warning", Severity.WARNING: "warning", Severity.INFO: "notice"}
SHOWN = 5


def render_scan(reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT) -> str:
    """Return one annotation per wheel and code, worst first, and a plain line with each verdict; the totals of many."""
    of_reports, alone = split_failures(reports, failures)
    lines: list[str] = []
    for severity in Severity:
        for report in reports:
            lines += _annotations(report, severity, context)
        if severity is Severity.ERROR:
            lines += [_command("error", failure.path, failure.words, _reason(failure)) for failure in failures]
    # A line that begins with two colons is a command, wherever it comes from: ours begin with a word.
    for report in reports:
        failed = f", {of_reports[report.path].words}" if report.path in of_reports else ""
        lines.append(f"wheelfix: {report.verdict}{failed}: {legible(label(report))}")
    lines += [f"wheelfix: {failure.words}: {legible(failure.path)}" for failure in alone]
    lines += [f"wheelfix: skipped, not a Windows wheel: {legible(path)}" for path in context.skipped]
    figures = totals(reports, failures, context)
    if figures.inputs > 1:
        lines += [f"wheelfix: {legible(str(row))}" for row in figures.rules]
        lines.append(f"wheelfix: {figures}")
    return "".join(f"{line}\n" for line in lines)


def _reason(failure: FailedInput) -> str:
    hint = f"\nhint: {legible(failure.error.hint)}" if failure.error.hint else ""
    return f"{legible(str(failure.error))}{hint}"


def _annotations(report: ScanReport, severity: Severity, context: Context) -> list[str]:
    groups: dict[str, list[Finding]] = {}
    for finding in report.findings:
        if finding.severity is severity and not context.known(report, finding):
            groups.setdefault(finding.code, []).append(finding)
    lines: list[str] = []
    for code, members in groups.items():
        texts = [legible(sentence(member)) for member in members[:SHOWN]]
        if len(members) > SHOWN:
            texts.append(f"and {len(members) - SHOWN} more")
        texts += list(dict.fromkeys(f"hint: {legible(member.hint)}" for member in members[:SHOWN] if member.hint))
        if report.first_failure is not None and severity is Severity.ERROR and not lines:
            texts.insert(0, legible(report.first_failure.message))
        title = f"{code} {members[0].name}" + (f" ({count(len(members), 'time')})" if len(members) > 1 else "")
        lines.append(_command(COMMANDS[severity], report.path, f"{title} in {label(report)}", "\n".join(texts)))
    return lines


def _command(name: str, file: str, title: str, message: str) -> str:
    return f"::{name} file={workflow_property(file)},title={workflow_property(title)}::{workflow_data(message)}"
