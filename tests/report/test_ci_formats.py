"""What CI systems read: GitHub's annotations, JUnit XML, Markdown."""

from __future__ import annotations

import dataclasses
import json
import re
import xml.etree.ElementTree as ET

import pytest

from tests.report.samples import broken_torch, check_golden, clean_wheel, risky_extension
from wheelfix.errors import CannotRepair, InputError
from wheelfix.exam.examination import FailedInput
from wheelfix.model import Finding, Severity
from wheelfix.report import safe
from wheelfix.report.document import (
    Context,
    render,
)

FAILURE = FailedInput(
    "dist/x.whl", InputError("dist/x.whl is no wheel", because="it is no ZIP archive", hint="build again")
)
ALL = [broken_torch(), clean_wheel(), risky_extension()]
KNOWN = Context(known=lambda report, finding: finding.code == "WF301")


@pytest.mark.parametrize("kind, suffix", [("github", "txt"), ("junit", "xml"), ("markdown", "md")])
def test_golden(kind, suffix):
    check_golden(f"{kind}.{suffix}", render(kind, ALL, [FAILURE]))


@pytest.mark.parametrize("kind", ["text", "markdown", "html"])
def test_what_the_baseline_knows_is_counted_only(kind):
    text = render(kind, [broken_torch()], (), Context(known=lambda report, finding: True))
    assert "Known, in the baseline (9): WF301, WF303, WF605" in re.sub("<[^>]*>", "", text)
    assert "will raise" not in text


@pytest.mark.parametrize("kind, failure", [("github", "::error"), ("junit", "<failure"), ("concise", "WF301")])
def test_what_the_baseline_knows_fails_nothing(kind, failure):
    assert failure in render(kind, [broken_torch()])
    assert failure not in render(kind, [broken_torch()], (), KNOWN)


def with_finding(**settings) -> object:
    finding = Finding(
        **({"code": "WF999", "name": "odd", "severity": Severity.ERROR, "subject": "", "message": "x"} | settings)
    )
    return dataclasses.replace(clean_wheel(), findings=(finding,))


UNREPAIRED = FailedInput(
    broken_torch().path,
    CannotRepair("torch was not repaired", because="no root has libomp", hint="name a root"),
    "repair",
)


class TestNotRepaired:
    """A wheel that `ci` cannot repair was read and scanned: it is listed once, as what it is."""

    @pytest.mark.parametrize("kind", ["github", "junit", "markdown", "html", "json", "sarif", "concise", "text"])
    def test_nothing_calls_it_unreadable(self, kind):
        text = render(kind, [broken_torch(), clean_wheel()], [UNREPAIRED])
        assert "not readable" not in text
        assert "be read" not in text
        if kind != "json":
            assert "not repaired" in text or "can be repaired" in text

    def test_one_row_in_markdown(self):
        text = render("markdown", [broken_torch()], [UNREPAIRED])
        assert len([line for line in text.splitlines() if line.startswith(r"| torch-2.4.0")]) == 1
        assert "❌ broken, not repaired | " in text
        assert text.count("\n### ") == 1
        assert "Not repaired: torch was not repaired: no root has libomp" in text


class TestTotals:
    @pytest.mark.parametrize("kind", ["github", "markdown", "text"])
    def test_inputs_and_rules_are_counted(self, kind):
        text = render(kind, ALL, [FAILURE], Context(skipped=("y.whl",)))
        assert "5 inputs: 1 ok, 1 risky, 1 broken, 1 not readable, 1 skipped, not for Windows" in text
        assert "WF605" in text

    @pytest.mark.parametrize("kind", ["json", "sarif"])
    def test_machines_get_the_same_figures(self, kind):
        document = json.loads(render(kind, ALL, [FAILURE], Context(skipped=("y.whl",))))
        summary = document["summary"] if kind == "json" else document["runs"][0]["properties"]["summary"]
        assert {key: summary[key] for key in ("inputs", "ok", "not_readable", "skipped")} == {
            "inputs": 5, "ok": 1, "not_readable": 1, "skipped": 1,
        }  # fmt: skip
        assert summary["rules"][0] == {
            "code": "WF301", "name": "missing-dependency", "severity": "error", "findings": 1, "inputs": 1,
        }  # fmt: skip
        assert summary["findings"] == {"error": 1, "unsure": 0, "warning": 2, "info": 7}

    def test_known_findings_count_for_no_rule(self):
        summary = json.loads(render("json", ALL, (), KNOWN))["summary"]
        assert "WF301" not in [row["code"] for row in summary["rules"]]
        assert summary["findings"]["error"] == 1


class TestConcise:
    def test_one_line_for_each_finding(self):
        lines = render("concise", ALL, [FAILURE]).splitlines()
        assert len(lines) == sum(len(report.findings) for report in ALL) + 1
        first = ALL[0].findings[0]
        assert lines[0].startswith(f"{ALL[0].path}: {first.code} {first.severity} ")
        assert lines[-1].startswith("dist/x.whl: error: not readable: dist/x.whl is no wheel")

    def test_nothing_to_say(self):
        assert render("concise", [dataclasses.replace(clean_wheel(), findings=())]) == ""


class TestGithub:
    def test_a_path_with_commas_and_colons_stays_one_property(self):
        report = dataclasses.replace(with_finding(), path="C:\\a,b\\c.whl")
        assert render("github", [report]).startswith("::error file=C%3A\\a%2Cb\\c.whl,title=")


class TestJunit:
    @pytest.mark.parametrize("fail_on, failures", [("never", 0), ("error", 1), ("warning", 2), ("info", 9)])
    def test_what_fails_the_build_fails_the_case(self, fail_on, failures):
        root = ET.fromstring(render("junit", [broken_torch()], (), Context(fail_on)))
        assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("9", str(failures), "0")
        assert len(root.findall(".//failure")) == failures

    def test_characters_that_xml_cannot_hold(self):
        text = render("junit", [with_finding(message="a\x00\x1b\ud800<&>\u4e2d", subject="\x07")])
        (failure,) = ET.fromstring(text).findall(".//failure")
        assert failure.get("message") == "a\\x00\\x1b?<&>\u4e2d"


class TestMarkdown:
    def test_the_fence_is_longer_than_any_inside(self):
        assert list(safe.markdown_block("a ```` b")) == ["`````text", "a ```` b", "`````"]

    def test_nothing_scanned(self):
        assert render("markdown", []) == "## wheelfix\n\nno inputs\n"
