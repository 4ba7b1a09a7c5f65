"""A comparison of builds: for people, what was lost first; as JSON; and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.canvas import SEVERITY_STYLES, VERDICT_STYLES, Canvas
from wheelfix.report.json_ import dump, pick, tool
from wheelfix.report.safe import markdown as escape
from wheelfix.report.safe import markdown_code as code
from wheelfix.report.safe import without_commands
from wheelfix.report.words import count, human_change, human_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import Json
    from wheelfix.report.builds import Comparison, Difference, File, FilePair, Problem
    from wheelfix.report.canvas import TextStyle

DIFF_SCHEMA = "wheelfix.diff/1"


def render_json(comparison: Comparison) -> str:
    """Return the ``wheelfix.diff/1`` document."""
    document: dict[str, Json] = {
        "schema": DIFF_SCHEMA,
        "tool": tool(),
        "wheels": [_difference(difference) for difference in comparison.differences],
        "only_old": [pick(build, "path name version verdict size") for build in comparison.only_old],
        "only_new": [pick(build, "path name version verdict size") for build in comparison.only_new],
    }
    if comparison.unread:
        document["unread"] = list(comparison.unread)
    return dump(document)


def _difference(difference: Difference) -> dict[str, Json]:
    build, file = "path name version verdict size", "path size version machine"
    problem = "code name severity subject message"
    return {
        "old": pick(difference.old, build),
        "new": pick(difference.new, build),
        "lost": [pick(one, file) | {"still_needed_by": [*difference.still_needed(one)]} for one in difference.lost],
        "appeared": [pick(one, file) for one in difference.appeared],
        "changed": [
            {"how": pair.how, "old": pick(pair.old, file), "new": pick(pair.new, file)} for pair in difference.pairs
        ],
        "new_findings": [pick(one, problem) for one in difference.arisen],
        "cured_findings": [pick(one, problem) for one in difference.cured],
    }


def render_markdown(comparison: Comparison) -> str:
    """Return the comparison for a pull request or a job summary."""
    lines = ["## wheelfix diff"]
    for difference in comparison.differences:
        lines += ["", *_section(difference)]
    for title, builds in (("Only before", comparison.only_old), ("Only now", comparison.only_new)):
        if builds:
            lines += ["", f"{title}: {', '.join(code(build.path) for build in builds)}"]
    if comparison.unread:
        lines += ["", f"Not compared, because a wheel cannot be read: {', '.join(map(code, comparison.unread))}"]
    return without_commands("\n".join(lines) + "\n")


def _section(difference: Difference) -> list[str]:
    old, new = difference.old, difference.new
    lines = [f"### {escape(new.name)} {escape(old.version)} → {escape(new.version)}", ""]
    if difference.other_project:
        lines += [f"Different projects: {escape(old.name)} is compared with {escape(new.name)}.", ""]
    lines.append(f"{escape(old.verdict)} → **{escape(new.verdict)}**, DLLs {human_change(old.size, new.size)}")
    if difference.is_empty:
        return [*lines, "", "Nothing changed."]
    rows = [("❌ lost", code(file.path), _needed(difference, file)) for file in difference.lost]
    rows += [("new", code(file.path), human_size(file.size)) for file in difference.appeared]
    rows += [(escape(pair.how), code(pair.old.path), escape(pair_words(pair))) for pair in difference.pairs]
    if rows:
        lines += ["", "| | DLL | |", "| --- | --- | --- |", *(f"| {' | '.join(row)} |" for row in rows)]
    for title, problems in _findings(difference).items():
        lines += ["", f"{title}:", ""]
        lines += [
            f"- {escape(f'{problem.code} {problem.name}')} ({problem.severity}): {escape(problem.message)}"
            for problem in problems
        ]
    return lines


def _findings(difference: Difference) -> dict[str, Sequence[Problem]]:
    found = {"New findings": difference.arisen, "Fixed findings": difference.cured}
    return {title: problems for title, problems in found.items() if problems}


def _needed(difference: Difference, file: File) -> str:
    needers = difference.still_needed(file)
    return f"still needed by {count(len(needers), 'file')}" if needers else ""


def pair_words(pair: FilePair) -> str:
    """Return in words what became of a DLL."""
    parts = []
    if pair.how != "changed":
        parts.append(f"now {pair.new.path}")
    if pair.old.version and pair.new.version and pair.old.version != pair.new.version:
        parts.append(f"{pair.old.version} → {pair.new.version}")
    if pair.old.machine != pair.new.machine:
        parts.append(f"{pair.old.machine} → {pair.new.machine}")
    if pair.old.size != pair.new.size:
        parts.append(human_change(pair.old.size, pair.new.size))
    return ", ".join(parts)


# ---------------------------------------------------------------------------------------------------------- for people


SHOWN = 30


def render_diff(comparison: Comparison, look: TextStyle, *, verbose: bool = False, quiet: bool = False) -> str:
    """Return what changed; ``quiet`` leaves one line per wheel, ``verbose`` lists every change."""
    canvas = Canvas(look)
    for number, difference in enumerate(comparison.differences):
        if number and not quiet:
            canvas.blank()
        _draw_difference(canvas, difference, verbose=verbose, quiet=quiet)
    for word, style, builds in (("LOST", "bad", comparison.only_old), ("NEW", "note", comparison.only_new)):
        for build in builds:
            canvas.line((word, style), f"  {build.path}")
    for path in comparison.unread:
        canvas.line(("NOT COMPARED", "bad"), f"  {path}")
    return canvas.text()


def _draw_difference(canvas: Canvas, difference: Difference, *, verbose: bool, quiet: bool) -> None:
    old, new = difference.old, difference.new
    numbers = f"{len(difference.lost)} lost, {len(difference.appeared)} new, {len(difference.pairs)} changed"
    versions = old.version if old.version == new.version else f"{old.version} → {new.version}"
    title = f"{new.name} {versions}"
    if difference.other_project:
        title = f"{old.name} {old.version} → {new.name} {new.version}"
    canvas.line((title.strip(), "name"), f": {numbers}")
    if difference.other_project:
        canvas.line(("different projects", "warn"), f": {old.name} is compared with {new.name}")
    if quiet:
        return
    before, after = ((build.verdict, VERDICT_STYLES[build.verdict]) for build in (old, new))
    canvas.line(before, " → ", after, f", DLLs {human_change(old.size, new.size)}")
    if difference.is_empty:
        canvas.line("Nothing changed.")
        return
    most = len(difference.pairs) + len(difference.appeared) if verbose else SHOWN
    if difference.lost:
        canvas.heading(f"Lost ({len(difference.lost)})")
    for file in difference.lost:
        needers = difference.still_needed(file)
        canvas.line((file.path, "bad"), (f"  {human_size(file.size)}", "dim"), indent=2)
        some = ", ".join(needers[:4]) + (" …" if len(needers) > 4 else "")
        canvas.labelled("still needed by ", some, indent=4, style="bad")
    _draw_section(canvas, "New", [(file.path, human_size(file.size)) for file in difference.appeared], most)
    for how in ("replaced", "moved", "changed"):
        rows = [(pair.old.path, pair_words(pair)) for pair in difference.pairs if pair.how == how]
        _draw_section(canvas, how.capitalize(), rows, most)
    for title, problems in _findings(difference).items():
        canvas.heading(f"{title} ({len(problems)})")
        for problem in problems:
            style = SEVERITY_STYLES[problem.severity.value]
            canvas.labelled(f"{problem.code} ", problem.message, indent=2, style=style)


def _draw_section(canvas: Canvas, title: str, rows: Sequence[tuple[str, str]], most: int) -> None:
    if not rows:
        return
    canvas.heading(f"{title} ({len(rows)})")
    for path, words in rows[:most]:
        canvas.line(path, indent=2)
        canvas.paragraph((words, "dim"), indent=4)
    if len(rows) > most:
        canvas.line((f"… and {len(rows) - most} more (-v shows all)", "dim"), indent=2)
