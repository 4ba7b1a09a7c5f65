"""Verdicts about small wheels: what is a fault, and what only looks like one."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import pytest

from tests.real.listing import listed
from tests.support.tables import named_cases
from tests.support.tiers import cache_folder, unavailable
from tests.support.wheels import build_wheel
from tools.take_one_out import write_without
from wheelfix import scan
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.model import Severity, Verdict

MACH_O, ELF = b"\xcf\xfa\xed\xfe" + bytes(600), b"\x7fELF" + bytes(600)


GOOD = {"pkg/__init__.py": "from . import _x\n", "pkg/_x.cp311-win_amd64.pyd": "imports python311.dll"}


@named_cases(
    "files, tag, expected",
    {
        "empty, idle": ({"pkg/__init__.py": "", "noop.pyd": b""}, "cp311-cp311-win_amd64", "ok WF202"),
        "empty, imported": (
            {"pkg/__init__.py": "import noop\n", "noop.pyd": b""},
            "cp311-cp311-win_amd64",
            "broken WF202",
        ),
        "empty among others": ({**GOOD, "pkg/_y.pyd": b""}, "cp311-cp311-win_amd64", "broken WF202"),
        "macOS only": (
            {"pkg/__init__.py": "from . import _x\n", "pkg/_x.cpython-311-darwin.so": MACH_O},
            "cp311-cp311-win_amd64",
            "broken WF208 WF332",
        ),
        "a program": ({"pkg/__init__.py": "", "pkg-1.0.data/scripts/tool": ELF}, "py3-none-win_amd64", "broken WF208"),
        "Linux, not imported": ({"pkg/__init__.py": "", "pkg/agent.so": ELF}, "py3-none-win_amd64", "risky WF208"),
        "also for Linux": ({**GOOD, "pkg/agent.so": ELF}, "cp311-cp311-win_amd64", "ok"),
        "for any system": ({"pkg/__init__.py": "", "pkg/agent.so": ELF}, "py3-none-any", "ok"),
    },
)
def test_verdict_and_codes(tmp_path, run, files, tag, expected):
    path = build_wheel(tmp_path, "pkg", "1.0", tag, files)
    (wheel,) = run("scan", path, "--no-discover", "--format", "json", code=None).document["wheels"]
    assert " ".join([wheel["verdict"], *sorted({found["code"] for found in wheel["findings"]})]) == expected


ABOUT_LOADS = ScanOptions(jobs=1, select=("WF2", "WF3"), roots=RootOptions(discover=False))
"""Without what is wrong with the archive itself: an installer refuses such a wheel, and nothing is imported."""
LARGEST = 3 << 20
LATER = {"WF302", "WF303", "WF304", "WF306", "WF312", "WF313", "WF318", "WF319", "WF320", "WF321", "WF322"}
LATER |= {"WF209", "WF332"}
"""Errors that are met after the import of the package, or where there is nothing left to import."""


NOT_IMPORTED = {"google_crc32c", "tbb", "tcmlib"}
"""A DLL that these ship cannot be loaded, and no import fails: nothing is imported, or Python code takes its place."""


def small_wheels() -> list[Path]:
    paths = [cache_folder() / "wheels" / wheel.file for wheel in listed() if wheel.in_ci]
    if not (found := [path for path in paths if path.is_file() and path.stat().st_size <= LARGEST]):
        unavailable("there are no real wheels in the cache")
    return found


def agrees(path: Path) -> None:
    report = scan(path, ABOUT_LOADS)
    errors = {finding.code for finding in report.findings if finding.severity is Severity.ERROR}
    if report.first_failure is not None:
        assert report.verdict is Verdict.BROKEN, path.name
    elif report.verdict is Verdict.BROKEN:
        allowed = LATER | {"WF301"} if path.name.split("-")[0] in NOT_IMPORTED else LATER
        assert errors <= allowed, (path.name, errors)


@pytest.mark.real
def test_small_real_wheels_as_they_are_and_without_one_image(tmp_path):
    for wheel in small_wheels():
        draw = random.Random(wheel.name)  # the same image with any other files in the cache
        agrees(wheel)
        with zipfile.ZipFile(wheel) as source:
            images = [name for name in source.namelist() if name.lower().endswith((".dll", ".pyd"))]
        if images:
            write_without(wheel, draw.choice(images), tmp_path / wheel.name, row_left=True)
            agrees(tmp_path / wheel.name)
