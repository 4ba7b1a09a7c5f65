"""The pages of findings and the list of them, for a terminal."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from wheelfix.report.text.canvas import Canvas, Span
from wheelfix.report.text.markdown import draw_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.report.textstyle import TextStyle
    from wheelfix.rules.registry import Group, Rule

SEVERITY_STYLES = {"error": "bad", "unsure": "warn", "warning": "warn", "info": "note"}


def render_page(markdown: str, look: TextStyle) -> str:
    """Return a Markdown page as a terminal shows it."""
    canvas = Canvas(look)
    draw_markdown(canvas, markdown)
    return canvas.text()


def render_rules(rules: Iterable[Rule], look: TextStyle) -> str:
    """Return the list of findings, by group, one line each."""
    canvas = Canvas(look)
    groups: dict[Group, list[Rule]] = {}
    for rule in sorted(rules, key=attrgetter("code")):
        groups.setdefault(rule.group, []).append(rule)
    for number, (group, members) in enumerate(groups.items()):
        if number:
            canvas.blank()
        canvas.line((group.value, "head"))
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
