"""The top of the page: the answer in one sentence, and a table over all inputs that sorts and filters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import wheelfix
from wheelfix.model import Severity, Verdict
from wheelfix.report.html.element import Html, el, join
from wheelfix.report.totals import severities
from wheelfix.report.words import count, human_size, import_statement, label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wheelfix.model import ScanReport
    from wheelfix.report.document import Context, FailedInput
    from wheelfix.report.totals import RuleTotal, Totals

RANKS = {"broken": 0, "failed": 1, "unsure": 2, "risky": 3, "ok": 4, "skipped": 5}
"""The order of the overview: what needs attention comes first."""


def worst_first(reports: Sequence[ScanReport]) -> list[ScanReport]:
    """Return the reports in the order of the page: by verdict, else as they came."""
    return sorted(reports, key=lambda report: RANKS[report.verdict.value])


def badge(words: str, kind: str) -> Html:
    """Return a word on a coloured ground; the word says it all, the colour says it sooner."""
    return el("span", words, class_=f"badge {kind}")


# -------------------------------------------------------------------------------------------------------- the header


def draw_header(reports: Sequence[ScanReport], figures: Totals, context: Context) -> Html:
    """Return the answer in one sentence, a bar over all inputs, and when and how the report was made."""
    return el(
        "header",
        el("p", "wheelfix report", class_="brand"),
        el("h1", _answer(reports, figures)),
        _bar(figures) if figures.inputs > 1 else None,
        made(context),
    )


def made(context: Context) -> Html:
    """Return when, with what and by which command a page was made."""
    facts = [el("span", context.date) if context.date else None, el("span", f"wheelfix {wheelfix.__version__}")]
    command = el("code", context.command, class_="command") if context.command else None
    return el("p", *facts, command, class_="made")


def _answer(reports: Sequence[ScanReport], figures: Totals) -> str:
    """Return what a reader in a hurry wants to know."""
    if not figures.inputs:
        return "Nothing was scanned"
    if figures.inputs == 1 and reports:
        return f"{label(reports[0])} is {_alone(reports[0])}"
    noun = _noun(reports)
    verdicts = (Verdict.BROKEN, Verdict.UNSURE, Verdict.RISKY)
    bad = {verdict.value: figures.verdicts[verdict] for verdict in verdicts} | figures.failed
    parts = [f"{number} {words}" for words, number in bad.items() if number]
    total = figures.inputs - figures.skipped
    if not parts:
        return f"All {count(total, noun)} are ok" if total > 1 else f"{count(total, noun)} is ok"
    return f"{parts[0].split()[0]} of {count(total, noun)} {_verb(parts[0])}" + "".join(
        f", {part}" for part in parts[1:]
    )


def _noun(reports: Sequence[ScanReport]) -> str:
    return "wheel" if all(label(report).lower().endswith(".whl") for report in reports) else "package"


def _verb(part: str) -> str:
    number, _, words = part.partition(" ")
    return f"{'is' if number == '1' else 'are'} {words}"


def _alone(report: ScanReport) -> str:
    if report.first_failure is not None:
        return f"{report.verdict}: {_problem(report)}"
    return report.verdict.value


def _bar(figures: Totals) -> Html:
    """Return how the inputs divide, as a bar and in words; with scripts the words are buttons that filter."""
    numbers = {verdict.value: number for verdict, number in figures.verdicts.items()}
    failed = sum(figures.failed.values())
    numbers |= {"failed": failed, "skipped": figures.skipped}
    words = {"failed": ", ".join(figures.failed) or "failed"}
    order = [kind for kind in RANKS if numbers[kind]]
    segments = [el("span", class_=f"segment {kind}", style=f"flex-grow:{numbers[kind]}") for kind in order]
    keys = [
        el("button", el("b", str(numbers[kind])), f" {words.get(kind, kind)}", type="button", data_kind=kind,
           aria_pressed="false", class_=f"tally {kind}")
        for kind in order
    ]  # fmt: skip
    return join(
        [
            el("div", *segments, class_="bar", aria_hidden="true"),
            el("div", *keys, class_="tallies", role="group", aria_label="Inputs by verdict"),
        ]
    )


# ------------------------------------------------------------------------------------------------------ the overview


def draw_overview(
    reports: Sequence[ScanReport], of_reports: Mapping[str, FailedInput], alone: Sequence[FailedInput], context: Context
) -> Html:
    """Return one row for each input, the worst first."""
    shown = _shown(reports)
    rows = [_row(f"w{number}", report, of_reports.get(report.path), shown) for number, report in enumerate(reports, 1)]
    place = sum(RANKS[report.verdict.value] == 0 for report in reports)
    columns = 3 + len(shown)
    rows[place:place] = [_failure_row(failure, columns) for failure in alone]
    rows += [_skipped_row(path, columns) for path in context.skipped]
    heads = (_noun(reports), "verdict", "first problem", *map(_plural, shown), "DLLs", "size")
    head = el("tr", *(_head(name, number=name in heads[3:]) for name in heads))
    finder = el(
        "div",
        el("label", "Filter ", el("input", type="search", placeholder="name, verdict, rule", autocomplete="off")),
        el("span", class_="shown", aria_live="polite"),
        class_="tools",
    )
    table = el(
        "table",
        el("caption", "All inputs, the worst first", class_="unseen"),
        el("thead", head),
        el("tbody", *rows),
        class_="overview cards",
    )
    return el("section", el("h2", "Overview", id="overview"), finder, table, aria_labelledby="overview")


def _head(name: str, *, number: bool) -> Html:
    words = el("button", name, type="button", class_="sorter")
    return el("th", words, scope="col", class_="number" if number else None)


def _shown(reports: Sequence[ScanReport]) -> tuple[Severity, ...]:
    """Return the severities that have a column; unsure, which is rare, only where there is one."""
    found = severities(finding for report in reports for finding in report.findings)
    return tuple(severity for severity in Severity if severity is not Severity.UNSURE or found[severity])


def _plural(severity: Severity) -> str:
    return f"{severity}s" if severity in (Severity.ERROR, Severity.WARNING) else severity.value


def _row(name: str, report: ScanReport, failure: FailedInput | None, shown: Sequence[Severity]) -> Html:
    numbers = severities(report.findings)
    codes = " ".join(dict.fromkeys(finding.code for finding in report.findings))
    size = sum(image.facts.size for image in report.images)
    return el(
        "tr",
        el("th", el("a", label(report), href=f"#{name}"), scope="row"),
        el(
            "td",
            badge(report.verdict.value, report.verdict.value),
            join([" ", badge(failure.words, "failed")]) if failure else None,
            data_value=RANKS[report.verdict.value],
        ),
        el("td", _problem(report), class_="what"),
        *(_number(numbers[severity], _plural(severity)) for severity in shown),
        _number(len(report.images), "DLLs"),
        el("td", human_size(size), class_="number", data_value=size, data_label="size"),
        data_kind=report.verdict.value,
        data_words=f"{report.verdict} {codes} {failure.words if failure else ''}",
        data_section=name,
    )  # fmt: skip


def _number(number: int, words: str) -> Html:
    zero = " zero" if not number else ""
    return el("td", str(number), class_=f"number{zero}", data_value=number, data_label=words)


def _failure_row(failure: FailedInput, columns: int) -> Html:
    hint = el("p", failure.error.hint, class_="hint") if failure.error.hint else None
    return el(
        "tr",
        el("th", failure.path, scope="row"),
        el("td", badge(failure.words, "failed"), data_value=RANKS["failed"]),
        el("td", str(failure.error), hint, class_="what", colspan=columns),
        data_kind="failed",
        data_words=failure.words,
    )


def _skipped_row(path: str, columns: int) -> Html:
    return el(
        "tr",
        el("th", path, scope="row"),
        el("td", badge("skipped", "skipped"), data_value=RANKS["skipped"]),
        el("td", "not a Windows wheel", class_="what", colspan=columns),
        data_kind="skipped",
        data_words="skipped",
    )


def _problem(report: ScanReport) -> str:
    """Return the first thing to look at, in a few words."""
    failure = report.first_failure
    if failure is not None:
        cause = failure.chain[-1] if failure.chain else ""
        missing = {item.name.lower() for item in report.missing}
        because = f": {cause} is missing" if cause.lower() in missing else f": see {cause}" if cause else ""
        return f"{import_statement(report)} fails{because}"
    worst = [finding for finding in report.findings if finding.severity is not Severity.INFO]
    worst.sort(key=lambda finding: list(Severity).index(finding.severity))
    more = f" and {len(worst) - 1} more" if len(worst) > 1 else ""
    return f"{worst[0].code} {worst[0].name}{more}" if worst else ""


def draw_totals(rules: Sequence[RuleTotal]) -> Html:
    """Return how often each rule was broken, folded."""
    rows = [
        el(
            "tr",
            el("th", el("a", el("code", row.code), f" {row.name}", href=f"#{row.code}"), scope="row"),
            el("td", badge(row.severity.value, row.severity.value)),
            _number(row.findings, "findings"),
            _number(row.inputs, "inputs"),
        )
        for row in rules
    ]
    heads = (("rule", None), ("severity", None), ("findings", "number"), ("inputs", "number"))
    head = el("tr", *(el("th", name, scope="col", class_=kind) for name, kind in heads))
    number = sum(row.findings for row in rules)
    return el(
        "details",
        el("summary", f"Findings by rule: {count(number, 'finding')} of {count(len(rules), 'rule')}"),
        el("table", el("thead", head), el("tbody", *rows), class_="totals cards"),
        class_="fold",
    )
