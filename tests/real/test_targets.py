"""Kinds of Windows, asked about real wheels: opencv on Windows N (opencv-python#185)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import wheelfix
from tests.support.tiers import wheel
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.model import Verdict

if TYPE_CHECKING:
    from wheelfix.model import TargetVerdict

pytestmark = pytest.mark.real

WITH_MEDIA = "opencv_python_headless-4.12.0.88-cp37-abi3-win_amd64.whl"
WITHOUT = "opencv_python_headless-5.0.0.93-cp37-abi3-win_amd64.whl"


def answers(name: str, *targets: str) -> dict[str, TargetVerdict]:
    report = wheelfix.scan(wheel(name), ScanOptions(targets=targets, roots=RootOptions(discover=False)))
    return {target.name: target for target in report.targets}


def test_opencv_4_needs_media_foundation() -> None:
    found = answers(WITH_MEDIA, "windows-11", "windows-n", "server-core-2022", "wine")
    assert {name: target.verdict for name, target in found.items()} == {
        "windows-11": Verdict.OK,
        "windows-n": Verdict.BROKEN,
        "server-core-2022": Verdict.BROKEN,
        "wine": Verdict.OK,
    }
    assert found["windows-n"].absent == ("MF.dll", "MFPlat.DLL", "MFReadWrite.dll")
    failure = found["windows-n"].first_failure
    assert failure is not None
    assert failure.message.startswith("ImportError: DLL load failed while importing cv2:")


def test_opencv_5_does_not() -> None:
    assert answers(WITHOUT, "windows-n")["windows-n"].verdict is Verdict.OK
