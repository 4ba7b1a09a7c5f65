"""A module that loads only after others is a note, which says whether the package's code sees to that."""

from __future__ import annotations

from tests.rules.subjects import SITE, dll, run, subject
from wheelfix.model import Alone, LoadEvent, LoadOutcome

FIRST, SECOND = SITE + "pkg/x/_a.pyd", SITE + "pkg/x/_b.pyd"


def outcome(path: str, *, sure: bool) -> LoadOutcome:
    name = path.rpartition("/")[2]
    event = LoadEvent(path, "extension", f"pkg.x.{name.removesuffix('.pyd')}")
    return LoadOutcome(event, alone=Alone(126, (name, "bar.dll"), sure))


def test_modules_with_one_cause_are_one_finding() -> None:
    thing = subject({FIRST: dll(), SECOND: dll()}, events=[outcome(FIRST, sure=False), outcome(SECOND, sure=False)])
    (found,) = run(thing)
    assert (found.code, str(found.severity), found.subject) == ("WF308", "info", "pkg/x/_a.pyd")
    assert found.message == (
        "_a.pyd and _b.pyd load only after other modules of the package: in a fresh process they fail with error 126 "
        "(_a.pyd -> bar.dll); whether the package's code always imports those first could not be determined"
    )
    assert found.evidence["modules"] == ["pkg.x._a", "pkg.x._b"]


def test_what_the_code_sees_to_is_said() -> None:
    (found,) = run(subject({FIRST: dll()}, events=[outcome(FIRST, sure=True)]))
    assert str(found.severity) == "info"
    assert found.message.endswith("the package's own code imports those first")
