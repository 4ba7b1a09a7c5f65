"""RECORD: its rows, how they are written, and whether they agree with the archive.

Format: the binary distribution format and "Recording installed projects", packaging.python.org/specifications.
"""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import re
import weakref
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.archive import names
from wheelfix.archive.faults import INSTALLER, PIP, UV, RecordFault
from wheelfix.archive.hashing import STRONG, digests
from wheelfix.errors import InputError
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wheelfix.archive.hashing import Digest
    from wheelfix.archive.reader import Archive, Member

__all__ = ["Record", "RecordFault", "Row", "check_record", "encode_digest", "hash_bytes", "render"]

SIGNATURES = ("RECORD.jws", "RECORD.p7s")
"""Files beside RECORD that sign it; a new RECORD makes them void, and PEP 815 retires them."""
MAX_ROWS = 300_000
"""Half as many again as a wheel may have members."""
MAX_SIZE = 32 << 20
"""Bytes of a RECORD that is still read."""
_MAX_FAULTS = 1000
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_PORTION = 50_000
"""Lines, and characters of a line, up to which all can be had in memory at once."""
_SIZE = re.compile(r"[0-9]{1,19}").fullmatch
_UV_SIZE = re.compile(r"\+?[0-9]{1,40}").fullmatch
_LINE = re.compile(r"(?:([^,\\\n]{1,1000}),sha256=([^,\n]{43}),([0-9]{1,19})|(.*))(?:\n|\Z)")
"""A line as nearly all are, or any other, in a RECORD without quotes."""
_NEEDS_QUOTES = re.compile(r'[,"\r\n]')
_ODD_LINE_END = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
"""Where ``str.splitlines`` ends a line and csv does not."""


_NAME, _USIZE = attrgetter("name"), attrgetter("usize")


class Row(NamedTuple):
    """One line of RECORD."""

    path: str
    """With forward slashes, however RECORD spells it."""
    algorithm: str = ""
    """``sha256``; empty where there is no hash."""
    digest: str = ""
    """URL-safe base64 without padding, as spelled."""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """The rows of a RECORD file, and what is wrong with its text."""

    rows: tuple[Row, ...] = ()
    faults: tuple[RecordFault, ...] = ()

    @classmethod
    def parse(cls, data: bytes) -> Record:
        """Read RECORD's bytes; lines that make no sense become faults, and InputError stops an endless file."""
        faults: list[RecordFault] = []
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as exc:
            message = f"it is not UTF-8 ({exc.reason} at byte {exc.start})"
            faults.append(RecordFault("row-malformed", "RECORD", message, rejected_by=(PIP, UV, INSTALLER)))
            text = data.decode("utf-8", "replace")
        if data.startswith(b"\xef\xbb\xbf"):
            message = "it begins with a byte order mark, which installer takes for a part of the first path"
            faults.append(RecordFault("row-malformed", "RECORD", message, rejected_by=(INSTALLER,)))
        if (odd := _ODD_LINE_END.search(text)) is not None:
            message = f"it holds U+{ord(odd[0]):04X}, where pip and installer end a line and uv does not"
            faults.append(RecordFault("row-malformed", "RECORD", message))
        rows = _plain_rows(text, faults)
        if rows is not None:
            return cls(tuple(rows), tuple(faults))
        rows = []
        make = tuple.__new__  # what Row() does, without a call of Python code
        lines = csv.reader(_lines(text))
        try:
            for elements in lines:
                row = None
                if len(elements) == 3:
                    path, hashed, size = elements
                    # Nearly all rows are like this, and there are ten thousand of them.
                    if len(hashed) == 50 and hashed[:7] == "sha256=" and path and "\\" not in path and _SIZE(size):
                        row = make(Row, (path, "sha256", hashed[7:], int(size)))
                row = row or _parse_row(elements, lines.line_num, faults)
                if row is not None:
                    rows.append(row)
                if len(rows) > MAX_ROWS or len(faults) > _MAX_FAULTS or lines.line_num > 4 * MAX_ROWS:
                    break
        except csv.Error as exc:
            message = f"line {lines.line_num} cannot be read: {exc}"
            faults.append(RecordFault("row-malformed", "RECORD", message, rejected_by=(PIP, INSTALLER)))
        if len(rows) > MAX_ROWS or lines.line_num > 4 * MAX_ROWS:
            because = f"it has more than {MAX_ROWS} rows" if rows else "it has lines without end"
            raise InputError("RECORD asks for too much", because=because)
        if len(faults) > _MAX_FAULTS:
            message = f"more than {_MAX_FAULTS} faults; the rest was not read"
            faults.append(RecordFault("row-malformed", "RECORD", message))
        return cls(tuple(rows), tuple(faults))

    def row(self, path: str) -> Row | None:
        """Return the first row of that path."""
        return next((row for row in self.rows if row.path == path), None)


_READ: weakref.WeakKeyDictionary[Archive, Record] = weakref.WeakKeyDictionary()


class Rendered(NamedTuple):
    """A RECORD as it was written: the bytes, and the rows that they mean."""

    data: bytes
    rows: tuple[Row, ...]


def _lines(text: str) -> Iterator[str]:
    """Give line by line, without the copy of four bytes per character that io.StringIO makes."""
    if "\r" in text and "\n" not in text:
        text = text.replace("\r", "\n")
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _plain_rows(text: str, faults: list[RecordFault]) -> list[Row] | None:
    """Return the rows of a RECORD without quotes, where every line is a row; None if it is not of that kind."""
    text = text.replace("\r\n", "\n") if "\r" in text else text
    if not text.endswith("\n") or '"' in text or "\r" in text or "\0" in text or text.count("\n") > _PORTION:
        return None
    make, rows, odd = tuple.__new__, list[Row](), list[RecordFault]()
    found = _LINE.findall(text)
    found.pop()  # the empty rest after the last line end
    for line, (path, digest, size, other) in enumerate(found, start=1):
        if path:
            rows.append(make(Row, (path, "sha256", digest, int(size))))
        elif len(other) > _PORTION or len(odd) > _MAX_FAULTS:
            return None
        elif (row := _parse_row(other.split(",") if other else [], line, odd)) is not None:
            rows.append(row)
    faults += odd
    return rows


def _parse_row(elements: list[str], line: int, faults: list[RecordFault]) -> Row | None:
    def malformed(why: str, *by: str) -> None:
        subject = elements[0][:200] if elements else "RECORD"
        faults.append(RecordFault("row-malformed", subject, f"line {line}: {why}", rejected_by=by))

    if not elements:
        malformed("the line is empty", PIP, INSTALLER)
        return None
    if len(elements) != 3:
        malformed(f"{len(elements)} fields instead of 3", UV, INSTALLER)
        if len(elements) < 3:
            return Row(names.normalise(elements[0])) if elements[0] else None
    path, hashed, size = elements[:3]
    if not path:
        malformed("the path is empty")
        return None
    if "\\" in path:
        path = names.normalise(path)
        faults.append(RecordFault("row-backslash", path, f"line {line}: folders are separated by backslashes"))
    algorithm, digest, count = "", "", None
    if hashed:
        algorithm, equals, digest = hashed.partition("=")
        if not equals or not _is_digest(algorithm, digest):
            malformed(f"{hashed[:100]!r} is not a hash; installer refuses it where the file exists")
            algorithm = digest = ""
        elif digest.endswith("="):
            malformed("the hash ends in '='; installer refuses it where the file exists")
    if size:
        if _SIZE(size):
            count = int(size)
        else:
            sound = _UV_SIZE(size) is not None and int(size) < 1 << 64
            malformed(f"{size[:100]!r} is not a size; installer refuses most of such sizes", *(() if sound else (UV,)))
    return Row(path, algorithm, digest, count)


ALGORITHMS = frozenset(name for name in hashlib.algorithms_guaranteed if not name.startswith("shake_"))
"""Algorithms with digests of one length; asking hashlib for any name that a stranger wrote raises what it likes."""


def _is_digest(algorithm: str, digest: str) -> bool:
    """Whether the text can be a digest of that algorithm."""
    if algorithm == "sha256":  # nearly every row; decoding ten thousand of them would take longer than reading them
        return len(digest.rstrip("=")) == 43
    if algorithm not in ALGORITHMS:
        return False
    try:
        return len(decode_digest(digest)) == hashlib.new(algorithm).digest_size
    except (ValueError, binascii.Error):
        return False


def encode_digest(value: bytes) -> str:
    """Return a digest as RECORD spells it."""
    return binascii.b2a_base64(value, newline=False).translate(_URL_SAFE, b"=").decode("ascii")


def decode_digest(text: str) -> bytes:
    """Return the bytes of a digest that RECORD spells; padding is tolerated."""
    bare = text.rstrip("=")
    return base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_", validate=True)


def hash_bytes(data: bytes) -> str:
    """Return the sha256 of bytes as RECORD spells it."""
    return encode_digest(hashlib.sha256(data).digest())


def render(rows: Iterable[Row]) -> bytes:
    """Return the bytes of a RECORD with these rows, in their order, with LF line ends."""
    listed = [*rows]
    quotes = _NEEDS_QUOTES.search("".join([row.path for row in listed])) is not None
    lines = [
        _render_row(row) if quotes or not row[1] or row[3] is None else f"{row[0]},{row[1]}={row[2]},{row[3]}\n"
        for row in listed
    ]
    return "".join(lines).encode("utf-8", "surrogatepass")


def _render_row(row: Row) -> str:
    # By hand, since csv leaves a lone carriage return unquoted and then reads it as the end of a line.
    path = '"' + row.path.replace('"', '""') + '"' if _NEEDS_QUOTES.search(row.path) else row.path
    hashed = f"{row.algorithm}={row.digest}" if row.algorithm else ""
    return f"{path},{hashed},{'' if row.size is None else row.size}\n"


def record_member(archive: Archive) -> Member | None:
    """Return the member that is the wheel's RECORD: of the dist-info nearest to the top."""
    found = [name for name in archive.names() if name.endswith(".dist-info/RECORD")]
    return archive.find(min(found, key=lambda name: (name.count("/"), name))) if found else None


def read_record(archive: Archive) -> Record | None:
    """Return the wheel's RECORD, read once for as long as the archive is at hand; None if there is none."""
    known = _READ.get(archive)
    if known is None:
        own = record_member(archive)
        if own is None:
            return None
        known = _READ[archive] = Record.parse(archive.read(own, MAX_SIZE))
    return known


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
        others[-1] == ""
        and len(paths) == len(wanted)
        and dict(zip(paths, sizes, strict=False)) == wanted
        and hashes.pop(paths.index(own.name)) == ""
        and set(map(len, hashes)) <= {50}
        and text.count(",sha256=") == len(hashes)
    )


def check_hashes(
    archive: Archive, record: Record | None, *, jobs: int, known: Mapping[int, Digest]
) -> tuple[RecordFault, ...]:
    """Return what :func:`check_record` says of hashes, and nothing else."""
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
            same = "the same" if row == first[row.path] else "another"
            message = f"the path has a second row with {same} content"
            if row != first[row.path]:
                message += "; installer takes the last one"
            yield RecordFault("row-duplicate", row.path, message)


def _check_rows(rows: dict[str, Row], members: dict[str, Member], own: str) -> Iterator[RecordFault]:
    folder = own.removesuffix("RECORD")
    signatures = {folder + name for name in SIGNATURES}
    for path, member in members.items():
        if path in signatures:
            message, by = "signs a RECORD; rewriting invalidates it and PEP 815 retires it", tuple[str, ...]()
            if path in rows:
                message, by = "signs RECORD, which must not have a row for it", (INSTALLER,)
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
    for path in rows:
        if path not in members and path not in signatures:
            if names.why_unsafe(path):
                yield RecordFault("row-unsafe", path, names.why_unsafe(path))
            if not path.endswith("/"):
                yield RecordFault("row-orphan", path, "the row has no member")


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
    """Whether every hash is as RECORD spells it, seen at one glance: as in nearly every wheel."""
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
    return real.translate(_URL_SAFE) == "".join([spelled + "A" for spelled, _ in pairs]).encode("ascii", "replace")


def _compare(row: Row, digest: Digest) -> Iterator[RecordFault]:
    real = encode_digest(digest.value)
    if row.digest.rstrip("=") != real:
        message = f"the member's {row.algorithm} is not what RECORD says"
        spelled = f"{row.algorithm}={row.digest}", f"{row.algorithm}={real}"
        yield RecordFault("hash-stale", row.path, message, *spelled, (INSTALLER,))
