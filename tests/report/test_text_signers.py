"""Who signed what, in the report for people."""

from __future__ import annotations

import dataclasses

from tests.report.samples import clean_wheel
from wheelfix.model import Image, Machine, ScannedImage
from wheelfix.report.look import Look
from wheelfix.report.text import render_scan

LOOK = Look(60, colour=False, unicode=False)


def text(verbose: bool = True, **signers: str | None) -> str:
    """The report on a wheel with DLLs signed so."""
    images = tuple(
        ScannedImage(f"pkg/{name}.dll", Image(Machine.AMD64, 1000), signer=signer) for name, signer in signers.items()
    )
    return render_scan(dataclasses.replace(clean_wheel(), images=images), LOOK, verbose=verbose)


def test_every_image_is_under_its_signer() -> None:
    told = text(
        a="NVIDIA Corporation", b="unsigned", c="bad-digest", d="NVIDIA Corporation", e="unreadable", f="An Owner"
    )
    assert (
        """
Signed by
  An Owner  1 file
    pkg/f.dll
  NVIDIA Corporation  2 files
    pkg/a.dll, pkg/d.dll
  changed since they were signed  1 file
    pkg/c.dll
  with a signature that cannot be read  1 file
    pkg/e.dll
  unsigned  1 file
    pkg/b.dll
"""
        in told
    )


def test_a_signer_with_control_characters_is_shown_not_obeyed() -> None:
    assert "\x1b" not in text(a="Owner\x1b[2J\n::error::x")


def test_nothing_where_nobody_looked_or_asked() -> None:
    assert "Signed by" not in text(a=None)
    assert "Signed by" not in text(verbose=False, a="unsigned")
