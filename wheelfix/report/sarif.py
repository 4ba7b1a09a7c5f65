"""SARIF 2.1.0, as GitHub code scanning and other viewers read it; each rule with its page as help."""

from __future__ import annotations

import hashlib
import posixpath
import urllib.parse
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

import wheelfix
from wheelfix.model import Finding, Json, JsonObject, ScanReport, Severity, canonical
from wheelfix.report.canvas import TextStyle
from wheelfix.report.document import label, sentence
from wheelfix.report.json_ import dump, summary_value
from wheelfix.report.pages import render_page
from wheelfix.rules.registry import Rule, all_rules, page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.exam.examination import FailedInput
    from wheelfix.report.document import Context, Document

PROJECT = "https://pypi.org/project/wheelfix/"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.UNSURE: "warning", Severity.WARNING: "warning", Severity.INFO: "note"}


def render_scan(document: Document) -> str:
    """Return a SARIF log with one run over all reports."""
    reports = document.reports
    used = {finding.code for report in reports for finding in report.findings}
    rules = [rule for rule in all_rules() if rule.code in used]
    places = {rule.code: number for number, rule in enumerate(rules)}
    results: list[Json] = [
        _result(report, finding, places, document.context) for report in reports for finding in report.findings
    ]
    run: JsonObject = {
        "tool": {
            "driver": {
                "name": "wheelfix",
                "version": wheelfix.__version__,
                "semanticVersion": wheelfix.__version__,
                "informationUri": PROJECT,
                "rules": [*map(_rule, rules)],
            }
        },
        "invocations": [_invocation(document.failures)],
        "columnKind": "utf16CodeUnits",
        "results": results,
        "properties": {
            "predictions": [
                {"wheel": label(report), "message": failure.message, "chain": [*failure.chain]}
                for report in reports
                if (failure := report.first_failure) is not None
            ],
            "summary": summary_value(document),
        },
    }
    return dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> JsonObject:
    text = page(rule.code)
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.name.replace("-", " ").capitalize()},
        "fullDescription": {"text": rule.summary},
        "help": {"text": render_page(text, TextStyle(unicode=True)), "markdown": text},
        "helpUri": PROJECT,
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
        "properties": {
            "tags": ["wheel", "windows"],
            "precision": "low" if rule.severity is Severity.UNSURE else "high",
            "problem.severity": {"info": "recommendation", "unsure": "warning"}.get(
                rule.severity.value, rule.severity.value
            ),
            "repairable": rule.repairable.value,
        },
    }


def _result(report: ScanReport, finding: Finding, places: dict[str, int], context: Context) -> JsonObject:
    text = f"{sentence(finding)}\n{finding.hint}" if finding.hint else sentence(finding)
    result: JsonObject = {
        "ruleId": finding.code,
        "level": LEVELS[finding.severity],
        "message": {"text": _escape_links(f"{label(report)}: {text}")},
        "locations": [_location(report, finding)],
        "partialFingerprints": {"wheelfix/v1": fingerprint(report, finding)},
        "properties": {
            "precision": "low" if finding.severity is Severity.UNSURE else "high",
            "repairable": finding.repairable.value,
            "evidence": {key: finding.evidence[key] for key in sorted(finding.evidence)},
        },
    }
    if finding.code in places:
        result["ruleIndex"] = places[finding.code]
    if context.known(report, finding):
        result["suppressions"] = [{"kind": "external", "justification": "in the baseline"}]
        result["baselineState"] = "unchanged"
    return result


def _escape_links(text: str) -> str:
    """SARIF takes ``[text](1)`` in a message for a link; a name that looks so is none."""
    return text.replace("](", "] (")


def _location(report: ScanReport, finding: Finding) -> JsonObject:
    """GitHub shows a result at a line of a file; a wheel has no lines, so it is the first."""
    location: JsonObject = {
        "physicalLocation": {"artifactLocation": {"uri": file_uri(report.path)}, "region": {"startLine": 1}}
    }
    if finding.subject:
        name = posixpath.basename(finding.subject) or finding.subject
        location["logicalLocations"] = [{"name": name, "fullyQualifiedName": finding.subject, "kind": "member"}]
    return location


def file_uri(path: str) -> str:
    """Return a path as SARIF wants it: relative ones relative, absolute ones as ``file:``."""
    windows = PureWindowsPath(path)
    if windows.drive:
        return windows.as_uri() if windows.is_absolute() else urllib.parse.quote(windows.as_posix())
    if path.startswith("/"):
        return PurePosixPath(path).as_uri()
    normal = posixpath.normpath(path.replace("\\", "/"))
    return urllib.parse.quote(normal.encode("utf-8", "replace"))


def fingerprint(report: ScanReport, finding: Finding) -> str:
    """Return what stays the same from build to build, so that a viewer knows a finding again."""
    text = "\0".join((canonical(report.name), finding.code, finding.subject))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _invocation(failures: Sequence[FailedInput]) -> JsonObject:
    invocation: JsonObject = {"executionSuccessful": not failures}
    if failures:
        invocation["toolExecutionNotifications"] = [
            {
                "level": "error",
                "message": {"text": _escape_links(f"{failure.path}: {failure.words}: {failure.error}")},
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": file_uri(failure.path)}}}],
            }
            for failure in failures
        ]
    return invocation
