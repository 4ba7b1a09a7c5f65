"""A CPython for Windows, run under the x86_64 Wine: the one that ``wheelfix try`` fetches."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.wine import Ran, Unavailable, Wine, windows_path
from wheelfix.errors import WheelfixError
from wheelfix.trial.pythons import cache_folder, locked, windows_home


@dataclass(frozen=True, slots=True)
class WindowsPython:
    """An installation: a folder with ``python.exe`` and ``Lib/site-packages``."""

    wine: Wine
    folder: Path

    @property
    def site_packages(self) -> Path:
        return self.folder / "Lib" / "site-packages"

    def copy_to(self, folder: Path) -> WindowsPython:
        """Return another installation with a site-packages of its own; the files are linked where that is possible."""
        shutil.copytree(self.folder, folder, copy_function=_link)
        return WindowsPython(self.wine, folder)

    def run(
        self,
        arguments: Sequence[str],
        *,
        more: Mapping[str, str] | None = None,
        folder: Path | None = None,
        timeout: float = 600,
    ) -> Ran:
        """Run ``python.exe`` with the given arguments."""
        # Wine hands its own environment on; what would steer a Python must not come from the host's.
        clean = {name: "" for name in os.environ if name.startswith(("PYTHON", "VIRTUAL_ENV", "CONDA"))}
        command = [str(self.folder / "python.exe"), "-X", "utf8", *arguments]
        return self.wine.run(command, more={**clean, **(more or {})}, folder=folder, apart=True, timeout=timeout)

    def see(self, path: Path) -> str:
        """Return the name under which this Python sees a file of the host."""
        return windows_path(path)


def windows_python(wine: Wine) -> WindowsPython:
    """Return the Windows CPython of the package, with a site-packages that it searches; made once."""
    target = cache_folder() / "oracle" / "windows-python"
    with locked(target.with_suffix(".lock")):
        if not (target / "Lib").exists():
            try:
                windows_home(None, target)
            except WheelfixError as error:
                raise Unavailable(str(error)) from error
    return WindowsPython(wine, target)


def _link(source: str, target: str) -> None:
    with contextlib.suppress(OSError):
        os.link(source, target)
        return
    shutil.copy2(source, target)
