"""Make a wheel whole: scan it, plan, write it anew, read it back, and only then give it its name."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.reader import Archive
from wheelfix.errors import CannotRepair
from wheelfix.model import Repairable, Severity
from wheelfix.options import RepairOptions
from wheelfix.roots.late import LateIndex, late_index
from wheelfix.values import replace
from wheelfix.verbs.outcome import Outcome, Repaired, target_of
from wheelfix.verbs.scan import examine_wheel

if TYPE_CHECKING:
    from collections.abc import Callable

    from wheelfix.model import ScanReport
    from wheelfix.plan.make import Planned
    from wheelfix.verbs.scan import Progress


def repair_wheel(path: str | Path, options: RepairOptions | None = None, *, dry_run: bool = False) -> Repaired:
    """Repair one wheel with the roots that the options name; what the Python API calls ``wheelfix.repair``."""
    chosen = options or RepairOptions(wheel_dir=Path("wheelhouse"))
    with late_index(chosen.scan.roots) as index:
        return repair(Path(path), chosen, index, dry_run=dry_run)


def repair(
    path: Path,
    options: RepairOptions,
    roots: LateIndex,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Repaired:
    """Repair one wheel; CannotRepair, with nothing written, when something would still be broken.

    ``meanwhile`` is called when there is nothing to do but wait for the wheel to be unpacked.
    """

    def import_the_rest() -> None:  # earlier, it would have kept the unpacking waiting
        importlib.import_module("wheelfix.plan.make")
        importlib.import_module("wheelfix.verbs.rewrite")
        roots.open()
        if meanwhile is not None:
            meanwhile()

    with Archive.open(path, options.scan.limits) as archive:
        scan = replace(options.scan, verify=not options.trust_record)
        before = examine_wheel(archive, scan, roots, progress, import_the_rest)
        from wheelfix.plan.make import make_plan
        from wheelfix.plan.sources import new_members
        from wheelfix.verbs.examine import again
        from wheelfix.verbs.rewrite import keep, rewrite

        index = roots.open()
        planned = make_plan(before, index, options, again(before, options), archive)
        faults = _lasting_faults(planned, before.report)
        if dry_run:
            return Repaired(Outcome.PLANNED, planned.plan, None, before.report, planned.after.report, faults=faults)
        _refuse_if_broken(faults, planned, path)
        target = target_of(path, planned.plan, options)
        if not planned.plan.changes:
            return Repaired(Outcome.UNCHANGED, planned.plan, keep(archive, target), before.report, before.report)
        info = before.facts.info
        assert info is not None
        stale = {fault.path for fault in before.facts.record_faults}
        members = new_members(planned, archive, index)
        if planned.plan.layout == "libs":
            from wheelfix.verbs.mangled import repair_with_libs

            plan, after, size = repair_with_libs(archive, planned.plan, members, stale, options, target)
            return Repaired(Outcome.REPAIRED, plan, target, before.report, after, size)
        written = rewrite(archive, info, planned.plan, members, stale, target, options)
        return Repaired(Outcome.REPAIRED, planned.plan, target, before.report, planned.after.report, written.size)


def _lasting_faults(planned: Planned, before: ScanReport) -> tuple[str, ...]:
    """Why the wheel would still not load, and what of the archive writing it anew does not mend."""
    from wheelfix.plan.make import still_broken

    faults = still_broken(planned)
    for finding in before.findings:
        lasting = finding.code < "WF2" and finding.repairable is Repairable.NEVER
        if lasting and finding.severity is Severity.ERROR:
            faults += (f"{finding.code} {finding.subject}: {finding.message}",)
    return faults


def _refuse_if_broken(faults: tuple[str, ...], planned: Planned, path: Path) -> None:
    """CannotRepair if something would still be wrong."""
    if faults:
        lacking = [item for item in planned.plan.remaining if item.required and not item.allowed]
        hint = "name where it lies with --root, or accept it with --allow-missing NAME"
        if not lacking:
            hint = "`wheelfix scan` tells more"
        raise CannotRepair(f"{path} cannot be repaired", because=faults, hint=hint)
