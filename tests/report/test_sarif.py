"""SARIF: checked with a schema of the part that we use, and with an independent model of the whole standard."""

import json
import os
from pathlib import Path

import jsonschema
import pytest
import sarif_pydantic

from tests.report.samples import broken_torch, clean_wheel, risky_extension
from tests.support.tiers import IMPOSSIBLE
from wheelfix.base.values import replace
from wheelfix.errors import InputError
from wheelfix.exam.examination import FailedInput
from wheelfix.model import Severity
from wheelfix.report.document import Context, render
from wheelfix.report.sarif import file_uri, fingerprint
from wheelfix.rules.registry import all_rules

SUBSET = json.loads(Path(__file__).with_name("sarif-subset.json").read_text(encoding="utf-8"))
STANDARD = Path(os.environ.get("WHEELFIX_SARIF_SCHEMA", "~/.cache/wheelfix/sarif-schema-2.1.0.json")).expanduser()
FAILURE = FailedInput("x.whl", InputError("x.whl is no wheel", because="[it](1) is no ZIP archive"))

LOGS = {
    "findings": lambda: render("sarif", [broken_torch(), risky_extension()]),
    "nothing": lambda: render("sarif", []),
    "clean": lambda: render("sarif", [clean_wheel()]),
    "failure": lambda: render("sarif", [clean_wheel()], [FAILURE]),
    "baseline": lambda: render("sarif", [broken_torch()], (), Context(known=lambda report, finding: True)),
}


@pytest.fixture(params=sorted(LOGS))
def log(request):
    return json.loads(LOGS[request.param]())


def test_is_the_part_of_sarif_that_we_use(log):
    jsonschema.Draft202012Validator(SUBSET).validate(log)


@pytest.mark.skipif(not STANDARD.exists(), reason=f"{IMPOSSIBLE}the standard's schema is in no package: {STANDARD}")
def test_is_sarif_by_the_standards_own_schema(log):
    jsonschema.validate(log, json.loads(STANDARD.read_text(encoding="utf-8")))


def test_an_independent_model_of_the_standard_reads_it(log):
    read = sarif_pydantic.Sarif.model_validate(log)
    assert json.loads(read.model_dump_json(by_alias=True, exclude_none=True)).keys() <= log.keys()
    for run, ours in zip(read.runs, log["runs"], strict=True):
        assert [result.rule_id for result in run.results or ()] == [result["ruleId"] for result in ours["results"]]


def test_every_result_points_at_its_rule_with_help(log):
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    for result in log["runs"][0]["results"]:
        rule = rules[result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert rule["help"]["markdown"].startswith("#")


def test_levels_places_and_names():
    result = json.loads(render("sarif", [broken_torch()]))["runs"][0]["results"][0]
    assert result["level"] == "error"
    place = result["locations"][0]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "dist/torch-2.4.0-cp311-cp311-win_amd64.whl"
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "torch/lib/torch_cpu.dll"


def test_a_failure_is_a_notification_without_a_link():
    (invocation,) = json.loads(render("sarif", [], [FAILURE]))["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "[it] (1)" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_every_rule_can_be_shown():
    """A rule without a page, or a name that is no identifier, would only be met when the finding is."""
    from wheelfix.report.sarif import _rule

    names = [_rule(rule)["name"] for rule in all_rules()]
    assert len(set(names)) == len(names)


def test_a_finding_is_known_again_in_the_next_version():
    old, new = broken_torch(), broken_torch()
    object.__setattr__(new, "version", "2.4.1")
    assert fingerprint(old, old.findings[0]) == fingerprint(new, new.findings[0])
    assert fingerprint(old, old.findings[0]) != fingerprint(old, old.findings[1])


@pytest.mark.parametrize(
    "path, uri",
    [
        ("dist/a b.whl", "dist/a%20b.whl"),
        (r"dist\a.whl", "dist/a.whl"),
        ("./dist/../dist/ü.whl", "dist/%C3%BC.whl"),
        ("/build/a.whl", "file:///build/a.whl"),
        (r"C:\build\a b.whl", "file:///C:/build/a%20b.whl"),
    ],
)
def test_paths_as_uris(path, uri):
    assert file_uri(path) == uri


def test_what_could_not_be_told_is_of_low_precision():
    """Every rule and result was said to be precise; how bad a finding is says nothing about how sure it is."""
    doubtful = risky_extension()
    first, *rest = doubtful.findings
    doubtful = replace(doubtful, findings=(replace(first, severity=Severity.UNSURE), *rest))
    run = json.loads(render("sarif", [doubtful]))["runs"][0]
    assert [result["properties"]["precision"] for result in run["results"]] == ["low", *["high"] * len(rest)]
    rules = {rule.code: rule.severity for rule in all_rules()}
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["properties"]["precision"] == ("low" if rules[rule["id"]] is Severity.UNSURE else "high")
