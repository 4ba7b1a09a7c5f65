"""Rewrite a wheel: old members as the bytes they are, new ones compressed on all cores, RECORD last."""

from __future__ import annotations

import contextlib
import os
import stat
import struct
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.archive.changes import MemberOrder, NewMember, WheelChanges, arrange, new_stamp
from wheelfix.archive.directory import (
    DESCRIPTOR,
    MAX32,
    UNIX,
    Header,
    Local,
    Member,
    end_of_archive,
    read_locals,
    without_sizes,
)
from wheelfix.archive.record import Rendered, Row, digests, encode_digest, render
from wheelfix.base.options import all_cores
from wheelfix.base.values import frozen
from wheelfix.errors import CannotRepair, EnvironmentFailure
from wheelfix.streams import codec
from wheelfix.streams.codec import DeflatedData, Deflating, Packing
from wheelfix.streams.output import AtomicFile
from wheelfix.streams.source import FileSource, MemorySource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from wheelfix.archive.reader import Archive
    from wheelfix.model import ByteSource


# ------------------------------------------------------------------------------------------------------------- assembly
# An archive under construction: members are appended one after the other, and its directory grows with them.
# Old members whose headers are in order are copied in runs, header and data together, so that ten thousand unchanged
# members cost one call to the kernel. Only a header that must change is rewritten.

_LEVEL_FLAGS = 0x0006
_RUN = 16 << 20
"""Bytes after which a run is handed over, so that copying begins while the next headers are looked at."""
_PLACE = struct.Struct("<HH6sI")


class Assembly:
    """Appends members to a file and keeps the directory that will close it."""

    def __init__(self, out: AtomicFile) -> None:
        self._out = out
        self._directory = bytearray()
        self._entries = 0

    def copy_members(self, source: Archive, members: Sequence[Member], rename: Mapping[str, str]) -> None:
        """Append old members, given in the order of the file, under their new names, as the bytes they are."""
        run_start = run_end = 0
        why_refused = source.why_refused
        for local in read_locals(source, members):
            member, data, flags, extra, _, differences = local
            if not data or why_refused(member):
                because = why_refused(member) or "there is no header before its data"
                raise CannotRepair(f"{source.path}: cannot copy {member.name!r}", because=because)
            usual = not (differences or extra or member.extra or flags & DESCRIPTOR or rename)
            if not (usual and member.spelled is None) and not _in_order(local, rename):
                self._copy(source, run_start, run_end)
                run_start = run_end = 0
                self.copy_packed(source, member, local.data, _header(local, rename.get(member.name, member.name)))
                continue
            if member.header_offset != run_end or run_end - run_start > _RUN:
                self._copy(source, run_start, run_end)
                run_start = member.header_offset
            offset = self._out.position + member.header_offset - run_start
            run_end = data + member.csize
            if offset >= MAX32:
                self._directory += _header(local, member.name).central(offset)
            else:
                self._enter(source, member, offset)
            self._entries += 1
        self._copy(source, run_start, run_end)

    def _enter(self, source: Archive, member: Member, offset: int) -> None:
        """Take over the old directory entry with a new offset."""
        old, at, entry = source.directory, len(self._directory), member.entry
        end = entry + 46 + (old[entry + 28] | old[entry + 29] << 8) + len(member.extra)
        self._directory += old[entry:end]
        # No comment, first disk, the attributes as they are, and where the header is now.
        _PLACE.pack_into(self._directory, at + 32, 0, 0, old[entry + 36 : entry + 42], offset)

    def copy_packed(self, archive: Archive, member: Member, data: int, header: Header) -> None:
        """Append a member's packed bytes, which begin at ``data``, under a header of its own."""
        self._directory += header.central(self._out.position)
        self._entries += 1
        self._out.write(header.local())
        self._copy(archive, data, data + member.csize)

    def _copy(self, archive: Archive, start: int, end: int) -> None:
        if end > start:
            self._out.copy_from(archive, start, end - start)

    def add(self, header: Header, packing: Packing) -> DeflatedData:
        """Append new bytes, compressed unless that would not make them smaller."""
        start = self._out.position
        # The header is written twice: now for its length, and again when sizes and CRC are known.
        draft = header.with_data(method=codec.DEFLATED, crc=0, csize=0, usize=packing.source.size)
        self._out.write(draft.local())
        data = self._out.position
        packed = packing.write(self._out.write)
        if packed.method == codec.DEFLATED and packed.csize >= packed.usize:
            self._out.rewind(data)
            again = packing.store(self._out.write)
            if (again.crc, again.sha256) != (packed.crc, packed.sha256):
                raise EnvironmentFailure(f"{packing.what} changed while it was read")
            packed = again
        final = header.with_data(method=packed.method, crc=packed.crc, csize=packed.csize, usize=packed.usize)
        self._out.patch(start, final.local())
        self._directory += final.central(start)
        self._entries += 1
        return packed

    def close(self) -> int:
        """Append directory and end; return the size of the archive."""
        at = self._out.position
        self._out.write(self._directory)
        self._out.write(end_of_archive(self._entries, len(self._directory), at))
        return self._out.position


def _in_order(local: Local, rename: Mapping[str, str]) -> bool:
    """Whether the member can be copied with its header as it is."""
    member, extra = local.member, local.extra
    return not (
        local.differences
        or member.spelled is not None
        or local.flags & DESCRIPTOR
        or (extra and not _harmless(extra))
        or (member.extra and not _harmless(member.extra))
        or (rename and rename.get(member.name, member.name) != member.name)
    )


def _harmless(extra: bytes) -> bool:
    """Whether extra fields say nothing about sizes and names."""
    return without_sizes(extra) == extra


def _header(local: Local, name: str) -> Header:
    """Return a new header for an old member."""
    member = local.member
    return Header(
        name.encode("utf-8"),
        member.method,
        member.crc,
        member.csize,
        member.usize,
        member.dos_stamp,
        member.external_attr,
        member.create_system,
        level_flags=member.flags & _LEVEL_FLAGS,
        local_extra=without_sizes(local.extra),
        central_extra=without_sizes(member.extra),
    )


# --------------------------------------------------------------------------------------------------------------- writer
# Rewrite a wheel: old members as the bytes they are, new ones compressed on all cores, RECORD last.
# A :class:`WheelChanges` says what will be different; :func:`write_wheel` writes that wheel, or leaves nothing behind.
# The same changes give the same bytes on every machine with the same compressor.


__all__ = ["Added", "Draft", "NewMember", "WheelChanges", "Written", "write_wheel"]

_DEFAULT_MODE = stat.S_IFREG | 0o644
_CLOSE_FIRST = os.name == "nt"
"""Windows does not replace a file that is open: a wheel that is written over itself is closed first."""


@frozen
class Added:
    """A new member as it was written."""

    name: str
    sha256: str
    """In hexadecimal."""
    size: int


@frozen
class Draft:
    """A wheel that has all its members, but still a temporary name."""

    path: Path
    """Its temporary name."""
    record: Rendered
    ready: Callable[[], None]
    """Waits until everything has been copied."""


@frozen
class Written:
    """A wheel that was written."""

    path: Path
    size: int
    added: tuple[Added, ...]
    rows: tuple[Row, ...]
    """The rows of its RECORD."""


def write_wheel(
    source: Archive,
    target: Path,
    changes: WheelChanges,
    *,
    compressor: codec.Compressor | None = None,
    jobs: int | None = None,
    check: Callable[[Draft], None] | None = None,
    in_place: bool = False,
) -> Written:
    """Write a changed wheel to ``target``, whole or not at all; ``in_place`` it may be the source itself.

    CannotRepair if it would not be a valid wheel; EnvironmentFailure if the disk, or an input that changed, stops
    us. What ``check`` raises keeps the wheel from getting its name. It has to compare new members with their rows:
    with it, those whose hash is known are not hashed here as well, and copied as they are packed.
    """
    jobs = jobs or all_cores()
    order = arrange(source, changes)
    made = _missing_rows(source, order, changes, jobs)
    stamp = new_stamp(source.members)
    with (
        AtomicFile(target, in_place=in_place) as out,
        Deflating(compressor or codec.Compressor.choose(), jobs) as deflating,
    ):
        assembly = Assembly(out)
        adding = _Adding(assembly, deflating, stamp, order.replaced, trusting=check is not None)
        assembly.copy_members(source, order.kept_first, changes.rename)
        added = adding.add(order.new_first)
        assembly.copy_members(source, order.kept_last, changes.rename)
        added += adding.add(order.new_last)
        rows = _rows(changes, order, made, added)
        record = Rendered(render(rows), rows)
        adding.add([NewMember(f"{changes.dist_info}/RECORD", data=record.data)])
        size = assembly.close()
        out.hand_over()

        def ready() -> None:
            out.settle()
            for archive in (source, *(new.packed[0] for new in changes.add if new.packed is not None)):
                archive.check_unchanged()

        if check is not None:
            check(Draft(out.path, record, ready))
        else:
            ready()
        close_if_replaced(source, target)
        out.commit()
    return Written(target, size, tuple(added), rows)


def close_if_replaced(source: Archive, target: Path) -> None:
    """Close an archive whose own file is about to be replaced, where the system wants that."""
    with contextlib.suppress(OSError, ValueError):  # no such file yet; or closed already
        if _CLOSE_FIRST and os.path.samestat(os.fstat(source.fileno()), target.stat()):
            source.close()


def _missing_rows(source: Archive, order: MemberOrder, changes: WheelChanges, jobs: int) -> dict[str, Row]:
    """Return rows for kept members that have none, from their bytes."""
    without_row = order.kept_files.difference(row.path for row in changes.rows)
    if not without_row:
        return {}
    new_names = {
        member: name
        for member in (*order.kept_first, *order.kept_last)
        if (name := changes.rename.get(member.name, member.name)) in without_row
    }
    made: dict[str, Row] = {}
    for digest in digests(source, new_names, jobs=jobs).values():
        if digest.error:
            raise CannotRepair(f"{source.path}: cannot read {digest.member.name!r}", because=digest.error)
        name = new_names[digest.member]
        made[name] = Row(name, "sha256", encode_digest(digest.value), digest.member.usize)
    return made


def _rows(
    changes: WheelChanges, order: MemberOrder, made: Mapping[str, Row], added: Iterable[Added]
) -> tuple[Row, ...]:
    """Return RECORD's rows: known ones in their order, made and new ones by name, RECORD itself last."""
    rows: dict[str, Row] = {}
    for row in changes.rows:
        if row.path in order.kept_files:
            rows.setdefault(row.path, row)
    fresh = dict(made)
    for new in added:
        fresh[new.name] = Row(new.name, "sha256", encode_digest(bytes.fromhex(new.sha256)), new.size)
    return (*rows.values(), *(fresh[name] for name in sorted(fresh)), Row(f"{changes.dist_info}/RECORD"))


class _Adding:
    """Turns new members into headers and bytes of the archive."""

    def __init__(
        self,
        assembly: Assembly,
        deflating: Deflating,
        stamp: int,
        replaced: Mapping[str, Member],
        *,
        trusting: bool,
    ) -> None:
        self._assembly = assembly
        self._deflating = deflating
        self._stamp = stamp
        self._replaced = replaced
        self._trusting = trusting

    def add(self, members: Iterable[NewMember]) -> list[Added]:
        """Append new members one after the other, while those that follow are being packed already."""
        added: list[Added] = []
        begun: deque[_Begun] = deque()
        with contextlib.ExitStack() as opened:
            for new in members:
                begun.append(self._begin(new))
                opened.push(begun[-1].opened)
                if len(begun) > self._deflating.depth:
                    added.append(self._finish(begun.popleft()))
            added += map(self._finish, begun)
        return added

    def _begin(self, new: NewMember) -> _Begun:
        opened = contextlib.ExitStack()
        known = self._trusting and bool(new.sha256)
        if known and new.packed is not None and new.packed[1].method == codec.DEFLATED:
            return _Begun(new, None, opened)
        source = opened.enter_context(_opened(new))
        return _Begun(new, self._deflating.begin(source, new.origin, hashed=not known), opened)

    def _finish(self, begun: _Begun) -> Added:
        """Append a member; while trusting, its hash is what the plan says, if anything: it is checked elsewhere."""
        new, header = begun.new, self._header(begun.new)
        if begun.packing is None:
            assert new.packed is not None
            archive, member = new.packed
            data, _ = archive.data_span(member)
            about = {"crc": member.crc, "csize": member.csize, "usize": member.usize}
            self._assembly.copy_packed(archive, member, data, header.with_data(method=codec.DEFLATED, **about))
            return Added(new.name, new.sha256.lower(), member.usize)
        with begun.opened:
            packed = self._assembly.add(header, begun.packing)
        found = packed.sha256.hex() or new.sha256.lower()
        _check_hash(new, found)
        return Added(new.name, found, packed.usize)

    def _header(self, new: NewMember) -> Header:
        old = self._replaced.get(new.name)
        system, attributes = UNIX, (new.mode or _DEFAULT_MODE) << 16
        if old is not None and not new.mode:
            system, attributes = old.create_system, old.external_attr
        return Header(new.name.encode("utf-8"), codec.DEFLATED, 0, 0, 0, self._stamp, attributes, system)


class _Begun(NamedTuple):
    """A new member, how it is being packed if it is not copied, and what to close then."""

    new: NewMember
    packing: Packing | None
    opened: contextlib.ExitStack


@contextlib.contextmanager
def _opened(new: NewMember) -> Iterator[ByteSource]:
    """The unpacked bytes of a new member."""
    if new.path is not None:
        with FileSource(new.path) as file:
            yield file
    elif new.packed is not None:
        yield new.packed[0].source(new.packed[1])
    else:
        yield new.source if new.source is not None else MemorySource(new.data or b"")


def _check_hash(new: NewMember, found: str) -> None:
    """EnvironmentFailure if the bytes are not those of the plan."""
    if new.sha256 and new.sha256.lower() != found:
        raise not_as_planned(new, f"its sha256 is {found}, the plan says {new.sha256}")


def not_as_planned(new: NewMember, because: str) -> EnvironmentFailure:
    """Return the failure for bytes that are not those of the plan."""
    return EnvironmentFailure(
        f"{new.origin} is not the file that was planned",
        because=because,
        hint="plan again; something changed the file meanwhile",
    )
