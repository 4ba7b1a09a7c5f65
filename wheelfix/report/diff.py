"""A comparison of builds: for people, what was lost first; as JSON; and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.canvas import Canvas, Span
from wheelfix.report.json_ import dump, tool
from wheelfix.report.pages import SEVERITY_STYLES
from wheelfix.report.safe import markdown as escape
from wheelfix.report.safe import markdown_code as code
from wheelfix.report.safe import without_commands
from wheelfix.report.words import count, human_change, human_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.diff import Build, Comparison, Difference, File, FilePair, Problem
    from wheelfix.model import Json
    from wheelfix.report.canvas import TextStyle

DIFF_SCHEMA = "wheelfix.diff/1"


def render_json(comparison: Comparison) -> str:
    """Return the ``wheelfix.diff/1`` document."""
    document: dict[str, Json] = {
        "schema": DIFF_SCHEMA,
        "tool": tool(),
        "wheels": [_difference(difference) for difference in comparison.differences],
        "only_old": [_build(build) for build in comparison.only_old],
        "only_new": [_build(build) for build in comparison.only_new],
    }
    if comparison.unread:
        document["unread"] = list(comparison.unread)
    return dump(document)


def _build(build: Build) -> dict[str, Json]:
    return {
        "path": build.path,
        "name": build.name,
        "version": build.version,
        "verdict": build.verdict,
        "size": build.size,
    }


def _file(file: File) -> dict[str, Json]:
    return {"path": file.path, "size": file.size, "version": file.version, "machine": file.machine}


def _problem(problem: Problem) -> dict[str, Json]:
    return {
        "code": problem.code,
        "name": problem.name,
        "severity": problem.severity.value,
        "subject": problem.subject,
        "message": problem.message,
    }


def _difference(difference: Difference) -> dict[str, Json]:
    return {
        "old": _build(difference.old),
        "new": _build(difference.new),
        "lost": [{**_file(file), "still_needed_by": list(difference.still_needed(file))} for file in difference.lost],
        "appeared": [_file(file) for file in difference.appeared],
        "changed": [{"how": pair.how, "old": _file(pair.old), "new": _file(pair.new)} for pair in difference.pairs],
        "new_findings": [_problem(problem) for problem in difference.arisen],
        "cured_findings": [_problem(problem) for problem in difference.cured],
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
    sizes = f"{human_size(old.size)} → {human_size(new.size)} ({human_change(new.size - old.size)})"
    lines = [f"### {escape(new.name)} {escape(old.version)} → {escape(new.version)}", ""]
    if difference.other_project:
        lines += [f"Different projects: {escape(old.name)} is compared with {escape(new.name)}.", ""]
    lines.append(f"{escape(old.verdict)} → **{escape(new.verdict)}**, DLLs {sizes}")
    if difference.is_empty:
        return [*lines, "", "Nothing changed."]
    rows = [("❌ lost", code(file.path), _needed(difference, file)) for file in difference.lost]
    rows += [("new", code(file.path), human_size(file.size)) for file in difference.appeared]
    rows += [(escape(pair.how), code(pair.old.path), escape(pair_words(pair))) for pair in difference.pairs]
    if rows:
        lines += ["", "| | DLL | |", "| --- | --- | --- |", *(f"| {' | '.join(row)} |" for row in rows)]
    for title, problems in (("New findings", difference.arisen), ("Fixed findings", difference.cured)):
        if problems:
            lines += ["", f"{title}:", ""]
            lines += [_described(problem) for problem in problems]
    return lines


def _described(problem: Problem) -> str:
    return f"- {escape(f'{problem.code} {problem.name}')} ({problem.severity}): {escape(problem.message)}"


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
        change = human_change(pair.new.size - pair.old.size)
        parts.append(f"{human_size(pair.old.size)} → {human_size(pair.new.size)} ({change})")
    return ", ".join(parts)


# ---------------------------------------------------------------------------------------------------------- for people


SHOWN = 30
VERDICT_STYLES = {"ok": "good", "risky": "warn", "unsure": "warn", "broken": "bad"}


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
    _draw_section(canvas, "New", [(file.path, human_size(file.size)) for file in difference.appeared], most)
    for how in ("replaced", "moved", "changed"):
        rows = [(pair.old.path, pair_words(pair)) for pair in difference.pairs if pair.how == how]
        _draw_section(canvas, how.capitalize(), rows, most)
    _draw_problems(canvas, "New findings", difference.arisen)
    _draw_problems(canvas, "Fixed findings", difference.cured)


def _draw_section(canvas: Canvas, title: str, rows: Sequence[tuple[str, str]], most: int) -> None:
    if not rows:
        return
    canvas.blank()
    canvas.line((f"{title} ({len(rows)})", "head"))
    for path, words in rows[:most]:
        canvas.line(path, indent=2)
        canvas.paragraph((words, "dim"), indent=4)
    if len(rows) > most:
        canvas.line((f"… and {len(rows) - most} more (-v shows all)", "dim"), indent=2)


def _draw_problems(canvas: Canvas, title: str, problems: Sequence[Problem]) -> None:
    if not problems:
        return
    canvas.blank()
    canvas.line((f"{title} ({len(problems)})", "head"))
    for problem in problems:
        lead: Span = (f"{problem.code} ", SEVERITY_STYLES[problem.severity.value])
        canvas.paragraph(problem.message, indent=2, lead=lead)
