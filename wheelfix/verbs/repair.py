"""Make a wheel whole: scan it, plan, write it anew, read it back, and only then give it its name."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.reader import Archive
from wheelfix.archive.record import check_record
from wheelfix.errors import CannotRepair
from wheelfix.model import Repairable, Severity
from wheelfix.options import RepairOptions
from wheelfix.pe.signature import read_signature
from wheelfix.plan.lock import check_lock, open_sources
from wheelfix.plan.make import Planned, make_plan, still_broken
from wheelfix.plan.objections import SOUND, in_words
from wheelfix.plan.sources import new_members, opened
from wheelfix.roots.gather import open_index
from wheelfix.verbs.mangled import repair_with_libs
from wheelfix.verbs.rewrite import keep, rewrite
from wheelfix.verbs.scan import again, examine_wheel

if TYPE_CHECKING:
    from wheelfix.archive.edition import NewMember
    from wheelfix.model import ScanReport
    from wheelfix.plan.model import Plan
    from wheelfix.roots.index import RootIndex
    from wheelfix.verbs.scan import Progress


class Outcome(str, enum.Enum):
    """What became of a wheel."""

    REPAIRED = "repaired"
    UNCHANGED = "unchanged"
    PLANNED = "planned"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of one repair."""

    outcome: Outcome
    plan: Plan
    output: Path | None
    """The wheel that came out; None for a dry run."""
    before: ScanReport | None
    """None when a lock was replayed, which scans nothing."""
    after: ScanReport | None
    size: int = 0


def repair_wheel(path: str | Path, options: RepairOptions | None = None, *, dry_run: bool = False) -> Repaired:
    """Repair one wheel with the roots that the options name; what the Python API calls ``wheelfix.repair``."""
    chosen = options or RepairOptions(wheel_dir=Path("wheelhouse"))
    with open_index(chosen.scan.roots) as index:
        return repair(Path(path), chosen, index, dry_run=dry_run)


def repair(
    path: Path, options: RepairOptions, index: RootIndex, *, dry_run: bool = False, progress: Progress | None = None
) -> Repaired:
    """Repair one wheel; CannotRepair, with nothing written, when something would still be broken."""
    with Archive.open(path, options.scan.limits) as archive:
        scan = replace(options.scan, verify=not options.trust_record)
        before = examine_wheel(archive, scan, index, progress)
        planned = make_plan(before, index, options, again(before, options), archive)
        if dry_run:
            return Repaired(Outcome.PLANNED, planned.plan, None, before.report, planned.after.report)
        _refuse_if_broken(planned, before.report, path)
        target = target_of(path, planned.plan, options)
        if not planned.plan.changes:
            return Repaired(Outcome.UNCHANGED, planned.plan, keep(archive, target), before.report, before.report)
        info = before.facts.info
        assert info is not None
        stale = {fault.path for fault in before.facts.record_faults}
        members = new_members(planned, archive, index)
        if planned.plan.layout == "libs":
            plan, after, size = repair_with_libs(archive, planned.plan, members, stale, options, target)
            return Repaired(Outcome.REPAIRED, plan, target, before.report, after, size)
        written = rewrite(archive, info, planned.plan, members, stale, target, options)
        return Repaired(Outcome.REPAIRED, planned.plan, target, before.report, planned.after.report, written.size)


def replay(plan: Plan, options: RepairOptions, where: str) -> Repaired:
    """Carry out a locked plan: the same wheel, the same sources, nothing else."""
    path = Path(plan.wheel.path)
    options = replace(options, compression=plan.compression, compressor=plan.compressor.partition(" ")[0])
    with Archive.open(path, options.scan.limits) as archive, open_sources(plan, archive) as members:
        info = check_lock(plan, archive, where)
        if options.require_signed:
            _refuse_unsigned(plan, members)
        target = target_of(path, plan, options)
        if not plan.changes:
            return Repaired(Outcome.UNCHANGED, plan, keep(archive, target), None, None)
        stale: set[str] = set()
        if not options.trust_record:
            stale = {fault.path for fault in check_record(archive, hashes=True, jobs=options.scan.jobs)}
        if plan.layout == "libs":
            named, after, size = repair_with_libs(archive, plan, members, stale, options, target)
            return Repaired(Outcome.REPAIRED, named, target, None, after, size)
        written = rewrite(archive, info, plan, members, stale, target, options)
        return Repaired(Outcome.REPAIRED, plan, target, None, None, written.size)


def _refuse_unsigned(plan: Plan, members: tuple[NewMember, ...]) -> None:
    """CannotRepair if a DLL that comes from outside has no signature that holds."""
    for new, addition in zip(members, plan.additions, strict=True):
        if addition.source.kind != "own":
            with opened(new) as source:
                signature = read_signature(source)
            if signature.status != SOUND:
                raise CannotRepair(
                    f"{plan.wheel.path} cannot be repaired",
                    because=f"{new.origin} {in_words(signature)}, and --require-signed was given",
                )


def target_of(path: Path, plan: Plan, options: RepairOptions) -> Path:
    """Where the repaired wheel goes."""
    return (path.parent if options.wheel_dir is None else options.wheel_dir) / plan.output


def _refuse_if_broken(planned: Planned, before: ScanReport, path: Path) -> None:
    """CannotRepair if the wheel would not load, or if the archive has a fault that writing it anew does not mend."""
    faults = still_broken(planned)
    for finding in before.findings:
        lasting = finding.code < "WF2" and finding.repairable is Repairable.NEVER
        if lasting and finding.severity is Severity.ERROR:
            faults += (f"{finding.code} {finding.subject}: {finding.message}",)
    if faults:
        lacking = [item for item in planned.plan.remaining if item.required and not item.allowed]
        hint = "name where it lies with --root, or accept it with --allow-missing NAME"
        if not lacking:
            hint = "`wheelfix scan` tells more"
        raise CannotRepair(f"{path} cannot be repaired", because="; ".join(faults), hint=hint)
