"""Whether an archive holds its members without compression although that would make it smaller."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from wheelfix.archive.faults import ArchiveFault
from wheelfix.errors import InputError
from wheelfix.streams.codec import STORED, Compressor

if TYPE_CHECKING:
    from wheelfix.archive.members import Member
    from wheelfix.archive.reader import Archive

LEAST = 16 << 10
"""Stored bytes below which compressing saves nothing worth reporting."""
_SAMPLES, _LENGTH = 8, 64 << 10
"""How many members, and how many bytes of each, are compressed to see whether that helps."""
_WORTH = 0.9
"""What compresses to less than this share of its size is worth it."""


def stored_members(archive: Archive) -> tuple[Member, ...]:
    """Return the members that have bytes and are stored as they are."""
    return tuple(
        member for member in archive.members if member.method == STORED and member.usize and member.name[-1:] != "/"
    )


def stored_fault(archive: Archive) -> tuple[ArchiveFault, ...]:
    """Return the fault of an archive most of whose bytes are stored, where a sample of them can be compressed."""
    stored = stored_members(archive)
    size = sum(map(attrgetter("usize"), stored))
    if size < LEAST or 2 * size < sum(map(attrgetter("usize"), archive.members)):
        return ()
    share = _share(archive, stored)
    if share > _WORTH:
        return ()
    message = (
        f"{len(stored)} of {len(archive.members)} members, {_in_words(size)}, are stored without compression; "
        f"a sample of them compresses to {share:.0%} of its size"
    )
    return (ArchiveFault("stored", "", message),)


def _share(archive: Archive, stored: tuple[Member, ...]) -> float:
    """Return to which share of its size a sample of the largest members is compressed."""
    before = after = 0
    for member in sorted(stored, key=attrgetter("usize"), reverse=True)[:_SAMPLES]:
        try:
            source = archive.source(member)
            middle = max(0, (source.size - _LENGTH) // 2)  # a file may begin with a header of zeros
            data = source.read_at(middle, _LENGTH)
        except InputError:
            continue
        deflater = Compressor.choose("zlib", "6").deflater()
        before += len(data)
        after += len(deflater.compress(data)) + len(deflater.flush())
    return after / before if before else 1.0


def _in_words(size: int) -> str:
    for limit, unit in ((1 << 30, "GB"), (1 << 20, "MB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}"
    return f"{size >> 10} KB"
