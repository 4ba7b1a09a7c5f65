"""Graphics cards and who still serves them."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.cards import (
    architecture,
    build_flags,
    capability_of_arch,
    card_table,
    close_names,
    known_archs,
    named_cards,
    nvidia_capability,
    parse_card_names,
)
from wheelfix.knowledge.tables import TableFault, read_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sm_35", (3, 5)),
        ("3.5", (3, 5)),
        ("35", (3, 5)),
        ("SM120", (12, 0)),
        ("compute_90a", (9, 0)),
        ("8.6+PTX", (8, 6)),
        ("K40c", None),
        ("Radeon RX 7900", None),
        ("", None),
    ],
)
def test_capability(text: str, expected: tuple[int, int] | None) -> None:
    assert capability_of_arch(text) == expected


def test_kepler_ends_with_cuda_11_8() -> None:
    kepler = architecture((3, 5))
    assert kepler is not None
    assert (kepler.name, kepler.generation) == ("sm_35", "Kepler")
    assert kepler.compiles_with((11, 7))
    assert not kepler.compiles_with((12, 0))
    assert (kepler.cudnn_has, kepler.cudnn_without) == ("8.7.0", "8.8.0")


def test_blackwell_begins_with_cuda_12_8() -> None:
    blackwell = architecture((12, 0))
    assert blackwell is not None
    assert not blackwell.compiles_with((12, 6))
    assert blackwell.compiles_with((13, 0))


def test_every_card_has_an_architecture_with_a_source() -> None:
    table = card_table()
    assert all(card.capability in table.architectures for card in table.cards.values())
    assert all(entry.source for entry in table.architectures.values())


def test_build_flags() -> None:
    assert build_flags((12, 0)) == ("TORCH_CUDA_ARCH_LIST=12.0", "-DCMAKE_CUDA_ARCHITECTURES=120")


def test_every_architecture_of_the_list_is_known() -> None:
    known = known_archs() | {architecture.name for architecture in card_table().architectures.values()}
    cards = parse_card_names("card_names.txt", read_text("card_names.txt"))
    assert len(cards) > 600
    assert {arch for card in cards.values() for arch in card.archs} <= known


def test_what_a_maker_says_counts_more_than_the_list() -> None:
    """The list has an old chip under this name, too; NVIDIA's page has one."""
    (card,) = named_cards("GeForce GT 1030")
    assert card.archs == ("sm_61",)


def test_the_series_may_be_left_out() -> None:
    assert [card.name for card in named_cards("4090")] == ["GeForce RTX 4090"]
    assert {card.archs for card in named_cards("580")} == {("sm_20",), ("gfx803",)}
    assert named_cards("") == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("K40c", (3, 5)),
        ("Tesla K20Xm", (3, 5)),
        ("Tesla K80", (3, 7)),
        ("NVIDIA GeForce GTX 1080 Ti", (6, 1)),
        ("Tesla V100-SXM2-16GB", (7, 0)),
        ("rtx 2080 super", (7, 5)),
        ("NVIDIA A100-PCIE-40GB", (8, 0)),
        ("RTX 3060", (8, 6)),
        ("NVIDIA GeForce RTX 4070 Laptop GPU", (8, 9)),
        ("RTX 6000 Ada Generation", (8, 9)),
        ("Quadro RTX 6000", (7, 5)),
        ("RTX A6000", (8, 6)),
        ("NVIDIA H100 80GB HBM3", (9, 0)),
        ("RTX 5070", (12, 0)),
        ("NVIDIA GeForce RTX 5070 Ti", (12, 0)),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", (12, 0)),
        ("NVIDIA T1000 8GB", (7, 5)),
        ("NVIDIA GeForce MX450", (7, 5)),
        ("Quadro M2200", (5, 2)),
        ("GeForce GTX 860M", None),
        ("GeForce GT 730", None),
        ("RTX 6000", None),
        ("RTX 5071", None),
        ("Radeon RX 7900 XTX", None),
        ("Intel(R) Arc(TM) B580 Graphics", None),
        ("", None),
    ],
)
def test_the_compute_capability_of_a_name_is_told_only_where_one_card_has_it(
    text: str, expected: tuple[int, int] | None
) -> None:
    assert nvidia_capability(text) == expected


def test_names_that_are_close() -> None:
    assert close_names("RTX 5071")[0].startswith("GeForce RTX 507")
    assert close_names("Voodoo 2") == ()


@pytest.mark.parametrize("line", ["sm_86 GeForce RTX 3060", ": GeForce", "sm_86: Tesla", "sm_86: T4\nsm_86: Tesla T4"])
def test_a_damaged_list_is_refused(line: str) -> None:
    with pytest.raises(TableFault, match="cannot be used"):
        parse_card_names("card_names.txt", line)
