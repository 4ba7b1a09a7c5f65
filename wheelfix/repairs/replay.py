"""Carry out a locked plan. Nothing is scanned, so what only a scan needs is not even imported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.reader import Archive
from wheelfix.archive.record import check_record
from wheelfix.base.values import replace
from wheelfix.errors import CannotRepair
from wheelfix.model import TRUSTED
from wheelfix.plan.lock import WheelHashCheck, check_lock, open_sources, refuse_shares
from wheelfix.repairs.repair import Repaired, RepairOutcome, target_of
from wheelfix.repairs.rewrite import keep, opened, rewrite

if TYPE_CHECKING:
    from wheelfix.archive.changes import NewMember
    from wheelfix.archive.metadata import WheelInfo
    from wheelfix.base.options import RepairOptions
    from wheelfix.plan.model import Plan


def replay(plan: Plan, options: RepairOptions, where: str) -> Repaired:
    """Carry out a locked plan: the same wheel, the same sources, nothing else."""
    path = Path(plan.wheel.path)
    refuse_shares(plan, (*options.scan.roots.roots, options.wheel_dir, Path(where)), where)
    options = replace(options, compression=plan.compression, compressor=plan.compressor.partition(" ")[0])
    with Archive.open(path, options.scan.limits) as archive:
        info = check_lock(plan, archive, where)
        with open_sources(plan, archive, options.scan.remote) as members:
            if options.require_signed:
                _refuse_unsigned(plan, members, options.scan.roots.trusted_roots)
            with WheelHashCheck(plan, archive, where, trust=options.trust_record) as hashes:
                return _carry_out(plan, archive, info, members, options, hashes)


def _carry_out(
    plan: Plan,
    archive: Archive,
    info: WheelInfo,
    members: tuple[NewMember, ...],
    options: RepairOptions,
    hashes: WheelHashCheck,
) -> Repaired:
    target = target_of(archive.path, plan, options)
    if not plan.changes:
        hashes.check()
        return Repaired(RepairOutcome.UNCHANGED, plan, keep(archive, target), None, None)
    stale: set[str] = set()
    if not options.trust_record:
        stale = {fault.path for fault in check_record(archive, hashes=True, jobs=options.scan.jobs)}
    if plan.layout == "libs":
        from wheelfix.repairs.mangled import repair_with_libs

        hashes.check()
        named, after, size = repair_with_libs(archive, plan, members, stale, options, target)
        return Repaired(RepairOutcome.REPAIRED, named, target, None, after, size)
    written = rewrite(archive, info, plan, members, stale, target, options, wait_for_hashes=hashes.check)
    return Repaired(RepairOutcome.REPAIRED, plan, target, None, None, written.size)


def _refuse_unsigned(plan: Plan, members: tuple[NewMember, ...], trusted_roots: Path | None) -> None:
    """CannotRepair if a DLL that comes from outside has no trusted signature; what the lock says does not count."""
    from wheelfix.pe.signature import read_signature
    from wheelfix.plan.needs import signature_in_words

    for new, addition in zip(members, plan.additions, strict=True):
        if addition.source.kind != "own":
            with opened(new) as source:
                signature = read_signature(source, trusted_roots)
            if signature.status != TRUSTED:
                raise CannotRepair(
                    f"{plan.wheel.path} cannot be repaired",
                    because=f"{new.origin} {signature_in_words(signature)}, and --require-signed was given",
                )
