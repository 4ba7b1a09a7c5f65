"""The one door to delvewheel: a subprocess that renames DLLs into ``<distribution>.libs`` and patches the package.

Everything in delvewheel but its command line is private and changes between releases. It gets a folder with exactly the
DLLs that the plan chose and an empty PATH, so that nothing else can enter the wheel.
"""

from __future__ import annotations

import calendar
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from wheelfix.errors import CannotRepair, EnvironmentFailure

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TIMEOUT = 3600


def run_delvewheel(wheel: Path, dlls: Path, excluded: Iterable[str], target: Path, stamp: int) -> Path:
    """Vendor the DLLs of a folder into a wheel, renamed; the new wheel lies in the target folder.

    ``stamp`` is the DOS time that its members get. With a fixed time delvewheel also leaves out the command line that
    it would otherwise write into the wheel, with paths of this machine.
    """
    names = sorted(set(excluded))
    command = [sys.executable, "-m", "delvewheel", "repair", "--add-path", str(dlls), "--wheel-dir", str(target)]
    command += ["--ignore-existing", "--analyze-existing", str(wheel)]
    if names:
        command[-1:-1] = ["--exclude", os.pathsep.join(names)]
    environment = {**os.environ, "PATH": str(dlls), "PYTHONIOENCODING": "utf-8", "SOURCE_DATE_EPOCH": _seconds(stamp)}
    try:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT,
        )
    except (OSError, subprocess.SubprocessError) as exc:
        raise EnvironmentFailure("delvewheel cannot be run", because=str(exc), hint="pip install delvewheel") from exc
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise CannotRepair(
            f"delvewheel could not rename the DLLs of {wheel.name}",
            because=lines[-1] if lines else f"exit code {done.returncode}",
            hint="--layout beside puts them next to the extension under their own names",
        )
    return target / wheel.name


def _seconds(stamp: int) -> str:
    """A DOS date and time as seconds since 1970."""
    date = (1980 + (stamp >> 25), stamp >> 21 & 15, stamp >> 16 & 31)
    return str(calendar.timegm((*date, stamp >> 11 & 31, stamp >> 5 & 63, 2 * (stamp & 31))))
