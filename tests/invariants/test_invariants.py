"""A judge that does not contradict itself: the invariants over generated wheels, folders and environments."""

from __future__ import annotations

import pytest

from tests.invariants import check
from tests.invariants.generate import make
from tests.support.parts import parts
from tests.support.tables import named_cases

FEW = 6
"""Packages of one part."""
MANY = 10
"""Packages of one slow test; there are two hundred of them."""


def _each(start: int, count: int, tmp_path, *checks) -> None:
    for seed in range(start, start + count):
        made = make(seed)
        for number, one in enumerate(checks):
            folder = tmp_path / f"{seed}-{number}"
            try:
                one(made, folder, seed) if one is check.check_repair else one(made, folder)
            except AssertionError as error:
                raise AssertionError(f"package {seed}, {one.__name__}: {error}") from error


@pytest.mark.slow
@pytest.mark.parametrize("start", parts(0, 5, FEW))
@named_cases(
    "checks",
    {
        "a predicted failure means broken": [check.check_scan],
        "also in folders and environments": [check.check_forms],
        "loudness, threads and names of folders change nothing": [check.check_loudness],
        "what is proposed can be done and what is written is accepted": [check.check_repair],
        "every kind of report tells the same verdict": [check.check_formats],
        "exit codes depend on what is found alone": [check.check_commands],
        "plans that were written down, environments": [check.check_lock, check.check_installed],
    },
)
def test_what_holds_for_every_package(tmp_path, checks, start):
    _each(start, FEW, tmp_path, *checks)


@pytest.mark.slow
@pytest.mark.parametrize("start", parts(1000, 200, MANY))
def test_all_of_it_over_two_thousand_packages(tmp_path, start):
    _each(
        start,
        MANY,
        tmp_path,
        check.check_scan,
        check.check_forms,
        check.check_loudness,
        check.check_repair,
        check.check_formats,
        check.check_lock,
        check.check_installed,
    )
