"""The ``libs`` layout: DLLs of no known family are renamed by delvewheel, and our own rules check the result.

delvewheel runs as a subprocess, because everything in it but its command line is private and changes between releases.
It gets a folder with exactly the DLLs that the plan chose and an empty PATH, so that nothing else gets into the wheel.
"""

from __future__ import annotations

import calendar
import os
from typing import TYPE_CHECKING

from wheelfix.archive.changes import NewMember, new_stamp
from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.names import without_variant
from wheelfix.archive.reader import Archive
from wheelfix.archive.writer import close_if_replaced
from wheelfix.base.options import Renaming, RepairOptions
from wheelfix.base.programs import python_command, run_program
from wheelfix.base.values import replace
from wheelfix.errors import CannotRepair, EnvironmentFailure
from wheelfix.exam.wheel import examine_wheel
from wheelfix.knowledge.families import demangle
from wheelfix.model import ScanReport, Severity, dll_key
from wheelfix.pe.signature import read_signature
from wheelfix.repairs.rewrite import bytes_of, keep, rewrite, write_planned
from wheelfix.rules.registry import Group, group_of
from wheelfix.streams.output import WorkFolder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from wheelfix.exam.examination import Examination
    from wheelfix.plan.model import Addition, Plan

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
    return [*arguments, *renaming.arguments, "--", str(wheel)]


def _seconds(stamp: int) -> str:
    """A DOS date and time as seconds since 1970."""
    date = (1980 + (stamp >> 25), stamp >> 21 & 15, stamp >> 16 & 31)
    return str(calendar.timegm((*date, stamp >> 11 & 31, stamp >> 5 & 63, 2 * (stamp & 31))))


def repair_with_libs(
    archive: Archive,
    plan: Plan,
    members: Iterable[NewMember],
    stale: set[str],
    options: RepairOptions,
    target: Path,
) -> tuple[Plan, ScanReport, int]:
    """Carry out a plan some of whose DLLs get names of their own; the plan with these names, the rescan, the size."""
    beside, renamed = [], []
    for new, addition in zip(members, plan.additions, strict=True):
        if addition.mangle:
            renamed.append((addition.name, new))
        else:
            beside.append(new)
    with WorkFolder() as folder:
        for name, new in renamed:
            write_planned(bytes_of(new), folder / "dlls" / name, new.sha256, new.origin)
        first = _without_mangled(archive, plan, beside, stale, options, folder / "first")
        stamp = new_stamp(archive.members)
        second = run_delvewheel(first, folder / "dlls", plan.left_alone, folder / "second", stamp, plan.renaming)
        with Archive.open(second, options.scan.limits) as made:
            after = examine_wheel(made, options.scan)
            _refuse_if_broken(after, archive.path)
            named = replace(plan, additions=tuple(_as_named(plan, made, options.scan.roots.trusted_roots)))
            close_if_replaced(archive, target)
            # delvewheel writes the files as its temporary folder lists them, which differs between file systems.
            size = rewrite(made, WheelInfo.from_archive(made), named, (), set(), target, options, by_name=True)
    return named, after.report, size


def _without_mangled(
    archive: Archive, plan: Plan, beside: list[NewMember], stale: set[str], options: RepairOptions, folder: Path
) -> Path:
    """The wheel with everything of the plan but the renamed DLLs, for delvewheel to go on from."""
    kept = tuple(addition for addition in plan.additions if not addition.mangle)
    name = without_variant(archive.path.name)  # delvewheel takes a label for a part of the tags
    plan = replace(plan, additions=kept, sbom=False, output=name)
    target = folder / name
    if not plan.changes:
        return keep(archive, target)
    rewrite(archive, WheelInfo.from_archive(archive), plan, beside, stale, target, options)
    return target


def _refuse_if_broken(after: Examination, path: Path) -> None:
    faults = [
        f.message for f in after.report.findings if f.severity is Severity.ERROR and group_of(f) is Group.DEPENDENCIES
    ]
    if faults:
        raise CannotRepair(
            f"{path} cannot be repaired with renamed DLLs",
            because=faults,
            hint="--layout beside puts them next to the extension under their own names",
        )


def _as_named(plan: Plan, made: Archive, trusted_roots: Path | None) -> Iterator[Addition]:
    """The additions with the names that delvewheel gave them, and with what it left of their signatures."""
    # The folder of renamed DLLs comes last: with --no-mangle a name may also be found elsewhere in the wheel.
    ending = f"{plan.renaming.lib_sdir}/"
    ordered = sorted(made.members, key=lambda member: ending in f"{member.name.rpartition('/')[0]}/")
    renamed = {dll_key(demangle(member.name.rpartition("/")[2])): member for member in ordered}
    for addition in plan.additions:
        member = renamed.get(dll_key(addition.name)) if addition.mangle else None
        if member is None:
            yield addition
            continue
        answer = read_signature(made.source(member), trusted_roots)
        yield replace(addition, target=member.name, signer=answer.trusted_signer, signature=str(answer))
