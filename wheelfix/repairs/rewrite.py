"""Turn a plan into bytes: the wheel that it asks for is written, read back, and only then given its name."""

from __future__ import annotations

import hashlib
from operator import attrgetter
from typing import TYPE_CHECKING

from wheelfix.archive.changes import NewMember, WheelChanges
from wheelfix.archive.conformance import stored_members
from wheelfix.archive.names import is_reserved, name_parts
from wheelfix.archive.record import SIGNATURES, Row, digests, read_record
from wheelfix.archive.writer import write_wheel
from wheelfix.base.values import grouped
from wheelfix.errors import EnvironmentFailure
from wheelfix.plan.sbom import FILE_NAME, earlier_components, make_sbom
from wheelfix.plan.ways import with_loading_code, with_requirements
from wheelfix.streams.codec import Compressor
from wheelfix.streams.output import AtomicFile
from wheelfix.streams.source import chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from wheelfix.archive.directory import Member
    from wheelfix.archive.metadata import WheelInfo
    from wheelfix.archive.reader import Archive
    from wheelfix.base.options import RepairOptions
    from wheelfix.plan.model import Chosen, Plan
    from wheelfix.roots.index import RootIndex


def keep(archive: Archive, target: Path) -> Path:
    """Put a wheel that needs nothing where a repaired one would go."""
    if target.exists() and target.samefile(archive.path):
        return target
    with AtomicFile(target) as out:
        out.copy_from(archive, 0, archive.size)
        archive.check_unchanged()
        out.commit()
    return target


def rewrite(
    archive: Archive,
    info: WheelInfo,
    plan: Plan,
    additions: Iterable[NewMember],
    stale: set[str],
    target: Path,
    options: RepairOptions,
    wait_for_hashes: Callable[[], None] | None = None,
    *,
    by_name: bool = False,
) -> int:
    """Write the wheel and return its size; ``wait_for_hashes`` may still stop it when it was read back."""
    new = [*additions, *_documents(archive, info, plan)]
    prefix = info.prefix
    names = {member.name: member.name.removeprefix(prefix) for member in archive.members} if prefix else {}
    gone = frozenset(_dropped(archive, plan))
    if plan.recompress:
        taken = {member.name for member in new}
        new += [member for member in _stored(archive, info, names, gone) if member.name not in taken]
    rows = kept_rows(archive, stale)
    changes = WheelChanges(
        dist_info=info.dist_info,
        drop=gone,
        rename=names,
        add=tuple(new),
        rows=tuple(sorted(rows, key=attrgetter("path")) if by_name else rows),
        by_name=by_name,
    )
    return write_wheel(
        archive,
        target,
        changes,
        compressor=Compressor.choose(options.compressor or "auto", options.compression),
        jobs=options.scan.jobs,
        check=wait_for_hashes,
        in_place=options.wheel_dir is None,
    )


def _documents(archive: Archive, info: WheelInfo, plan: Plan) -> Iterator[NewMember]:
    sbom = f"{info.dist_info}/sboms/{FILE_NAME}"
    old = archive.find(f"{info.prefix}{sbom}")
    earlier = earlier_components(archive.read(old), plan) if old is not None and (plan.sbom or plan.drops) else None
    if plan.sbom or earlier is not None:
        yield NewMember(sbom, data=make_sbom(plan, earlier or ()))
    if plan.supplied:
        metadata = f"{info.dist_info}/METADATA"
        data = archive.read(_member(archive, f"{info.prefix}{metadata}"))
        yield NewMember(metadata, data=with_requirements(data, plan.supplied))
        for name in plan.patched:
            code = archive.read(_member(archive, f"{info.prefix}{name}"))
            yield NewMember(name, data=with_loading_code(code, plan.supplied, name))
    build = name_parts(plan.output)["build"]
    if build != info.build:
        wheel = archive.find(f"{info.prefix}{info.dist_info}/WHEEL")
        if wheel is not None:
            yield NewMember(f"{info.dist_info}/WHEEL", data=_with_build(archive.read(wheel), build))


def _with_build(wheel: bytes, build: str) -> bytes:
    """The WHEEL file with another build number."""
    lines = [line for line in wheel.decode("utf-8").splitlines() if line and not line.lower().startswith("build:")]
    return ("\n".join([*lines, f"Build: {build}"]) + "\n").encode()


def _dropped(archive: Archive, plan: Plan) -> Iterator[Member]:
    """Members that the plan drops or that pose as ours, folders with data, second copies that are the same."""
    gone = {drop.path for drop in plan.drops}
    dropped = {
        member
        for member in archive.members
        if member.name in gone or (member.name[-1:] == "/" and member.usize) or is_reserved(member.name)
    }
    yield from dropped
    if len({*archive.names()}) == len(archive.members):
        return
    kept = (member for member in archive.members if member not in dropped)
    for copies in grouped((member.name, member) for member in kept).values():
        if len(copies) > 1:
            found = digests(archive, copies)
            if len({(found[copy.entry].value, found[copy.entry].error) for copy in copies}) == 1:
                yield from copies[1:]  # where they differ, the writer refuses, because it is not known which is meant


def _stored(
    archive: Archive, info: WheelInfo, names: Mapping[str, str], gone: frozenset[Member]
) -> Iterator[NewMember]:
    """The members without compression, as new ones, which are compressed like all new members."""
    ours = {f"{info.dist_info}/{name}" for name in ("RECORD", *SIGNATURES)}
    for member in stored_members(archive):
        name = names.get(member.name, member.name)
        if member not in gone and name not in ours:
            yield NewMember(name, packed=(archive, member))


def kept_rows(archive: Archive, stale: set[str]) -> Iterator[Row]:
    """The old rows that are known to be correct, or trusted; the writer makes the others from the bytes."""
    record = read_record(archive)
    for row in record.rows if record is not None else ():
        if row.path not in stale and row.digest and row.size is not None:
            yield row


def new_members(chosen: Sequence[Chosen], plan: Plan, archive: Archive, roots: RootIndex) -> tuple[NewMember, ...]:
    """The additions of a plan, in its order; what delvewheel renames is among them."""
    made = []
    for entry, addition in zip(chosen, plan.additions, strict=True):
        packed = roots.packed(entry.file) if entry.file else (archive, _member(archive, addition.source.member))
        path = None if packed or entry.file is None else roots.disk_path(entry.file)
        made.append(NewMember(addition.target, path=path, packed=packed, sha256=addition.sha256))
    return tuple(made)


def bytes_of(new: NewMember) -> Iterator[bytes]:
    """The bytes of a new member from front to back; those of another archive are checked against their CRC."""
    if new.packed is not None:
        archive, member = new.packed
        return archive.chunks(member)
    return chunks(new.open())


def write_planned(pieces: Iterable[bytes], path: Path, sha256: str, what: str, *, in_place: bool = False) -> None:
    """Copy a DLL under a temporary name, check it against the plan's hash, and give it its own."""
    digest = hashlib.sha256()
    with AtomicFile(path, in_place=in_place) as out:
        for piece in pieces:
            digest.update(piece)
            out.write(piece)
        if digest.hexdigest() != sha256:
            raise EnvironmentFailure(f"{what} changed since it was planned", hint="run again")
        out.commit()


def _member(archive: Archive, name: str) -> Member:
    member = archive.find(name)
    if member is None:
        raise EnvironmentFailure(f"{archive.path} changed while it was read", hint="run again")
    return member
