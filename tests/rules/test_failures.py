"""Every failed load that counts has an error that stands for it, and only then is a failure predicted."""

from __future__ import annotations

from tests.rules.subjects import SITE, codes, dll, edge, loads, run, subject
from wheelfix.model import LoadEvent, LoadOutcome
from wheelfix.rules.failures import visible_failure
from wheelfix.rules.registry import with_allowed

PYD = SITE + "pkg/_core.pyd"
FAILED = loads(PYD, 1114, ("_core.pyd", "odd.dll"))


def test_a_failure_without_another_finding_is_an_error() -> None:
    (found,) = run(subject({PYD: dll()}, events=[FAILED]))
    assert (found.code, str(found.severity), found.subject) == ("WF309", "error", "pkg/_core.pyd")
    assert found.message == "loading _core.pyd fails with error 1114 (_core.pyd -> odd.dll)"


def test_a_failure_that_another_finding_explains_is_not_told_twice() -> None:
    missing = loads(PYD, 126, ("_core.pyd", "gone.dll"))
    assert codes(subject({PYD: dll("gone.dll")}, [edge(PYD, "gone.dll")], events=[missing])) == ["WF301:error"]


def test_a_failure_that_the_code_catches_is_none() -> None:
    event = LoadEvent(PYD, "extension", "pkg._core", guarded=True)
    assert codes(subject({PYD: dll()}, events=[LoadOutcome(event, 126, ("_core.pyd", "odd.dll"))])) == []


def test_a_failure_counts_as_long_as_an_error_about_it_is_reported() -> None:
    thing = subject({PYD: dll()}, events=[FAILED])
    assert visible_failure(thing, run(thing)) == FAILED
    assert visible_failure(thing, ()) is None


def test_a_load_with_two_faults_fails_because_of_the_one_that_is_reported() -> None:
    middle = SITE + "pkg/middle.dll"
    thing = subject(
        {PYD: dll("one.dll", "middle.dll"), middle: dll("two.dll")},
        [edge(PYD, "one.dll"), edge(PYD, "middle.dll", middle), edge(middle, "two.dll")],
        events=[loads(PYD, 126, ("_core.pyd", "one.dll"))],
    )
    rest = with_allowed(run(thing), ("one.dll",))
    failure = visible_failure(thing, rest)
    assert failure is not None
    assert (failure.code, failure.chain) == (126, ("_core.pyd", "middle.dll", "two.dll"))
    assert visible_failure(thing, with_allowed(rest, ("*",))) is None
