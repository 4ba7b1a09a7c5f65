"""Reports for CI systems: GitHub annotations, JUnit XML, Markdown, and one line per finding."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from wheelfix.model import Finding, ScanReport, Severity, Verdict
from wheelfix.report.document import DEFAULT, Context, FailedInput, severities, split_failures, totals
from wheelfix.report.safe import legible, without_commands, workflow_data, workflow_property, xml
from wheelfix.report.safe import markdown as escape
from wheelfix.report.safe import markdown_block as block
from wheelfix.report.safe import markdown_code as code
from wheelfix.report.words import count, import_statement, label, sentence, short_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import Finding, ScanReport

# -------------------------------------------------------------------------------------------------------------- GitHub


COMMANDS = {Severity.ERROR: "error", Severity.UNSURE: "warning", Severity.WARNING: "warning", Severity.INFO: "notice"}
ANNOTATED = 5


def render_github(
    reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT
) -> str:
    """Return one annotation per wheel and code, worst first, and a plain line with each verdict; the totals of many."""
    of_reports, alone = split_failures(reports, failures)
    lines: list[str] = []
    for severity in Severity:
        for report in reports:
            lines += _annotations(report, severity, context)
        if severity is Severity.ERROR:
            lines += [
                _command("error", failure.path, failure.words, _annotation_reason(failure)) for failure in failures
            ]
    # A line that begins with two colons is a command, wherever it comes from: ours begin with a word.
    for report in reports:
        failed = f", {of_reports[report.path].words}" if report.path in of_reports else ""
        lines.append(f"wheelfix: {report.verdict}{failed}: {legible(label(report))}")
    lines += [f"wheelfix: {failure.words}: {legible(failure.path)}" for failure in alone]
    lines += [f"wheelfix: skipped, not a Windows wheel: {legible(path)}" for path in context.skipped]
    figures = totals(reports, failures, context)
    if figures.inputs > 1:
        lines += [f"wheelfix: {legible(str(row))}" for row in figures.rules]
        lines.append(f"wheelfix: {figures}")
    return "".join(f"{line}\n" for line in lines)


def _annotation_reason(failure: FailedInput) -> str:
    hint = f"\nhint: {legible(failure.error.hint)}" if failure.error.hint else ""
    return f"{legible(str(failure.error))}{hint}"


def _annotations(report: ScanReport, severity: Severity, context: Context) -> list[str]:
    groups: dict[str, list[Finding]] = {}
    for finding in report.findings:
        if finding.severity is severity and not context.known(report, finding):
            groups.setdefault(finding.code, []).append(finding)
    lines: list[str] = []
    for number, members in groups.items():
        texts = [legible(sentence(member)) for member in members[:ANNOTATED]]
        if len(members) > ANNOTATED:
            texts.append(f"and {len(members) - ANNOTATED} more")
        texts += list(dict.fromkeys(f"hint: {legible(member.hint)}" for member in members[:ANNOTATED] if member.hint))
        if report.first_failure is not None and severity is Severity.ERROR and not lines:
            texts.insert(0, legible(report.first_failure.message))
        title = f"{number} {members[0].name}" + (f" ({count(len(members), 'time')})" if len(members) > 1 else "")
        lines.append(_command(COMMANDS[severity], report.path, f"{title} in {label(report)}", "\n".join(texts)))
    return lines


def _command(name: str, file: str, title: str, message: str) -> str:
    return f"::{name} file={workflow_property(file)},title={workflow_property(title)}::{workflow_data(message)}"


# ------------------------------------------------------------------------------------------------ one line per finding


def render_concise(
    reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT
) -> str:
    """Return the findings that are not in the baseline, in the order of the inputs, then the inputs that failed."""
    lines = [
        f"{report.path}: {finding.code} {finding.severity} {sentence(finding)}"
        for report in reports
        for finding in report.findings
        if not context.known(report, finding)
    ]
    lines += [f"{failure.path}: error: {failure.words}: {failure.error}" for failure in failures]
    return without_commands("".join(f"{legible(line)}\n" for line in lines))


# --------------------------------------------------------------------------------------------------------------- JUnit


CASES = {"read": "can be read", "repair": "can be repaired", "report": "can be reported", "try": "can be imported"}


def render_junit(
    reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT
) -> str:
    """Return the document; what fails the build is a failure, what does not is a passed case with its text."""
    root = ET.Element("testsuites", name="wheelfix")
    of_reports, alone = split_failures(reports, failures)
    for report in reports:
        _suite(root, report, of_reports.get(report.path), context)
    for failure in alone:
        suite = ET.SubElement(root, "testsuite", name=xml(failure.path), tests="1", failures="0", errors="1")
        _failed(suite, xml(failure.path), failure)
    for path in context.skipped:
        suite = ET.SubElement(root, "testsuite", name=xml(path), tests="1", failures="0", errors="0", skipped="1")
        case = ET.SubElement(suite, "testcase", classname=xml(path), name="is a Windows wheel", time="0")
        ET.SubElement(case, "skipped", message="not a Windows wheel")
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return without_commands(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _failed(suite: ET.Element, name: str, failure: FailedInput) -> None:
    """Add the case of an input that failed: ``can be repaired``, which it cannot."""
    case = ET.SubElement(suite, "testcase", classname=name, name=CASES[failure.stage], time="0")
    error = ET.SubElement(case, "error", message=xml(failure.error.what), type=type(failure.error).__name__)
    error.text = "\n".join(xml(part) for part in (failure.error.because, failure.error.hint) if part)


def _suite(root: ET.Element, report: ScanReport, failure: FailedInput | None, context: Context) -> None:
    name = xml(label(report))
    suite = ET.SubElement(root, "testsuite", name=name)
    rules = totals([report], (), context).rules
    if rules or report.targets:
        properties = ET.SubElement(suite, "properties")
        for target in report.targets:
            ET.SubElement(properties, "property", name=xml(f"target {target.name}"), value=target.verdict.value)
        for row in rules:
            ET.SubElement(properties, "property", name=xml(f"{row.code} {row.name}"), value=str(row.findings))
    if failure is not None:
        _failed(suite, name, failure)
    failed = 0
    for finding in report.findings:
        case = ET.SubElement(
            suite,
            "testcase",
            classname=name,
            name=xml(f"{finding.code} {finding.name}: {finding.subject}"),
            time="0",
        )
        if context.fails(report, finding):
            failed += 1
            element = ET.SubElement(case, "failure", message=xml(finding.message), type=finding.severity.value)
            element.text = _case_text(finding, report)
        else:
            ET.SubElement(case, "system-out").text = f"{finding.severity}: {_case_text(finding, report)}"
    if not len(suite):
        ET.SubElement(suite, "testcase", classname=name, name="no findings", time="0")
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(failed))
    suite.set("errors", "1" if failure is not None else "0")


def _case_text(finding: Finding, report: ScanReport) -> str:
    parts = [sentence(finding)]
    if finding.hint:
        parts.append(f"hint: {finding.hint}")
    if report.first_failure is not None and finding.severity == "error":
        parts.append(f"the import will raise: {report.first_failure.message}")
    return "\n".join(map(xml, parts))


# ------------------------------------------------------------------------------------------------------------ Markdown


MARKS = {Verdict.OK: "✅ ok", Verdict.RISKY: "⚠️ risky", Verdict.UNSURE: "❓ unsure", Verdict.BROKEN: "❌ broken"}
SHOWN = 20


def render_markdown(
    reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT
) -> str:
    """Return a table over all wheels, and a section for each that has something to say."""
    of_reports, alone = split_failures(reports, failures)
    figures = totals(reports, failures, context)
    lines = ["## wheelfix", "", escape(str(figures))]
    if figures.inputs:
        lines += [
            "",
            "| wheel | verdict | errors | unsure | warnings | info |",
            "| --- | --- | ---: | ---: | ---: | ---: |",
        ]
    for report in reports:
        numbers = " | ".join(str(number) for number in severities(report.findings).values())
        failed = f", {of_reports[report.path].words}" if report.path in of_reports else ""
        lines.append(f"| {escape(label(report))} | {MARKS[report.verdict]}{failed} | {numbers} |")
    lines += [f"| {escape(failure.path)} | ❌ {failure.words} | | | | |" for failure in alone]
    lines += [f"| {escape(path)} | skipped: not a Windows wheel | | | | |" for path in context.skipped]
    if len(reports) > 1 and figures.rules:
        lines += ["", "| rule | severity | findings | wheels |", "| --- | --- | ---: | ---: |"]
        lines += [
            f"| {escape(f'{row.code} {row.name}')} | {row.severity} | {row.findings} | {row.inputs} |"
            for row in figures.rules
        ]
    for report in reports:
        if report.findings or report.first_failure is not None or report.path in of_reports:
            lines += ["", *_section(report, of_reports.get(report.path), context)]
    for failure in alone:
        lines += ["", f"### {escape(failure.path)}", "", *_reason(failure)]
    return without_commands("\n".join(lines) + "\n")


def _reason(failure: FailedInput) -> list[str]:
    lines = [escape(f"{failure.words.capitalize()}: {failure.error}")]
    return [*lines, "", f"Hint: {escape(failure.error.hint)}"] if failure.error.hint else lines


def _section(report: ScanReport, failure: FailedInput | None, context: Context) -> list[str]:
    lines = [f"### {escape(label(report))}"]
    if failure is not None:
        lines += ["", *_reason(failure)]
    prediction = report.first_failure
    if prediction is not None:
        lines += ["", f"{code(import_statement(report))} will raise:", "", *block(prediction.message)]
        if len(prediction.chain) > 1:
            lines += ["", "because " + " → ".join(code(name) for name in prediction.chain)]
        if prediction.explanation:
            lines += ["", escape(prediction.explanation)]
    if report.missing:
        lines += ["", "| missing | needed by | could come from |", "| --- | --- | --- |"]
    for item in report.missing[:SHOWN]:
        needers = [code(short_path(path)) for path in item.needed_by]
        sources = [escape(f"{candidate.path} {candidate.version}".strip()) for candidate in item.candidates[:2]]
        optional = "" if item.required else " (optional)"
        lines.append(
            f"| {code(item.name)}{optional} | {_some(needers)} | {'; '.join(sources or map(escape, item.providers))} |"
        )
    lines += _rest(len(report.missing))
    new = [finding for finding in report.findings if not context.known(report, finding)]
    if new:
        lines += ["", "| code | severity | what |", "| --- | --- | --- |"]
    for finding in new[:SHOWN]:
        lines.append(f"| {escape(f'{finding.code} {finding.name}')} | {finding.severity} | {_what(finding)} |")
    lines += _rest(len(new))
    if len(new) < len(report.findings):
        lines += ["", f"{count(len(report.findings) - len(new), 'known finding')} in the baseline."]
    return lines


def _rest(number: int) -> list[str]:
    return ["", f"and {number - SHOWN} more"] if number > SHOWN else []


def _some(names: Sequence[str], most: int = 3) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def _what(finding: Finding) -> str:
    text = escape(sentence(finding))
    return f"{text}<br>Hint: {escape(finding.hint)}" if finding.hint else text
