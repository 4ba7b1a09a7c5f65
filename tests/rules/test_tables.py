"""The tables that only the rules read: the stable ABI and NVIDIA's drivers."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.drivers import driver_needed, last_driver, parse_drivers
from wheelfix.knowledge.stable_abi import parse_stable_abi, stable_abi
from wheelfix.knowledge.tables import TableFault


def test_the_stable_abi_knows_old_and_new_symbols() -> None:
    symbols = stable_abi()
    assert symbols["PyObject_Call"] == (3, 2)
    assert symbols["PyObject_Vectorcall"] == (3, 12)
    assert symbols["PyModule_FromDefAndSpec2"] == (3, 7)
    assert "PyOS_AfterFork_Child" not in symbols, "not on Windows"
    assert len(symbols) > 900


@pytest.mark.parametrize(
    "text",
    ["PyX 3.7\n", "# source: s\nPyX 3.7\nPyX 3.8\n", "# source: s\nPyX\n", "# source: s\n"],
    ids=["no-source", "twice", "no-version", "empty"],
)
def test_a_damaged_list_is_refused(text: str) -> None:
    with pytest.raises(TableFault):
        parse_stable_abi("x.txt", text)


def test_drivers_of_releases_and_cards() -> None:
    assert driver_needed(11, 8) == 450
    assert driver_needed(12, 1) == 525
    assert driver_needed(10, 1) == 418
    assert driver_needed(10, 3) is None
    kepler = last_driver(3, 5)
    assert kepler is not None
    assert (kepler.name, kepler.driver) == ("Kepler", 470)
    assert last_driver(8, 6) is None


def test_generations_out_of_order_are_refused() -> None:
    text = """
[[cuda]]
release = "11"
driver = 450
source = "s"
[[generation]]
name = "B"
from = "5.0"
to = "7.0"
driver = 580
source = "s"
[[generation]]
name = "A"
from = "3.0"
to = "3.7"
driver = 470
source = "s"
"""
    with pytest.raises(TableFault):
        parse_drivers("x.toml", text)
