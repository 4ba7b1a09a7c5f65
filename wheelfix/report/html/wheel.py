"""The section of one wheel: what its import will say, what is missing, the findings, and what it is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import EdgeKind, Finding, MissingDll, Prediction, ProvidedDll, ScanReport, Severity, TargetVerdict
from wheelfix.report.graph import build_graph
from wheelfix.report.html.dependencies import draw_files, draw_needs
from wheelfix.report.html.element import Html, el, join
from wheelfix.report.html.overview import badge
from wheelfix.report.targets import reason
from wheelfix.report.totals import severity_phrase
from wheelfix.report.words import count, human_size, import_statement, label, sentence, short_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.report.document import Context, FailedInput

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
            el("td", reason(target) or "everything that is imported is there", data_label="why"),
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
    items = [_finding(finding, context.known(report, finding), finding.hint != shared) for finding in members]
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


def _finding(finding: Finding, known: bool, hinted: bool) -> Html:
    mark = el("span", "known", class_="badge") if known else None
    return el("li", sentence(finding), " ", mark, _hint(finding.hint) if hinted and finding.hint else None)


def _hint(text: str) -> Html:
    return el("p", el("b", "Hint: "), text, class_="hint")
