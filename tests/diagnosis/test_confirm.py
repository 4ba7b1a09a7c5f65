"""What a text says is compared with the files: the causes that are looked for exist."""

from __future__ import annotations

from wheelfix.diagnosis import confirm
from wheelfix.diagnosis.symptoms.causes import cause_table


def test_every_cause_that_findings_show_is_in_the_table() -> None:
    """A cause that was renamed in the table would never be confirmed again."""
    known = cause_table().causes.keys()
    assert confirm._SHOWN_BY.keys() <= known
    assert known >= confirm._ANY_MISSING
