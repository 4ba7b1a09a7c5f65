"""JUnit XML, which Jenkins, GitLab and Azure Pipelines show as tests: a suite per wheel, a case per finding."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from wheelfix.report.document import DEFAULT, Context, FailedInput, split_failures
from wheelfix.report.safe import without_commands, xml
from wheelfix.report.totals import totals
from wheelfix.report.words import label, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import Finding, ScanReport

CASES = {"read": "can be read", "repair": "can be repaired", "report": "can be reported", "try": "can be imported"}


def render_scan(reports: Sequence[ScanReport], failures: Sequence[FailedInput] = (), context: Context = DEFAULT) -> str:
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
            element.text = _text(finding, report)
        else:
            ET.SubElement(case, "system-out").text = f"{finding.severity}: {_text(finding, report)}"
    if not len(suite):
        ET.SubElement(suite, "testcase", classname=name, name="no findings", time="0")
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(failed))
    suite.set("errors", "1" if failure is not None else "0")


def _text(finding: Finding, report: ScanReport) -> str:
    parts = [sentence(finding)]
    if finding.hint:
        parts.append(f"hint: {finding.hint}")
    if report.first_failure is not None and finding.severity == "error":
        parts.append(f"the import will raise: {report.first_failure.message}")
    return "\n".join(map(xml, parts))
