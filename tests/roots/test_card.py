"""Which card a word stands for."""

from __future__ import annotations

import pytest

from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.roots import card
from wheelfix.roots.card import card_arch


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sm_35", "sm_35"),
        ("3.5", "sm_35"),
        ("K40c", "sm_35"),
        ("RTX 5070", "sm_120"),
        ("compute_86", "sm_86"),
        ("sm_90a", "sm_90"),
        ("gfx90a:sramecc+:xnack-", "gfx90a"),
        ("intel_gpu_bmg_g21", "intel_bmg-g21"),
        ("dg2-g11", "intel_acm-g11"),
        ("GTX 1080 Ti", "sm_61"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "sm_89"),
        ("NVIDIA A100-SXM4-80GB", "sm_80"),
        ("NVIDIA GH200 144G HBM3e", "sm_90"),
        ("NVIDIA B300 SXM6 AC", "sm_103"),
        ("RTX PRO 6000", "sm_120"),
        ("NVIDIA RTX PRO 4000 Blackwell SFF Edition", "sm_120"),
        ("NVIDIA GeForce RTX 2050", "sm_86"),
        ("NVIDIA GeForce MX330", "sm_61"),
        ("NVIDIA T1200 Laptop GPU", "sm_75"),
        ("NVIDIA A10G", "sm_86"),
        ("Jetson Orin", "sm_87"),
        ("GeForce GTX 580", "sm_20"),
        ("4090", "sm_89"),
        ("1080ti", "sm_61"),
        ("7900 XTX", "gfx1100"),
        ("AMD Radeon RX 9070 XT", "gfx1201"),
        ("RX 9060 XT 16GB", "gfx1200"),
        ("AMD Radeon(TM) 8060S Graphics", "gfx1151"),
        ("RX 7600M XT", "gfx1102"),
        ("Radeon PRO W7800 48GB", "gfx1100"),
        ("Intel(R) Arc(TM) B580 Graphics", "intel_bmg-g21"),
        ("Intel Arc A770 16GB", "intel_acm-g10"),
        ("Intel(R) Arc(TM) 140V GPU (16GB)", "intel_lnl-m"),
        ("Intel(R) UHD Graphics 770", "intel_adl-s"),
    ],
)
def test_words_for_cards(text: str, expected: str) -> None:
    assert card_arch(text) == expected


def test_an_unknown_card_is_refused_with_a_way_out() -> None:
    with pytest.raises(UsageError) as caught:
        card_arch("Voodoo 2")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "because", "hint"),
    [
        ("RTX 5071", "no table knows that card", "GeForce RTX 5070"),
        ("RX 7800 XTX", "no table knows that card", "RX 7800 XT"),
        ("sm_99", "no table knows the architecture sm_99", "sm_90"),
        ("gfx1109", "no table knows the architecture gfx1109", "gfx1100"),
        ("Iris Xe", "several architectures (intel_adl-p, intel_dg1, intel_tgllp)", "--gpu intel_adl-p"),
        ("GTX 860M", "several architectures (sm_30, sm_50)", "--gpu sm_30"),
        ("580", "several architectures (sm_20, gfx803)", "--gpu sm_20"),
        ("RTX 6000", "several cards", "Quadro RTX 6000, RTX 6000 Ada, RTX PRO 6000 Blackwell"),
        ("", "no table knows that card", "give the architecture"),
    ],
)
def test_a_word_that_does_not_tell_is_a_question(text: str, because: str, hint: str) -> None:
    """An error that names the choices, instead of an answer about a card that the user does not have."""
    with pytest.raises(UsageError) as caught:
        card_arch(text)
    assert because in str(caught.value.because)
    assert hint in caught.value.hint


def test_every_choice_that_an_error_offers_is_accepted() -> None:
    for text in ("Iris Xe", "GTX 860M", "RTX 6000", "RTX 5071", "sm_99", "gfx1109"):
        with pytest.raises(UsageError) as caught:
            card_arch(text)
        hint = caught.value.hint.removeprefix("did you mean ").removeprefix("say which: ").rstrip("?")
        for choice in hint.removeprefix("choose one: --gpu ").replace(" or ", ", ").split(", "):
            assert card_arch(choice)


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
