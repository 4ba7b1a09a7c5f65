"""Findings that are known: what is known again, what is new, what no longer holds."""

from __future__ import annotations

import dataclasses
import json

import pytest

from tests.report.samples import broken_torch, clean_wheel
from tests.support.schemas import validate
from tests.support.tables import named_cases
from wheelfix.cli.baseline import Baseline
from wheelfix.errors import InputError
from wheelfix.model import Finding, Severity


def report_with(*findings: Finding, version: str = "1.0"):
    return dataclasses.replace(clean_wheel(), version=version, findings=findings)


def finding(subject: str = "a.dll", severity: Severity = Severity.ERROR, **evidence) -> Finding:
    return Finding("WF301", "missing-dependency", severity, subject, f"about {subject}", evidence=evidence)


def test_the_next_release_is_known_again_whatever_the_words():
    old = report_with(finding("demo-1.0.dist-info/RECORD", size=1))
    new = dataclasses.replace(finding("demo-2.0.dist-info/RECORD", size=2), message="other words")
    assert Baseline.of([old]).knows(report_with(new, version="2.0"), new)


@named_cases(
    "known, now, expected",
    {
        "another subject": (finding("a.dll"), finding("b.dll"), False),
        "the same": (finding("a.dll"), finding("a.dll"), True),
        "it got worse": (finding(severity=Severity.WARNING), finding(), False),
        "another importer": (finding(importer="x"), finding(importer="y"), False),
        "fewer members": (finding("a", paths=["a", "b"]), finding("b", paths=["b"]), True),
        "more members": (finding("a", paths=["a"]), finding("a", paths=["a", "b"]), False),
    },
)
def test_what_is_new(known, now, expected):
    assert Baseline.of([report_with(known)]).knows(report_with(now), now) is expected


def test_another_distribution_is_not_known():
    other = dataclasses.replace(report_with(finding()), name="other")
    assert not Baseline.of([report_with(finding())]).knows(other, finding())


def test_what_no_longer_holds():
    baseline = Baseline.of([report_with(finding("a.dll"), finding("b.dll"))])
    assert [entry.subject for entry in baseline.stale([report_with(finding("b.dll"))])] == ["a.dll"]
    assert baseline.stale([broken_torch()]) == ()  # it was not scanned


def test_what_got_worse_is_new_but_not_stale():
    baseline = Baseline.of([report_with(finding(severity=Severity.INFO))])
    assert baseline.stale([report_with(finding())]) == ()


def test_there_and_back(tmp_path):
    baseline = Baseline.of([broken_torch(), report_with(finding("x", paths=["b", "a"], importer="ü"))])
    text = baseline.render()
    validate(json.loads(text))
    (tmp_path / "known.json").write_text(text, encoding="utf-8")
    assert Baseline.read(tmp_path / "known.json") == baseline
    assert Baseline.of([]).render() == '{\n  "schema": "wheelfix.baseline/1",\n  "findings": []\n}\n'


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        '{"schema": "wheelfix.scan/1"}',
        '{"schema": "wheelfix.baseline/1"}',
        '{"schema": "wheelfix.baseline/1", "findings": [{"code": "WF301"}]}',
        '{"schema": "wheelfix.baseline/1", "findings": [1]}',
        '{"schema": "wheelfix.baseline/1", "findings": '
        '[{"distribution": "a", "code": "b", "severity": "awful", "subject": "c"}]}',
        '{"schema": "wheelfix.baseline/1", "findings": '
        '[{"distribution": "a", "code": "b", "severity": "error", "subject": "c", "paths": 1}]}',
    ],
)
def test_a_file_that_is_no_baseline(tmp_path, text):
    (tmp_path / "known.json").write_text(text)
    with pytest.raises(InputError, match="is not a baseline"):
        Baseline.read(tmp_path / "known.json")


def test_a_file_nested_without_end(tmp_path):
    (tmp_path / "known.json").write_text("[" * 100_000)
    with pytest.raises(InputError):
        Baseline.read(tmp_path / "known.json")
