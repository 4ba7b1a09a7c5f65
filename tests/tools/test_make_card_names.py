"""The list of names of cards: how names and chips are read, and which chips count."""

from __future__ import annotations

import pytest

from tools.make_card_names import chip_of, devices, lines, of_known_chips, split_names

PCI_IDS = """\
10de  NVIDIA Corporation
\t2507  GA106 [GeForce RTX 3050]
\t2503  GA106 [GeForce RTX 3060]
\t2571  GA106 [RTX A2000 12GB]
\t25ff  GA106BM [GeForce Made-Up 77 Laptop GPU]
\t9999  GZ999 [GeForce Unknown 1]
1002  Advanced Micro Devices, Inc. [AMD/ATI]
\t744c  Navi 31 [Radeon RX 7900 XT/7900 XTX/7900M]
\t\t1da2 471e  PULSE RX 7900 XTX
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Radeon RX 7900 XT/7900 XTX/7900M", ["Radeon RX 7900 XT", "Radeon RX 7900 XTX", "Radeon RX 7900M"]),
        ("GeForce RTX 4060 Max-Q / Mobile", ["GeForce RTX 4060 Max-Q"]),
        ("GeForce GT 1030", ["GeForce GT 1030"]),
    ],
)
def test_names_of_one_device(text: str, names: list[str]) -> None:
    assert split_names(text) == names


def test_chips_without_the_letters_of_their_package() -> None:
    assert chip_of("NVIDIA", "GA107BM") == "GA107"
    assert chip_of("NVIDIA", "GA10B") == "GA10B"
    assert chip_of("AMD", "Navi 31 XTX") == "Navi 31"


def test_a_name_gets_the_architecture_of_its_chip() -> None:
    """What a chip runs is known from the names that the tables have for it; a chip without such a name is left out."""
    found = lines(of_known_chips(list(devices(PCI_IDS))))
    assert "sm_86: GeForce Made-Up 77 Laptop" in found
    assert "gfx1100: Radeon RX 7900M" in found
    assert not any("Unknown" in line for line in found)
