"""A comparison of builds as JSON and as Markdown; the text for people is in ``text/diff``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.json_ import dump, tool
from wheelfix.report.safe import markdown as escape
from wheelfix.report.safe import markdown_code as code
from wheelfix.report.safe import without_commands
from wheelfix.report.words import count, human_change, human_size

if TYPE_CHECKING:
    from wheelfix.model import Json
    from wheelfix.report.builds import Build, Comparison, Difference, File, FilePair, Problem

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
