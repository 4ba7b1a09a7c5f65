"""Predictions for real packages with loading code of their own, compared with what was recorded in a Windows Python."""

from collections import Counter
from pathlib import Path

import pytest

from tests.oracle.packageimports import cases, replay, run
from tests.oracle.packagerecords import AGREEMENT, OUTCOMES, load, table
from tests.oracle.wine import Unavailable, wine_for_trials
from tests.support.tiers import unavailable, wheel
from wheelfix.errors import WheelfixError
from wheelfix.trial.model import TrialOptions
from wheelfix.trial.run import open_interpreter

RECORDS = load()
AGREED = load(AGREEMENT)
REPLAYED = [case for case in cases() if case.name in RECORDS]


@pytest.mark.real
@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("case", REPLAYED, ids=lambda case: case.name)
def test_predictions_are_what_was_recorded(case, tmp_path):
    wheels = [wheel(name, optional=True) for name in case.wheels]
    try:
        rows = [*replay(case, wheels, RECORDS[case.name], tmp_path)]
    except Unavailable as error:
        unavailable(str(error))
    wrong = [row for row in rows if row.agreement == "differs"]
    assert not [f"{row.removed or 'intact'}: {row.why}" for row in wrong]
    assert Counter(row.agreement for row in rows) == AGREED[case.name], "--replay --save writes the new counts"


def test_every_release_that_was_recorded_is_in_the_list():
    assert RECORDS.keys() <= {case.name for case in cases()}
    assert all("" in imports for imports in RECORDS.values())


def test_every_release_that_was_recorded_was_compared():
    assert {name: len(imports) for name, imports in RECORDS.items()} == {
        name: sum(counts.values()) for name, counts in AGREED.items()
    }
    assert {word for counts in AGREED.values() for word in counts} <= OUTCOMES.keys()


def test_the_documentation_has_the_table():
    page = Path(__file__).parents[2] / "docs" / "explained" / "loader.md"
    text = page.read_text(encoding="utf-8")
    assert not [row for row in table(RECORDS, AGREED) if row not in text], (
        "python -m tests.oracle.packagerecords prints it"
    )


# ------------------------------------------------------------------------------------------------------ package loaders
# Real packages that load DLLs with code of their own, as they are and without a DLL: the import ends as predicted.
#
# ``python -m tests.oracle.packageimports FOLDER...`` prints the same as a table. The wheels that are not on the list of
# real wheels have to be put into their folder by hand; their names are in ``packageimports.toml``.


@pytest.mark.real
@pytest.mark.wine_x64
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_the_import_ends_as_predicted(case, tmp_path):
    wheels = [wheel(name, optional=True) for name in case.wheels]
    try:
        with open_interpreter(tmp_path, TrialOptions(note=print, wine=wine_for_trials())) as target:
            rows = [*run(case, wheels, target, tmp_path)]
    except WheelfixError as error:
        pytest.skip(str(error))
    wrong = [f"{row.removed or 'intact'}: {row.why}" for row in rows if not row.agrees and row.agreement == "differs"]
    assert not wrong
