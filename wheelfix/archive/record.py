"""RECORD: its rows, and how they are read and written.

Format: the binary distribution format and "Recording installed projects", packaging.python.org/specifications.
"""

from __future__ import annotations

import base64
import binascii
import csv
import re
import weakref
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.archive import names
from wheelfix.archive.faults import INSTALLER, PIP, UV, RecordFault
from wheelfix.base.values import dataclass
from wheelfix.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.archive.reader import Archive, Member

SIGNATURES = ("RECORD.jws", "RECORD.p7s")
"""Files beside RECORD that sign it; a new RECORD invalidates them, and PEP 815 deprecates them."""
MAX_ROWS = 300_000
"""Half as many again as a wheel may have members."""
MAX_SIZE = 32 << 20
"""Bytes of a RECORD that is still read."""
_MAX_FAULTS = 1000
URL_SAFE = bytes.maketrans(b"+/", b"-_")
"""From the usual alphabet of base64 to the one of RECORD."""
_PORTION = 50_000
"""Lines, and characters of a line, up to which all can be had in memory at once."""
_SIZE = re.compile(r"[0-9]{1,19}").fullmatch
_UV_SIZE = re.compile(r"\+?[0-9]{1,40}").fullmatch
_LINE = re.compile(r"(?:([^,\\\n]{1,1000}),sha256=([^,\n]{43}),([0-9]{1,19})|(.*))(?:\n|\Z)")
"""A line as nearly all are, or any other, in a RECORD without quotes."""
_NEEDS_QUOTES = re.compile(r'[,"\r\n]')
_NUL = "\udc00"
"""Stands for U+0000 while csv reads, which refuses that in Python 3.10; decoded text has no such character."""
_ODD_LINE_END = "[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
"""Where ``str.splitlines`` ends a line and csv does not."""


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
        if (odd := re.search(_ODD_LINE_END, text)) is not None:
            message = f"it holds U+{ord(odd[0]):04X}, where pip and installer end a line and uv does not"
            faults.append(RecordFault("row-malformed", "RECORD", message))
        rows = _plain_rows(text, faults)
        if rows is not None:
            return cls(tuple(rows), tuple(faults))
        rows = []
        make = tuple.__new__  # what Row() does, without a call of Python code
        has_nul = "\0" in text
        lines = csv.reader(_lines(text.replace("\0", _NUL) if has_nul else text))
        try:
            for elements in lines:
                row = None
                if has_nul:
                    elements = [element.replace(_NUL, "\0") for element in elements]
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


ALGORITHMS = {
    "md5": 16,
    "sha1": 20,
    "sha224": 28,
    "sha256": 32,
    "sha384": 48,
    "sha512": 64,
    "blake2b": 64,
    "blake2s": 32,
    "sha3_224": 28,
    "sha3_256": 32,
    "sha3_384": 48,
    "sha3_512": 64,
}
"""The bytes of a digest, for each algorithm that every hashlib has; other names are never passed to it."""


def _is_digest(algorithm: str, digest: str) -> bool:
    """Whether the text can be a digest of that algorithm."""
    if algorithm == "sha256":  # nearly every row; decoding ten thousand of them would take longer than reading them
        return len(digest.rstrip("=")) == 43
    if algorithm not in ALGORITHMS:
        return False
    try:
        return len(decode_digest(digest)) == ALGORITHMS[algorithm]
    except (ValueError, binascii.Error):
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
