"""Who signed what, in the report for people."""

from __future__ import annotations

import dataclasses

from tests.report.samples import clean_wheel
from wheelfix.model import Image, Machine, ScannedImage, Signature
from wheelfix.report.canvas import TextStyle
from wheelfix.report.text import render_scan

LOOK = TextStyle(60, colour=False, unicode=False)


def text(verbose: bool = True, **signatures: Signature | None) -> str:
    """The report on a wheel with DLLs signed so."""
    images = tuple(
        ScannedImage(f"pkg/{name}.dll", Image(Machine.AMD64, 1000), signature=signature)
        for name, signature in signatures.items()
    )
    return render_scan(dataclasses.replace(clean_wheel(), images=images), LOOK, verbose=verbose)


def test_every_image_is_under_the_answer_about_its_signature() -> None:
    nvidia = Signature("trusted", "NVIDIA Corporation")
    told = text(
        a=nvidia,
        b=Signature("unsigned"),
        c=Signature("invalid", reason="the file was changed after it was signed"),
        d=nvidia,
        e=Signature("not-checked", reason="it has 2 signers"),
        f=Signature("trusted", "An Owner"),
        g=Signature("untrusted-root", "NVIDIA Corporation", "its root NVIDIA is not on the list"),
    )
    assert (
        """
Signatures
  trusted  An Owner  1 file
    pkg/f.dll
  trusted  NVIDIA Corporation  2 files
    pkg/a.dll, pkg/d.dll
  untrusted-root  NVIDIA Corporation  1 file
    its root NVIDIA is not on the list
    pkg/g.dll
  invalid  1 file
    the file was changed after it was signed
    pkg/c.dll
  not-checked  1 file
    it has 2 signers
    pkg/e.dll
  unsigned  1 file
    pkg/b.dll
"""
        in told
    )


def test_a_signer_with_control_characters_is_shown_not_obeyed() -> None:
    assert "\x1b" not in text(a=Signature("trusted", "Owner\x1b[2J\n::error::x", "because\x1b[2J"))


def test_nothing_where_nobody_looked_or_asked() -> None:
    assert "Signatures" not in text(a=None)
    assert "Signatures" not in text(verbose=False, a=Signature("unsigned"))
