"""The pages of findings and the list of them, for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.text.canvas import Canvas, Span
from wheelfix.report.text.markdown import draw_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.report.look import Look
    from wheelfix.rules.registry import Rule

SEVERITY_STYLES = {"error": "bad", "warning": "warn", "info": "note"}

GROUPS = {
    "WF1": "Archive and RECORD",
    "WF2": "DLLs as files",
    "WF3": "Dependencies",
    "WF4": "Coherence",
    "WF5": "GPU code",
    "WF6": "Policy",
}


def render_page(markdown: str, look: Look) -> str:
    """Return a Markdown page as a terminal shows it."""
    canvas = Canvas(look)
    draw_markdown(canvas, markdown)
    return canvas.text()


def render_rules(rules: Iterable[Rule], look: Look) -> str:
    """Return the list of findings, by group, one line each."""
    canvas = Canvas(look)
    groups: dict[str, list[Rule]] = {}
    for rule in rules:
        groups.setdefault(rule.code[:3], []).append(rule)
    for number, (prefix, members) in enumerate(sorted(groups.items())):
        if number:
            canvas.blank()
        canvas.line((GROUPS.get(prefix, prefix), "head"))
        rows: list[list[Span]] = [
            [(rule.code, "code"), (str(rule.severity), SEVERITY_STYLES[rule.severity.value]), (rule.name, "name")]
            for rule in members
        ]
        for row, rule in zip(rows, members, strict=True):
            canvas.table([row], indent=2)
            canvas.paragraph(rule.summary, indent=9)
    canvas.blank()
    canvas.paragraph("'wheelfix explain CODE' shows the page of one.")
    return canvas.text()
