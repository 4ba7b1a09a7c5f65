"""The answers for the kinds of Windows that were asked about, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.targets import reason
from wheelfix.report.text.styles import VERDICT_STYLES
from wheelfix.report.words import label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import ScanReport
    from wheelfix.report.text.canvas import Canvas, Span


def draw_targets(canvas: Canvas, report: ScanReport) -> None:
    """Write a line for each target, with why."""
    if not report.targets:
        return
    canvas.blank()
    canvas.line(("Targets", "head"))
    rows: list[list[Span]] = [
        [(target.verdict.value, VERDICT_STYLES[target.verdict]), (target.name, "name"), reason(target)]
        for target in report.targets
    ]
    canvas.table(rows, indent=2)


def draw_target_table(canvas: Canvas, reports: Sequence[ScanReport]) -> None:
    """Write a table of wheels and targets."""
    names = list(dict.fromkeys(target.name for report in reports for target in report.targets))
    if not names:
        return
    canvas.line(("Targets", "head"))
    rows: list[list[Span]] = [[("wheel", "dim"), *((name, "dim") for name in names)]]
    for report in reports:
        verdicts = {target.name: target.verdict for target in report.targets}
        cells: list[Span] = [
            (verdicts[name].value, VERDICT_STYLES[verdicts[name]]) if name in verdicts else "" for name in names
        ]
        rows.append([(label(report), "path"), *cells])
    canvas.table(rows, indent=2)
