"""Read a wheel back after writing it, and check it as strictly as any other wheel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.archive.conformance import check_archive
from wheelfix.archive.hashing import digests
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import MAX_SIZE, Record, encode_digest, record_member
from wheelfix.archive.recordcheck import check_record, record_matches
from wheelfix.base.values import dataclass, field
from wheelfix.streams import codec, libdeflate
from wheelfix.streams.deflate import BLOCK, WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from wheelfix.archive.faults import ArchiveFault, RecordFault
    from wheelfix.archive.hashing import Chunks
    from wheelfix.archive.members import Limits, Member
    from wheelfix.archive.record import Rendered


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What is wrong with a wheel that was just written; all empty when it is right."""

    archive: tuple[ArchiveFault, ...]
    """Directory against local headers, names, hidden bytes."""
    record: tuple[RecordFault, ...]
    """RECORD against the members: names, sizes, nothing twice."""
    damaged: tuple[str, ...]
    """New members whose bytes do not fit their CRC, size or RECORD row, with the reason."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """The reasons among them that lie in the bytes themselves, by name."""
    stale: frozenset[str] = frozenset()
    """The names among them that have another sha256 than RECORD says."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that is wrong, as lines."""
        return (
            *(f"{fault.subject or 'the archive'}: {fault.message}" for fault in self.archive),
            *(f"{fault.path}: {fault.message}" for fault in self.record),
            *self.damaged,
        )


def read_back(
    path: Path,
    new: Iterable[str] = (),
    *,
    jobs: int | None = None,
    limits: Limits | None = None,
    written: Rendered | None = None,
    known: frozenset[str] = frozenset(),
    ready: Callable[[], None] | None = None,
    cuts: Mapping[str, Sequence[int]] | None = None,
) -> ReadBack:
    """Return what is wrong with the wheel at ``path``; the members named in ``new`` are unpacked and hashed again.

    ``written`` is the RECORD that should be there: if its very bytes are found, they need not be parsed. ``known`` are
    names that are in order: if there are no others, they need not be looked at. ``ready`` returns when all members have
    been copied, which may still be going on while directory and RECORD are read. ``cuts`` says of new members into how
    many bytes each of their blocks was packed.
    """
    with Archive.open(path, limits, known) as archive:
        own = record_member(archive)
        data = archive.read(own, MAX_SIZE) if own is not None else b""
        record = Record(written.rows) if written is not None and written.data == data else Record.parse(data)
        faults = () if own is not None and record_matches(archive, own, data) else check_record(archive, record)
        wanted = sorted(set(new))
        rows = {row.path: row for row in record.rows if row.path in wanted}
        members = [member for name in wanted if (member := archive.find(name)) is not None]
        damaged = [f"{name}: it is not in the wheel" for name in wanted if archive.find(name) is None]
        unreadable: dict[str, str] = {}
        stale: set[str] = set()
        if ready is not None:
            ready()
        found = digests(archive, members, jobs=jobs, chunks=_by_block(archive, cuts or {}))
        for member in members:
            digest, row = found[member.entry], rows.get(member.name)
            if digest.error:
                unreadable[member.name] = digest.error
                damaged.append(f"{member.name}: {digest.error}")
            elif row is None or row.digest != encode_digest(digest.value):
                stale.add(member.name)
                damaged.append(f"{member.name}: its sha256 is not what RECORD says")
        return ReadBack(check_archive(archive), faults, tuple(damaged), unreadable, frozenset(stale))


def _by_block(archive: Archive, cuts: Mapping[str, Sequence[int]]) -> Chunks:
    """A way to unpack members whose blocks are known to end at certain places: faster, and as strict as any."""

    def chunks(member: Member) -> Iterator[bytes | memoryview]:
        own = cuts.get(member.name, ())
        if len(own) > 1 and sum(own) == member.csize and libdeflate.version():
            return _blocks(archive, member, own)
        return archive.chunks(member)

    return chunks


def _blocks(archive: Archive, member: Member, cuts: Sequence[int]) -> Iterator[memoryview]:
    at, crc, before = archive.data_span(member)[0], 0, memoryview(b"")
    for index, length in enumerate(cuts):
        packed = archive.read_at(at, length)
        if index + 1 < len(cuts):
            block = libdeflate.unpack_piece(packed, before, BLOCK)
        else:  # what comes after the end of the stream is seen by zlib alone
            whole = codec.inflate_whole(packed, member.usize - index * BLOCK, before)
            block = memoryview(whole) if whole is not None else None
        if block is None:
            raise archive.unreadable(member, f"its deflate stream is damaged in block {index + 1} of {len(cuts)}")
        crc = codec.crc32(block, crc)
        yield block
        at, before = at + length, block[-WINDOW:]
    if crc != member.crc:
        raise archive.unreadable(member, f"its CRC is {crc:08x} instead of {member.crc:08x}")
