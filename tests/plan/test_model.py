"""Plans as JSON and back, and what does not fit."""

from __future__ import annotations

import json

import pytest

from wheelfix.errors import InputError
from wheelfix.plan.model import Addition, ArchiveFix, Drop, Plan, Rejected, Remaining, Source, WheelRef, plan_from_json

PLAN = Plan(
    wheel=WheelRef("dist/a-1-py3-none-any.whl", "a", "1", 10, "00"),
    output="a-1-py3-none-any.whl",
    layout="beside",
    additions=(
        Addition(
            target="a/x.dll",
            name="x.dll",
            kind="import",
            source=Source("file", "/roots/x.dll", root="/roots", origin="folder"),
            size=3,
            sha256="ab",
            version="1.0",
            because="imported by y.dll",
            serves=("a/y.dll",),
            chosen="the only one",
            rejected=(Rejected("/other/x.dll", "it is for x86"),),
        ),
    ),
    drops=(Drop("a/t.dll", "asked for"),),
    mends=(ArchiveFix("WF102", "a/z.py", "the row has no member"),),
    remaining=(Remaining("q.dll", False, ("a/y.dll",), "optional"),),
)


def test_a_plan_survives_json():
    assert plan_from_json(json.loads(json.dumps(PLAN.to_json())), "plan.json") == PLAN


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        pytest.param(lambda tree: tree.pop("schema"), "schema", id="schema"),
        pytest.param(lambda tree: tree.update(extra=1), "unknown field extra", id="unknown"),
        pytest.param(lambda tree: tree.pop("output"), "output", id="incomplete"),
        pytest.param(lambda tree: tree.update(additions={}), "additions should be a list", id="list"),
        pytest.param(lambda tree: tree["wheel"].update(size="10"), "wheel.size should be a number", id="number"),
        pytest.param(
            lambda tree: tree["wheel"].update(size=True), "wheel.size should be a number", id="bool-is-no-number"
        ),
        pytest.param(
            lambda tree: tree["additions"][0].update(name=None), "additions[0].name should be text", id="text"
        ),
        pytest.param(lambda tree: tree["additions"].append(3), "additions[1] should be an object", id="object"),
    ],
)
def test_what_does_not_fit_is_named(change, complaint):
    tree = json.loads(json.dumps(PLAN.to_json()))
    change(tree)
    with pytest.raises(InputError) as caught:
        plan_from_json(tree, "plan.json")
    assert complaint in str(caught.value)


@pytest.mark.parametrize("tree", [None, [], "x", 3])
def test_no_object_is_no_plan(tree):
    with pytest.raises(InputError, match="not a plan"):
        plan_from_json(tree, "plan.json")
