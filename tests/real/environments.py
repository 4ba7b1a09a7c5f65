"""Environments of Windows: made of wheels with only the files that a loader reads, or by pip.

For the former, a wheel is unpacked once and linked into each environment, so that a matrix of versions fits on a disk.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.tiers import cache_folder, unavailable, wheels_folder
from wheelfix.archive.names import installed_path

if TYPE_CHECKING:
    from collections.abc import Iterable

SETS = "WHEELFIX_SET_WHEELS"
"""The folder of the wheels of sets, when it is not the usual one."""
READ = (".dll", ".pyd", ".exe", ".py", ".pth", ".start")
SITE = Path("Lib/site-packages")
_TAGS = re.compile(r"-cp3(\d+)-(cp3|abi3)")


def set_wheels_folder() -> Path:
    """Return the folder of wheels of sets; ``python -m tests.real.fetch --sets`` fills it."""
    chosen = os.environ.get(SETS)
    return Path(chosen) if chosen else cache_folder() / "set-wheels"


def wheel_of(file: str) -> Path:
    """Return a wheel of a set by its file name; the test is skipped where it is not at hand."""
    places = [folder / file for folder in (wheels_folder(), set_wheels_folder())]
    found = [place for place in places if place.is_file()]
    if not found:
        unavailable(f"{file} is neither in {wheels_folder()} nor in {set_wheels_folder()} (tests.real.fetch --sets)")
    return found[0]


def unpack(wheel: Path, folder: Path) -> Path:
    """Unpack a wheel as it is installed, with a RECORD of the files that are there; returns the folder."""
    target = folder / wheel.stem
    if target.is_dir():
        return target
    making = folder / f".{wheel.stem}"
    shutil.rmtree(making, ignore_errors=True)
    rows = []
    with zipfile.ZipFile(wheel) as archive:
        info = next(file for file in archive.namelist() if file.endswith(".dist-info/WHEEL")).rpartition("/")[0]
        for member in archive.infolist():
            base = member.filename.rpartition("/")[2]
            kept = base.lower().endswith(READ) or ".dist-info/" in member.filename or base.startswith(".load-order-")
            if kept and base and base != "RECORD":
                path = making / installed_path(member.filename, f"{info.removesuffix('.dist-info')}.data")
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, path.open("wb") as sink:
                    shutil.copyfileobj(source, sink, 1 << 20)
                rows.append(os.path.relpath(path, making / SITE).replace("\\", "/"))
    (making / SITE / info / "RECORD").write_text("".join(f'"{row}",,\n' for row in rows), encoding="utf-8")
    making.rename(target)
    return target


def environment(folder: Path, unpacked: Iterable[Path]) -> Path:
    """Make an environment of wheels that were unpacked, by hard links; a later one replaces files of an earlier one."""
    for part in unpacked:
        for root, _, files in os.walk(part):
            inside = folder / Path(root).relative_to(part)
            inside.mkdir(parents=True, exist_ok=True)
            for file in files:
                (inside / file).unlink(missing_ok=True)
                os.link(Path(root) / file, inside / file)
    return folder


def pip_environment(folder: Path, wheels: Iterable[Path], python: str) -> Path:
    """Let pip install wheels for Windows into a folder, each for a Python that takes it.

    The folder is a venv of ``python``; without one it is what ``pip install --target`` leaves.
    """
    minor = int(python.removeprefix("3.") or 11)
    groups: dict[int, list[str]] = {}
    for wheel in wheels:
        match = _TAGS.search(wheel.name)
        own = minor if match is None else int(match[1]) if match[2] == "cp3" else max(minor, int(match[1]))
        groups.setdefault(own, []).append(str(wheel))
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--no-index"]
    command += ["--disable-pip-version-check", "--only-binary=:all:", "--platform", "win_amd64"]
    for own, files in groups.items():
        there = ["--python-version", f"3.{own}", "--target", str(folder / SITE)]
        subprocess.run([*command, *there, *files], check=True, capture_output=True)
    if python:
        home = f"home = C:\\Python3{minor}\ninclude-system-site-packages = false\nversion = {python}.7\n"
        (folder / "pyvenv.cfg").write_text(home, encoding="utf-8")
    return folder
