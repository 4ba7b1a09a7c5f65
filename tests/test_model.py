"""How names of files compare, and what a verdict follows from."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from wheelfix.model import Finding, Machine, Resolution, ScanReport, Severity, Verdict, fold

WINE = Path("/usr/share/wine/nls/l_intl.nls")


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("Torch_CPU.dll", "torch_cpu.DLL", True),
        ("\u00c9", "\u00e9", True),
        ("\u03a3", "\u03c3", True),
        ("\u1f80", "\u1f88", True),
        ("\u00e9", "e\u0301", False),
        ("stra\u00dfe", "strasse", False),
        ("\u212a", "k", False),
        ("\u017f", "s", False),
        ("\u0131", "i", False),
        ("\u03c2", "\u03c3", False),
        ("\u00b5", "\u03bc", False),
        ("\U00010400", "\U00010428", False),
    ],
)
def test_which_names_are_one_on_windows(one, other, same):
    assert (fold(one) == fold(other)) is same


@pytest.mark.skipif(not WINE.exists(), reason="there is no Wine here with its table of letters")
def test_the_table_of_windows_says_the_same():
    """l_intl.nls begins with two words, then a table in three levels of what to add to a small letter."""
    data = WINE.read_bytes()
    table = struct.unpack(f"<{len(data) // 2}H", data)[2:]

    def upper(code: int) -> int:
        return (code + table[table[table[code >> 8] + (code >> 4 & 15)] + (code & 15)]) & 0xFFFF

    letters = [code for code in range(0x10000) if not 0xD800 <= code < 0xE000]
    groups = {}
    for code in letters:
        groups.setdefault(fold(chr(code)), set()).add(code)
    # Letters that Unicode got later are pairs for this Python and not yet for that table.
    known = [group for group in groups.values() if any(upper(code) != code for code in group)]
    assert [group for group in known if len({upper(code) for code in group}) > 1] == []
    apart = [code for code in letters if upper(code) != code and fold(chr(code)) != fold(chr(upper(code)))]
    assert apart == []


class TestVerdict:
    """The worst severity decides; what could not be decided is worse than a warning and no error."""

    @pytest.mark.parametrize(
        "severities, verdict",
        [
            ((), Verdict.OK),
            ((Severity.INFO,), Verdict.OK),
            ((Severity.WARNING,), Verdict.RISKY),
            ((Severity.WARNING, Severity.UNSURE), Verdict.UNSURE),
            ((Severity.UNSURE, Severity.ERROR), Verdict.BROKEN),
        ],
    )
    def test_follows_from_the_findings(self, severities, verdict):
        findings = tuple(Finding("WF301", "x", severity, "a.dll", "text") for severity in severities)
        report = ScanReport("x.whl", "x", "1", (), Machine.AMD64, (), Resolution(), (), None, findings)
        assert report.verdict is verdict
