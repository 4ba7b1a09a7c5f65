"""The frame of an HTML page, and the page over the reports of a scan."""

from __future__ import annotations

import importlib.resources
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.model import Verdict
from wheelfix.report.document import DEFAULT, Context, FailedInput, split_failures
from wheelfix.report.html.element import Html, el, from_markdown
from wheelfix.report.html.overview import draw_header, draw_overview, draw_totals, worst_first
from wheelfix.report.html.wheel import draw_wheel
from wheelfix.report.totals import totals
from wheelfix.report.words import count, label
from wheelfix.rules.registry import find_rule, page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wheelfix.model import ScanReport

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""The page may run what is in it and fetch nothing: a wheel's name cannot phone home."""
OPEN = 3
"""So many broken wheels are unfolded; of more, the overview says which to open first."""


def render_scan(reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT) -> str:
    """Return the page over all reports."""
    title = f"wheelfix: {label(reports[0])}" if len(reports) == 1 and not failures else "wheelfix report"
    of_reports, alone = split_failures(reports, failures)
    figures = totals(reports, failures, context)
    ranked = worst_first(reports)
    broken = sum(report.verdict.value == "broken" for report in reports)
    many = figures.inputs > 1
    wheels = [
        draw_wheel(
            f"w{number}",
            report,
            of_reports.get(report.path),
            context,
            unfolded=not many or (report.verdict.value == "broken" and broken <= OPEN),
        )
        for number, report in enumerate(ranked, 1)
    ]
    return frame(
        title,
        draw_header(reports, figures, context),
        draw_overview(ranked, of_reports, alone, context) if many or alone else None,
        draw_totals(figures.rules) if many and figures.rules else None,
        *(_details(wheels, figures.verdicts[Verdict.OK]) if many else wheels),
        draw_rules(finding.code for report in reports for finding in report.findings),
    )


def _details(wheels: Sequence[Html], clean: int) -> Iterator[Html]:
    """Yield the sections of wheels, those without errors and warnings folded into one."""
    if not wheels:
        return
    worse, rest = wheels[: len(wheels) - clean], wheels[len(wheels) - clean :]
    summary = el("summary", el("h3", f"{count(clean, 'input')} without errors and warnings"))
    fine = el("details", summary, *rest, class_="wheel fine") if rest else None
    yield el("section", el("h2", "Details", id="details"), *worse, fine, aria_labelledby="details")


def frame(title: str, header: Html, *parts: Html | None) -> str:
    """Return a whole page: what every page needs, its header and its parts."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="generator", content=f"wheelfix {wheelfix.__version__}"),
        el("title", title),
        el("style", Html(_resource("style.css"))),
    )
    body = el(
        "body",
        el("a", "Skip to the report", class_="skip", href="#main"),
        header,
        el("main", *parts, id="main"),
        el("script", Html(_resource("page.js") + _resource("graph.js"))),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'


def _resource(name: str) -> str:
    return (importlib.resources.files("wheelfix.report.html") / name).read_text(encoding="utf-8")


def draw_rules(codes: Iterable[str]) -> Html | None:
    """Return the pages of rules, folded."""
    pages = [
        el(
            "details",
            el("summary", el("code", code), f" {rule.summary}"),
            el("div", from_markdown(page(code), 4), class_="prose", id=code),
            class_="rule",
        )
        for code in sorted(set(codes))
        if (rule := find_rule(code)) is not None
    ]
    if not pages:
        return None
    return el("section", el("h2", "What the findings mean", id="rules"), *pages, aria_labelledby="rules")
