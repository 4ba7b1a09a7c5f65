"""Make a wheel whole: scan it, plan, write it anew, read it back, and only then give it its name."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.codec import Compressor
from wheelfix.archive.edition import Edition, NewMember
from wheelfix.archive.output import AtomicFile
from wheelfix.archive.readback import read_back
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import Record, Row, check_record, record_member
from wheelfix.archive.writer import write_wheel
from wheelfix.errors import CannotRepair, EnvironmentFailure
from wheelfix.plan.lock import check_lock, open_sources
from wheelfix.plan.make import Planned, make_plan, still_broken
from wheelfix.sbom import FILE_NAME, make_sbom
from wheelfix.scan import examine_wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wheelfix.archive.members import Member
    from wheelfix.archive.wheelinfo import WheelInfo
    from wheelfix.archive.writer import Written
    from wheelfix.model import ScanReport
    from wheelfix.options import RepairOptions
    from wheelfix.plan.model import Plan
    from wheelfix.roots.index import RootIndex
    from wheelfix.scan import Progress


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


def repair(
    path: Path, options: RepairOptions, index: RootIndex, *, dry_run: bool = False, progress: Progress | None = None
) -> Repaired:
    """Repair one wheel; CannotRepair, with nothing written, when something would still be broken."""
    with Archive.open(path, options.scan.limits) as archive:
        scan = replace(options.scan, verify=not options.trust_record)
        before = examine_wheel(archive, scan, index, progress)
        planned = make_plan(before, index, options, archive)
        if dry_run:
            return Repaired(Outcome.PLANNED, planned.plan, None, before.report, planned.after.report)
        _refuse_if_broken(planned, path)
        target = target_of(path, planned.plan, options)
        if not planned.plan.changes:
            return Repaired(Outcome.UNCHANGED, planned.plan, keep(archive, target), before.report, before.report)
        info = before.facts.info
        assert info is not None
        stale = {fault.path for fault in before.facts.record_faults}
        written = _write(archive, info, planned.plan, _new_members(planned, archive, index), stale, target, options)
        return Repaired(Outcome.REPAIRED, planned.plan, target, before.report, planned.after.report, written.size)


def replay(plan: Plan, options: RepairOptions, where: str) -> Repaired:
    """Carry out a locked plan: the same wheel, the same sources, nothing else."""
    path = Path(plan.wheel.path)
    with Archive.open(path, options.scan.limits) as archive, open_sources(plan, archive) as members:
        info = check_lock(plan, archive, where)
        target = target_of(path, plan, options)
        if not plan.changes:
            return Repaired(Outcome.UNCHANGED, plan, keep(archive, target), None, None)
        stale: set[str] = set()
        if not options.trust_record:
            stale = {fault.path for fault in check_record(archive, hashes=True, jobs=options.scan.jobs)}
        written = _write(archive, info, plan, members, stale, target, options)
        return Repaired(Outcome.REPAIRED, plan, target, None, None, written.size)


def target_of(path: Path, plan: Plan, options: RepairOptions) -> Path:
    """Where the repaired wheel goes."""
    return (path.parent if options.wheel_dir is None else options.wheel_dir) / plan.output


def keep(archive: Archive, target: Path) -> Path:
    """Put a wheel that needs nothing where a repaired one would go."""
    if target.exists() and target.samefile(archive.path):
        return target
    with AtomicFile(target) as out:
        out.copy_from(archive, 0, archive.size)
        archive.check_unchanged()
        out.commit()
    return target


# ------------------------------------------------------------------------------------------------------- writing


def _refuse_if_broken(planned: Planned, path: Path) -> None:
    faults = still_broken(planned)
    if faults:
        lacking = [item for item in planned.plan.remaining if item.required and not item.allowed]
        hint = "name where it lies with --root, or accept it with --allow-missing NAME"
        if not lacking:
            hint = "`wheelfix scan` tells more"
        raise CannotRepair(f"{path} cannot be repaired", because="; ".join(faults), hint=hint)


def _new_members(planned: Planned, archive: Archive, index: RootIndex) -> tuple[NewMember, ...]:
    """The additions of a plan as the writer wants them."""
    made = []
    for entry, addition in zip(planned.chosen, planned.plan.additions, strict=True):
        packed = index.packed(entry.file) if entry.file else (archive, _member(archive, addition.source.member))
        path = None if packed or entry.file is None else index.disk_path(entry.file)
        made.append(NewMember(addition.target, path=path, packed=packed, sha256=addition.sha256))
    return tuple(made)


def _member(archive: Archive, name: str) -> Member:
    member = archive.find(name)
    if member is None:
        raise EnvironmentFailure(f"{archive.path} changed while it was read", hint="run again")
    return member


def _write(
    archive: Archive,
    info: WheelInfo,
    plan: Plan,
    additions: Iterable[NewMember],
    stale: set[str],
    target: Path,
    options: RepairOptions,
) -> Written:
    """Write the wheel under a temporary name, read it back, and rename it."""
    new = [*additions, *_documents(archive, info, plan)]
    edition = Edition(
        dist_info=info.dist_info,
        drop=frozenset(_dropped(archive, plan)),
        rename=_renames(archive, info),
        add=tuple(new),
        rows=tuple(_kept_rows(archive, info, stale)),
    )
    compressor = Compressor.choose(options.compressor or "auto", options.compression)
    jobs = options.scan.jobs
    odd = {(fault.kind, fault.subject) for fault in archive.faults}
    check = _must_be_right((member.name for member in new), odd, jobs)
    return write_wheel(archive, target, edition, compressor=compressor, jobs=jobs, check=check)


def _documents(archive: Archive, info: WheelInfo, plan: Plan) -> Iterator[NewMember]:
    if plan.sbom:
        yield NewMember(f"{info.dist_info}/sboms/{FILE_NAME}", data=make_sbom(plan))
    if plan.output != archive.path.name:
        wheel = archive.find(f"{info.prefix}{info.dist_info}/WHEEL")
        if wheel is not None:
            yield NewMember(f"{info.dist_info}/WHEEL", data=_with_build(archive.read(wheel), plan.output.split("-")[2]))


def _with_build(wheel: bytes, build: str) -> bytes:
    """The WHEEL file with another build number."""
    lines = [line for line in wheel.decode("utf-8").splitlines() if line and not line.lower().startswith("build:")]
    return ("\n".join([*lines, f"Build: {build}"]) + "\n").encode()


def _dropped(archive: Archive, plan: Plan) -> Iterator[Member]:
    """Members that the plan drops, and second copies of a name, which are identical or the scan would have said so."""
    gone = {drop.path for drop in plan.drops}
    seen: set[str] = set()
    for member in archive.members:
        if member.name in gone or member.name in seen:
            yield member
        seen.add(member.name)


def _renames(archive: Archive, info: WheelInfo) -> Mapping[str, str]:
    if not info.prefix:
        return {}
    return {member.name: member.name.removeprefix(info.prefix) for member in archive.members}


def _kept_rows(archive: Archive, info: WheelInfo, stale: set[str]) -> Iterator[Row]:
    """The old rows that are known to be right, or trusted; the writer makes the others from the bytes."""
    own = record_member(archive)
    if own is None:
        return
    for row in Record.parse(archive.read(own, limit=256 << 20)).rows:
        if row.path not in stale and row.digest and row.size is not None:
            yield row


def _must_be_right(new: Iterable[str], before: set[tuple[str, str]], jobs: int) -> Callable[[Path], None]:
    """A check of a wheel just written, which may keep the oddities of old members but gets no new ones."""
    names = sorted(new)

    def check(path: Path) -> None:
        found = read_back(path, names, jobs=jobs)
        faults = [
            f"{fault.subject}: {fault.message}" for fault in found.archive if (fault.kind, fault.subject) not in before
        ]
        faults += [f"{fault.path}: {fault.message}" for fault in found.record]
        faults += found.damaged
        if faults:
            raise CannotRepair(
                "the wheel that was written is not right", because="; ".join(faults[:5]), hint="please report this"
            )

    return check
