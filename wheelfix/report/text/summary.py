"""The end of a run over many inputs, for people: a line for each, the totals, and how often each rule was broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import Verdict
from wheelfix.report.document import DEFAULT, Context, FailedInput, split_failures
from wheelfix.report.text.canvas import Canvas, Span
from wheelfix.report.text.styles import VERDICT_STYLES as VERDICT_STYLES
from wheelfix.report.text.targets import draw_target_table
from wheelfix.report.totals import severity_phrase, totals
from wheelfix.report.words import count, label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import ScanReport
    from wheelfix.report.textstyle import TextStyle
    from wheelfix.report.totals import RuleTotal


def render_summary(
    reports: Sequence[ScanReport], failures: Sequence[FailedInput], look: TextStyle, context: Context = DEFAULT
) -> str:
    """Return a table of the inputs that are not clean, the totals, and how often each rule was broken."""
    canvas = Canvas(look)
    of_reports, alone = split_failures(reports, failures)
    rows: list[list[Span]] = [
        [
            (report.verdict.value.upper(), VERDICT_STYLES[report.verdict]),
            severity_phrase(report.findings),
            (label(report) + (f" ({of_reports[report.path].words})" if report.path in of_reports else ""), "path"),
        ]
        for report in reports
        if report.verdict is not Verdict.OK or report.path in of_reports
    ]
    rows += [[("FAILED", "bad"), failure.words, (failure.path, "path")] for failure in alone]
    rows += [[("SKIPPED", "dim"), "not for Windows", (path, "path")] for path in context.skipped]
    figures = totals(reports, failures, context)
    canvas.line(("Summary", "head"))
    canvas.table(rows, indent=2)
    draw_target_table(canvas, reports)
    if figures.rules:
        _draw_rules(canvas, figures.rules)
    canvas.line(str(figures))
    return canvas.text()


def render_statistics(reports: Sequence[ScanReport], context: Context, look: TextStyle) -> str:
    """Return how often each rule was broken; known findings are left out."""
    canvas = Canvas(look)
    rules = totals(reports, (), context).rules
    _draw_rules(canvas, rules)
    canvas.line(f"{count(sum(row.findings for row in rules), 'finding')} of {count(len(rules), 'rule')}")
    return canvas.text()


def _draw_rules(canvas: Canvas, rules: Sequence[RuleTotal]) -> None:
    canvas.line(("Findings by rule", "head"))
    canvas.table([[str(row.findings), row.code, row.severity.value, row.name] for row in rules], indent=2)
