"""``python -m wheelfix`` runs nothing from the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import wheelfix

PACKAGE = Path(wheelfix.__file__).resolve().parents[1]


def test_planted_modules_in_the_current_folder_do_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for name in ("rich", "packaging", "tomli", "argparse", "signal", "pefile", "delvewheel"):
        (tmp_path / f"{name}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    done = subprocess.run(
        [sys.executable, "-m", "wheelfix", "explain", "WF301"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert b"WF301" in done.stdout
    assert not mark.exists()
