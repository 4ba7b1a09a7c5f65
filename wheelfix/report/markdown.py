"""A summary in Markdown, for pull requests, job summaries and release notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import Finding, ScanReport, Severity, Verdict
from wheelfix.report.document import DEFAULT, Context, Failure
from wheelfix.report.safe import markdown as escape
from wheelfix.report.safe import markdown_block as block
from wheelfix.report.safe import markdown_code as code
from wheelfix.report.safe import without_commands
from wheelfix.report.words import count, import_statement, label, sentence, short_path

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKS = {Verdict.OK: "✅ ok", Verdict.RISKY: "⚠️ risky", Verdict.BROKEN: "❌ broken"}
SHOWN = 20


def render_scan(reports: Sequence[ScanReport], failures: Sequence[Failure] = (), context: Context = DEFAULT) -> str:
    """Return a table over all wheels, and a section for each that has something to say."""
    lines = ["## wheelfix", ""]
    if reports or failures or context.skipped:
        lines += ["| wheel | verdict | errors | warnings | notes |", "| --- | --- | ---: | ---: | ---: |"]
    for report in reports:
        numbers = " | ".join(str(_number(report, severity)) for severity in Severity)
        lines.append(f"| {escape(label(report))} | {MARKS[report.verdict]} | {numbers} |")
    lines += [f"| {escape(failure.path)} | ❌ not readable | | | |" for failure in failures]
    lines += [f"| {escape(path)} | skipped: not a Windows wheel | | | |" for path in context.skipped]
    for report in reports:
        if report.findings or report.first_failure is not None:
            lines += ["", *_section(report, context)]
    for failure in failures:
        lines += ["", f"### {escape(failure.path)}", "", escape(str(failure.error))]
        lines += ["", f"Hint: {escape(failure.error.hint)}"] if failure.error.hint else []
    return without_commands("\n".join(lines) + "\n")


def _number(report: ScanReport, severity: Severity) -> int:
    return sum(finding.severity is severity for finding in report.findings)


def _section(report: ScanReport, context: Context) -> list[str]:
    lines = [f"### {escape(label(report))}"]
    failure = report.first_failure
    if failure is not None:
        lines += ["", f"{code(import_statement(report))} will raise:", "", *block(failure.message)]
        if len(failure.chain) > 1:
            lines += ["", "because " + " → ".join(code(name) for name in failure.chain)]
        if failure.explanation:
            lines += ["", escape(failure.explanation)]
    if report.missing:
        lines += ["", "| missing | needed by | could come from |", "| --- | --- | --- |"]
    for item in report.missing[:SHOWN]:
        needers = [code(short_path(path)) for path in item.needed_by]
        sources = [escape(f"{candidate.path} {candidate.version}".strip()) for candidate in item.candidates[:2]]
        optional = "" if item.required else " (optional)"
        lines.append(
            f"| {code(item.name)}{optional} | {_some(needers)} | {'; '.join(sources or map(escape, item.providers))} |"
        )
    lines += _rest(len(report.missing))
    new = [finding for finding in report.findings if not context.known(report, finding)]
    if new:
        lines += ["", "| code | severity | what |", "| --- | --- | --- |"]
    for finding in new[:SHOWN]:
        lines.append(f"| {escape(f'{finding.code} {finding.name}')} | {finding.severity} | {_what(finding)} |")
    lines += _rest(len(new))
    if len(new) < len(report.findings):
        lines += ["", f"{count(len(report.findings) - len(new), 'known finding')} in the baseline."]
    return lines


def _rest(number: int) -> list[str]:
    return ["", f"and {number - SHOWN} more"] if number > SHOWN else []


def _some(names: Sequence[str], most: int = 3) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def _what(finding: Finding) -> str:
    text = escape(sentence(finding))
    return f"{text}<br>Hint: {escape(finding.hint)}" if finding.hint else text
