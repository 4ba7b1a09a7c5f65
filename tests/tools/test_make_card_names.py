"""The list of names of cards: how names and chips are read, and which chips count."""

from tools.make_card_names import devices, lines, of_known_chips

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


def test_a_name_gets_the_architecture_of_its_chip():
    """What a chip runs is known from the names that the tables have for it; a chip without such a name is left out."""
    found = lines(of_known_chips(list(devices(PCI_IDS))))
    assert "sm_86: GeForce Made-Up 77 Laptop" in found
    assert "gfx1100: Radeon RX 7900M" in found
    assert not any("Unknown" in line for line in found)
