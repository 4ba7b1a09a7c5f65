"""Long tests in parts: every change runs the first one, the rest is run by hand (``python dev.py long``)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet


def parts(start: int, count: int, step: int = 1) -> list[ParameterSet]:
    """Return the first numbers of a test's parts; all but the first part are marked long."""
    return some(range(start, start + count * step, step))


def some(values: Iterable[object]) -> list[ParameterSet]:
    """Return the parameters of a test; all but the first are marked long."""
    listed = [*values]
    return every(max(len(listed), 1), listed)


def every(step: int, values: Iterable[object]) -> list[ParameterSet]:
    """Return the parameters of a test; every change runs each ``step``-th of them, the others are marked long."""
    marks = {True: (), False: (pytest.mark.long,)}
    return [pytest.param(value, marks=marks[place % step == 0]) for place, value in enumerate(values)]
