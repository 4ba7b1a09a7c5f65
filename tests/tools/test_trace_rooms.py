"""A DLL's name passes few modules on its way from bytes to bytes, and turns back nowhere."""

from __future__ import annotations

import pytest

from tests.support.tables import named_cases
from tools.trace_rooms import Step, Trace, trace_repair, trace_sarif


def trace(*modules: str) -> Trace:
    return Trace("x.dll", [Step(module, "Value") for module in modules])


@pytest.mark.slow
def test_a_missing_dll_is_told_once_in_each_room():
    found = trace_repair()
    modules = found.modules
    assert modules[0] == "pe.image", "its name comes from an import table"
    assert modules.index("loader.loading") < modules.index("rules.dependencies") < modules.index("plan.planner")
    assert found.parts()[0][-1] == Step("repairs.rewrite", "NewMember"), "and ends as a member of the written wheel"
    assert len(modules) <= 25
    assert found.backward() == []


def test_a_finding_goes_straight_into_sarif():
    found = trace_sarif()
    assert found.modules[0] == "rules.registry"
    assert "report.sarif" in found.modules
    assert found.backward() == []


@named_cases(
    "modules, expected",
    {
        "forward": (("pe.image", "loader.search", "plan.make", "archive.writer"), []),
        "exam-hands-out": (("exam.examine", "rules.registry", "exam.examine", "roots.index"), []),
        "roots-are-asked": (("rules.dependencies", "roots.index", "plan.make", "roots.choice"), []),
        "rules-turn-back": (("pe.image", "rules.registry", "loader.search"), [("rules", "loader")]),
        "plan-turns-back": (("plan.make", "rules.registry", "plan.make"), [("plan", "rules")]),
        "the-result-is-examined": (("plan.make", "loader.search", "rules.dependencies", "plan.make"), []),
    },
)
def test_backward_changes(modules, expected):
    assert trace(*modules).backward() == expected
