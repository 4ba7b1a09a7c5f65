"""Real sets, installed together: none that works is called broken, and what is left out is missed by its name.

``python -m tests.real.fetch --sets`` downloads all of them; ``-m "real and long"`` runs those that CI does not have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.real.environments import environment, unpack, wheel_of
from tests.real.sets import RealSet, real_sets
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.exam.scan import scan_all
from wheelfix.model import ScanReport, Verdict, canonical

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.mark.structures import ParameterSet

pytestmark = pytest.mark.real


def complete_sets() -> list[ParameterSet]:
    marks = {True: (), False: (pytest.mark.long,)}
    return [pytest.param(one, id=one.name, marks=marks[one.in_ci]) for one in real_sets()]


def incomplete_sets() -> list[ParameterSet]:
    marks = {True: (), False: (pytest.mark.long,)}
    return [
        pytest.param(one, gone, id=f"{one.name}-without-{gone}", marks=marks[one.in_ci])
        for one in real_sets()
        for gone in one.without
    ]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("unpacked")


def scanned(files: list[str], place: Path, unpacked: Path) -> dict[str, ScanReport]:
    env = environment(place / "env", [unpack(wheel_of(file), unpacked) for file in files])
    found = list(scan_all([env], ScanOptions(roots=RootOptions(discover=False))))
    assert all(isinstance(one, ScanReport) for one in found), found
    return {canonical(one.name): one for one in found if isinstance(one, ScanReport)}


def named(verdict: Verdict, reports: dict[str, ScanReport]) -> set[str]:
    return {name for name, report in reports.items() if report.verdict is verdict}


@pytest.mark.parametrize("one", complete_sets())
def test_a_complete_set_works(one: RealSet, tmp_path: Path, unpacked: Path) -> None:
    reports = scanned([*one.wheels], tmp_path, unpacked)
    assert named(Verdict.BROKEN, reports) == set(one.broken), one.why
    assert named(Verdict.UNSURE, reports) == set(one.unsure), one.why


@pytest.mark.parametrize(("one", "gone"), incomplete_sets())
def test_what_is_left_out_is_missed(one: RealSet, gone: str, tmp_path: Path, unpacked: Path) -> None:
    left = [file for file in one.wheels if canonical(file.split("-")[0]) != gone]
    assert len(left) == len(one.wheels) - 1
    reports = scanned(left, tmp_path, unpacked)
    fails = named(Verdict.BROKEN, reports) | named(Verdict.UNSURE, reports)
    assert set(one.without[gone]) <= fails
    for name in one.without[gone]:
        report = reports[name]
        told = " ".join([*(item.message + item.hint for item in report.findings), str(report.missing)])
        assert gone in canonical(told), f"{name}: {told}"
