"""Names of cards from the list of devices."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.cardnames import close_names, named_cards, parse_card_names
from wheelfix.knowledge.cards import card_table
from wheelfix.knowledge.othercards import known_archs
from wheelfix.knowledge.tables import TableFault, read_text


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


def test_names_that_are_close() -> None:
    assert close_names("RTX 5071")[0].startswith("GeForce RTX 507")
    assert close_names("Voodoo 2") == ()


@pytest.mark.parametrize("line", ["sm_86 GeForce RTX 3060", ": GeForce", "sm_86: Tesla", "sm_86: T4\nsm_86: Tesla T4"])
def test_a_damaged_list_is_refused(line: str) -> None:
    with pytest.raises(TableFault, match="cannot be used"):
        parse_card_names("card_names.txt", line)
