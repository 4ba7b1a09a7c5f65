"""How code fits a card, asked by name: questions and answers are in ``answers.toml``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.tables import answers, read_table
from wheelfix.rules.gpufit import Fit, fit, parse_arch


def fit_of_ptx(version: str, card: str) -> Fit:
    major, _, minor = version.partition(".")
    return fit(["ptx_30"], card, {"ptx_30": (int(major), int(minor))} if version else {})


QUESTIONS: dict[str, Callable[..., Any]] = {
    "fit": lambda archs, card: fit(archs.split(), card),
    "fit of PTX": fit_of_ptx,
    "architecture": parse_arch,
}
ANSWERS = read_table(__file__, "answers.toml")


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_answered(question):
    assert answers(QUESTIONS[question], ANSWERS[question]) == ANSWERS[question]
