"""The ``libs`` layout: DLLs of no known family are renamed by delvewheel, and the result is held to our own checks."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from wheelfix.archive.edition import new_stamp
from wheelfix.archive.output import AtomicFile
from wheelfix.archive.reader import Archive
from wheelfix.archive.wheelinfo import WheelInfo
from wheelfix.archive.workfolder import WorkFolder
from wheelfix.errors import CannotRepair, EnvironmentFailure
from wheelfix.knowledge.families import demangle
from wheelfix.model import InView, Missing, Severity, dll_key
from wheelfix.plan.sources import new_members
from wheelfix.verbs.delve import run_delvewheel
from wheelfix.verbs.rewrite import keep, rewrite
from wheelfix.verbs.scan import examine_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wheelfix.model import ScanReport
    from wheelfix.options import RepairOptions
    from wheelfix.plan.make import Planned
    from wheelfix.plan.model import Addition, Plan
    from wheelfix.roots.index import RootIndex
    from wheelfix.verbs.scan import Examination


def repair_with_libs(
    archive: Archive,
    before: Examination,
    planned: Planned,
    index: RootIndex,
    options: RepairOptions,
    target: Path,
) -> tuple[Plan, ScanReport, int]:
    """Repair a wheel some of whose new DLLs get names of their own; the plan as carried out, the rescan, the size."""
    with WorkFolder() as folder:
        stage_dlls(planned, index, folder / "dlls")
        first = _without_mangled(archive, before, planned, index, options, folder / "first")
        stamp, others = new_stamp(archive.members), set(_of_others(planned.after))
        second = run_delvewheel(first, folder / "dlls", others, folder / "second", stamp)
        with Archive.open(second, options.scan.limits) as made:
            after = examine_wheel(made, options.scan)
            _refuse_if_broken(after, archive.path)
            plan = replace(planned.plan, additions=tuple(_as_named(planned.plan, made)))
            info = WheelInfo.from_archive(made)
            written = rewrite(made, info, plan, (), set(), target, options)
    return plan, after.report, written.size


def stage_dlls(planned: Planned, index: RootIndex, folder: Path) -> None:
    """Put exactly the DLLs to be renamed into a folder, checked against the plan's hashes."""
    for entry, addition in zip(planned.chosen, planned.plan.additions, strict=True):
        if not addition.mangle or entry.file is None:
            continue
        digest = hashlib.sha256()
        with AtomicFile(folder / addition.name) as out:
            for piece in index.chunks(entry.file):
                digest.update(piece)
                out.write(piece)
            if digest.hexdigest() != addition.sha256:
                raise EnvironmentFailure(f"{entry.file.location} changed since it was planned", hint="run again")
            out.commit()


def _without_mangled(
    archive: Archive, before: Examination, planned: Planned, index: RootIndex, options: RepairOptions, folder: Path
) -> Path:
    """The wheel with everything of the plan but the renamed DLLs, for delvewheel to go on from."""
    kept = tuple(addition for addition in planned.plan.additions if not addition.mangle)
    plan = replace(planned.plan, additions=kept, sbom=False, output=archive.path.name)
    target = folder / archive.path.name
    info = before.facts.info
    if info is None or not plan.changes:
        return keep(archive, target)
    stale = {fault.path for fault in before.facts.record_faults}
    return rewrite(archive, info, plan, new_members(planned, archive, index), stale, target, options).path


def _of_others(after: Examination) -> Iterator[str]:
    """The DLLs that delvewheel must leave alone: of Windows, Python, drivers, owners, and what may be missing."""
    for edge in after.report.resolution.edges:
        if not isinstance(edge.provider, InView):
            yield dll_key(edge.name)
            if isinstance(edge.provider, Missing):
                yield edge.name


def _refuse_if_broken(after: Examination, path: Path) -> None:
    faults = [f.message for f in after.report.findings if f.severity is Severity.ERROR and f.code.startswith("WF3")]
    if faults:
        raise CannotRepair(
            f"{path} cannot be repaired with renamed DLLs",
            because="; ".join(faults),
            hint="--layout beside puts them next to the extension under their own names",
        )


def _as_named(plan: Plan, made: Archive) -> Iterator[Addition]:
    """The additions with the names that delvewheel gave them."""
    names = {dll_key(demangle(member.name.rpartition("/")[2])): member.name for member in made.members}
    for addition in plan.additions:
        yield (
            replace(addition, target=names.get(dll_key(addition.name), addition.target))
            if addition.mangle
            else addition
        )
