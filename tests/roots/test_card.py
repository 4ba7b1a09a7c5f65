"""Which card a word stands for."""

from __future__ import annotations

import pytest

from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.roots import card
from wheelfix.roots.card import card_arch


@pytest.mark.parametrize(
    ("text", "expected"),
    [("sm_35", "sm_35"), ("3.5", "sm_35"), ("K40c", "sm_35"), ("RTX 5070", "sm_120"), ("compute_86", "sm_86")],
)
def test_words_for_cards(text: str, expected: str) -> None:
    assert card_arch(text) == expected


def test_an_unknown_card_is_refused_with_a_way_out() -> None:
    with pytest.raises(UsageError) as caught:
        card_arch("Voodoo 2")
    assert caught.value.hint


@pytest.mark.parametrize("answer", ["8.6\n", "8.6\n8.6\n"])
def test_native_asks_the_driver(answer: str) -> None:
    assert card_arch("Native", lambda: answer) == "sm_86"


def test_native_with_different_cards_is_a_question() -> None:
    with pytest.raises(UsageError, match="different architectures"):
        card_arch("native", lambda: "8.6\n12.0\n")


def test_native_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card, "_ASK_DRIVER", ("no-such-program-anywhere",))
    with pytest.raises(EnvironmentFailure, match="nvidia-smi gives no answer"):
        card_arch("native")
    with pytest.raises(EnvironmentFailure, match="names no card"):
        card_arch("native", lambda: "N/A\n")
