"""The script that a Windows machine of CI runs (``tools/windows_check.py``), here in a Windows Python under Wine.

Wheels and predictions are made on this side: only the imports happen there, and starting a Python costs seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.oracle.wine import windows_path
from tools import windows_check
from tools.windows_cases import cases

if TYPE_CHECKING:
    from tests.oracle.winpython import WindowsPython


@pytest.mark.wine_x64
@pytest.mark.slow
def test_predictions_come_true(python: WindowsPython, tmp_path: Path) -> None:
    windows_check.make(tmp_path)
    left_out = [word for case in cases() if case.not_under_wine for word in ("--except", case.name)]
    script = windows_path(Path(windows_check.__file__))
    done = python.run([script, "--made", windows_path(tmp_path), *left_out], timeout=1500)
    assert done.code == 0, done.output + done.errors
    assert "DIFFERS" not in done.output
    assert "| demo-cu117 | WinError 126 | WinError 126 | agrees |" in done.output
    assert "| demo-cu117-repaired | loads | loads | agrees |" in done.output
    assert "| repaired | loads | loads | agrees |" in done.output
