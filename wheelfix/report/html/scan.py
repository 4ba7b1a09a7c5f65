"""The page over the reports of a scan: the answer in one sentence, a table over all inputs, a section for each."""

from __future__ import annotations

import importlib.resources
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.model import (
    EdgeKind,
    Finding,
    MissingDll,
    Prediction,
    ProvidedDll,
    ScanReport,
    Severity,
    TargetVerdict,
    Verdict,
)
from wheelfix.report.document import DEFAULT, Context, FailedInput, severities, severity_phrase, split_failures, totals
from wheelfix.report.html.element import Html, el, from_markdown, join
from wheelfix.report.html.graph import build_graph, draw_files, draw_needs
from wheelfix.report.words import count, human_size, import_statement, label, sentence, short_path, target_reason
from wheelfix.rules.registry import find_rule, page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wheelfix.model import ScanReport
    from wheelfix.report.document import Context, FailedInput, RuleTotal, Totals

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
        *(_sections(wheels, figures.verdicts[Verdict.OK]) if many else wheels),
        draw_rules(finding.code for report in reports for finding in report.findings),
    )


def _sections(wheels: Sequence[Html], clean: int) -> Iterator[Html]:
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


# -------------------------------------------------------------------------------------------------------- the overview


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


# -------------------------------------------------------------------------------------------- the section of one wheel


KINDS = {
    EdgeKind.IMPORT: "imported",
    EdgeKind.DELAY: "delay-loaded",
    EdgeKind.COMPANION: "loaded by name at run time",
    EdgeKind.FORWARDER: "target of a forwarder",
}
WAYS = {
    "file": "its file is installed",
    "requirement": "by the requirement",
    "out-of-reach": "out of reach",
    "unsure": "could not tell",
}
"""How another distribution provides a DLL."""
SHOWN = 10
"""So many missing DLLs, and findings of one rule, are shown at once; the others are folded."""


def draw_wheel(name: str, report: ScanReport, failure: FailedInput | None, context: Context, *, unfolded: bool) -> Html:
    """Return the folded section of a wheel; a link to ``name`` unfolds it."""
    graph = build_graph(report)
    chain = report.first_failure.chain if report.first_failure else ()
    return el(
        "details",
        el(
            "summary",
            el("h3", label(report)),
            badge(report.verdict.value, report.verdict.value),
            badge(failure.words, "failed") if failure else None,
            el("span", severity_phrase(report.findings), class_="dim"),
        ),
        el(
            "div",
            _facts(report, context),
            _not_repaired(failure) if failure else None,
            _prediction(report, report.first_failure) if report.first_failure else None,
            _targets(report.targets) if report.targets else None,
            _missing(report.missing) if report.missing else None,
            _provided(report.provided) if report.provided else None,
            _findings(report, context),
            draw_needs(name, graph, context.sources, chain) if graph.nodes else None,
            draw_files(name, graph, context.sources) if report.images else None,
            id=name,
            class_="body",
        ),
        class_="wheel",
        open=unfolded,
    )


def _facts(report: ScanReport, context: Context) -> Html:
    size = human_size(sum(image.facts.size for image in report.images))
    tags = ", ".join(report.tags[:3]) + (f" and {len(report.tags) - 3} more" if len(report.tags) > 3 else "")
    facts = [f"{report.name} {report.version}".strip(), tags, report.machine.value]
    facts.append(f"{count(len(report.images), 'DLL')}, {size}")
    added = [image.facts.size for image in report.images if image.path in context.sources]
    facts += [f"{len(added)} vendored, {human_size(sum(added))}"] if added else []
    digest = context.sha256.get(report.path)
    return join(
        [
            el("p", " · ".join(fact for fact in facts if fact), class_="dim"),
            el("p", "sha256 ", el("code", digest), class_="dim digest") if digest else None,
        ]
    )


def _not_repaired(failure: FailedInput) -> Html:
    hint = el("p", failure.error.hint, class_="hint") if failure.error.hint else None
    return el("div", el("p", el("b", f"{failure.words.capitalize()}. "), str(failure.error)), hint, class_="notice")


def _prediction(report: ScanReport, failure: Prediction) -> Html:
    steps = [
        el("li", el("code", name, class_="cause" if number == len(failure.chain) - 1 else None))
        for number, name in enumerate(failure.chain)
    ]
    return join(
        [
            el("h4", "What the import will say"),
            el("p", el("code", import_statement(report)), " will raise:"),
            el("pre", failure.message, class_="error", tabindex=0),
            el("ol", *steps, class_="chain", aria_label="From the file that the error names to its cause")
            if len(steps) > 1
            else None,
            el("p", failure.explanation, class_="dim") if failure.explanation else None,
        ]
    )


def _targets(targets: Sequence[TargetVerdict]) -> Html:
    """Return the answer for each kind of Windows that was asked about."""
    rows = [
        el(
            "tr",
            el("th", target.name, scope="row"),
            el("td", badge(target.verdict.value, target.verdict.value), data_label="verdict"),
            el("td", target_reason(target) or "everything that is imported is there", data_label="why"),
            el("td", el("code", failure.message) if (failure := target.first_failure) else "", data_label="raises"),
        )
        for target in targets
    ]
    head = el("tr", *(el("th", text, scope="col") for text in ("target", "verdict", "why", "raises")))
    return join([el("h4", "Targets"), el("table", el("thead", head), el("tbody", *rows), class_="cards")])


def _provided(provided: Sequence[ProvidedDll]) -> Html:
    """Return which DLLs other distributions provide, to which files, folded."""
    rows = [
        el(
            "tr",
            el("th", el("code", item.name), scope="row"),
            el("td", some([_with_specifier(name, item) for name in item.distributions]), data_label="provided by"),
            el("td", WAYS.get(item.how, item.how), data_label="how"),
            el("td", item.path or item.because, data_label="where"),
            el("td", some([short_path(path) for path in item.needed_by]), data_label="needed by"),
        )
        for item in provided
    ]
    names = dict.fromkeys(name for item in provided for name in item.distributions)
    heads = ("DLL", "provided by", "how", "where", "needed by")
    head = el("tr", *(el("th", text, scope="col") for text in heads))
    return el(
        "details",
        el("summary", f"Provided by other distributions ({len(provided)}): {', '.join([*names][:6])}"),
        el("table", el("thead", head), el("tbody", *rows), class_="cards"),
        class_="fold provided",
    )


def _with_specifier(name: str, item: ProvidedDll) -> str:
    return f"{name} ({item.specifier})" if item.specifier else name


def _missing(missing: Sequence[MissingDll]) -> Html:
    rows = []
    for item in sorted(missing, key=lambda item: not item.required):
        sources = [f"{candidate.path} {candidate.version} ({candidate.reason})" for candidate in item.candidates]
        need = "required" if item.required else "optional"
        rows.append(
            el(
                "tr",
                el("th", el("code", item.name, class_="cause" if item.required else "doubt"), scope="row"),
                el("td", f"{need}, {KINDS[item.kind]}", data_label="how"),
                el("td", some([short_path(path) for path in item.needed_by]), data_label="needed by"),
                el("td", some(sources or list(item.providers)), data_label="could come from"),
            )
        )
    rest = rows[SHOWN:]
    return join(
        [
            el("h4", f"Missing ({len(missing)})"),
            _missing_table(rows[:SHOWN]),
            el("details", el("summary", f"{len(rest)} more"), _missing_table(rest)) if rest else None,
        ]
    )


def _missing_table(rows: Sequence[Html]) -> Html:
    head = el("tr", *(el("th", name, scope="col") for name in ("DLL", "how", "needed by", "could come from")))
    return el("table", el("thead", head), el("tbody", *rows), class_="cards missing-dlls")


def some(words: Sequence[str], most: int = 3) -> Html:
    """Return a list, folded where it is long."""
    if len(words) < 2:
        return join(words)
    listing = el("ul", *(el("li", word) for word in words))
    if len(words) <= most:
        return listing
    return el("details", el("summary", f"{words[0]} and {len(words) - 1} more"), listing)


# ------------------------------------------------------------------------------------------------------ the findings


def _findings(report: ScanReport, context: Context) -> Html:
    if not report.findings:
        return el("p", "No findings.")
    order = list(Severity)
    groups: dict[tuple[Severity, str], list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault((finding.severity, finding.code), []).append(finding)
    ranked = sorted(groups.items(), key=lambda entry: order.index(entry[0][0]))
    return join(
        [
            el("h4", f"Findings ({len(report.findings)})"),
            *(_group(severity, code, members, report, context) for (severity, code), members in ranked),
        ]
    )


def _group(severity: Severity, code: str, members: list[Finding], report: ScanReport, context: Context) -> Html:
    """Return the findings of one rule; a hint that all of them share is said once."""
    hints = list(dict.fromkeys(finding.hint for finding in members))
    shared = hints[0] if len(hints) == 1 else ""
    items = [_finding_item(finding, context.known(report, finding), finding.hint != shared) for finding in members]
    rest = items[SHOWN:]
    number = f" ({len(members)})" if len(members) > 1 else ""
    reported = {item.name for item in report.missing}  # the table of what is missing has said it already
    return el(
        "details",
        el(
            "summary",
            badge(severity.value, severity.value),
            el("span", el("code", code), f" {members[0].name}{number}"),
            el("span", f"repairable: {members[0].repairable}", class_="dim"),
        ),
        el("ul", *items[:SHOWN]),
        el("details", el("summary", f"{len(rest)} more"), el("ul", *rest)) if rest else None,
        _hint(shared) if shared else None,
        el("p", el("a", f"What {code} means", href=f"#{code}"), class_="dim"),
        class_="finding",
        open=severity is not Severity.INFO and not all(finding.subject in reported for finding in members),
    )


def _finding_item(finding: Finding, known: bool, hinted: bool) -> Html:
    mark = el("span", "known", class_="badge") if known else None
    return el("li", sentence(finding), " ", mark, _hint(finding.hint) if hinted and finding.hint else None)


def _hint(text: str) -> Html:
    return el("p", el("b", "Hint: "), text, class_="hint")
