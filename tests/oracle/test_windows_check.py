"""The script that a Windows machine of CI runs (``tools/windows_check.py``), here in a Windows Python under Wine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.oracle.wine import Unavailable
from tests.oracle.winsite import install_into
from tests.support.tiers import unavailable
from tools.windows_cases import cases

if TYPE_CHECKING:
    from tests.oracle.winpython import WindowsPython

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.mark.wine_x64
@pytest.mark.slow
def test_predictions_come_true(python: WindowsPython, tmp_path: Path) -> None:
    own = python.copy_to(tmp_path / "Python311")
    try:
        install_into(own.site_packages)
    except Unavailable as error:
        unavailable(str(error))
    shutil.copytree(TOOLS, own.site_packages / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    left_out = [word for case in cases() if case.not_under_wine for word in ("--except", case.name)]
    done = own.run(["-m", "tools.windows_check", *left_out], timeout=1200)
    assert done.code == 0, done.output + done.errors
    assert "DIFFERS" not in done.output
    assert "| demo-cu117 | WinError 126 | WinError 126 | agrees |" in done.output
    assert "| demo-cu117-repaired | loads | loads | agrees |" in done.output
    assert "| repaired | loads | loads | agrees |" in done.output
