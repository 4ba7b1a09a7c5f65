"""What may be missing is a note; what is more than missing stays what it is."""

from __future__ import annotations

import pytest

from tests.rules.subjects import SITE, dll, edge, loads, run, subject
from wheelfix.model import Severity
from wheelfix.rules.registry import finding, matches_any, with_allowed

PYD = SITE + "pkg/_core.pyd"


def two_missing():
    chain = ("_core.pyd", "gone.dll")
    edges = [edge(PYD, "gone.dll"), edge(PYD, "Other_1.dll")]
    return run(subject({PYD: dll("gone.dll", "Other_1.dll")}, edges, events=[loads(PYD, 126, chain)]))


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), ["error", "error"]),
        (("gone",), ["error", "info"]),
        (("GONE.DLL", "other_*"), ["info", "info"]),
        (("nothing*",), ["error", "error"]),
    ],
    ids=["none", "one", "both", "another"],
)
def test_only_what_is_named_is_allowed(patterns, expected) -> None:
    assert [str(item.severity) for item in with_allowed(two_missing(), patterns)] == expected


def test_the_note_says_that_it_is_allowed() -> None:
    assert with_allowed(two_missing(), ("*",))[0].message.endswith("(allowed to be missing)")


def test_names_match_without_regard_to_case_and_extension() -> None:
    assert matches_any("cuDNN64_8", ["cudnn*"])
    assert matches_any("cudnn64_8.dll", ["cudnn64_8"])
    assert not matches_any("cudart.dll", ["cudnn*"])


def test_what_could_not_be_told_can_be_allowed() -> None:
    """A repair does not succeed where it could not tell, unless the user accepts each DLL by its name."""
    names = ["tables.libs/libblosc2.dll", "libblosc2.dll"]
    unread = finding("WF317", names[0], "could not tell", evidence={"names": [*names]})
    may_come = finding("WF318", "flux.dll", "could not tell")
    for item, pattern in ((unread, "libblosc2.dll"), (may_come, "flux*")):
        assert with_allowed([item], [pattern])[0].severity is Severity.INFO
        assert with_allowed([item], ["other.dll"])[0].severity is Severity.UNSURE
