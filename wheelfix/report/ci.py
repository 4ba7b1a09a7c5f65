"""Reports for CI systems: GitHub annotations, JUnit XML, Markdown, and one line per finding."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from wheelfix.model import Severity, Verdict
from wheelfix.report.document import Document, by_code, severities
from wheelfix.report.safe import legible, without_commands, workflow_data, workflow_property, xml
from wheelfix.report.safe import markdown as escape
from wheelfix.report.safe import markdown_block as block
from wheelfix.report.safe import markdown_code as code
from wheelfix.report.words import count, import_statement, label, sentence, short_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.errors import WheelfixError
    from wheelfix.model import Finding, ScanReport
    from wheelfix.report.document import FailedInput

# -------------------------------------------------------------------------------------------------------------- GitHub

COMMANDS = {Severity.ERROR: "error", Severity.UNSURE: "warning", Severity.WARNING: "warning", Severity.INFO: "notice"}
ANNOTATED = 5
"""GitHub keeps ten errors, ten warnings and ten notices of a step, so findings of one code in one wheel share one."""


def render_github(document: Document) -> str:
    """Return one annotation per wheel and code, worst first, and a plain line with each verdict; the totals of many."""
    lines: list[str] = []
    for severity in Severity:
        for report in document.reports:
            new = [finding for finding in document.new(report) if finding.severity is severity]
            for number, members in enumerate(by_code(new)):
                lines.append(_annotation(document, report, members, first=not number))
        if severity is Severity.ERROR:
            for failure in document.failures:
                hint = f"\nhint: {legible(failure.error.hint)}" if failure.error.hint else ""
                message = f"{legible(str(failure.error))}{hint}"
                lines.append(_command("error", failure.path, failure.words, message))
    # A line that begins with two colons is a command, wherever it comes from: ours begin with a word.
    lines += [
        f"wheelfix: {report.verdict}{document.failed_words(report)}: {legible(label(report))}"
        for report in document.reports
    ]
    lines += [f"wheelfix: {failure.words}: {legible(failure.path)}" for failure in document.alone]
    lines += [f"wheelfix: skipped, not a Windows wheel: {legible(path)}" for path in document.context.skipped]
    if document.inputs > 1:
        lines += [f"wheelfix: {legible(str(row))}" for row in document.rules]
        lines.append(f"wheelfix: {document}")
    return "".join(f"{line}\n" for line in lines)


def _annotation(document: Document, report: ScanReport, members: Sequence[Finding], *, first: bool) -> str:
    shown, severity = members[:ANNOTATED], members[0].severity
    texts = [legible(sentence(member)) for member in shown]
    if len(members) > ANNOTATED:
        texts.append(f"and {len(members) - ANNOTATED} more")
    texts += dict.fromkeys(f"hint: {legible(hint)}" for member in shown if (hint := document.hint(report, member)))
    if severity is Severity.ERROR and first:
        texts[:0] = [legible(report.first_failure.message)] if report.first_failure is not None else []
        texts += document.commands(report).splitlines()
    times = f" ({count(len(members), 'time')})" if len(members) > 1 else ""
    title = f"{members[0].code} {members[0].name}{times} in {label(report)}"
    return _command(COMMANDS[severity], report.path, title, "\n".join(texts))


def _command(name: str, file: str, title: str, message: str) -> str:
    return f"::{name} file={workflow_property(file)},title={workflow_property(title)}::{workflow_data(message)}"


# ------------------------------------------------------------------------------------------------ one line per finding


def render_concise(document: Document) -> str:
    """Return the findings that are not in the baseline, in the order of the inputs, then the inputs that failed."""
    lines = [
        f"{report.path}: {finding.code} {finding.severity} {sentence(finding)}"
        for report in document.reports
        for finding in document.new(report)
    ]
    lines += [f"{failure.path}: error: {failure.words}: {failure.error}" for failure in document.failures]
    return without_commands("".join(f"{legible(line)}\n" for line in lines))


# --------------------------------------------------------------------------------------------------------------- JUnit

CASES = {"read": "can be read", "repair": "can be repaired", "report": "can be reported", "try": "can be imported"}


def render_junit(document: Document) -> str:
    """Return a suite per wheel; what fails the build is a failure, what does not is a passed case with its text."""
    root = ET.Element("testsuites", name="wheelfix")
    for report in document.reports:
        suite = ET.SubElement(root, "testsuite", name=xml(label(report)))
        rules = Document([report], (), document.context).rules
        properties = {f"target {target.name}": target.verdict.value for target in report.targets}
        properties |= {f"{row.code} {row.name}": str(row.findings) for row in rules}
        group = ET.SubElement(suite, "properties") if properties else suite
        for name, value in properties.items():
            ET.SubElement(group, "property", name=xml(name), value=value)
        if report.path in document.failed:
            failure = document.failed[report.path]
            add_error(suite, CASES[failure.stage], failure.error)
        for finding in report.findings:
            case = add_case(suite, f"{finding.code} {finding.name}: {finding.subject}")
            text = _case_text(finding, report, document)
            if document.context.fails(report, finding):
                severity = finding.severity.value
                ET.SubElement(case, "failure", message=xml(finding.message), type=severity).text = text
            else:
                ET.SubElement(case, "system-out").text = f"{finding.severity}: {text}"
        if not len(suite):
            add_case(suite, "no findings")
    for failure in document.alone:
        add_error(ET.SubElement(root, "testsuite", name=xml(failure.path)), CASES[failure.stage], failure.error)
    for path in document.context.skipped:
        case = add_case(ET.SubElement(root, "testsuite", name=xml(path)), "is a Windows wheel")
        ET.SubElement(case, "skipped", message="not a Windows wheel")
    return junit_text(root)


def add_case(suite: ET.Element, name: str, time: str = "0") -> ET.Element:
    """Add a test to a suite of JUnit's."""
    return ET.SubElement(suite, "testcase", classname=suite.get("name", ""), name=xml(name), time=time)


def add_error(suite: ET.Element, name: str, error: WheelfixError) -> None:
    """Add the test of an input that failed: ``can be repaired``, which it cannot."""
    element = ET.SubElement(add_case(suite, name), "error", message=xml(error.what), type=type(error).__name__)
    element.text = "\n".join(xml(part) for part in (error.because, error.hint) if part)


def junit_text(root: ET.Element, *, count_skipped: bool = False) -> str:
    """Return the document, with the totals of each suite and of all; ``skipped`` where there is one, or always."""
    for suite in root:
        suite.set("tests", str(len(suite.findall("testcase"))))
        for word, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            number = len(suite.findall(f"testcase/{word}"))
            if number or count_skipped or word != "skipped":
                suite.set(total, str(number))
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return without_commands(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _case_text(finding: Finding, report: ScanReport, document: Document) -> str:
    parts = [sentence(finding)]
    if hint := document.hint(report, finding):
        parts.append(f"hint: {hint}")
    if report.first_failure is not None and finding.severity == "error":
        parts.append(f"the import will raise: {report.first_failure.message}")
    if document.context.fails(report, finding):
        parts += document.commands(report).splitlines()
    return "\n".join(map(xml, parts))


# ------------------------------------------------------------------------------------------------------------ Markdown

MARKS = {Verdict.OK: "✅ ok", Verdict.RISKY: "⚠️ risky", Verdict.UNSURE: "❓ unsure", Verdict.BROKEN: "❌ broken"}
SHOWN = 20


def render_markdown(document: Document) -> str:
    """Return a table over all wheels, and a section for each that has something to say."""
    lines = ["## wheelfix", "", escape(str(document))]
    if document.inputs:
        lines += ["", "| wheel | verdict | errors | unsure | warnings | info |"]
        lines += ["| --- | --- | ---: | ---: | ---: | ---: |"]
    for report in document.reports:
        numbers = " | ".join(map(str, severities(report.findings).values()))
        verdict = f"{MARKS[report.verdict]}{document.failed_words(report)}"
        lines.append(f"| {escape(label(report))} | {verdict} | {numbers} |")
    lines += [f"| {escape(failure.path)} | ❌ {failure.words} | | | | |" for failure in document.alone]
    lines += [f"| {escape(path)} | skipped: not a Windows wheel | | | | |" for path in document.context.skipped]
    if len(document.reports) > 1 and document.rules:
        lines += ["", "| rule | severity | findings | wheels |", "| --- | --- | ---: | ---: |"]
    for row in document.rules if len(document.reports) > 1 else ():
        lines.append(f"| {escape(f'{row.code} {row.name}')} | {row.severity} | {row.findings} | {row.inputs} |")
    for report in document.reports:
        if report.findings or report.first_failure is not None or report.path in document.failed:
            lines += ["", *_section(report, document)]
    for failure in document.alone:
        lines += ["", f"### {escape(failure.path)}", "", *_reason(failure)]
    return without_commands("\n".join(lines) + "\n")


def _reason(failure: FailedInput) -> list[str]:
    lines = [escape(f"{failure.words.capitalize()}: {failure.error}")]
    return [*lines, "", f"Hint: {escape(failure.error.hint)}"] if failure.error.hint else lines


def _section(report: ScanReport, document: Document) -> list[str]:
    lines = [f"### {escape(label(report))}"]
    if report.path in document.failed:
        lines += ["", *_reason(document.failed[report.path])]
    prediction = report.first_failure
    if prediction is not None:
        lines += ["", f"{code(import_statement(report))} will raise:", "", *block(prediction.message)]
        if len(prediction.chain) > 1:
            lines += ["", "because " + " → ".join(map(code, prediction.chain))]
        if prediction.explanation:
            lines += ["", escape(prediction.explanation)]
    if commands := document.commands(report):
        lines += ["", "What to do now:", "", *block(commands)]
    if report.missing:
        lines += ["", "| missing | needed by | could come from |", "| --- | --- | --- |"]
    for item in report.missing[:SHOWN]:
        needers = ", ".join(code(short_path(path)) for path in item.needed_by[:3])
        needers += f" and {len(item.needed_by) - 3} more" if len(item.needed_by) > 3 else ""
        sources = [f"{candidate.path} {candidate.version}".strip() for candidate in item.candidates[:2]]
        optional = "" if item.required else " (optional)"
        origin = "; ".join(map(escape, sources or item.providers))
        lines.append(f"| {code(item.name)}{optional} | {needers} | {origin} |")
    lines += _rest(len(report.missing))
    new = document.new(report)
    if new:
        lines += ["", "| code | severity | what |", "| --- | --- | --- |"]
    for finding in new[:SHOWN]:
        hint = document.hint(report, finding)
        what = escape(sentence(finding)) + (f"<br>Hint: {escape(hint)}" if hint else "")
        lines.append(f"| {escape(f'{finding.code} {finding.name}')} | {finding.severity} | {what} |")
    lines += _rest(len(new))
    if len(new) < len(report.findings):
        lines += ["", f"{count(len(report.findings) - len(new), 'known finding')} in the baseline."]
    return lines


def _rest(number: int) -> list[str]:
    return ["", f"and {number - SHOWN} more"] if number > SHOWN else []
