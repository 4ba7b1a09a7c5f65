"""Which Python and NumPy modules were built for, in the report for people."""

from __future__ import annotations

import dataclasses

from tests.report.samples import clean_wheel
from wheelfix.model import Image, Import, Machine, NumpyApi, ScannedImage, ScanReport
from wheelfix.report.canvas import TextStyle
from wheelfix.report.text import render_scan

LOOK = TextStyle(80, colour=False, unicode=False)


def module(name: str, python: str, numpy: NumpyApi | None = None) -> ScannedImage:
    """A module that imports a Python."""
    facts = Image(Machine.AMD64, 1000, imports=(Import("KERNEL32.dll"), Import(python)))
    return ScannedImage(f"pkg/{name}", facts, numpy=numpy)


def report(*images: ScannedImage) -> ScanReport:
    """A report on these images."""
    return dataclasses.replace(clean_wheel(), images=images)


def test_one_line_for_modules_that_are_alike() -> None:
    text = render_scan(
        report(
            module("a.pyd", "python311.dll", NumpyApi(2, "1.23")),
            module("b.pyd", "python311.dll", NumpyApi(2, "1.23")),
            module("c.pyd", "python311.dll", NumpyApi(1)),
            module("d.pyd", "PYTHON3.dll"),
            module("e.dll", "python39.dll"),
        ),
        LOOK,
        verbose=True,
    )
    assert (
        """
Built for
  python311.dll, NumPy 1.23 or later  a.pyd and 1 more
  python311.dll, NumPy 1              c.pyd
  python3.dll                         d.pyd

"""
        in text
    )


def test_only_for_those_who_want_to_know_everything() -> None:
    assert "Built for" not in render_scan(report(module("a.pyd", "python311.dll")), LOOK)
    assert "Built for" not in render_scan(report(module("a.dll", "python311.dll")), LOOK, verbose=True)
