"""The page of a comparison of builds: for each wheel what was lost, what is new, and what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.diff import pair_words
from wheelfix.report.document import DEFAULT, Context
from wheelfix.report.html.element import Html, el, join
from wheelfix.report.html.overview import badge, made
from wheelfix.report.html.page import draw_rules, frame
from wheelfix.report.words import count, human_change, human_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.report.builds import Build, Comparison, Difference, Problem


def render_comparison(comparison: Comparison, context: Context = DEFAULT) -> str:
    """Return the page."""
    differences = comparison.differences
    header = el("header", el("p", "wheelfix diff", class_="brand"), el("h1", _answer(comparison)), made(context))
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


def _answer(comparison: Comparison) -> str:
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
