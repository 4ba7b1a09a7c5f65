"""Whether a RECORD agrees with the members of its archive: paths, sizes and hashes."""

from __future__ import annotations

import binascii
from operator import attrgetter
from typing import TYPE_CHECKING

from wheelfix.archive import names
from wheelfix.archive.faults import INSTALLER, PIP, UV, RecordFault
from wheelfix.archive.hashing import STRONG, digests
from wheelfix.archive.record import MAX_SIZE, SIGNATURES, URL_SAFE, Record, encode_digest, read_record, record_member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wheelfix.archive.hashing import Digest
    from wheelfix.archive.reader import Archive, Member
    from wheelfix.archive.record import Row

_NAME, _USIZE = attrgetter("name"), attrgetter("usize")


def check_record(
    archive: Archive,
    record: Record | None = None,
    *,
    hashes: bool = False,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    known: Mapping[int, Digest] | None = None,
) -> tuple[RecordFault, ...]:
    """Return every disagreement between RECORD and the members: names and sizes, and with ``hashes`` their bytes.

    Without ``record`` the archive's own is read. Paths are compared as the archive spells them, prefix included.
    ``known`` are digests that were made already, by ``entry``.
    """
    own = record_member(archive)
    if own is None:
        return (RecordFault("record-missing", "RECORD", "there is no RECORD", rejected_by=(PIP, UV, INSTALLER)),)
    if record is None:
        if not hashes and record_matches(archive, own, archive.read(own, MAX_SIZE)):
            return ()
        record = read_record(archive) or Record()
    rows, members, own_path = _counterparts(archive, record, own)
    faults = list(record.faults)
    if len(rows) < len(record.rows):
        faults += _second_rows(record.rows, rows)
    faults += _check_rows(rows, members, own_path)
    if hashes:
        faults += _check_hashes(archive, rows, members, own_path, jobs, progress, known)
    return tuple(faults)


def record_matches(archive: Archive, own: Member, data: bytes) -> bool:
    """Whether RECORD has a plain row with a hash and the right size for each member, and no other; False: look closer.

    This is so in nearly every wheel, and seen in less than half of the time that it takes to read and compare the rows.
    """
    most = len(archive.members)
    if data.count(b",") > 2 * most or data.count(b"\n") > most or not data.isascii():
        return False
    text = data.decode("ascii")
    if any(odd in text for odd in '"\\\0'):
        return False
    ends = text.count("\r\n")
    if text.count("\r") != ends or (ends and text.count("\n") != ends):  # one within a row
        return False
    if any(archive.find(own.name.removesuffix("RECORD") + name) for name in SIGNATURES):
        return False
    fields = text.split(",")  # path, hash, size with the next path behind it, hash, …
    end = "\r\n" if "\r\n" in text else "\n"
    hashes, others = fields[1::2], end.join(fields[::2]).split(end)
    paths, sizes = others[:-1:2], others[1::2]
    wanted = dict(zip(map(_NAME, archive.members), map(str, map(_USIZE, archive.members)), strict=True))
    for folder in [name for name in wanted if name[-1:] == "/"]:
        del wanted[folder]
    wanted[own.name] = ""
    return (
        text.endswith(end)
        and others[-1] == ""
        and len(paths) == len(hashes) == len(wanted)
        and dict(zip(paths, sizes, strict=False)) == wanted
        and hashes.pop(paths.index(own.name)) == ""
        and set(map(len, hashes)) <= {50}
        and text.count(",sha256=") == len(hashes)
    )


def check_hashes(
    archive: Archive, record: Record | None, *, jobs: int, known: Mapping[int, Digest]
) -> tuple[RecordFault, ...]:
    """Return what :func:`check_record` reports about hashes, and nothing else."""
    own = record_member(archive)
    if own is None or record is None:
        return ()
    return tuple(_check_hashes(archive, *_counterparts(archive, record, own), jobs, None, known))


def _counterparts(archive: Archive, record: Record, own: Member) -> tuple[dict[str, Row], dict[str, Member], str]:
    """Rows and members by the path that they share, and the path of RECORD itself."""
    prefix = own.name[: own.name.rfind("/", 0, -len("/RECORD")) + 1]
    rows = {row.path: row for row in reversed(record.rows)}
    members = {member.name.removeprefix(prefix): member for member in archive.members if member.name[-1:] != "/"}
    return rows, members, own.name.removeprefix(prefix)


def _second_rows(rows: Iterable[Row], first: Mapping[str, Row]) -> Iterator[RecordFault]:
    for row in rows:
        if row is not first[row.path]:
            same = "the same" if row == first[row.path] else "different"
            message = f"the path has a second row with {same} content"
            if row != first[row.path]:
                message += "; installer takes the last one"
            yield RecordFault("row-duplicate", row.path, message)


def _check_rows(rows: dict[str, Row], members: dict[str, Member], own: str) -> Iterator[RecordFault]:
    folder = own.removesuffix("RECORD")
    signatures = {folder + name for name in SIGNATURES}
    for path, member in members.items():
        if path in signatures:
            message, by = "it signs RECORD; rewriting invalidates it, and PEP 815 deprecates it", tuple[str, ...]()
            if path in rows:
                message, by = "it signs RECORD, which must not have a row for it", (INSTALLER,)
            yield RecordFault("signature", path, message, rejected_by=by)
            continue
        row = rows.get(path)
        if row is not None and row.size == member.usize and row.algorithm == "sha256" and path != own:
            continue  # as nearly all are
        if row is None:
            yield RecordFault("row-missing", path, "the member has no row in RECORD", rejected_by=(INSTALLER,))
        elif path == own:
            if row.algorithm or row.size is not None:
                message = "RECORD has a hash or a size for itself, which cannot be true"
                yield RecordFault("self-hash", path, message, rejected_by=(INSTALLER,))
        else:
            yield from _check_row(row, member)
    orphans = [path for path in rows if path not in members and path not in signatures]
    folders = {parent for path in members for parent in _parents(path)} if orphans else ()
    unlisted = {(_skeleton(path), member.usize) for path, member in members.items() if path not in rows}
    for path in orphans:
        if names.why_unsafe(path):
            yield RecordFault("row-unsafe", path, names.why_unsafe(path))
        elif path in folders:
            yield RecordFault("row-folder", path, "RECORD lists a folder")
        elif not path.isascii() and (_skeleton(path), rows[path].size) in unlisted:
            yield RecordFault("row-spelling", path, "RECORD spells the name of a member in another way")
        elif not path.endswith("/"):
            yield RecordFault("row-orphan", path, "RECORD lists it, but the wheel does not have it")


def _skeleton(path: str) -> str:
    """A name without what depends on its encoding."""
    return "".join(letter for letter in path if letter.isascii())


def _parents(path: str) -> Iterator[str]:
    """The folders above a member."""
    while path := path.rpartition("/")[0]:
        yield path


def _check_row(row: Row, member: Member) -> Iterator[RecordFault]:
    path = row.path
    if not row.algorithm:
        yield RecordFault("hash-missing", path, "the row has no hash", rejected_by=(INSTALLER,))
    elif row.algorithm not in STRONG:
        yield RecordFault("hash-weak", path, f"{row.algorithm} is weaker than sha256, which the format forbids")
    if row.size is None:
        yield RecordFault("size-missing", path, "the row has no size", rejected_by=(INSTALLER,))
    elif row.size != member.usize:
        message = f"RECORD says {row.size} bytes, the member has {member.usize}"
        yield RecordFault("size-stale", path, message, str(row.size), str(member.usize), (INSTALLER,))


def _check_hashes(
    archive: Archive,
    rows: dict[str, Row],
    members: dict[str, Member],
    own: str,
    jobs: int | None,
    progress: Callable[[int], None] | None,
    known: Mapping[int, Digest] | None,
) -> Iterator[RecordFault]:
    algorithms = {
        member.name: rows[path].algorithm
        for path, member in members.items()
        if path in rows and rows[path].algorithm not in {"", "sha256"}
    }
    found = digests(archive, members.values(), algorithms=algorithms, jobs=jobs, progress=progress, known=known)
    if not algorithms and _all_agree(rows, members, own, found):
        return
    for path, member in members.items():
        digest = found[member.entry]
        if digest.error:
            yield RecordFault("member-unreadable", path, digest.error)
        elif path in rows and rows[path].algorithm and path != own:
            yield from _compare(rows[path], digest)


def _all_agree(rows: dict[str, Row], members: dict[str, Member], own: str, found: Mapping[int, Digest]) -> bool:
    """Whether every hash is as RECORD spells it, compared in one piece, since they do in nearly every wheel."""
    if {found[member.entry].error for member in members.values()} != {""}:
        return False
    pairs = [
        (rows[path].digest, found[member.entry].value)
        for path, member in members.items()
        if path in rows and path != own
    ]
    if {len(spelled) for spelled, _ in pairs} != {43}:
        return False
    # A zero byte behind each digest of 32 makes its base64 come out even: the 43 characters of RECORD, and an A.
    real = binascii.b2a_base64(b"".join([value + b"\0" for _, value in pairs]), newline=False)
    return real.translate(URL_SAFE) == "".join([spelled + "A" for spelled, _ in pairs]).encode("ascii", "replace")


def _compare(row: Row, digest: Digest) -> Iterator[RecordFault]:
    real = encode_digest(digest.value)
    if row.digest.rstrip("=") != real:
        message = f"the member's {row.algorithm} is not what RECORD says"
        spelled = f"{row.algorithm}={row.digest}", f"{row.algorithm}={real}"
        yield RecordFault("hash-stale", row.path, message, *spelled, (INSTALLER,))
