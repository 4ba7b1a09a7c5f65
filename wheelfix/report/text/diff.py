"""A comparison of builds as text for a person: what was lost first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.diff import pair_words
from wheelfix.report.text.canvas import Canvas, Span
from wheelfix.report.text.pages import SEVERITY_STYLES
from wheelfix.report.words import human_change, human_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.report.builds import Comparison, Difference, Problem
    from wheelfix.report.textstyle import TextStyle

SHOWN = 30
VERDICT_STYLES = {"ok": "good", "risky": "warn", "unsure": "warn", "broken": "bad"}


def render_diff(comparison: Comparison, look: TextStyle, *, verbose: bool = False, quiet: bool = False) -> str:
    """Return what changed; ``quiet`` leaves one line per wheel, ``verbose`` lists every change."""
    canvas = Canvas(look)
    for number, difference in enumerate(comparison.differences):
        if number and not quiet:
            canvas.blank()
        _difference(canvas, difference, verbose=verbose, quiet=quiet)
    for word, style, builds in (("LOST", "bad", comparison.only_old), ("NEW", "note", comparison.only_new)):
        for build in builds:
            canvas.line((word, style), f"  {build.path}")
    for path in comparison.unread:
        canvas.line(("NOT COMPARED", "bad"), f"  {path}")
    return canvas.text()


def _difference(canvas: Canvas, difference: Difference, *, verbose: bool, quiet: bool) -> None:
    old, new = difference.old, difference.new
    numbers = f"{len(difference.lost)} lost, {len(difference.appeared)} new, {len(difference.pairs)} changed"
    versions = old.version if old.version == new.version else f"{old.version} → {new.version}"
    title = (
        f"{old.name} {old.version} → {new.name} {new.version}" if difference.other_project else f"{new.name} {versions}"
    )
    canvas.line((title.strip(), "name"), f": {numbers}")
    if difference.other_project:
        canvas.line(("different projects", "warn"), f": {old.name} is compared with {new.name}")
    if quiet:
        return
    verdict: list[Span] = [
        (old.verdict, VERDICT_STYLES[old.verdict]),
        " → ",
        (new.verdict, VERDICT_STYLES[new.verdict]),
    ]
    change = human_change(new.size - old.size)
    canvas.line(*verdict, f", DLLs {human_size(old.size)} → {human_size(new.size)} ({change})")
    if difference.is_empty:
        canvas.line("Nothing changed.")
        return
    most = len(difference.pairs) + len(difference.appeared) if verbose else SHOWN
    if difference.lost:
        canvas.blank()
        canvas.line((f"Lost ({len(difference.lost)})", "head"))
    for file in difference.lost:
        needers = difference.still_needed(file)
        canvas.line((file.path, "bad"), (f"  {human_size(file.size)}", "dim"), indent=2)
        if needers:
            canvas.paragraph(", ".join(needers[:4]) + (" …" if len(needers) > 4 else ""), indent=4,
                             lead=("still needed by ", "bad"))  # fmt: skip
    _section(canvas, "New", [(file.path, human_size(file.size)) for file in difference.appeared], most)
    for how in ("replaced", "moved", "changed"):
        rows = [(pair.old.path, pair_words(pair)) for pair in difference.pairs if pair.how == how]
        _section(canvas, how.capitalize(), rows, most)
    _problems(canvas, "New findings", difference.arisen)
    _problems(canvas, "Fixed findings", difference.cured)


def _section(canvas: Canvas, title: str, rows: Sequence[tuple[str, str]], most: int) -> None:
    if not rows:
        return
    canvas.blank()
    canvas.line((f"{title} ({len(rows)})", "head"))
    for path, words in rows[:most]:
        canvas.line(path, indent=2)
        canvas.paragraph((words, "dim"), indent=4)
    if len(rows) > most:
        canvas.line((f"… and {len(rows) - most} more (-v shows all)", "dim"), indent=2)


def _problems(canvas: Canvas, title: str, problems: Sequence[Problem]) -> None:
    if not problems:
        return
    canvas.blank()
    canvas.line((f"{title} ({len(problems)})", "head"))
    for problem in problems:
        lead: Span = (f"{problem.code} ", SEVERITY_STYLES[problem.severity.value])
        canvas.paragraph(problem.message, indent=2, lead=lead)
