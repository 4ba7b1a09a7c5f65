"""Repair wheels: scan, plan, rewrite, read back, and only then name each; several in processes where that is faster."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.reader import Archive
from wheelfix.archive.record import check_record
from wheelfix.base.inputfiles import begin_run, check_target, refuse_same
from wheelfix.base.options import RepairOptions
from wheelfix.base.values import replace
from wheelfix.errors import CannotRepair
from wheelfix.exam.examination import FailedInput, Progress, each_input
from wheelfix.exam.wheel import RecordIsWrong, WheelScan, looking_at
from wheelfix.model import TRUSTED
from wheelfix.pe.signature import read_signature
from wheelfix.plan.lock import check_lock, is_foreign, locked_sources, refuse_share, wheel_hash, wheel_of
from wheelfix.plan.make import cannot_repair, finding_in_words, make_plan, still_broken
from wheelfix.plan.model import Plan, Repaired
from wheelfix.plan.planner import signature_in_words
from wheelfix.plan.ways import assumed_toolkit
from wheelfix.repairs.mangled import repair_with_libs
from wheelfix.repairs.rewrite import keep, new_members, rewrite
from wheelfix.roots.index import open_index

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from wheelfix.archive.changes import NewMember
    from wheelfix.base.workers import Work
    from wheelfix.roots.index import RootIndex


def repair_wheel(path: str | Path, options: RepairOptions | None = None, *, dry_run: bool = False) -> Repaired:
    """Repair one wheel with the roots that the options name; what the Python API calls ``wheelfix.repair``."""
    chosen = options or RepairOptions(wheel_dir=Path("wheelhouse"))
    with open_index(chosen.scan.roots, chosen.scan.remote) as index:
        return repair(Path(path), chosen, index, dry_run=dry_run)


def repair(
    path: Path,
    options: RepairOptions,
    roots: RootIndex,
    *,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Repaired:
    """Repair one wheel; CannotRepair, with nothing written, when something would still be broken."""
    refuse_input(path, path.name, options)
    scan = replace(options.scan, verify=not options.trust_record)
    with looking_at(path, scan, progress) as (archive, look):
        repairing = functools.partial(_repaired, archive, look, roots, dry_run)
        try:
            return repairing(options, wait=False)
        except RecordIsWrong:  # which is rare: then all is done again, with that among the faults
            return repairing(options, wait=True)


def _repaired(
    archive: Archive, look: WheelScan, roots: RootIndex, dry_run: bool, wanted: RepairOptions, *, wait: bool
) -> Repaired:
    """Examine a wheel whose images are being read, plan, and write what was planned.

    Without ``wait`` the hashes are waited for only before anything is reported or named: RecordIsWrong, if so.
    """
    options, before = wanted, look.examine(roots, wait=wait)
    if options.via == "toolkit":
        before, options = assumed_toolkit(before, options)
    wait_for_hashes: Callable[[], None] = (lambda: None) if wait else look.wait_for_hashes
    planned = make_plan(before, roots, options, archive, preview=dry_run and not options.seal)
    plan, report = planned.plan, before.report
    lasting = still_broken(planned, options)
    if dry_run or lasting or not plan.changes or plan.layout == "libs":
        wait_for_hashes()
    if dry_run:
        faults = tuple(map(finding_in_words, lasting))
        return Repaired(plan, "planned", None, report, planned.after.report, faults=faults)
    path, info = archive.path, before.subject.facts.info
    if lasting:
        raise cannot_repair(str(path), lasting, planned, fetch=options.scan.remote.fetch)
    target = target_of(path, plan, options)
    if not plan.changes:
        return Repaired(plan, "unchanged", keep(archive, target), report, report)
    assert info is not None
    stale = {fault.subject for fault in before.subject.facts.record_faults}
    members = new_members(planned.chosen, plan, archive, roots)
    if plan.layout != "libs":
        size = rewrite(archive, info, plan, members, stale, target, options, wait_for_hashes)
        return Repaired(plan, "repaired", target, report, planned.after.report, size)
    try:
        plan, after, size = repair_with_libs(archive, plan, members, stale, options, target)
    except CannotRepair as exc:
        if options.layout != "auto":
            raise
        # Without renaming, which was impossible and which nobody has asked for.
        result = _repaired(archive, look, roots, dry_run, replace(wanted, layout="beside"), wait=True)
        note = f"the new DLLs keep their names, because renaming them was not possible: {exc}"
        return replace(result, plan=replace(result.plan, notes=(*result.plan.notes, note)))
    return Repaired(plan, "repaired", target, report, after, size)


def repair_all(
    paths: Sequence[Path], options: RepairOptions, *, dry_run: bool = False, progress: Progress | None = None
) -> Generator[Repaired | FailedInput, None, None]:
    """Repair wheels and give the results in their order; their reports have findings alone."""
    start, apart = functools.partial(_repairing, paths, options, dry_run), targets_differ(paths, options)
    yield from each_input(start, paths, options.scan.jobs, progress, stage="repair", side_by_side=apart)


def targets_differ(paths: Sequence[Path], options: RepairOptions) -> bool:
    """Whether no two wheels are written to one file, where the later one has to come last."""
    return options.wheel_dir is None or max(Counter(path.name.lower() for path in paths).values(), default=0) < 2


@contextlib.contextmanager
def _repairing(paths: Sequence[Path], options: RepairOptions, dry_run: bool) -> Iterator[Work[Path, list[Repaired]]]:
    """What is done with each wheel, here or in a process of its own."""
    begin_run(paths)
    with open_index(options.scan.roots, options.scan.remote) as index:

        def work(path: Path, threads: int, progress: Progress | None) -> list[Repaired]:
            own = replace(options, scan=replace(options.scan, jobs=threads))
            result = repair(path, own, index, dry_run=dry_run, progress=progress)
            reports = {name: one.without_images() for name in ("before", "after") if (one := getattr(result, name))}
            return [replace(result, **reports)]

        yield work


def target_of(path: Path, plan: Plan, options: RepairOptions) -> Path:
    """Where the repaired wheel goes; UsageError if that is an input, unless it is repaired in place."""
    refuse_input(path, plan.output, options)
    return (path.parent if options.wheel_dir is None else options.wheel_dir) / plan.output


def refuse_input(path: Path, name: str, options: RepairOptions) -> None:
    """UsageError if a wheel would be written over itself without ``--in-place``, or over another input."""
    if options.wheel_dir is not None:
        refuse_same(options.wheel_dir / name, path, "name another folder with --wheel-dir; repair has --in-place")
    elif name != path.name:
        check_target(path.parent / name)


def replay(plan: Plan, options: RepairOptions, where: str, wheel: Path | None = None) -> Repaired:
    """Carry out a locked plan: the same wheel, the same sources, nothing else, wherever they are now."""
    if wheel is None and is_foreign(plan.wheel.path, (*options.scan.roots.roots, options.wheel_dir, Path(where))):
        raise refuse_share(plan.wheel.path, where)
    path = wheel or wheel_of(plan, where)
    options = replace(options, compression=plan.compression, compressor=plan.compressor.partition(" ")[0])
    with Archive.open(path, options.scan.limits) as archive:
        info = check_lock(plan, archive, where)
        with (
            open_index(options.scan.roots, options.scan.remote) as roots,
            locked_sources(plan, archive, roots, options.scan, where) as members,
        ):
            if options.require_signed:
                _refuse_unsigned(plan, members, options.scan.roots.trusted_roots)
            target, stale, after = target_of(archive.path, plan, options), set[str](), None
            with wheel_hash(plan, archive, where, trust=options.trust_record) as check:
                if plan.layout == "libs" or not plan.changes:
                    check()
                if not plan.changes:
                    return Repaired(plan, "unchanged", keep(archive, target))
                if not options.trust_record:
                    stale = {fault.subject for fault in check_record(archive, hashes=True, jobs=options.scan.jobs)}
                if plan.layout == "libs":
                    plan, after, size = repair_with_libs(archive, plan, members, stale, options, target)
                else:
                    size = rewrite(archive, info, plan, members, stale, target, options, check)
                return Repaired(plan, "repaired", target, None, after, size)


def _refuse_unsigned(plan: Plan, members: tuple[NewMember, ...], trusted_roots: Path | None) -> None:
    """CannotRepair if a DLL that comes from outside has no trusted signature; what the lock says does not count."""
    for new, addition in zip(members, plan.additions, strict=True):
        if addition.source.kind != "own":
            signature = read_signature(new.open(), trusted_roots)
            if signature.status != TRUSTED:
                raise CannotRepair(
                    f"{plan.wheel.path} cannot be repaired",
                    because=f"{new.origin} {signature_in_words(signature)}, and --require-signed was given",
                )
