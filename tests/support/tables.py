"""Tables of cases: each row has its name first."""

from __future__ import annotations

from collections.abc import Mapping

import pytest


def named_cases(arguments: str, rows: Mapping[str, object]) -> pytest.MarkDecorator:
    """Run a test with each of the rows; their keys are the names of its cases, ``arguments`` those of its arguments."""
    return pytest.mark.parametrize(arguments, rows.values(), ids=rows)
