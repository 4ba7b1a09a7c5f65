"""Graphics cards and who still serves them."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.cards import (
    architecture,
    build_flags,
    capability_of_arch,
    card_table,
    parse_cards,
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


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        pytest.param('capability = "3.2"', 'capability = "3.0"', "capability '3.0' twice", id="twice"),
        pytest.param('last_cuda = "10.2"', 'last_cuda = "4.2"', "end before they begin", id="range"),
        pytest.param('cudnn_has = "8.7.0"', 'cudnn_has = "8.9.7"', "and 8.8.0 has none", id="cudnn"),
        pytest.param('"Tesla K80",', '"Tesla K40",', "two capabilities", id="card twice"),
        pytest.param(
            'capability = "12.1"\nnames', 'capability = "12.7"\nnames', "unknown capability 12.7", id="unknown"
        ),
    ],
)
def test_a_contradictory_table_is_refused(old: str, new: str, fault: str) -> None:
    text = read_text("cards.toml")
    assert old in text
    with pytest.raises(TableFault, match=fault):
        parse_cards("cards.toml", text.replace(old, new, 1))
