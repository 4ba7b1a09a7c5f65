"""Runs delvewheel, as a subprocess that renames DLLs into ``<distribution>.libs`` and patches the package.

Everything in delvewheel but its command line is private and changes between releases. It gets a folder with exactly the
DLLs that the plan chose and an empty PATH, so that nothing else gets into the wheel.
"""

from __future__ import annotations

import calendar
import os
from typing import TYPE_CHECKING

from wheelfix.base.options import Renaming
from wheelfix.base.programs import python_command, run_program
from wheelfix.errors import CannotRepair, EnvironmentFailure

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TIMEOUT = 3600
_BESIDE = "--layout beside puts them next to the extension under their own names"


def run_delvewheel(
    wheel: Path,
    dlls: Path,
    excluded: Iterable[str],
    target: Path,
    stamp: int,
    renaming: Renaming | None = None,
) -> Path:
    """Vendor the DLLs of a folder into a wheel, renamed; the new wheel lies in the target folder.

    ``stamp`` is the DOS time that its members get. With a fixed time delvewheel also leaves out the command line that
    it would otherwise write into the wheel, with paths of this machine.
    """
    command = python_command(
        "delvewheel", _arguments(wheel, dlls, sorted(set(excluded)), target, renaming or Renaming())
    )
    environment = {**os.environ, "PATH": str(dlls), "SOURCE_DATE_EPOCH": _seconds(stamp)}
    done = run_program(command, timeout=TIMEOUT, environ=environment, within=dlls.parent)
    if "No module named 'delvewheel'" in done.err or "No module named delvewheel" in done.err:
        raise EnvironmentFailure(
            "delvewheel cannot be run",
            because="it is not installed beside wheelfix",
            hint="pip install delvewheel, with the Python that runs wheelfix; or --layout beside",
        )
    made = target / wheel.name
    if done.code or not made.is_file():
        lines = [line for line in (done.err or done.out).splitlines() if line.strip()]
        raise CannotRepair(
            f"delvewheel could not rename the DLLs of {wheel.name}",
            because=lines[-1] if lines else f"exit code {done.code}",
            hint=_BESIDE,
        )
    return made


def _arguments(wheel: Path, dlls: Path, names: list[str], target: Path, renaming: Renaming) -> list[str]:
    """Return delvewheel's command line; a name cannot be taken for an option (``-x.dll``), nor for two names."""
    for name in names:
        if os.pathsep in name or name != name.strip():
            raise CannotRepair(
                f"the DLLs of {wheel.name} cannot be renamed",
                because=f"delvewheel cannot be given the name {name!r}, which the wheel imports",
                hint=_BESIDE,
            )
    arguments = ["repair", f"--add-path={dlls}", f"--wheel-dir={target}", "--ignore-existing", "--analyze-existing"]
    if names:
        arguments.append(f"--exclude={os.pathsep.join(names)}")
    if renaming.no_mangle:
        arguments.append(f"--no-mangle={os.pathsep.join(renaming.no_mangle)}")
    if renaming.no_mangle_all:
        arguments.append("--no-mangle-all")
    if renaming.namespace_pkgs:
        arguments.append(f"--namespace-pkg={os.pathsep.join(renaming.namespace_pkgs)}")
    if renaming.custom_patch:
        arguments.append("--custom-patch")
    if renaming.lib_sdir != ".libs":
        arguments.append(f"--lib-sdir={renaming.lib_sdir}")
    return [*arguments, "--", str(wheel)]


def _seconds(stamp: int) -> str:
    """A DOS date and time as seconds since 1970."""
    date = (1980 + (stamp >> 25), stamp >> 21 & 15, stamp >> 16 & 31)
    return str(calendar.timegm((*date, stamp >> 11 & 31, stamp >> 5 & 63, 2 * (stamp & 31))))
