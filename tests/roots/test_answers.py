"""What names and versions say: questions and answers are in ``answers.toml``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.tables import answers, read_table
from wheelfix.base.parsing import dotted_numbers
from wheelfix.roots.host import card_arch
from wheelfix.roots.release import cuda_of_package
from wheelfix.roots.toolkits import toolkit_release

QUESTIONS: dict[str, Callable[..., Any]] = {
    "card": card_arch,
    "CUDA of package": cuda_of_package,
    "toolkit": toolkit_release,
    "numbers": dotted_numbers,
}
ANSWERS = read_table(__file__, "answers.toml")


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_answered(question):
    assert answers(QUESTIONS[question], ANSWERS[question]) == ANSWERS[question]
