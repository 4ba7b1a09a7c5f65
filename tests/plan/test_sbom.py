"""The bill of materials: complete, free of paths, and the same for the same plan."""

import json
from dataclasses import replace

from tests.plan.test_lock import PLAN
from wheelfix.plan.sbom import make_sbom


def test_copies_within_the_wheel_are_no_components():
    own = replace(PLAN.additions[0], source=replace(PLAN.additions[0].source, kind="own"))
    assert json.loads(make_sbom(replace(PLAN, additions=(own,))))["components"] == []


def test_the_same_plan_gives_the_same_bytes_and_another_another_serial(monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert make_sbom(PLAN) == make_sbom(PLAN)
    assert "timestamp" not in json.loads(make_sbom(PLAN))["metadata"]
    other = replace(PLAN, additions=(replace(PLAN.additions[0], sha256="cd"),))
    assert json.loads(make_sbom(other))["serialNumber"] != json.loads(make_sbom(PLAN))["serialNumber"]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert json.loads(make_sbom(PLAN))["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
