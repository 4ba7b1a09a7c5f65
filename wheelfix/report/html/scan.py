"""The page over the reports of a scan: the answer in one sentence, a table over all inputs, a section for each."""

from __future__ import annotations

import importlib.resources
import posixpath
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.model import Severity, Verdict
from wheelfix.report.builds import pair_words
from wheelfix.report.document import (
    DEFAULT,
    Context,
    Document,
    FailedInput,
    PlanReport,
    by_words,
    severities,
    severity_phrase,
)
from wheelfix.report.html.element import Html, badge, bullets, el, fold, folded, from_markdown, hint, join, table
from wheelfix.report.html.graph import build_graph, draw_files, draw_needs
from wheelfix.report.words import (
    KIND_WORDS,
    about,
    and_more,
    count,
    human_change,
    human_size,
    image_counts,
    import_statement,
    is_dll,
    label,
    sentence,
    short_path,
    target_reason,
    way_words,
)
from wheelfix.rules.registry import find_rule, page

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wheelfix.model import Finding, MissingDll, Prediction, ProvidedDll, ScanReport, TargetVerdict
    from wheelfix.plan.model import Addition
    from wheelfix.report.builds import Comparison, Difference, Problem
    from wheelfix.report.document import Context, FailedInput, RuleTotal
    from wheelfix.report.words import Step

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""The page may run what is in it and fetch nothing: a wheel's name cannot phone home."""
OPEN = 3
"""So many broken wheels are unfolded; of more, the overview says which to open first."""
RANKS = {"broken": 0, "failed": 1, "unsure": 2, "risky": 3, "ok": 4, "skipped": 5}
"""The order of the overview: what needs attention comes first."""


def render_scan(document: Document) -> str:
    """Return the page over all reports."""
    reports = document.reports
    title = f"wheelfix: {label(reports[0])}" if len(reports) == 1 and not document.failures else "wheelfix report"
    ranked = sorted(reports, key=lambda report: RANKS[report.verdict.value])
    many = document.inputs > 1
    unfold = document.verdicts[Verdict.BROKEN] <= OPEN
    wheels = [
        _wheel(f"w{number}", report, document, unfolded=not many or (report.verdict is Verdict.BROKEN and unfold))
        for number, report in enumerate(ranked, 1)
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
        _overview(ranked, document) if many or document.alone else None,
        _totals(document.rules) if many and document.rules else None,
        *wheels,
        draw_rules(finding.code for report in reports for finding in report.findings),
    )


# ------------------------------------------------------------------------------------------ what every page consists of


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


def _answer(document: Document) -> str:
    """Return what a reader in a hurry wants to know."""
    if not document.inputs:
        return "Nothing was scanned"
    if document.inputs == 1 and document.reports:
        report = document.reports[0]
        because = f": {_problem(report)}" if report.first_failure is not None else ""
        return f"{label(report)} is {report.verdict}{because}"
    verdicts = (Verdict.BROKEN, Verdict.UNSURE, Verdict.RISKY)
    bad = {verdict.value: document.verdicts[verdict] for verdict in verdicts} | by_words(document.alone)
    parts = [(number, words) for words, number in bad.items() if number]
    total = document.inputs - len(document.context.skipped)
    noun = count(total, _noun(document.reports))
    if not parts:
        return f"All {noun} are ok" if total > 1 else f"{noun} is ok"
    (first, words), *others = parts
    more = "".join(f", {number} {words}" for number, words in others)
    return f"{first} of {noun} {'is' if first == 1 else 'are'} {words}{more}"


def _noun(reports: Sequence[ScanReport]) -> str:
    return "wheel" if all(label(report).lower().endswith(".whl") for report in reports) else "package"


def _bar(document: Document) -> Html:
    """Return how the inputs divide, as a bar and in words; with scripts the words are buttons that filter."""
    numbers = {verdict.value: number for verdict, number in document.verdicts.items()}
    failed = by_words(document.alone)
    numbers |= {"failed": sum(failed.values()), "skipped": len(document.context.skipped)}
    order = [kind for kind in RANKS if numbers[kind]]
    segments = [el("span", class_=f"segment {kind}", style=f"flex-grow:{numbers[kind]}") for kind in order]
    keys = [
        el("button", el("b", str(numbers[kind])), f" {', '.join(failed) if kind == 'failed' else kind}", type="button",
           data_kind=kind, aria_pressed="false", class_=f"tally {kind}")
        for kind in order
    ]  # fmt: skip
    bar = el("div", *segments, class_="bar", aria_hidden="true")
    return join([bar, el("div", *keys, class_="tallies", role="group", aria_label="Inputs by verdict")])


def _overview(reports: Sequence[ScanReport], document: Document) -> Html:
    """Return one row for each input, the worst first; unsure, which is rare, has a column where there is one."""
    shown = [severity for severity in Severity if severity is not Severity.UNSURE or document.severities[severity]]
    rows = [_row(f"w{number}", report, document, shown) for number, report in enumerate(reports, 1)]
    place, columns = document.verdicts[Verdict.BROKEN], 3 + len(shown)
    rows[place:place] = [
        _other_row(failure.path, "failed", failure.words, columns, str(failure.error), hint(failure.error))
        for failure in document.alone
    ]
    rows += [
        _other_row(path, "skipped", "skipped", columns, "not a Windows wheel") for path in document.context.skipped
    ]
    heads = (_noun(reports), "verdict", "first problem", *map(_plural, shown), "DLLs", "size")
    head = (
        el("th", el("button", name, type="button", class_="sorter"), scope="col",
           class_="number" if name in heads[3:] else None)
        for name in heads
    )  # fmt: skip
    finder = el(
        "div",
        el("label", "Filter ", el("input", type="search", placeholder="name, verdict, rule", autocomplete="off")),
        el("span", class_="shown", aria_live="polite"),
        class_="tools",
    )
    listing = el(
        "table",
        el("caption", "All inputs, the worst first", class_="unseen"),
        el("thead", el("tr", *head)),
        el("tbody", *rows),
        class_="overview cards",
    )
    return el("section", el("h2", "Overview", id="overview"), finder, listing, aria_labelledby="overview")


def _plural(severity: Severity) -> str:
    return f"{severity}s" if severity in (Severity.ERROR, Severity.WARNING) else severity.value


def _row(name: str, report: ScanReport, document: Document, shown: Sequence[Severity]) -> Html:
    numbers, failure = severities(report.findings), document.failed.get(report.path)
    codes = " ".join(dict.fromkeys(finding.code for finding in report.findings))
    size = sum(image.facts.size for image in report.images)
    verdict = report.verdict.value
    failed = join([" ", badge(failure.words, "failed")]) if failure else None
    return el(
        "tr",
        el("th", el("a", label(report), href=f"#{name}"), scope="row"),
        el("td", badge(verdict, verdict), failed, data_value=RANKS[verdict]),
        el("td", _problem(report), class_="what"),
        *(_number(numbers[severity], _plural(severity)) for severity in shown),
        _number(sum(is_dll(item) for item in report.images), "DLLs"),
        el("td", human_size(size), class_="number", data_value=size, data_label="size"),
        data_kind=verdict,
        data_words=f"{verdict} {codes} {failure.words if failure else ''}",
        data_section=name,
    )


def _number(number: int, words: str) -> Html:
    zero = " zero" if not number else ""
    return el("td", str(number), class_=f"number{zero}", data_value=number, data_label=words)


def _other_row(path: str, kind: str, words: str, columns: int, *what: str | None) -> Html:
    """Return the row of an input that has no report."""
    return el(
        "tr",
        el("th", path, scope="row"),
        el("td", badge(words, kind), data_value=RANKS[kind]),
        el("td", *what, class_="what", colspan=columns),
        data_kind=kind,
        data_words=words,
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
    return and_more([f"{finding.code} {finding.name}" for finding in worst], 1)


def _totals(rules: Sequence[RuleTotal]) -> Html:
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
    number = sum(row.findings for row in rules)
    heads = ("rule", "severity", "findings", "inputs")
    return fold(
        f"Findings by rule: {count(number, 'finding')} of {count(len(rules), 'rule')}",
        table(heads, rows, "totals cards", numbers=heads[2:]),
        class_="fold",
    )


# --------------------------------------------------------------------------------------------- the section of one wheel

WAYS = {
    "file": "its file is installed",
    "requirement": "by the requirement",
    "out-of-reach": "out of reach",
    "unsure": "could not tell",
}
"""How another distribution provides a DLL."""
SHOWN = 10
"""So many missing DLLs, and findings of one rule, are shown at once; the others are folded."""


def _wheel(name: str, report: ScanReport, document: Document, *, unfolded: bool) -> Html:
    """Return the folded section of a wheel; a link to ``name`` unfolds it."""
    graph, failure, sources = build_graph(report), document.failed.get(report.path), document.context.sources
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
            _facts(report, document.context),
            _notice(failure) if failure else None,
            _prediction(report, report.first_failure) if report.first_failure else None,
            _steps(document.steps(report)),
            _targets(report.targets) if report.targets else None,
            _missing(report.missing) if report.missing else None,
            _provided(report.provided) if report.provided else None,
            _findings(report, document),
            draw_needs(name, graph, sources, chain) if graph.nodes else None,
            draw_files(name, graph, sources) if report.images else None,
            id=name,
            class_="body",
        ),
        class_="wheel",
        open=unfolded,
    )


def _facts(report: ScanReport, context: Context) -> Html:
    size = human_size(sum(image.facts.size for image in report.images))
    facts = [f"{report.name} {report.version}".strip(), and_more(report.tags, 3), report.machine.value]
    facts.append(f"{', '.join(image_counts(report))}, {size}")
    added = [image.facts.size for image in report.images if image.path in context.sources]
    facts += [f"{len(added)} vendored, {human_size(sum(added))}"] if added else []
    digest = context.sha256.get(report.path)
    shown = el("p", "sha256 ", el("code", digest), class_="dim digest") if digest else None
    return join([el("p", " · ".join(fact for fact in facts if fact), class_="dim"), shown])


def _notice(failure: FailedInput) -> Html:
    text = el("p", el("b", f"{failure.words.capitalize()}. "), str(failure.error))
    return el("div", text, hint(failure.error), class_="notice")


def _prediction(report: ScanReport, failure: Prediction) -> Html:
    last = len(failure.chain) - 1
    steps = [
        el("li", el("code", name, class_="cause" if number == last else None))
        for number, name in enumerate(failure.chain)
    ]
    spoken = "From the file that the error names to its cause"
    return join(
        [
            el("h4", "What the import will say"),
            el("p", el("code", import_statement(report)), " will raise:"),
            el("pre", failure.message, class_="error", tabindex=0),
            el("ol", *steps, class_="chain", aria_label=spoken) if last > 0 else None,
            el("p", failure.explanation, class_="dim") if failure.explanation else None,
        ]
    )


def _steps(steps: Sequence[Step]) -> Html | None:
    """Return the commands that fix what was found; with scripts each has a button that copies it."""
    drawn = [join([el("p", step.what, class_="dim"), el("pre", step.command, class_="paste", tabindex=0)])
             for step in steps]  # fmt: skip
    return join([el("h4", "What to do now"), *drawn]) if drawn else None


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
    return join([el("h4", "Targets"), table(("target", "verdict", "why", "raises"), rows)])


def _provided(provided: Sequence[ProvidedDll]) -> Html:
    """Return which DLLs other distributions provide, to which files, folded."""
    rows = []
    for item in provided:
        specifier = f" ({item.specifier})" if item.specifier else ""
        rows.append(
            el(
                "tr",
                el("th", el("code", item.name), scope="row"),
                el("td", _some([f"{name}{specifier}" for name in item.distributions]), data_label="provided by"),
                el("td", WAYS.get(item.how, item.how), data_label="how"),
                el("td", item.path or item.because, data_label="where"),
                el("td", _some([*map(short_path, item.needed_by)]), data_label="needed by"),
            )
        )
    names = dict.fromkeys(name for item in provided for name in item.distributions)
    return fold(
        f"Provided by other distributions ({len(provided)}): {', '.join([*names][:6])}",
        table(("DLL", "provided by", "how", "where", "needed by"), rows),
        class_="fold provided",
    )


def _missing(missing: Sequence[MissingDll]) -> Html:
    rows = []
    for item in sorted(missing, key=lambda item: not item.required):
        sources = [f"{candidate.path} {candidate.version} ({candidate.reason})" for candidate in item.candidates]
        need, style = ("required", "cause") if item.required else ("optional", "doubt")
        rows.append(
            el(
                "tr",
                el("th", el("code", item.name, class_=style), scope="row"),
                el("td", f"{need}, {KIND_WORDS[item.kind]}", data_label="how"),
                el("td", _some([*map(short_path, item.needed_by)]), data_label="needed by"),
                el("td", _some(sources or list(item.providers)), data_label="could come from"),
            )
        )
    heads = ("DLL", "how", "needed by", "could come from")
    shown = folded(rows, SHOWN, lambda part: table(heads, part, "cards missing-dlls"))
    return join([el("h4", f"Missing ({len(missing)})"), shown])


def _some(words: Sequence[str]) -> Html:
    """Return a list, folded where it is long."""
    if len(words) < 2:
        return join(words)
    return bullets(words) if len(words) <= 3 else fold(and_more(words, 1), bullets(words))


def _findings(report: ScanReport, document: Document) -> Html:
    if not report.findings:
        return el("p", "No findings.")
    groups: dict[tuple[Severity, str], list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault((finding.severity, finding.code), []).append(finding)
    ranked = sorted(groups.values(), key=lambda members: list(Severity).index(members[0].severity))
    drawn = (_group(members, report, document) for members in ranked)
    return join([el("h4", f"Findings ({len(report.findings)})"), *drawn])


def _group(members: list[Finding], report: ScanReport, document: Document) -> Html:
    """Return the findings of one rule; a hint that all of them share is said once."""
    first, context = members[0], document.context
    hints = [document.hint(report, finding) for finding in members]
    shared = hints[0] if len(set(hints)) == 1 else ""
    items = [
        el("li", sentence(finding), " ",
           el("span", "known", class_="badge") if context.known(report, finding) else None,
           _hint(own) if own != shared and own else None)
        for finding, own in zip(members, hints, strict=True)
    ]  # fmt: skip
    number = f" ({len(members)})" if len(members) > 1 else ""
    reported = {item.name for item in report.missing}  # the table of what is missing has said it already
    summary = [
        badge(first.severity.value, first.severity.value),
        el("span", el("code", first.code), f" {first.name}{number}"),
        el("span", f"repairable: {first.repairable}", class_="dim"),
    ]
    return fold(
        join(summary),
        folded(items, SHOWN, bullets),
        _hint(shared) if shared else None,
        el("p", el("a", f"What {first.code} means", href=f"#{first.code}"), class_="dim"),
        class_="finding",
        open=first.severity is not Severity.INFO and not all(finding.subject in reported for finding in members),
    )


def _hint(text: str) -> Html:
    return el("p", el("b", "Hint: "), text, class_="hint")


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
        "Required instead": [f"{one.requirement}: {', '.join(one.names)}" for one in plan.supplied],
        "Loads them first": [*plan.patched],
        "Dropped": [f"{drop.path}: {drop.because}" for drop in plan.drops],
        "Fixes": [
            *(f"{rename.old} → {rename.new or '(top)'}: {rename.because}" for rename in plan.renames),
            *(f"{mend.code} {mend.subject}: {mend.what}" for mend in plan.mends),
        ],
        "Refused": [f"{refusal.name}: {refusal.because}" for refusal in plan.refused],
        "Still missing": [f"{item.name}: {item.because}" for item in plan.remaining if item.required],
        "Optional DLLs left out": [item.name for item in plan.remaining if not item.required],
        "Notes": list(plan.notes),
        "Ways to have the DLLs of NVIDIA and Intel": [*map(way_words, plan.ways)],
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
    return frame("wheelfix diff", header("diff", _answer_of_diff(comparison), context), *sections, draw_rules(codes))


def _answer_of_diff(comparison: Comparison) -> str:
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
        rows.append(_build_row("lost", file.path, f"still needed by {needers}" if needers else ""))
    rows += [_build_row("new", file.path, human_size(file.size)) for file in difference.appeared]
    rows += [_build_row(pair.how, pair.old.path, pair_words(pair)) for pair in difference.pairs]
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


def _build_row(how: str, path: str, words: str) -> Html:
    kind = {"lost": "failed", "new": "info"}.get(how, "")
    return el("tr", el("th", path, scope="row"), el("td", badge(how, kind), data_value=how), el("td", words))


def _problems(title: str, problems: Sequence[Problem]) -> Html | None:
    items = [
        el("li", badge(problem.severity.value, problem.severity.value), " ",
           el("a", el("code", problem.code), href=f"#{problem.code}"), f" {about(problem.subject, problem.message)}")
        for problem in problems
    ]  # fmt: skip
    return _titled(title, items, len(items)) if items else None
