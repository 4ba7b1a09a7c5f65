"""Limits of processor time in tests: what measures coverage makes Python several times slower."""

from __future__ import annotations

import sys

_TRACED = 4


def patience(seconds: float) -> float:
    """Return a limit in seconds, longer where every line is traced."""
    return seconds * _TRACED if sys.gettrace() is not None else seconds
