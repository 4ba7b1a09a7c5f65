"""The page over the reports of a scan: the answer in one sentence, a table over all inputs, a section for each."""

from __future__ import annotations

import importlib.resources
from string import Template
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.model import ScanReport, Verdict
from wheelfix.report.builds import Comparison, comparison_answer, comparison_blocks
from wheelfix.report.canvas import TextStyle
from wheelfix.report.document import (
    Context,
    Document,
    InputRow,
    by_words,
    count,
    human_size,
    label,
    severity_phrase,
)
from wheelfix.report.html.element import Html, badge, draw, el, fold, join, spans_of, table
from wheelfix.report.html.graph import build_graph, draw_needs, files_part
from wheelfix.report.pages import parse_markdown
from wheelfix.report.repairs import balance, plan_part
from wheelfix.report.scans import first_problem, overview, scan_blocks, totals_table
from wheelfix.rules.registry import find_rule, page

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wheelfix.exam.examination import FailedInput
    from wheelfix.plan.model import Repaired


OPEN = 3
"""So many broken wheels are unfolded; of more, the overview says which to open first."""
RANKS = {"broken": 0, "failed": 1, "unsure": 2, "risky": 3, "ok": 4, "skipped": 5}
"""The order of the overview: what needs attention comes first."""


def render_scan(document: Document) -> str:
    """Return the page over all reports."""
    reports = document.reports
    title = f"wheelfix: {label(reports[0])}" if len(reports) == 1 and not document.failures else "wheelfix report"
    ranked = sorted(document.rows, key=lambda row: RANKS[row.kind])
    many = document.inputs > 1
    unfold = document.verdicts[Verdict.BROKEN] <= OPEN
    wheels = [
        _wheel(f"w{number}", row, row.report, document, unfolded=not many or (row.kind == "broken" and unfold))
        for number, row in enumerate(ranked, 1)
        if row.report is not None
    ]
    if many and wheels:
        clean = document.verdicts[Verdict.OK]
        worse, rest = wheels[: len(wheels) - clean], wheels[len(wheels) - clean :]
        summary = el("h3", f"{count(clean, 'input')} without errors and warnings")
        fine = fold(summary, *rest, class_="wheel fine") if rest else None
        wheels = [el("section", el("h2", "Details", id="details"), *worse, fine, aria_labelledby="details")]
    return frame(
        title,
        header("report", _answer(document), document.context, _bar(document) if many else None),
        _overview(ranked) if many or document.alone else None,
        _totals(document) if many and document.rules else None,
        *wheels,
        draw_rules(finding.code for report in reports for finding in report.findings),
    )


# ------------------------------------------------------------------------------------------ what every page consists of


def frame(title: str, header: Html, *parts: Html | None) -> str:
    """Return a page, ``page.html``, which may run what is in it and fetch nothing: a wheel's name cannot phone home."""
    page, style, script, graph = (
        (importlib.resources.files("wheelfix.report.html") / name).read_text(encoding="utf-8")
        for name in ("page.html", "style.css", "page.js", "graph.js")
    )
    shown = {"title": join([title], "_"), "version": wheelfix.__version__, "style": style, "script": script + graph}
    return Template(page).substitute(shown, header=header, parts=join(parts))


def header(brand: str, answer: str, context: Context, bar: Html | None = None) -> Html:
    """Return the answer in one sentence, and when, with what and by which command a page was made."""
    facts = [el("span", context.date) if context.date else None, el("span", f"wheelfix {wheelfix.__version__}")]
    command = el("code", context.command, class_="command") if context.command else None
    made = el("p", *facts, command, class_="made")
    return el("header", el("p", f"wheelfix {brand}", class_="brand"), el("h1", answer), bar, made)


def draw_rules(codes: Iterable[str]) -> Html | None:
    """Return the pages of rules, folded."""
    pages = [
        fold(
            join([el("code", code), f" {rule.summary}"]),
            el("div", draw(parse_markdown(page(code))), class_="prose", id=code),
            class_="rule",
        )
        for code in sorted(set(codes))
        if (rule := find_rule(code)) is not None
    ]
    if not pages:
        return None
    return el("section", el("h2", "What the findings mean", id="rules"), *pages, aria_labelledby="rules")


# -------------------------------------------------------------------------------------------------------- the overview


def _answer(document: Document) -> str:
    """Return what a reader in a hurry wants to know."""
    if document.inputs > 1 or not document.reports:
        return str(document)
    report = document.reports[0]
    because = f": {first_problem(report)}" if report.first_failure is not None else ""
    return f"{label(report)} is {report.verdict}{because}"


def _bar(document: Document) -> Html:
    """Return how the inputs divide, as a bar and in words; with scripts the words are buttons that filter."""
    numbers = {verdict.value: number for verdict, number in document.verdicts.items()}
    failed = by_words(document.alone)
    numbers |= {"failed": sum(failed.values()), "skipped": document.skipped}
    order = [kind for kind in RANKS if numbers[kind]]
    segments = [el("span", class_=f"segment {kind}", style=f"flex-grow:{numbers[kind]}") for kind in order]
    keys = [
        el("button", el("b", str(numbers[kind])), f" {', '.join(failed) if kind == 'failed' else kind}", type="button",
           data_kind=kind, aria_pressed="false", class_=f"tally {kind}")
        for kind in order
    ]  # fmt: skip
    bar = el("div", *segments, class_="bar", aria_hidden="true")
    return join([bar, el("div", *keys, class_="tallies", role="group", aria_label="Inputs by verdict")])


def _overview(rows: Sequence[InputRow]) -> Html:
    """Return one row for each input, the worst first; with scripts it can be sorted and filtered."""
    shown = overview(rows)
    cells = [[spans_of((cell,)) for cell in row] for row in shown.rows]
    for number, (row, drawn) in enumerate(zip(rows, cells, strict=True), 1):
        drawn[0] = el("a", row.label, href=f"#w{number}") if row.report is not None else drawn[0]
    listing = table(shown.heads, cells, "overview cards", numbers=shown.numbers)
    return el("section", el("h2", "Overview", id="overview"), listing, aria_labelledby="overview")


def _totals(document: Document) -> Html:
    """Return how often each rule was broken, folded."""
    number = count(sum(row.findings for row in document.rules), "finding")
    title = f"Findings by rule: {number} of {count(len(document.rules), 'rule')}"
    return fold(title, draw([totals_table(document.rules)]), class_="fold")


# --------------------------------------------------------------------------------------------- the section of one wheel


def _wheel(name: str, row: InputRow, report: ScanReport, document: Document, *, unfolded: bool) -> Html:
    """Return the folded section of a wheel; a link to ``name`` unfolds it."""
    graph, sources = build_graph(report), document.context.sources
    chain = report.first_failure.chain if report.first_failure else ()
    none = "" if report.findings else el("p", "No findings.")
    return el(
        "details",
        el(
            "summary",
            el("h3", row.label),
            badge(row.kind, row.kind),
            badge(row.words, "failed") if row.words else None,
            el("span", severity_phrase(report.findings), class_="dim"),
        ),
        el(
            "div",
            _facts(report, document.context),
            _notice(row.failure) if row.failure else None,
            draw(scan_blocks(report, document, steps=document.steps(report))),
            none,
            draw_needs(name, graph, sources, chain) if graph.nodes else None,
            draw([files_part(graph, report, sources)]) if report.images else None,
            id=name,
            class_="body",
        ),
        class_="wheel",
        open=unfolded,
    )


def _facts(report: ScanReport, context: Context) -> Html:
    facts = [human_size(sum(image.facts.size for image in report.images))]
    added = [image.facts.size for image in report.images if image.path in context.sources]
    facts += [f"{len(added)} vendored, {human_size(sum(added))}"] if added else []
    digest = context.sha256.get(report.path)
    facts += [f"sha256 {digest}"] if digest else []
    return el("p", "; ".join(facts), class_="dim")


def _notice(failure: FailedInput) -> Html:
    said = el("p", el("b", f"{failure.words.capitalize()}. "), str(failure.error))
    hint = el("p", failure.error.hint, class_="hint") if failure.error.hint else None
    return el("div", said, hint, class_="notice")


# ------------------------------------------------------------------------------------------- repairs and comparisons


def render_repairs(reports: Sequence[Repaired], failures: Sequence[FailedInput], context: Context) -> str:
    """Return the page; wheels that could not be repaired come first."""
    failed = [el("section", el("h2", failure.path), _notice(failure)) for failure in failures]
    parts = draw(plan_part(report, TextStyle()) for report in reports)
    return frame("wheelfix repair", header("repair", balance(reports, failures), context), *failed, parts)


def render_comparison(comparison: Comparison, context: Context) -> str:
    """Return the page: for each wheel what was lost, what is new, and what changed."""
    found = (one for difference in comparison.differences for one in (*difference.arisen, *difference.cured))
    rules = draw_rules(problem.code for problem in found)
    body = draw(comparison_blocks(comparison))
    return frame("wheelfix diff", header("diff", comparison_answer(comparison), context), body, rules)
