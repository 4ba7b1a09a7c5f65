"""Environments of Windows: made of wheels with only the files that a loader reads, or by pip.

For the former, a wheel is unpacked once and linked into each environment, so that a matrix of versions fits on a disk.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomli

from tests.real.listing import Listed
from tests.support.tiers import cache_folder, unavailable, wheels_folder
from wheelfix.archive.names import installed_path
from wheelfix.model import canonical

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
    groups = {}
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


# ----------------------------------------------------------------------------------------------------------------- sets
# The lists of real sets and environments: wheels that are installed together, and what is reported about them.

LIST = Path(__file__).with_name("sets.toml")
ENVIRONMENTS = Path(__file__).with_name("environments.toml")

# The matrix of torch and its extensions, each version with each.
TORCH = ("2.7.1", "2.4.0", "2.0.1", "2.4.1", "2.5.1", "2.9.1", "2.15.0")
CANNOT_LOAD = {"2.4.0"}
"""Releases of torch that fail by themselves: libomp140.x86_64.dll is missing (pytorch#131662)."""
EXTENSIONS = (
    *("torchvision-0.22.1", "torchvision-0.19.0-1", "torchvision-0.15.2", "torchvision-0.18.1", "torchvision-0.19.1"),
    *("torchvision-0.20.1", "torchvision-0.24.1", "torchaudio-2.0.2", "torchaudio-2.4.1", "torchaudio-2.7.1"),
    "torchaudio-2.9.1",
)
TAGS = "cp311-cp311-win_amd64.whl"
EXAMPLES = tuple(
    f"{name}-{TAGS}" for name in ("torchcodec-0.9.1", "auto_gptq-0.7.1", "deepspeed-0.16.5", "torch-2.3.0")
)
"""Wheels that rely on DLLs of other distributions, besides those of the sets."""


@dataclass(frozen=True, slots=True)
class RealSet:
    """Wheels that pip installs together for Windows."""

    name: str
    wheels: tuple[str, ...]
    in_ci: bool = False
    """Whether every change is tested with it."""
    without: dict[str, list[str]] = field(default_factory=dict)
    """Distributions to leave out, with those of the set that fail then: their import tables name DLLs of it (LIEF)."""
    broken: tuple[str, ...] = ()
    """Distributions that fail in the complete set, too."""
    unsure: tuple[str, ...] = ()
    """Distributions about which the complete set does not decide: they use programs that pip does not install."""
    why: str = ""
    """Why the expectation is true, found out without wheelfix."""


@dataclass(frozen=True, slots=True)
class RealEnvironment:
    """What pip has installed for Windows, and which distributions do not work there."""

    name: str
    wheels: tuple[str, ...]
    expect: dict[str, list[str]]
    """For each distribution that is not ok: the verdict, the code of a finding, and words of that finding."""
    why: str
    gone: tuple[str, ...] = ()
    """Files that are deleted from site-packages."""
    python: str = "3.11"
    in_ci: bool = False


@functools.cache
def real_environments() -> tuple[RealEnvironment, ...]:
    """Every environment of the list, in its order."""
    with ENVIRONMENTS.open("rb") as file:
        found = tomli.load(file)
    return tuple(_environment(found["groups"], **table) for table in found["environment"])


def _environment(
    known: dict[str, list[str]],
    *,
    groups: list[str],
    without: tuple[str, ...] = (),
    replace: tuple[str, ...] = (),
    **more: Any,
) -> RealEnvironment:
    wheels = {canonical(file.split("-")[0]): file for group in groups for file in known[group]}
    wheels = {name: file for name, file in wheels.items() if name not in without}
    wheels.update({canonical(file.split("-")[0]): file for file in replace})
    return RealEnvironment(wheels=tuple(wheels.values()), expect=more.pop("expect", {}), **more)


@functools.cache
def real_sets() -> tuple[RealSet, ...]:
    """Every set of the list, in its order."""
    with LIST.open("rb") as file:
        tables = tomli.load(file)["set"]
    return tuple(
        RealSet(**{key: tuple(value) if isinstance(value, list) else value for key, value in table.items()})
        for table in tables
    )


def wheels_of_sets(*, everything: bool) -> list[Listed]:
    """The wheels of all sets and environments, or of those that every change is tested with, none twice."""
    both = (*real_sets(), *real_environments())
    files = dict.fromkeys(file for one in both if one.in_ci or everything for file in one.wheels)
    return [Listed(file, "", "part of a set", "set", in_ci=True) for file in files]


def wheels_of_matrix() -> list[Listed]:
    """The wheels of torch's matrix, and the examples."""
    files = [*EXAMPLES, *(f"torch-{version}-{TAGS}" for version in TORCH), *(f"{other}-{TAGS}" for other in EXTENSIONS)]
    return [Listed(file, "", "part of torch's matrix", "matrix", in_ci=True) for file in files]
