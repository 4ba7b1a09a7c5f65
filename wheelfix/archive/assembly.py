"""An archive under construction: members are appended one after the other, and its directory grows with them.

Old members whose headers are in order are copied in runs, header and data together, so that ten thousand unchanged
members cost one call to the kernel. Only a header that must change is rewritten. Of an archive that is plain
throughout (:attr:`Archive.is_regular`) the entries of the directory are taken over in runs as well.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from wheelfix.archive.directory import MAX32
from wheelfix.archive.headers import Header, end_of_archive, without_sizes
from wheelfix.archive.local import Local, read_locals
from wheelfix.archive.members import DESCRIPTOR
from wheelfix.errors import CannotRepair, EnvironmentFailure
from wheelfix.streams import codec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wheelfix.archive.members import Member
    from wheelfix.archive.reader import Archive
    from wheelfix.streams.deflate import DeflatedData, Packing
    from wheelfix.streams.output import AtomicFile

_LEVEL_FLAGS = 0x0006
_RUN = 16 << 20
"""Bytes after which a run is handed over, so that copying begins while the next headers are looked at."""
_PLACE = struct.Struct("<HH6sI")
_OFFSET = struct.Struct("<I")


class Assembly:
    """Appends members to a file and keeps the directory that will close it."""

    def __init__(self, out: AtomicFile, progress: Callable[[int], None] | None = None) -> None:
        self._out = out
        self._progress = progress
        self._directory = bytearray()
        self._entries = 0
        self.copied = 0
        """Bytes that were copied as they were."""

    def copy_members(self, source: Archive, members: Sequence[Member], rename: Mapping[str, str]) -> None:
        """Append old members, given in the order of the file, under their new names, as the bytes they are."""
        if not rename and self._out.position + source.size < MAX32 and source.is_regular:
            self._copy_plain(source, members)
        else:
            self._copy_one_by_one(source, members, rename)

    def _copy_plain(self, source: Archive, members: Sequence[Member]) -> None:
        """Append members of an archive in which one begins where the other ends, in the directory as in the file."""
        everyone, wanted = source.members, {member.entry for member in members}
        chosen = bytes(member.entry in wanted for member in everyone)
        begin = chosen.find(1)
        while begin >= 0:
            end = chosen.find(0, begin)
            end = end if end >= 0 else len(everyone)
            first, after = everyone[begin], everyone[end] if end < len(everyone) else None
            shift, base = self._out.position - first.header_offset, len(self._directory) - first.entry
            self._copy(source, first.header_offset, source.directory_at if after is None else after.header_offset)
            self._directory += source.directory[first.entry : None if after is None else after.entry]
            for member in everyone[begin:end] if shift else ():
                _OFFSET.pack_into(self._directory, base + member.entry + 42, member.header_offset + shift)
            self._entries += end - begin
            begin = chosen.find(1, end)

    def _copy_one_by_one(self, source: Archive, members: Iterable[Member], rename: Mapping[str, str]) -> None:
        """Append members of any archive, with a look at the header of each."""
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
            self._out.copy_from(archive, start, end - start, self._progress)
            self.copied += end - start

    def add(self, header: Header, packing: Packing) -> DeflatedData:
        """Append new bytes, compressed unless that would not make them smaller."""
        start = self._out.position
        # The header is written twice: now for its length, and again when sizes and CRC are known.
        draft = header.with_data(method=codec.DEFLATED, crc=0, csize=0, usize=packing.source.size)
        self._out.write(draft.local())
        data = self._out.position
        packed = packing.write(self._write)
        if packed.method == codec.DEFLATED and packed.csize >= packed.usize:
            self._out.rewind(data)
            again = packing.store(self._write)
            if (again.crc, again.sha256) != (packed.crc, packed.sha256):
                raise EnvironmentFailure(f"{packing.what} changed while it was read")
            packed = again
        final = header.with_data(method=packed.method, crc=packed.crc, csize=packed.csize, usize=packed.usize)
        self._out.patch(start, final.local())
        self._directory += final.central(start)
        self._entries += 1
        return packed

    def _write(self, data: bytes) -> None:
        self._out.write(data)
        if self._progress is not None:
            self._progress(len(data))

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
