"""A predicted failure means broken, and a wheel that is broken when it is imported has a predicted failure."""

from __future__ import annotations

import random
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.tiers import cache_folder, unavailable
from wheelfix import scan
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.model import Severity, Verdict

if TYPE_CHECKING:
    from pathlib import Path

ABOUT_LOADS = ScanOptions(jobs=1, select=("WF2", "WF3"), roots=RootOptions(discover=False))
"""Without what is wrong with the archive itself: an installer refuses such a wheel, and nothing is imported."""
LARGEST = 3 << 20
LATER = {"WF302", "WF303", "WF304", "WF306", "WF312", "WF313", "WF318", "WF319", "WF320", "WF321", "WF322"}
"""Errors that are met after the import."""


def small_wheels() -> list[Path]:
    folder = cache_folder() / "wheels"
    found = sorted(path for path in folder.glob("*.whl") if path.stat().st_size <= LARGEST) if folder.is_dir() else []
    if not found:
        unavailable("there are no real wheels in the cache")
    return found


def agrees(path: Path) -> None:
    report = scan(path, ABOUT_LOADS)
    errors = {finding.code for finding in report.findings if finding.severity is Severity.ERROR}
    if report.first_failure is not None:
        assert report.verdict is Verdict.BROKEN, path.name
    elif report.verdict is Verdict.BROKEN:
        assert errors <= LATER, (path.name, errors)


@pytest.mark.real
def test_small_real_wheels_as_they_are_and_without_one_image(tmp_path: Path) -> None:
    draw = random.Random(7)
    for wheel in small_wheels():
        agrees(wheel)
        with zipfile.ZipFile(wheel) as source:
            names = source.namelist()
            images = [name for name in names if name.lower().endswith((".dll", ".pyd"))]
            if not images:
                continue
            gone = draw.choice(images)
            broken = tmp_path / wheel.name
            with zipfile.ZipFile(broken, "w") as made:
                for name in names:
                    if name != gone:
                        made.writestr(name, source.read(name))
        agrees(broken)
