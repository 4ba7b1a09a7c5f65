"""RECORD: read and written, the hashes of members, and whether the two agree."""

from __future__ import annotations

import base64
import binascii
import codecs
import csv
import functools
import itertools
import re
import struct
import weakref
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from wheelfix.archive import names
from wheelfix.archive.directory import LOCAL, LOCAL_SIGNATURE
from wheelfix.archive.faults import INSTALLER, PIP, UV, ArchiveFault, Faults
from wheelfix.base.options import all_cores
from wheelfix.base.parsing import regex, whole_number
from wheelfix.base.values import frozen
from wheelfix.errors import InputError
from wheelfix.streams import codec
from wheelfix.streams.pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from wheelfix.archive.reader import Archive, Member


# --------------------------------------------------------------------------------------------------------------- record
# RECORD: its rows, and how they are read and written.
# Format: the binary distribution format and "Recording installed projects", packaging.python.org/specifications.

SIGNATURES = ("RECORD.jws", "RECORD.p7s")
"""Files beside RECORD that sign it; a new RECORD invalidates them, and PEP 815 deprecates them."""
MAX_ROWS = 300_000
"""Half as many again as a wheel may have members."""
MAX_SIZE = 32 << 20
"""Bytes of a RECORD that is still read."""
_MAX_FAULTS = 1000
URL_SAFE = bytes.maketrans(b"+/", b"-_")
"""From the usual alphabet of base64 to the one of RECORD."""
_SIZE_DIGITS = 19
_NEEDS_QUOTES = regex(r'[,"\r\n]')
_ODD_LINE_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Where ``str.splitlines`` ends a line and csv does not."""


OnBytes: TypeAlias = "Callable[[int], None] | None"
"""Is given how many bytes were hashed."""


class Row(NamedTuple):
    """One line of RECORD."""

    path: str
    """With forward slashes, however RECORD spells it."""
    algorithm: str = ""
    """``sha256``; empty where there is no hash."""
    digest: str = ""
    """URL-safe base64 without padding, as spelled."""
    size: int | None = None


@frozen
class Record:
    """The rows of a RECORD file, and what is wrong with its text."""

    rows: tuple[Row, ...] = ()
    faults: tuple[ArchiveFault, ...] = ()

    @classmethod
    def parse(cls, data: bytes) -> Record:
        """Read RECORD's bytes; lines that make no sense become faults, and InputError stops an endless file."""
        faults: list[ArchiveFault] = []
        try:
            text = data.removeprefix(codecs.BOM_UTF8).decode()
        except UnicodeDecodeError as exc:
            message = f"it is not UTF-8 ({exc.reason} at byte {exc.start})"
            faults.append(ArchiveFault("row-malformed", "RECORD", message, (PIP, UV, INSTALLER)))
            text = data.decode("utf-8", "replace")
        if data.startswith(codecs.BOM_UTF8):
            message = "it begins with a byte order mark, which installer takes for a part of the first path"
            faults.append(ArchiveFault("row-malformed", "RECORD", message, (INSTALLER,)))
        if odd := next((end for end in _ODD_LINE_ENDS if end in text), ""):
            message = f"it holds U+{ord(odd):04X}, where pip and installer end a line and uv does not"
            faults.append(ArchiveFault("row-malformed", "RECORD", message))
        rows: list[Row] = []
        lines = csv.reader(_lines(text))
        try:
            for elements in itertools.islice(lines, MAX_ROWS + _MAX_FAULTS + 2):  # each is a row or a fault
                if (row := _parse_row(elements, lines.line_num, faults)) is not None:
                    rows.append(row)
                if len(faults) > _MAX_FAULTS:
                    break
        except csv.Error as exc:
            message = f"line {lines.line_num} cannot be read: {exc}"
            faults.append(ArchiveFault("row-malformed", "RECORD", message, (PIP, INSTALLER)))
        if len(rows) > MAX_ROWS:
            raise InputError("RECORD asks for too much", because=f"it has more than {MAX_ROWS} rows")
        if len(faults) > _MAX_FAULTS:
            message = f"more than {_MAX_FAULTS} faults; the rest was not read"
            faults.append(ArchiveFault("row-malformed", "RECORD", message))
        return cls(tuple(rows), tuple(faults))


_READ: weakref.WeakKeyDictionary[Archive, Record] = weakref.WeakKeyDictionary()


def _lines(text: str) -> Iterator[str]:
    """Give line by line, without the copy of four bytes per character that io.StringIO makes."""
    if "\r" in text and "\n" not in text:
        text = text.replace("\r", "\n")
    yield from (found[0] for found in re.finditer(r"[^\n]*\n|[^\n]+", text))


def _parse_row(elements: list[str], line: int, faults: list[ArchiveFault]) -> Row | None:
    def malformed(why: str, *by: str) -> None:
        subject = elements[0][:200] if elements else "RECORD"
        faults.append(ArchiveFault("row-malformed", subject, f"line {line}: {why}", by))

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
        faults.append(ArchiveFault("row-backslash", path, f"line {line}: folders are separated by backslashes"))
    algorithm, digest, count = "", "", None
    if hashed:
        algorithm, equals, digest = hashed.partition("=")
        if not equals or not _is_digest(algorithm, digest):
            malformed(f"{hashed[:100]!r} is not a hash; installer refuses it where the file exists")
            algorithm = digest = ""
        elif digest.endswith("="):
            malformed("the hash ends in '='; installer refuses it where the file exists")
    if size:
        count = whole_number(size, _SIZE_DIGITS)
        if count is None:
            sound = re.fullmatch(r"\+?[0-9]{1,40}", size) is not None and int(size) < 1 << 64
            malformed(f"{size[:100]!r} is not a size; installer refuses most of such sizes", *(() if sound else (UV,)))
    return Row(path, algorithm, digest, count)


def _is_digest(algorithm: str, digest: str) -> bool:
    """Whether the text can be a digest of that algorithm."""
    if algorithm == "sha256":  # nearly every row; decoding ten thousand of them would take longer than reading them
        return len(digest.rstrip("=")) == 43
    try:
        return 0 < len(decode_digest(digest)) == codec.DIGEST_SIZES.get(algorithm, 0)
    except ValueError:
        return False


def encode_digest(value: bytes) -> str:
    """Return a digest as RECORD spells it."""
    return binascii.b2a_base64(value, newline=False).translate(URL_SAFE, b"=").decode("ascii")


def decode_digest(text: str) -> bytes:
    """Return the bytes of a digest that RECORD spells; padding is tolerated."""
    bare = text.rstrip("=")
    return base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_", validate=True)


def render(rows: Iterable[Row]) -> bytes:
    """Return the bytes of a RECORD with these rows, in their order, with LF line ends."""
    return "".join(map(_render_row, rows)).encode("utf-8", "surrogatepass")


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


# -------------------------------------------------------------------------------------------------------------- hashing
# Hashes and CRCs of many members at once, on all cores, in memory that does not grow with the wheel.
# zlib and hashlib release the interpreter lock, so threads are enough. Large members are streamed one by one,
# largest first; small ones are read together with their neighbours, since ten thousand reads cost more than their
# bytes.


_SMALL = 512 << 10
_BATCH = 2 << 20
_LENGTHS = struct.Struct("<I22xHH")
"""Of a local header: its signature, the length of the name and that of the extra field."""
STRONG = ("sha256", "sha384", "sha512", "sha3_256", "sha3_384", "sha3_512", "blake2b", "blake2s")
"""Algorithms that RECORD may use: sha256 or better."""


class Digest(NamedTuple):  # and no dataclass: ten thousand are made
    """What a member's bytes really are, or why they could not be read."""

    member: Member
    algorithm: str = "sha256"
    value: bytes = b""
    error: str = ""
    """Why there is no value: damaged data, a wrong CRC, a wrong size."""


def digests(
    archive: Archive,
    members: Iterable[Member],
    *,
    algorithms: Mapping[str, str] | None = None,
    jobs: int | None = None,
    progress: OnBytes = None,
    known: Mapping[int, Digest] | None = None,
) -> dict[int, Digest]:
    """Return the digest of each member by its ``entry``; a damaged member gives a digest with an error.

    ``known`` are digests that are known already; a member among them is not read again.
    ``algorithms`` names the algorithm for a member's name where it is not sha256; ``progress`` gets the unpacked bytes.
    """
    hashing = _Hashing(archive, algorithms or {}, progress)
    found = {
        entry: digest for entry, digest in (known or {}).items() if digest.algorithm == hashing.algorithm(digest.member)
    }
    left = [member for member in members if member.entry not in found]
    if not left:
        return found
    with WorkerPool(jobs or all_cores()) as pool:
        try:
            for batch in pool.map(hashing.batch, _batches(left)):
                found.update((digest.member.entry, digest) for digest in batch)
        except BaseException:
            hashing.stopped = True
            raise
    return found


def digest_work(archive: Archive, members: Iterable[Member]) -> Iterator[Callable[[], list[Digest]]]:
    """Give the work of hashing members with sha256, for a pool that has other work too; the longest comes first."""
    hashing = _Hashing(archive, {}, None)
    for batch in _batches([*members]):
        yield functools.partial(hashing.batch, batch)


def _batches(members: Sequence[Member]) -> list[list[Member]]:
    """Return large members alone, and small ones with their neighbours in the file.

    The longest comes first, then the small ones, which need the interpreter most, and last what needs it least.
    """
    large = sorted((member for member in members if member.usize > _SMALL), key=attrgetter("usize"), reverse=True)
    batches: list[list[Member]] = []
    begin = 0
    for member in sorted((member for member in members if member.usize <= _SMALL), key=attrgetter("header_offset")):
        if not batches or member.header_offset + member.csize - begin > _BATCH:
            batches.append([])
            begin = member.header_offset
        batches[-1].append(member)
    alone = [[member] for member in large]
    return [*alone[:1], *batches, *alone[1:]]


class _Hashing:
    """Hashes batches of members, several at once."""

    def __init__(self, archive: Archive, algorithms: Mapping[str, str], progress: OnBytes) -> None:
        self._archive, self._algorithms, self._progress = archive, algorithms, progress
        self.stopped = False
        """Whether nobody waits for the results any more."""

    def algorithm(self, member: Member) -> str:
        """Return what a member is hashed with."""
        return self._algorithms.get(member.name, "sha256")

    def batch(self, batch: list[Member]) -> list[Digest]:
        """Hash some members; a large one is a batch of its own."""
        start, window = batch[0].header_offset, b""
        if len(batch) > 1:
            window = self._archive.read_at(start, batch[-1].header_offset + batch[-1].csize + 4096 - start)
        return [self._small(member, window, start) or self._large(member) for member in batch if not self.stopped]

    def _small(self, member: Member, window: bytes, start: int) -> Digest | None:
        """Hash a small member out of a window of the file; None for what is unusual, or not in the window."""
        at = member.header_offset - start
        if at + LOCAL.size > len(window) or self._archive.why_refused(member):
            return None
        signature, name_length, extra_length = _LENGTHS.unpack_from(window, at)
        at += LOCAL.size + name_length + extra_length
        data = window[at : at + member.csize]
        plain = codec.inflate_whole(data, member.usize) if member.method == codec.DEFLATED else data
        if (
            signature != LOCAL_SIGNATURE
            or plain is None
            or (len(plain), codec.crc32(plain)) != (member.usize, member.crc)
        ):
            return None
        return self._digest(member, [plain])

    def _large(self, member: Member) -> Digest:
        try:
            return self._digest(member, self._archive.chunks(member))
        except InputError as exc:
            return Digest(member, self.algorithm(member), error=exc.because or exc.what)

    def _digest(self, member: Member, pieces: Iterable[bytes]) -> Digest:
        total = codec.hasher(self.algorithm(member))
        for piece in pieces:
            total.update(piece)
            if self._progress is not None:
                self._progress(len(piece))
            if self.stopped:
                break
        return Digest(member, self.algorithm(member), total.digest())


# ---------------------------------------------------------------------------------------------------------- recordcheck
# Whether a RECORD agrees with the members of its archive: paths, sizes and hashes.


def check_record(
    archive: Archive, *, hashes: bool = False, jobs: int | None = None, progress: OnBytes = None
) -> tuple[ArchiveFault, ...]:
    """Return every disagreement between RECORD and the members: names and sizes, and with ``hashes`` their bytes.

    Paths are compared as the archive spells them, prefix included.
    """
    record = read_record(archive)
    if record is None:
        return (ArchiveFault("record-missing", "RECORD", "there is no RECORD", (PIP, UV, INSTALLER)),)
    rows, members, own = _counterparts(archive, record)
    faults = list(record.faults)
    if len(rows) < len(record.rows):
        faults += _second_rows(record.rows, rows)
    faults += _check_rows(rows, members, own)
    if hashes:
        faults += check_hashes(archive, jobs=jobs, progress=progress)
    return tuple(faults)


def _counterparts(archive: Archive, record: Record) -> tuple[dict[str, Row], dict[str, Member], str]:
    """Rows and members by the path that they share, and the path of RECORD itself."""
    own = record_member(archive)
    assert own is not None
    prefix = own.name[: own.name.rfind("/", 0, -len("/RECORD")) + 1]
    rows = {row.path: row for row in reversed(record.rows)}
    members = {member.name.removeprefix(prefix): member for member in archive.members if member.name[-1:] != "/"}
    return rows, members, own.name.removeprefix(prefix)


def _second_rows(rows: Iterable[Row], first: Mapping[str, Row]) -> Faults:
    for row in rows:
        if row is not first[row.path]:
            same = "the same" if row == first[row.path] else "different"
            message = f"the path has a second row with {same} content"
            if row != first[row.path]:
                message += "; installer takes the last one"
            yield ArchiveFault("row-duplicate", row.path, message)


def _check_rows(rows: dict[str, Row], members: dict[str, Member], own: str) -> Faults:
    folder = own.removesuffix("RECORD")
    signatures = {folder + name for name in SIGNATURES}
    for path, member in members.items():
        if path in signatures:
            message, by = "it signs RECORD; rewriting invalidates it, and PEP 815 deprecates it", tuple[str, ...]()
            if path in rows:
                message, by = "it signs RECORD, which must not have a row for it", (INSTALLER,)
            yield ArchiveFault("signature", path, message, by)
            continue
        row = rows.get(path)
        if row is None:
            yield ArchiveFault("row-missing", path, "the member has no row in RECORD", (INSTALLER,))
        elif path == own:
            if row.algorithm or row.size is not None:
                message = "RECORD has a hash or a size for itself, which cannot be true"
                yield ArchiveFault("self-hash", path, message, (INSTALLER,))
        else:
            yield from _check_row(row, member)
    orphans = [path for path in rows if path not in members and path not in signatures]
    folders = {parent for path in members for parent in _parents(path)} if orphans else ()
    unlisted = {(_skeleton(path), member.usize) for path, member in members.items() if path not in rows}
    for path in orphans:
        if names.why_unsafe(path):
            yield ArchiveFault("row-unsafe", path, names.why_unsafe(path))
        elif path in folders or path.endswith("/"):
            yield ArchiveFault("row-folder", path, "RECORD lists a folder; PyPI mails that it does not match the wheel")
        elif not path.isascii() and (_skeleton(path), rows[path].size) in unlisted:
            yield ArchiveFault("row-spelling", path, "RECORD spells the name of a member in another way")
        else:
            yield ArchiveFault("row-orphan", path, "RECORD lists it, but the wheel does not have it")


def _skeleton(path: str) -> str:
    """A name without what depends on its encoding."""
    return "".join(letter for letter in path if letter.isascii())


def _parents(path: str) -> Iterator[str]:
    """The folders above a member."""
    while path := path.rpartition("/")[0]:
        yield path


def _check_row(row: Row, member: Member) -> Faults:
    path = row.path
    if not row.algorithm:
        yield ArchiveFault("hash-missing", path, "the row has no hash", (INSTALLER,))
    elif row.algorithm not in STRONG:
        yield ArchiveFault("hash-weak", path, f"{row.algorithm} is weaker than sha256, which the format forbids")
    if row.size is None:
        yield ArchiveFault("size-missing", path, "the row has no size", (INSTALLER,))
    elif row.size != member.usize:
        message = f"RECORD says {row.size} bytes, the member has {member.usize}"
        yield ArchiveFault("size-stale", path, message, (INSTALLER,), str(row.size), str(member.usize))


def check_hashes(
    archive: Archive,
    *,
    jobs: int | None,
    progress: OnBytes = None,
    known: Mapping[int, Digest] | None = None,
    names: Collection[str] | None = None,
) -> Faults:
    """Give what :func:`check_record` reports about hashes, and nothing else.

    ``known`` are digests of members; only those of ``names`` are looked at, if there are any.
    """
    record = read_record(archive)
    if record is None:
        return
    rows, members, own = _counterparts(archive, record)
    if names is not None:
        members = {path: member for path, member in members.items() if member.name in names}
    algorithms = {
        member.name: rows[path].algorithm
        for path, member in members.items()
        if path in rows and rows[path].algorithm not in {"", "sha256"}
    }
    found = digests(archive, members.values(), algorithms=algorithms, jobs=jobs, progress=progress, known=known)
    for path, member in members.items():
        digest = found[member.entry]
        if digest.error:
            yield ArchiveFault("member-unreadable", path, digest.error)
        elif path in rows and rows[path].algorithm and path != own:
            yield from _compare(rows[path], digest)


def _compare(row: Row, digest: Digest) -> Faults:
    real = encode_digest(digest.value)
    if row.digest.rstrip("=") != real:
        message = f"the member's {row.algorithm} is not what RECORD says"
        spelled = f"{row.algorithm}={row.digest}", f"{row.algorithm}={real}"
        yield ArchiveFault("hash-stale", row.path, message, (INSTALLER,), *spelled)
