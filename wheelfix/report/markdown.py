"""A summary in Markdown, for pull requests, job summaries and release notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import Finding, ScanReport, Verdict
from wheelfix.report.document import DEFAULT, Context, FailedInput, split_failures
from wheelfix.report.safe import markdown as escape
from wheelfix.report.safe import markdown_block as block
from wheelfix.report.safe import markdown_code as code
from wheelfix.report.safe import without_commands
from wheelfix.report.totals import severities, totals
from wheelfix.report.words import count, import_statement, label, sentence, short_path

if TYPE_CHECKING:
    from collections.abc import Sequence

MARKS = {Verdict.OK: "✅ ok", Verdict.RISKY: "⚠️ risky", Verdict.UNSURE: "❓ unsure", Verdict.BROKEN: "❌ broken"}
SHOWN = 20


def render_scan(reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT) -> str:
    """Return a table over all wheels, and a section for each that has something to say."""
    of_reports, alone = split_failures(reports, failures)
    figures = totals(reports, failures, context)
    lines = ["## wheelfix", "", escape(str(figures))]
    if figures.inputs:
        lines += [
            "",
            "| wheel | verdict | errors | unsure | warnings | info |",
            "| --- | --- | ---: | ---: | ---: | ---: |",
        ]
    for report in reports:
        numbers = " | ".join(str(number) for number in severities(report.findings).values())
        failed = f", {of_reports[report.path].words}" if report.path in of_reports else ""
        lines.append(f"| {escape(label(report))} | {MARKS[report.verdict]}{failed} | {numbers} |")
    lines += [f"| {escape(failure.path)} | ❌ {failure.words} | | | | |" for failure in alone]
    lines += [f"| {escape(path)} | skipped: not a Windows wheel | | | | |" for path in context.skipped]
    if len(reports) > 1 and figures.rules:
        lines += ["", "| rule | severity | findings | wheels |", "| --- | --- | ---: | ---: |"]
        lines += [
            f"| {escape(f'{row.code} {row.name}')} | {row.severity} | {row.findings} | {row.inputs} |"
            for row in figures.rules
        ]
    for report in reports:
        if report.findings or report.first_failure is not None or report.path in of_reports:
            lines += ["", *_section(report, of_reports.get(report.path), context)]
    for failure in alone:
        lines += ["", f"### {escape(failure.path)}", "", *_reason(failure)]
    return without_commands("\n".join(lines) + "\n")


def _reason(failure: FailedInput) -> list[str]:
    lines = [escape(f"{failure.words.capitalize()}: {failure.error}")]
    return [*lines, "", f"Hint: {escape(failure.error.hint)}"] if failure.error.hint else lines


def _section(report: ScanReport, failure: FailedInput | None, context: Context) -> list[str]:
    lines = [f"### {escape(label(report))}"]
    if failure is not None:
        lines += ["", *_reason(failure)]
    prediction = report.first_failure
    if prediction is not None:
        lines += ["", f"{code(import_statement(report))} will raise:", "", *block(prediction.message)]
        if len(prediction.chain) > 1:
            lines += ["", "because " + " → ".join(code(name) for name in prediction.chain)]
        if prediction.explanation:
            lines += ["", escape(prediction.explanation)]
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
