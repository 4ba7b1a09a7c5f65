"""The pages of repairs and of comparisons of builds."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from wheelfix.report.diff import pair_words
from wheelfix.report.document import DEFAULT, Context, FailedInput, PlanReport
from wheelfix.report.html.element import Html, el, join
from wheelfix.report.html.scan import badge, draw_rules, frame, made
from wheelfix.report.words import count, human_change, human_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.diff import Build, Comparison, Difference, Problem
    from wheelfix.plan.model import Addition

KINDS = {"repaired": "ok", "unchanged": "ok", "planned": "info"}


def render_repairs(
    reports: Sequence[PlanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT
) -> str:
    """Return the page; wheels that could not be repaired come first."""
    numbers = {"not repaired": len(failures)}
    for report in reports:
        numbers[report.outcome] = numbers.get(report.outcome, 0) + 1
    answer = ", ".join(f"{count(number, 'wheel')} {words}" for words, number in numbers.items() if number)
    header = el("header", el("p", "wheelfix repair", class_="brand"), el("h1", answer or "No wheels"), made(context))
    return frame(
        "wheelfix repair",
        header,
        *(_failure(number, failure) for number, failure in enumerate(failures, 1)),
        *(_wheel(number, report) for number, report in enumerate(reports, 1)),
    )


def _failure(number: int, failure: FailedInput) -> Html:
    hint = el("p", failure.error.hint, class_="hint") if failure.error.hint else None
    return el(
        "section",
        el("h2", failure.path, " ", badge(failure.words, "failed"), id=f"f{number}"),
        el("div", el("p", str(failure.error)), hint, class_="notice"),
        aria_labelledby=f"f{number}",
    )


def _wheel(number: int, report: PlanReport) -> Html:
    plan = report.plan
    name = posixpath.basename(plan.wheel.path.replace("\\", "/"))
    lines = {
        "Releases": [f"{taken.toolkit} {taken.release}: {taken.because}" for taken in plan.releases if taken.release],
        "Dropped": [f"{drop.path}: {drop.because}" for drop in plan.drops],
        "Fixes": [
            *(f"{rename.old} → {rename.new or '(top)'}: {rename.because}" for rename in plan.renames),
            *(f"{mend.code} {mend.subject}: {mend.what}" for mend in plan.mends),
        ],
        "Refused": [f"{refusal.name}: {refusal.because}" for refusal in plan.refused],
        "Still missing": [f"{item.name}: {item.because}" for item in plan.remaining if item.required],
        "Optional DLLs left out": [item.name for item in plan.remaining if not item.required],
        "Notes": list(plan.notes),
    }
    return el(
        "section",
        el("h2", name, " ", badge(report.outcome, KINDS.get(report.outcome, "")), id=f"w{number}"),
        el("p", "→ ", el("code", report.target), class_="dim") if report.target else None,
        *(el("p", f"Nothing would be written: {fault}", class_="notice") for fault in report.faults),
        _additions_table(plan.additions) if plan.additions else None,
        *(_lines(title, words) for title, words in lines.items() if words),
        el("p", f"{count(plan.kept, 'member')} kept as they were.", class_="dim") if plan.kept else None,
        aria_labelledby=f"w{number}",
    )


def _additions_table(additions: Sequence[Addition]) -> Html:
    rows = []
    for addition in additions:
        member = f"!{addition.source.member}" if addition.source.member else ""
        source = [f"{addition.source.path}{member} ({addition.chosen})", *addition.warnings]
        source += [f"signature {addition.signature}"] if addition.signature else []
        rows.append(
            el(
                "tr",
                el("th", addition.target, el("span", addition.because, class_="facts"), scope="row"),
                el("td", addition.version, data_label="version", data_value=0),
                el("td", human_size(addition.size), class_="number", data_label="size"),
                el("td", *(el("span", words, class_="facts") for words in source), data_label="from"),
            )
        )
    heads = (("DLL", None), ("version", None), ("size", "number"), ("from", None))
    head = el("tr", *(el("th", name, scope="col", class_=kind) for name, kind in heads))
    total = human_size(sum(addition.size for addition in additions))
    table = el("table", el("thead", head), el("tbody", *rows), class_="cards files")
    return join([el("h4", f"Added ({len(additions)}, {total})"), table])


def _lines(title: str, words: Sequence[str], most: int = 20) -> Html:
    items = [el("li", line) for line in words]
    rest = el("details", el("summary", f"{len(items) - most} more"), el("ul", *items[most:])) if items[most:] else None
    return join([el("h4", f"{title} ({len(words)})"), el("ul", *items[:most]), rest])


# ---------------------------------------------------------------------------------------------- a comparison of builds


def render_comparison(comparison: Comparison, context: Context = DEFAULT) -> str:
    """Return the page."""
    differences = comparison.differences
    header = el("header", el("p", "wheelfix diff", class_="brand"), el("h1", _compared(comparison)), made(context))
    sections = [_difference(number, difference) for number, difference in enumerate(differences, 1)]
    sections += [
        _builds(title, builds)
        for title, builds in (("Only before", comparison.only_old), ("Only now", comparison.only_new))
        if builds
    ]
    if comparison.unread:
        items = [el("li", path) for path in comparison.unread]
        sections.append(el("section", el("h2", "Not compared, because a wheel cannot be read"), el("ul", *items)))
    codes = [problem.code for difference in differences for problem in (*difference.arisen, *difference.cured)]
    return frame("wheelfix diff", header, *sections, draw_rules(codes))


def _compared(comparison: Comparison) -> str:
    lost = sum(len(difference.lost) for difference in comparison.differences)
    arisen = sum(len(difference.arisen) for difference in comparison.differences)
    gone = len(comparison.only_old)
    parts = [f"{count(gone, 'wheel')} lost"] if gone else []
    parts += [f"{count(lost, 'DLL')} lost"] if lost else []
    parts += [count(arisen, "new finding")] if arisen else []
    if not parts:
        changed = any(not difference.is_empty for difference in comparison.differences)
        parts = ["Nothing was lost, and there are no new findings" if changed else "Nothing changed"]
    return ", ".join(parts)


def _builds(title: str, builds: Sequence[Build]) -> Html:
    return el("section", el("h2", title), el("ul", *(el("li", build.path) for build in builds)))


def _difference(number: int, difference: Difference) -> Html:
    old, new = difference.old, difference.new
    versions = old.version if old.version == new.version else f"{old.version} → {new.version}"
    sizes = f"DLLs {human_size(old.size)} → {human_size(new.size)} ({human_change(new.size - old.size)})"
    rows = [_row("lost", file.path, _needed(difference.still_needed(file))) for file in difference.lost]
    rows += [_row("new", file.path, human_size(file.size)) for file in difference.appeared]
    rows += [_row(pair.how, pair.old.path, pair_words(pair)) for pair in difference.pairs]
    return el(
        "section",
        el("h2", f"{new.name} {versions}".strip(), id=f"d{number}"),
        el("p", badge(old.verdict, old.verdict), " → ", badge(new.verdict, new.verdict), " ", el("span", sizes)),
        el("p", f"Different projects: {old.name} is compared with {new.name}.", class_="notice")
        if difference.other_project
        else None,
        el("p", "Nothing changed.") if difference.is_empty else None,
        _problems("New findings", difference.arisen),
        _table(rows) if rows else None,
        _problems("Findings that are gone", difference.cured),
        aria_labelledby=f"d{number}",
    )


def _needed(needers: Sequence[str]) -> str:
    return f"still needed by {', '.join(needers[:3])}" + (f" and {len(needers) - 3} more" if len(needers) > 3 else "") \
        if needers else ""  # fmt: skip


def _row(how: str, path: str, words: str) -> Html:
    kind = {"lost": "failed", "new": "info"}.get(how, "")
    return el("tr", el("th", path, scope="row"), el("td", badge(how, kind), data_value=how), el("td", words))


def _table(rows: Sequence[Html]) -> Html:
    head = el("tr", *(el("th", name, scope="col") for name in ("DLL", "change", "details")))
    return join([el("h4", f"DLLs ({len(rows)})"), el("table", el("thead", head), el("tbody", *rows), class_="cards")])


def _problems(title: str, problems: Sequence[Problem]) -> Html | None:
    if not problems:
        return None
    items = [
        el("li", badge(problem.severity.value, problem.severity.value), " ",
           el("a", el("code", problem.code), href=f"#{problem.code}"), f" {problem.message}")
        for problem in problems
    ]  # fmt: skip
    return join([el("h4", f"{title} ({len(problems)})"), el("ul", *items)])
