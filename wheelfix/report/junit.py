"""JUnit XML, which Jenkins, GitLab and Azure Pipelines show as tests: a suite per wheel, a case per finding."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from wheelfix.report.document import DEFAULT, Context, Failure
from wheelfix.report.safe import without_commands, xml
from wheelfix.report.words import label, sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import Finding, ScanReport


def render_scan(reports: Sequence[ScanReport], failures: Sequence[Failure] = (), context: Context = DEFAULT) -> str:
    """Return the document; what fails the build is a failure, what does not is a passed case with its text."""
    root = ET.Element("testsuites", name="wheelfix")
    for report in reports:
        _suite(root, report, context)
    for failure in failures:
        suite = ET.SubElement(root, "testsuite", name=xml(failure.path), tests="1", failures="0", errors="1")
        case = ET.SubElement(suite, "testcase", classname=xml(failure.path), name="can be read", time="0")
        error = ET.SubElement(case, "error", message=xml(failure.error.what), type=type(failure.error).__name__)
        error.text = "\n".join(xml(part) for part in (failure.error.because, failure.error.hint) if part)
    for path in context.skipped:
        suite = ET.SubElement(root, "testsuite", name=xml(path), tests="1", failures="0", errors="0", skipped="1")
        case = ET.SubElement(suite, "testcase", classname=xml(path), name="is a Windows wheel", time="0")
        ET.SubElement(case, "skipped", message="not a Windows wheel")
    for total in ("tests", "failures", "errors"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return without_commands(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _suite(root: ET.Element, report: ScanReport, context: Context) -> None:
    name = xml(label(report))
    suite = ET.SubElement(root, "testsuite", name=name)
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
            failure = ET.SubElement(case, "failure", message=xml(finding.message), type=finding.severity.value)
            failure.text = _text(finding, report)
        else:
            ET.SubElement(case, "system-out").text = f"{finding.severity}: {_text(finding, report)}"
    if not len(suite):
        ET.SubElement(suite, "testcase", classname=name, name="no findings", time="0")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(failed))
    suite.set("errors", "0")


def _text(finding: Finding, report: ScanReport) -> str:
    parts = [sentence(finding)]
    if finding.hint:
        parts.append(f"hint: {finding.hint}")
    if report.first_failure is not None and finding.severity == "error":
        parts.append(f"the import will raise: {report.first_failure.message}")
    return "\n".join(map(xml, parts))
