"""The tables that only the rules read: the stable ABI and NVIDIA's drivers."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.cards import cuda_of_driver, driver_for_ptx, driver_needed, drivers, last_driver
from wheelfix.knowledge.system import stable_abi
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
        stable_abi.parse(text)


def test_drivers_of_releases_and_cards() -> None:
    assert driver_needed(11, 8) == 450
    assert driver_needed(12, 1) == 525
    assert driver_needed(10, 1) == 418
    assert driver_needed(10, 3) is None
    kepler = last_driver(3, 5)
    assert kepler is not None
    assert (kepler.name, kepler.driver) == ("Kepler", 470)
    assert last_driver(8, 6) is None


@pytest.mark.parametrize(
    ("version", "driver"),
    [((6, 4), 445), ((7, 4), 470), ((7, 8), 520), ((8, 6), 565), ((9, 4), 615), ((9, 0), 580), ((99, 0), None)],
)
def test_drivers_that_compile_ptx(version: tuple[int, int], driver: int | None) -> None:
    assert driver_for_ptx(version) == driver


@pytest.mark.parametrize(("driver", "cuda"), [(470, (11, 4)), (480, (11, 4)), (580, (13, 0)), (390, None)])
def test_the_newest_ptx_of_a_driver(driver: int, cuda: tuple[int, int] | None) -> None:
    assert cuda_of_driver(driver) == cuda


GENERATION = """
[[generation]]
name = "{name}"
from = "{first}"
to = "{last}"
driver = {driver}
source = "s"
"""
LANGUAGE = """
[[ptx]]
version = "{version}"
cuda = "{cuda}"
driver = {driver}
source = "s"
"""
RELEASE = """
[[cuda]]
release = "11"
driver = 450
source = "s"
"""
KEPLER = GENERATION.format(name="A", first="3.0", last="3.7", driver=470)
MAXWELL = GENERATION.format(name="B", first="5.0", last="7.0", driver=580)
OLD = LANGUAGE.format(version="7.4", cuda="11.4", driver=470)
NEW = LANGUAGE.format(version="7.8", cuda="11.8", driver=520)


def test_a_small_table_is_read() -> None:
    assert len(drivers.parse(RELEASE + KEPLER + MAXWELL + OLD + NEW).languages) == 2


@pytest.mark.parametrize(
    "text",
    [RELEASE + MAXWELL + KEPLER + OLD, RELEASE + KEPLER + MAXWELL + NEW + OLD, RELEASE + KEPLER],
    ids=["generations", "languages", "no-languages"],
)
def test_tables_out_of_order_are_refused(text: str) -> None:
    with pytest.raises(TableFault):
        drivers.parse(text)
