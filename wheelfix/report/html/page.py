"""The HTML page: its frame, and a section for each wheel."""

from __future__ import annotations

import importlib.resources
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.model import EdgeKind, Finding, MissingDll, Prediction, ScanReport, Severity, Verdict
from wheelfix.report.document import DEFAULT, Context, FailedInput, split_failures
from wheelfix.report.graph import build_graph
from wheelfix.report.html.drawing import draw_graph
from wheelfix.report.html.element import Html, el, from_markdown, join
from wheelfix.report.words import count, human_size, import_statement, label, sentence, short_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.report.graph import Graph

KINDS = {
    EdgeKind.IMPORT: "imported",
    EdgeKind.DELAY: "delay-loaded",
    EdgeKind.COMPANION: "loaded by name at run time",
    EdgeKind.FORWARDER: "target of a forwarder",
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""The page may run what is in it and fetch nothing: a wheel's name cannot phone home."""


def render_scan(reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT) -> str:
    """Return the page over all reports."""
    title = f"wheelfix: {label(reports[0])}" if len(reports) == 1 and not failures else "wheelfix report"
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", Html(_resource("style.css"))),
    )
    sections = [_wheel(f"w{number}", report, context) for number, report in enumerate(reports, 1)]
    body = el(
        "body",
        el("a", "Skip to the report", class_="skip", href="#main"),
        el("header", el("h1", title), el("p", f"wheelfix {wheelfix.__version__}", class_="dim")),
        el("main", _overview(reports, failures), *sections, _rules(reports), id="main"),
        el("script", Html(_resource("graph.js"))),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'


def _resource(name: str) -> str:
    return (importlib.resources.files("wheelfix.report.html") / name).read_text(encoding="utf-8")


def _overview(reports: Sequence[ScanReport], failures: Sequence[FailedInput]) -> Html:
    if len(reports) == 1 and not failures:
        return Html("")
    of_reports, alone = split_failures(reports, failures)
    rows = [
        el(
            "tr",
            el("th", el("a", label(report), href=f"#w{number}"), scope="row"),
            el("td", _badge(report.verdict), _failed(of_reports.get(report.path))),
            *(el("td", str(_number(report, severity)), class_="number") for severity in Severity),
            el("td", human_size(_size(report)), class_="number"),
        )
        for number, report in enumerate(reports, 1)
    ]
    rows += [
        el(
            "tr",
            el("th", failure.path, scope="row"),
            el("td", _failed(failure), colspan=6),
        )
        for failure in alone
    ]
    names = ("wheel", "verdict", "errors", "unsure", "warnings", "info", "size of DLLs")
    head = el("tr", *(el("th", name, scope="col", class_="number" if name in names[2:] else None) for name in names))
    table = el("table", el("caption", "All inputs"), el("thead", head), el("tbody", *rows))
    return el("section", el("h2", "Overview", id="overview"), table, aria_labelledby="overview")


def _failed(failure: FailedInput | None) -> Html | None:
    if failure is None:
        return None
    return join([" ", el("span", failure.words, class_="badge broken"), " ", str(failure.error)])


def _wheel(name: str, report: ScanReport, context: Context) -> Html:
    graph = build_graph(report)
    facts = [f"{report.name} {report.version}".strip(), ", ".join(report.tags), report.machine.value]
    facts.append(f"{count(len(report.images), 'DLL')}, {human_size(_size(report))}")
    added = [image.facts.size for image in report.images if image.path in context.sources]
    if added:
        facts.append(f"{len(added)} of them vendored, {human_size(sum(added))}")
    return el(
        "section",
        el("h2", label(report), " ", _badge(report.verdict), id=name),
        el("p", " · ".join(fact for fact in facts if fact), class_="dim"),
        _prediction(report, report.first_failure) if report.first_failure else None,
        _missing(report.missing) if report.missing else None,
        _findings(report, context),
        _graph(name, graph, context) if graph.nodes else None,
        _files(name, graph, context) if report.images else None,
        aria_labelledby=name,
        class_="wheel",
    )


def _badge(verdict: Verdict) -> Html:
    return el("span", verdict.value, class_=f"badge {verdict}")


def _number(report: ScanReport, severity: Severity) -> int:
    return sum(finding.severity is severity for finding in report.findings)


def _size(report: ScanReport) -> int:
    return sum(image.facts.size for image in report.images)


def _prediction(report: ScanReport, failure: Prediction) -> Html:
    chain = [el("code", name, class_="cause" if number == len(failure.chain) - 1 else None)
             for number, name in enumerate(failure.chain)]  # fmt: skip
    arrows = [part for number, name in enumerate(chain) for part in ((" → ", name) if number else (name,))]
    return join(
        [
            el("h3", "What the import will say"),
            el("p", el("code", import_statement(report)), " will raise:"),
            el("pre", failure.message, class_="error", tabindex=0),
            el("p", "because ", *arrows) if len(chain) > 1 else None,
            el("p", failure.explanation) if failure.explanation else None,
        ]
    )


def _missing(missing: Sequence[MissingDll]) -> Html:
    rows = []
    for item in missing:
        sources = [f"{candidate.path} {candidate.version} ({candidate.reason})" for candidate in item.candidates]
        rows.append(
            el(
                "tr",
                el("th", el("code", item.name, class_="cause" if item.required else "doubt"), scope="row"),
                el("td", f"{KINDS[item.kind]}, {'required' if item.required else 'optional'}"),
                el("td", _list([short_path(path) for path in item.needed_by])),
                el("td", _list(sources or list(item.providers))),
            )
        )
    head = el("tr", *(el("th", name, scope="col") for name in ("DLL", "how", "needed by", "could come from")))
    table = el("table", el("thead", head), el("tbody", *rows))
    return join([el("h3", f"Missing ({len(missing)})"), table])


def _list(words: Sequence[str]) -> Html:
    if len(words) < 2:
        return join(words)
    short = el("ul", *(el("li", word) for word in words))
    return short if len(words) < 6 else el("details", el("summary", f"{words[0]} and {len(words) - 1} more"), short)


def _findings(report: ScanReport, context: Context) -> Html:
    if not report.findings:
        return join([el("h3", "Findings"), el("p", "None.")])
    groups: dict[tuple[Severity, str], list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault((finding.severity, finding.code), []).append(finding)
    return join(
        [
            el("h3", f"Findings ({len(report.findings)})"),
            *(_group(severity, code, members, report, context) for (severity, code), members in groups.items()),
        ]
    )


def _group(severity: Severity, code: str, members: list[Finding], report: ScanReport, context: Context) -> Html:
    items = []
    for finding in members:
        known = context.known(report, finding)
        hint = el("p", el("strong", "Hint: "), finding.hint, class_="hint") if finding.hint else None
        mark = el("span", "known", class_="badge") if known else None
        items.append(el("li", sentence(finding), " ", mark, hint))
    number = f" ({len(members)})" if len(members) > 1 else ""
    return el(
        "details",
        el(
            "summary",
            el("span", severity.value, class_=f"badge {severity}"),
            f" {code} {members[0].name}{number} ",
            el("span", f"repairable: {members[0].repairable}", class_="dim"),
        ),
        el("ul", *items),
        el("p", el("a", f"What {code} means", href=f"#{code}")),
        open=severity is not Severity.INFO and len(members) <= 20,
    )


def _graph(name: str, graph: Graph, context: Context) -> Html:
    hint = (
        "Importers stand above what they import. Tab into the drawing, move with the arrow keys, choose with Enter; "
        "plus, minus and 0 zoom. The table below says the same in words."
    )
    buttons = [
        el("button", text, type="button", data_act=act, aria_label=spoken)
        for text, act, spoken in (("+", "in", "Zoom in"), ("−", "out", "Zoom out"), ("Fit", "fit", "Fit the drawing"))
    ]
    finder = el("label", "Find a DLL ", el("input", type="search", list=f"{name}-names", autocomplete="off"))
    legend = [
        el("span", text, class_=f"key {kind}")
        for text, kind in (
            ("in the wheel", "dll"),
            ("extension module", "module"),
            ("missing", "missing"),
            ("missing, optional", "optional"),
            ("of another package", "owned"),
            ("vendored", "vendored"),
        )
    ]
    return el(
        "div",
        el("h3", "Who needs whom", id=f"{name}-graph"),
        el("p", hint, class_="dim", id=f"{name}-hint"),
        el("div", *buttons, finder, class_="tools"),
        el("div", *legend, class_="legend", aria_hidden="true"),
        draw_graph(name, graph, context.sources),
        el("div", el("p", "Choose a DLL to see who needs it and what it needs."), class_="details", aria_live="polite"),
        class_="graph",
    )


def _files(name: str, graph: Graph, context: Context) -> Html:
    needed_by: dict[int, list[str]] = {}
    needs: dict[int, list[str]] = {}
    for link in graph.links:
        needed_by.setdefault(link.target, []).append(graph.nodes[link.source].name)
        needs.setdefault(link.source, []).append(graph.nodes[link.target].name)
    images = [(number, node) for number, node in enumerate(graph.nodes) if node.in_wheel]
    most = max((node.size for _, node in images), default=0) or 1
    rows = []
    for number, node in sorted(images, key=lambda item: (-item[1].size, item[1].path)):
        facts = [f"{key}: {value}" for key, value in node.facts.items() if key != "machine"]
        source = context.sources.get(node.path)
        facts += [f"vendored from {source}"] if source else []
        outside = [f"{who}: {', '.join(names)}" for who, names in node.outside.items()]
        rows.append(
            el(
                "tr",
                el("th", short_path(node.path), scope="row"),
                el("td", human_size(node.size), class_="number"),
                el("td", el("span", class_="bar", style=f"width:{max(1, round(100 * node.size / most))}%")),
                el("td", _list(needed_by.get(number, []))),
                el("td", _list([*needs.get(number, []), *outside])),
                el("td", "; ".join(facts)),
            )
        )
    names = ("file", "size", "share", "needed by", "needs", "facts")
    columns = el("colgroup", *(el("col", style=f"width:{width}%") for width in (26, 8, 8, 20, 26, 12)))
    head = el("tr", *(el("th", text, scope="col", class_="number" if text == "size" else None) for text in names))
    return el(
        "details",
        el("summary", f"All {count(len(images), 'DLL')}, largest first"),
        el("table", columns, el("thead", head), el("tbody", *rows), class_="files"),
        id=f"{name}-files",
        open=len(images) <= 60,
    )


def _rules(reports: Sequence[ScanReport]) -> Html:
    from wheelfix.rules.registry import find_rule, page

    codes = sorted({finding.code for report in reports for finding in report.findings})
    pages = [
        el("details", el("summary", f"{code} {rule.name}: {rule.summary}"), from_markdown(page(code), 4), id=code)
        for code in codes
        if (rule := find_rule(code)) is not None
    ]
    if not pages:
        return Html("")
    return el("section", el("h2", "What the findings mean", id="rules"), *pages, aria_labelledby="rules")
