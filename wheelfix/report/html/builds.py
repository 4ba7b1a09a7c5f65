"""The pages about changes of wheels: what repairs did to them, and how two builds differ."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from wheelfix.report.diff import pair_words
from wheelfix.report.document import DEFAULT, Context, FailedInput, PlanReport
from wheelfix.report.html.element import Html, badge, bullets, el, folded, hint, join, table
from wheelfix.report.html.scan import draw_rules, frame, header
from wheelfix.report.words import and_more, count, human_change, human_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.plan.model import Addition
    from wheelfix.report.builds import Comparison, Difference, Problem

KINDS = {"repaired": "ok", "unchanged": "ok", "planned": "info"}


def render_repairs(
    reports: Sequence[PlanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT
) -> str:
    """Return the page; wheels that could not be repaired come first."""
    numbers = {"not repaired": len(failures)}
    for report in reports:
        numbers[report.outcome] = numbers.get(report.outcome, 0) + 1
    answer = ", ".join(f"{count(number, 'wheel')} {words}" for words, number in numbers.items() if number)
    sections = [
        _section(
            f"f{number}",
            [failure.path, " ", badge(failure.words, "failed")],
            el("div", el("p", str(failure.error)), hint(failure.error), class_="notice"),
        )
        for number, failure in enumerate(failures, 1)
    ]
    sections += [_repair(number, report) for number, report in enumerate(reports, 1)]
    return frame("wheelfix repair", header("repair", answer or "No wheels", context), *sections)


def _section(name: str, title: Sequence[str], *parts: Html | None) -> Html:
    return el("section", el("h2", *title, id=name), *parts, aria_labelledby=name)


def _repair(number: int, report: PlanReport) -> Html:
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
    return _section(
        f"w{number}",
        [name, " ", badge(report.outcome, KINDS.get(report.outcome, ""))],
        el("p", "→ ", el("code", report.target), class_="dim") if report.target else None,
        *(el("p", f"Nothing would be written: {fault}", class_="notice") for fault in report.faults),
        _additions(plan.additions) if plan.additions else None,
        *(_titled(title, [el("li", line) for line in words], 20) for title, words in lines.items() if words),
        el("p", f"{count(plan.kept, 'member')} kept as they were.", class_="dim") if plan.kept else None,
    )


def _titled(title: str, items: Sequence[Html], most: int) -> Html:
    return join([el("h4", f"{title} ({len(items)})"), folded(items, most, bullets)])


def _additions(additions: Sequence[Addition]) -> Html:
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
    total = human_size(sum(addition.size for addition in additions))
    listed = table(("DLL", "version", "size", "from"), rows, "cards files", numbers=("size",))
    return join([el("h4", f"Added ({len(additions)}, {total})"), listed])


# ---------------------------------------------------------------------------------------------- a comparison of builds


def render_comparison(comparison: Comparison, context: Context = DEFAULT) -> str:
    """Return the page: for each wheel what was lost, what is new, and what changed."""
    differences = comparison.differences
    sections = [_difference(number, difference) for number, difference in enumerate(differences, 1)]
    for title, paths in (
        ("Only before", [build.path for build in comparison.only_old]),
        ("Only now", [build.path for build in comparison.only_new]),
        ("Not compared, because a wheel cannot be read", comparison.unread),
    ):
        if paths:
            sections.append(el("section", el("h2", title), bullets(paths)))
    codes = [problem.code for difference in differences for problem in (*difference.arisen, *difference.cured)]
    return frame("wheelfix diff", header("diff", _answer(comparison), context), *sections, draw_rules(codes))


def _answer(comparison: Comparison) -> str:
    lost = sum(len(difference.lost) for difference in comparison.differences)
    arisen = sum(len(difference.arisen) for difference in comparison.differences)
    gone = len(comparison.only_old)
    parts = [f"{count(gone, 'wheel')} lost"] if gone else []
    parts += [f"{count(lost, 'DLL')} lost"] if lost else []
    parts += [count(arisen, "new finding")] if arisen else []
    if parts:
        return ", ".join(parts)
    changed = any(not difference.is_empty for difference in comparison.differences)
    return "Nothing was lost, and there are no new findings" if changed else "Nothing changed"


def _difference(number: int, difference: Difference) -> Html:
    old, new = difference.old, difference.new
    versions = old.version if old.version == new.version else f"{old.version} → {new.version}"
    sizes = f"DLLs {human_change(old.size, new.size)}"
    other = f"Different projects: {old.name} is compared with {new.name}."
    rows = []
    for file in difference.lost:
        needers = and_more(difference.still_needed(file), 3)
        rows.append(_row("lost", file.path, f"still needed by {needers}" if needers else ""))
    rows += [_row("new", file.path, human_size(file.size)) for file in difference.appeared]
    rows += [_row(pair.how, pair.old.path, pair_words(pair)) for pair in difference.pairs]
    return _section(
        f"d{number}",
        [f"{new.name} {versions}".strip()],
        el("p", badge(old.verdict, old.verdict), " → ", badge(new.verdict, new.verdict), " ", el("span", sizes)),
        el("p", other, class_="notice") if difference.other_project else None,
        el("p", "Nothing changed.") if difference.is_empty else None,
        _problems("New findings", difference.arisen),
        join([el("h4", f"DLLs ({len(rows)})"), table(("DLL", "change", "details"), rows)]) if rows else None,
        _problems("Findings that are gone", difference.cured),
    )


def _row(how: str, path: str, words: str) -> Html:
    kind = {"lost": "failed", "new": "info"}.get(how, "")
    return el("tr", el("th", path, scope="row"), el("td", badge(how, kind), data_value=how), el("td", words))


def _problems(title: str, problems: Sequence[Problem]) -> Html | None:
    items = [
        el("li", badge(problem.severity.value, problem.severity.value), " ",
           el("a", el("code", problem.code), href=f"#{problem.code}"), f" {problem.message}")
        for problem in problems
    ]  # fmt: skip
    return _titled(title, items, len(items)) if items else None
