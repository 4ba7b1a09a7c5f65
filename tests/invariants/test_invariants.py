"""A judge that does not contradict itself: the invariants over generated wheels, folders and environments."""

from __future__ import annotations

import pytest

from tests.invariants import check
from tests.invariants.generate import make
from tests.support.parts import parts

FEW = 12
"""Packages of one plain test."""
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
def test_a_predicted_failure_means_broken_in_wheels(tmp_path, start) -> None:
    _each(start, FEW, tmp_path, check.check_scan)


@pytest.mark.slow
@pytest.mark.parametrize("start", parts(0, 5, FEW))
def test_and_in_folders_and_environments(tmp_path, start) -> None:
    _each(start, FEW, tmp_path, check.check_forms)


@pytest.mark.slow
@pytest.mark.parametrize("start", parts(0, 5, FEW))
def test_loudness_threads_and_names_of_folders_change_nothing(tmp_path, start) -> None:
    _each(start, FEW, tmp_path, check.check_loudness)


@pytest.mark.slow
@pytest.mark.parametrize("start", parts(0, 5, FEW))
def test_what_is_proposed_can_be_done_and_what_is_written_is_accepted(tmp_path, start) -> None:
    _each(start, FEW, tmp_path, check.check_repair)


@pytest.mark.slow
@pytest.mark.parametrize("start", parts(0, 3, FEW))
def test_every_kind_of_report_tells_the_same_verdict(tmp_path, start) -> None:
    _each(start, FEW, tmp_path, check.check_formats)


@pytest.mark.slow
@pytest.mark.parametrize("start", parts(0, 2, FEW))
def test_exit_codes_depend_on_what_is_found_alone(tmp_path, start) -> None:
    _each(start, FEW // 2, tmp_path, check.check_commands)


@pytest.mark.slow
@pytest.mark.parametrize("start", parts(0, 3, FEW))
def test_plans_that_were_written_down_and_repairs_of_environments(tmp_path, start) -> None:
    _each(start, FEW, tmp_path, check.check_lock, check.check_installed)


@pytest.mark.slow
@pytest.mark.parametrize("start", parts(1000, 200, MANY))
def test_all_of_it_over_two_thousand_packages(tmp_path, start) -> None:
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
