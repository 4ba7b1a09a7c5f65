"""Rewrite a wheel: old members as the bytes they are, new ones compressed on all cores, RECORD last.

A :class:`WheelChanges` says what will be different; :func:`write_wheel` writes that wheel, reads it back, and gives it
its name, or leaves nothing behind. The same changes give the same bytes on every machine with the same compressor.
"""

from __future__ import annotations

import os
import stat
import struct
from collections import deque
from typing import TYPE_CHECKING

from wheelfix.archive.changes import MemberOrder, NewMember, WheelChanges, arrange, new_stamp
from wheelfix.archive.conformance import check_archive
from wheelfix.archive.directory import (
    CENTRAL,
    DESCRIPTOR,
    MAX32,
    UNIX,
    Local,
    Member,
    central_entry,
    end_of_archive,
    local_header,
    read_locals,
    without_sizes,
)
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import Row, check_hashes, check_record, digests, encode_digest, render
from wheelfix.base.options import all_cores
from wheelfix.errors import CannotRepair, EnvironmentFailure, InputError
from wheelfix.streams import codec
from wheelfix.streams.codec import Deflating, Packing
from wheelfix.streams.output import AtomicFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path


_RUN = 16 << 20
"""Bytes after which a run is handed over, so that copying begins while the next headers are looked at."""
_PLACE = struct.Struct("<HH6sI")
_NEW_FILE = (stat.S_IFREG | 0o644) << 16
_CLOSE_FIRST = os.name == "nt"
"""Windows does not replace a file that is open: a wheel that is written over itself is closed first."""


def write_wheel(
    source: Archive,
    target: Path,
    changes: WheelChanges,
    *,
    compressor: codec.Compressor | None = None,
    jobs: int | None = None,
    check: Callable[[], None] | None = None,
    in_place: bool = False,
) -> int:
    """Write a changed wheel to ``target``, whole or not at all, and return its size; ``in_place`` it may be the source.

    CannotRepair if it would not be a valid wheel; EnvironmentFailure if the disk, or an input that changed, stops
    us. What ``check`` raises, when the wheel was read back, keeps it from getting its name.
    """
    jobs = jobs or all_cores()
    order = arrange(source, changes)
    made = _missing_rows(source, order, changes, jobs)
    same = _is_open_file(source, target)
    with (
        AtomicFile(target, in_place=in_place) as out,
        Deflating(compressor or codec.Compressor.choose(), jobs) as deflating,
    ):
        assembly = Assembly(out, deflating, new_stamp(source.members), order.replaced)
        for kept, new in order.groups:
            assembly.copy(source, kept, changes.rename)
            made += assembly.add(new)
        record = f"{changes.dist_info}/RECORD"
        rows: dict[str, Row] = {}
        for row in changes.rows:
            if row.path in order.kept_files:
                rows.setdefault(row.path, row)
        assembly.add([NewMember(record, data=render([*rows.values(), *sorted(made), Row(record)]))])
        size = assembly.close()
        out.settle()
        for archive in (source, *(new.packed[0] for new in changes.add if new.packed is not None)):
            archive.check_unchanged()
        _read_back(out.path, source, changes.add, jobs)
        if check is not None:
            check()
        if same and not _is_open_file(source, target):
            raise EnvironmentFailure(
                f"{target} was replaced while it was being rewritten",
                because="another program rewrote it",
                hint="run again",
            )
        close_if_replaced(source, target)
        out.commit()
    return size


def _missing_rows(source: Archive, order: MemberOrder, changes: WheelChanges, jobs: int) -> list[Row]:
    """Return rows for kept members that have none, from their bytes."""
    without_row = order.kept_files.difference(row.path for row in changes.rows)
    if not without_row:
        return []
    new_names = {
        member: name
        for kept, _ in order.groups
        for member in kept
        if (name := changes.rename.get(member.name, member.name)) in without_row
    }
    made = []
    for digest in digests(source, new_names, jobs=jobs).values():
        if digest.error:
            raise CannotRepair(f"{source.path}: cannot read {digest.member.name!r}", because=digest.error)
        made.append(Row(new_names[digest.member], "sha256", encode_digest(digest.value), digest.member.usize))
    return made


class Assembly:
    """An archive under construction: members are appended one after the other, and its directory grows with them."""

    def __init__(self, out: AtomicFile, deflating: Deflating, stamp: int, replaced: Mapping[str, Member]) -> None:
        self._out, self._deflating = out, deflating
        self._stamp, self._replaced = stamp, replaced
        self._directory = bytearray()
        self._entries = 0

    def copy(self, source: Archive, members: Sequence[Member], rename: Mapping[str, str]) -> None:
        """Append old members, given in the order of the file, under their new names, as the bytes they are.

        Those whose headers are in order are copied in runs, header and data together, so that ten thousand unchanged
        members cost one call to the kernel. Only a header that must change is rewritten.
        """
        start = end = 0
        for local in read_locals(source, members):
            member = local.member
            because = source.why_refused(member) or ("" if local.data else "there is no header before its data")
            if because:
                raise CannotRepair(f"{source.path}: cannot copy {member.name!r}", because=because)
            name = rename.get(member.name, member.name)
            if name != member.name or not _in_order(local):
                self._copy(source, start, end)
                start = end = 0
                self._append(member._replace(name=name), source, local.data, local.extra)
                continue
            if member.header_offset != end or end - start > _RUN:
                self._copy(source, start, end)
                start = member.header_offset
            self._enter(_moved(member, source.directory, self._out.position + member.header_offset - start))
            end = local.end
        self._copy(source, start, end)

    def _append(self, member: Member, archive: Archive, data: int, extra: bytes = b"") -> None:
        """Append a member's packed bytes, which begin at ``data``, under a header of its own."""
        self._enter(central_entry(member._replace(header_offset=self._out.position)))
        self._out.write(local_header(member, extra))
        self._copy(archive, data, data + member.csize)

    def _enter(self, entry: bytes) -> None:
        self._directory += entry
        self._entries += 1

    def _copy(self, archive: Archive, start: int, end: int) -> None:
        if end > start:
            self._out.copy_from(archive, start, end - start)

    def add(self, members: Iterable[NewMember]) -> list[Row]:
        """Append new members one after the other, while those that follow are being packed; return their rows."""
        rows: list[Row] = []
        begun: deque[tuple[NewMember, Packing | None]] = deque()
        for new in members:
            begun.append((new, self._begin(new)))
            if len(begun) > self._deflating.depth:
                rows.append(self._finish(*begun.popleft()))
        rows += [self._finish(*one) for one in begun]
        return rows

    def _begin(self, new: NewMember) -> Packing | None:
        """Begin to pack a new member; None for one whose packed bytes are copied.

        A hash that is known is not computed here: what was written is read back and compared with it.
        """
        if new.sha256 and new.packed is not None and new.packed[1].method == codec.DEFLATED:
            return None
        return self._deflating.begin(new.open(), new.origin, hashed=not new.sha256)

    def _finish(self, new: NewMember, packing: Packing | None) -> Row:
        old = self._replaced.get(new.name)
        system, attributes = (old.create_system, old.external_attr) if old is not None else (UNIX, _NEW_FILE)
        member = Member(
            new.name, codec.DEFLATED, 0, 0, 0, 0, self._out.position, attributes, self._stamp, system, b"", b"", 0, None
        )
        sha256 = new.sha256
        if packing is None:
            assert new.packed is not None
            archive, known = new.packed
            data, _ = archive.data_span(known)
            member = member._replace(crc=known.crc, csize=known.csize, usize=known.usize)
            self._append(member, archive, data)
        else:
            member, found = self._pack(member, packing)
            sha256 = sha256 or found
        return Row(new.name, "sha256", encode_digest(bytes.fromhex(sha256)), member.usize)

    def _pack(self, member: Member, packing: Packing) -> tuple[Member, str]:
        """Append new bytes, compressed unless that would not make them smaller; also return their hash."""
        # The header is written twice: now for its length, and again when sizes and CRC are known.
        self._out.write(local_header(member._replace(usize=packing.source.size)))
        data = self._out.position
        packed = packing.write(self._out.write)
        if packed.method == codec.DEFLATED and packed.csize >= packed.usize:
            self._out.rewind(data)
            again = packing.store(self._out.write)
            if (again.crc, again.sha256) != (packed.crc, packed.sha256):
                raise EnvironmentFailure(f"{packing.what} changed while it was read")
            packed = again
        member = member._replace(method=packed.method, crc=packed.crc, csize=packed.csize, usize=packed.usize)
        self._out.patch(member.header_offset, local_header(member))
        self._enter(central_entry(member))
        return member, packed.sha256.hex()

    def close(self) -> int:
        """Append directory and end; return the size of the archive."""
        at = self._out.position
        self._out.write(self._directory)
        self._out.write(end_of_archive(self._entries, len(self._directory), at))
        return self._out.position


def _in_order(local: Local) -> bool:
    """Whether the member can be copied with its header as it is: its extra fields say nothing of sizes and names."""
    member, extra = local.member, local.extra
    return not (
        local.differences
        or member.spelled is not None
        or local.flags & DESCRIPTOR
        or (extra and without_sizes(extra) != extra)
        or (member.extra and without_sizes(member.extra) != member.extra)
    )


def _moved(member: Member, directory: bytes, offset: int) -> bytes:
    """Return the old entry of a member whose header is now elsewhere."""
    if offset >= MAX32:
        return central_entry(member._replace(header_offset=offset))
    at = member.entry
    end = at + CENTRAL.size + len(member.raw_name) + len(member.extra)
    # No comment, first disk, the attributes as they are, and where the header is now.
    place = _PLACE.pack(0, 0, directory[at + 36 : at + 42], offset)
    return directory[at : at + 32] + place + directory[at + 46 : end]


def _read_back(path: Path, source: Archive, new: Sequence[NewMember], jobs: int) -> None:
    """Read the wheel that was written; old members may keep their faults, but there may be no new ones."""
    before = {(fault.kind, fault.subject) for fault in source.faults}
    try:
        with Archive.open(path, source.limits) as archive:
            faults = [fault for fault in check_archive(archive) if (fault.kind, fault.subject) not in before]
            faults += check_record(archive)
            names = {member.name for member in new}
            wrong = [*check_hashes(archive, jobs=jobs, names=names)]
    except InputError as exc:
        raise EnvironmentFailure("the wheel that was written cannot be read back", because=exc) from exc
    by_name = {fault.subject: fault for fault in wrong}
    for member in new:
        fault = by_name.get(member.name)
        if fault is not None and fault.found and member.sha256:  # other bytes than RECORD, and so the plan, says
            raise EnvironmentFailure(
                f"{member.origin} is not the file that was planned",
                because=f"its sha256 is not {member.sha256}, as the plan says",
                hint="plan again; something changed the file meanwhile",
            )
        if fault is not None and not fault.found and member.packed is not None:
            raise CannotRepair(f"cannot vendor {member.origin}", because=fault.message)
    if problems := [f"{fault.subject or 'the archive'}: {fault.message}" for fault in (*faults, *wrong)]:
        raise CannotRepair("the wheel that was written is not valid", because=problems[:5], hint="please report this")


def _is_open_file(archive: Archive, path: Path) -> bool:
    """Whether a path is the very file that is open as the archive."""
    try:
        return os.path.samestat(os.fstat(archive.fileno()), path.stat())
    except (OSError, ValueError):  # no such file; or the archive is closed, or on a server
        return False


def close_if_replaced(archive: Archive, target: Path) -> None:
    """Close an archive whose own file is about to be replaced, where the system wants that."""
    if _CLOSE_FIRST and _is_open_file(archive, target):
        archive.close()
