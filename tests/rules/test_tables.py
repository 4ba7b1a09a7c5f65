"""The tables that only the rules read: the stable ABI and NVIDIA's drivers."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.cards import cuda_of_driver, driver_for_ptx, driver_needed, last_driver
from wheelfix.knowledge.system import stable_abi


def test_the_stable_abi_knows_old_and_new_symbols():
    symbols = stable_abi()
    assert symbols["PyObject_Call"] == (3, 2)
    assert symbols["PyObject_Vectorcall"] == (3, 12)
    assert symbols["PyModule_FromDefAndSpec2"] == (3, 7)
    assert "PyOS_AfterFork_Child" not in symbols, "not on Windows"
    assert len(symbols) > 900


def test_drivers_of_releases_and_cards():
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
def test_drivers_that_compile_ptx(version, driver):
    assert driver_for_ptx(version) == driver


@pytest.mark.parametrize(("driver", "cuda"), [(470, (11, 4)), (480, (11, 4)), (580, (13, 0)), (390, None)])
def test_the_newest_ptx_of_a_driver(driver, cuda):
    assert cuda_of_driver(driver) == cuda
