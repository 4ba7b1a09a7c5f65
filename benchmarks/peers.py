"""The tools that are measured, installed where their start is as fast as for any user: with bytecode, not editable."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent


class Tools:
    """A virtual environment of its own, and what the system has."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        venv.create(folder, with_pip=True)
        self._install(str(HERE))
        self._versions: dict[str, str] = {}

    def _install(self, what: str) -> None:
        command = [str(self.bin / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what]
        subprocess.run(command, check=True, env=clean_environment(), stderr=subprocess.DEVNULL)

    def python(self) -> str:
        """Return the environment's Python."""
        return str(self.bin / "python")

    def find(self, name: str) -> str | None:
        """Return the path of a tool, installed with pip if that is how it comes; None if it cannot be had."""
        if name == "repairwheel" and not (self.bin / name).exists():
            try:
                self._install(name)
            except subprocess.CalledProcessError:
                return None
        own = self.bin / name
        return str(own) if own.exists() else shutil.which(name)

    def versions(self) -> dict[str, str]:
        """Return what was measured, in which version."""
        listing = subprocess.run(
            [self.python(), "-m", "pip", "list", "--disable-pip-version-check", "--format", "freeze"],
            check=True, capture_output=True, text=True, env=clean_environment(),
        ).stdout  # fmt: skip
        wanted = ("wheelfix", "delvewheel", "wheel", "repairwheel", "pefile", "zlib-ng", "deflate")
        rows = (line.partition("==") for line in listing.splitlines())
        found = {name: version for name, _, version in rows if name in wanted}
        return {"python": sys.version.split()[0], **found}


def clean_environment() -> dict[str, str]:
    """Return the environment without what would keep Python from using compiled bytecode or our own sources."""
    gone = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONHOME", "SOURCE_DATE_EPOCH", "WHEELFIX_DEBUG"}
    return {name: value for name, value in os.environ.items() if name not in gone}
