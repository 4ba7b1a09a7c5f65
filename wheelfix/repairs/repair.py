"""Repair a wheel: scan it, plan, rewrite it, read it back, and only then give it its name."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.record import read_record
from wheelfix.base.options import RepairOptions
from wheelfix.base.values import dataclass, replace
from wheelfix.exam.wheel import RecordIsWrong, looking_at
from wheelfix.model import Repairable, Severity
from wheelfix.plan import advice
from wheelfix.repairs.outcome import Repaired, RepairOutcome, refuse_input, target_of
from wheelfix.roots.lazy import LazyIndex, lazy_index
from wheelfix.rules.registry import Group, group_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.archive.reader import Archive
    from wheelfix.exam.examination import Progress
    from wheelfix.exam.wheel import WheelScan
    from wheelfix.model import Finding, ScanReport
    from wheelfix.plan.make import Planned


def repair_wheel(path: str | Path, options: RepairOptions | None = None, *, dry_run: bool = False) -> Repaired:
    """Repair one wheel with the roots that the options name; what the Python API calls ``wheelfix.repair``."""
    chosen = options or RepairOptions(wheel_dir=Path("wheelhouse"))
    with lazy_index(chosen.scan.roots, chosen.scan.remote) as index:
        return repair(Path(path), chosen, index, dry_run=dry_run)


def repair(
    path: Path,
    options: RepairOptions,
    roots: LazyIndex,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Repaired:
    """Repair one wheel; CannotRepair, with nothing written, when something would still be broken."""
    refuse_input(path, path.name, options)
    scan = replace(options.scan, verify=not options.trust_record)
    with looking_at(path, scan, progress) as (archive, look):
        job = _Repair(path, archive, options, roots, dry_run)
        try:
            return job.done(look, wait=False)
        except RecordIsWrong:  # which is rare: then all is done again, with that among the faults
            return job.done(look, wait=True)


@dataclass(frozen=True, slots=True)
class _Repair:
    """The repair of one wheel, whose images are being read."""

    path: Path
    archive: Archive
    options: RepairOptions
    roots: LazyIndex
    dry_run: bool

    def done(self, look: WheelScan, *, wait: bool) -> Repaired:
        """Examine, plan, and write what was planned.

        Without ``wait`` the hashes are waited for only before anything is reported or named: RecordIsWrong, if so.
        """
        from wheelfix.plan.make import make_plan
        from wheelfix.plan.newmembers import new_members
        from wheelfix.repairs.rewrite import keep, rewrite

        archive, options = self.archive, self.options
        if look.is_reading:  # the largest image: until it is read, what a wheel of that size mostly needs is made ready
            self.roots.open()
            importlib.import_module("packaging.requirements")
            read_record(archive)
        before = look.examine(self.roots, wait=wait)
        wait_for_hashes: Callable[[], None] = (lambda: None) if wait else look.wait_for_hashes
        planned = make_plan(before, self.roots, options, archive, preview=self.dry_run and not options.seal)
        plan, report = planned.plan, before.report
        lasting = _lasting_faults(planned, report, options)
        faults = tuple(map(advice.in_words, lasting))
        if self.dry_run or faults or not plan.changes or plan.layout == "libs":
            wait_for_hashes()
        if self.dry_run:
            return Repaired(RepairOutcome.PLANNED, plan, None, report, planned.after.report, faults=faults)
        if lasting:
            raise advice.cannot_repair(str(self.path), lasting, plan)
        target = target_of(self.path, plan, options)
        if not plan.changes:
            return Repaired(RepairOutcome.UNCHANGED, plan, keep(archive, target), report, report)
        info = before.facts.info
        assert info is not None
        stale = {fault.path for fault in before.facts.record_faults}
        members = new_members(planned.chosen, plan, archive, self.roots)
        if plan.layout == "libs":
            from wheelfix.repairs.mangled import repair_with_libs

            plan, after, size = repair_with_libs(archive, plan, members, stale, options, target)
            return Repaired(RepairOutcome.REPAIRED, plan, target, report, after, size)
        written = rewrite(archive, info, plan, members, stale, target, options, wait_for_hashes)
        return Repaired(RepairOutcome.REPAIRED, plan, target, report, planned.after.report, written.size)


def _lasting_faults(planned: Planned, before: ScanReport, options: RepairOptions) -> tuple[Finding, ...]:
    """Why the wheel would still not load, and which faults of the archive rewriting does not fix."""
    from wheelfix.plan.make import still_broken

    archive = (
        finding
        for finding in before.findings
        if group_of(finding) is Group.ARCHIVE
        and finding.repairable is Repairable.NEVER
        and finding.severity is Severity.ERROR
    )
    return (*still_broken(planned, options), *archive)
