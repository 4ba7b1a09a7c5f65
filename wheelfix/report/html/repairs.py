"""The page of repairs: for each wheel what was added and from where, what was left out, and what is still missing."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from wheelfix.report.document import DEFAULT, Context, FailedInput, PlanReport
from wheelfix.report.html.element import Html, el, join
from wheelfix.report.html.overview import badge, made
from wheelfix.report.html.page import frame
from wheelfix.report.words import count, human_size

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        _additions(plan.additions) if plan.additions else None,
        *(_lines(title, words) for title, words in lines.items() if words),
        el("p", f"{count(plan.kept, 'member')} kept as they were.", class_="dim") if plan.kept else None,
        aria_labelledby=f"w{number}",
    )


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
    heads = (("DLL", None), ("version", None), ("size", "number"), ("from", None))
    head = el("tr", *(el("th", name, scope="col", class_=kind) for name, kind in heads))
    total = human_size(sum(addition.size for addition in additions))
    table = el("table", el("thead", head), el("tbody", *rows), class_="cards files")
    return join([el("h4", f"Added ({len(additions)}, {total})"), table])


def _lines(title: str, words: Sequence[str], most: int = 20) -> Html:
    items = [el("li", line) for line in words]
    rest = el("details", el("summary", f"{len(items) - most} more"), el("ul", *items[most:])) if items[most:] else None
    return join([el("h4", f"{title} ({len(words)})"), el("ul", *items[:most]), rest])
