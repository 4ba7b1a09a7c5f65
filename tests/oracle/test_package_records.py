"""Predictions for real packages with loading code of their own, compared with what was recorded in a Windows Python."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.oracle.packageimports import Case, cases, replay
from tests.oracle.packagerecords import AGREEMENT, OUTCOMES, load, table
from tests.oracle.wine import Unavailable
from tests.support.tiers import unavailable, wheel

RECORDS = load()
AGREED = load(AGREEMENT)
REPLAYED = [case for case in cases() if case.name in RECORDS]


@pytest.mark.real
@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("case", REPLAYED, ids=lambda case: case.name)
def test_predictions_are_what_was_recorded(case: Case, tmp_path: Path) -> None:
    wheels = [wheel(name, optional=True) for name in case.wheels]
    try:
        rows = [*replay(case, wheels, RECORDS[case.name], tmp_path)]
    except Unavailable as error:
        unavailable(str(error))
    wrong = [row for row in rows if row.agreement == "differs"]
    assert not [f"{row.removed or 'intact'}: {row.why}" for row in wrong]
    assert Counter(row.agreement for row in rows) == AGREED[case.name], "--replay --save writes the new counts"


def test_every_release_that_was_recorded_is_in_the_list() -> None:
    assert RECORDS.keys() <= {case.name for case in cases()}
    assert all("" in imports for imports in RECORDS.values())


def test_every_release_that_was_recorded_was_compared() -> None:
    assert {name: len(imports) for name, imports in RECORDS.items()} == {
        name: sum(counts.values()) for name, counts in AGREED.items()
    }
    assert {word for counts in AGREED.values() for word in counts} <= OUTCOMES.keys()


def test_the_documentation_has_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "explained" / "loader.md"
    text = page.read_text(encoding="utf-8")
    assert not [row for row in table(RECORDS, AGREED) if row not in text], (
        "python -m tests.oracle.packagerecords prints it"
    )
