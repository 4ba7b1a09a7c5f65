from __future__ import annotations

import pytest

from tests.rules.subjects import SITE, codes, dll, run, subject
from wheelfix.model import Severity, Signature

ONE, TWO = SITE + "pkg/a.dll", SITE + "pkg/b.dll"
IMAGES = {ONE: dll(), TWO: dll()}


def test_nothing_is_said_where_nobody_asked_or_all_is_trusted() -> None:
    assert codes(subject(IMAGES)) == []
    assert codes(subject(IMAGES, signatures={ONE: Signature("trusted", "NVIDIA Corporation")})) == []


def test_unsigned_files_are_listed_when_asked_for() -> None:
    found = run(subject(IMAGES, signatures={ONE: Signature("trusted", "X"), TWO: Signature("unsigned")}))
    assert [(item.code, item.evidence["paths"]) for item in found] == [("WF605", ["pkg/b.dll"])]


@pytest.mark.parametrize(
    ("signature", "code", "severity", "said"),
    [
        (Signature("invalid", reason="the file was changed"), "WF606", Severity.WARNING, "the signature is invalid"),
        (Signature("invalid", "X", "expired"), "WF606", Severity.WARNING, "in the name of 'X' is invalid"),
        (Signature("untrusted-root", "X", "no root"), "WF607", Severity.INFO, "'X', which no trusted root confirms"),
        (Signature("not-checked", reason="2 signers"), "WF608", Severity.INFO, "was not checked (1 file: a.dll): 2 s"),
    ],
)
def test_each_answer_has_its_finding(signature: Signature, code: str, severity: Severity, said: str) -> None:
    (found,) = run(subject(IMAGES, signatures={ONE: signature}))
    assert (found.code, found.severity, found.evidence["paths"]) == (code, severity, ["pkg/a.dll"])
    assert said in found.message
    assert signature.reason in found.message


def test_files_of_one_answer_are_one_finding() -> None:
    same = Signature("untrusted-root", "X", "no root")
    (found,) = run(subject(IMAGES, signatures={ONE: same, TWO: same}))
    assert found.evidence["paths"] == ["pkg/a.dll", "pkg/b.dll"]
