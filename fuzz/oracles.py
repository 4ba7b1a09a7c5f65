"""Readers that others wrote, compared with ours: zipfile, csv and installer, LIEF and pefile.

They are used only where ours finds nothing wrong: each of them reads irregular input in its own way.
"""

from __future__ import annotations

import contextlib
import csv
import io
import zipfile
import zlib
from collections import Counter
from typing import TYPE_CHECKING

from wheelfix.errors import WheelfixError
from wheelfix.model import dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.archive.reader import Archive
    from wheelfix.archive.record import Record
    from wheelfix.model import Image

ENOUGH = 1 << 20
"""Bytes of a member that are compared; limits of the targets keep members below that."""

COMPARED: Counter[str] = Counter()
"""How often another reader's answer was compared with ours: a fuzzer whose inputs never get that far tests little."""


class Disagreement(AssertionError):
    """Another reader gives another answer."""


def ask_zipfile(opened: Archive, data: bytes) -> None:
    """An archive that we find nothing wrong with must look the same to zipfile."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as other:
            names = other.namelist()
            if names != [member.name for member in opened.members]:
                raise Disagreement(f"zipfile lists {names[:5]}")
            for member in opened.members:
                _ask_for_member(opened, other, member.name)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as exc:
        raise Disagreement(f"zipfile refuses what we find nothing wrong with: {exc}") from exc
    COMPARED["zipfile"] += 1


def _ask_for_member(opened: Archive, other: zipfile.ZipFile, name: str) -> None:
    """Compare the bytes of a member, if we accept it: zipfile accepts wrong sizes and bytes after a stream."""
    member = next(member for member in opened.members if member.name == name)
    if not member.is_dir:
        with contextlib.suppress(WheelfixError):
            mine = opened.read(member, ENOUGH)
            if other.read(name) != mine:
                raise Disagreement(f"zipfile reads other bytes for {name!r}")


def ask_csv(data: bytes, parsed: Record) -> None:
    """A RECORD that we find nothing wrong with has the rows that csv finds, and what installer takes it for."""
    from installer.records import InvalidRecordEntry, RecordEntry, parse_record_file

    text = data.decode("utf-8-sig")
    if "\0" in text or ("\r" in text and "\n" not in text):
        return  # csv refused zeros until Python 3.11; a text of old Macs is one line for readers that split at LF
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    if [row[0] for row in rows] != [row.path for row in parsed.rows]:
        raise Disagreement("csv reads other paths")
    COMPARED["csv"] += 1
    lines = [line for line in io.StringIO(text, newline="") if line.strip("\r\n")]
    if len(lines) != len(rows):
        return  # installer reads line by line and cannot see quoted line ends
    try:
        for elements, row in zip(parse_record_file(lines), parsed.rows, strict=True):
            entry = RecordEntry.from_elements(*elements)
            hashed = (entry.hash_.name, entry.hash_.value) if entry.hash_ is not None else ("", "")
            if (entry.path, hashed, entry.size) != (row.path, (row.algorithm, row.digest), row.size):
                raise Disagreement(f"installer reads {entry!r}")
    except InvalidRecordEntry as exc:
        raise Disagreement(f"installer refuses what we find nothing wrong with: {exc}") from exc
    COMPARED["installer"] += 1


def ask_lief_and_pefile(facts: Image, data: bytes) -> None:
    """Where LIEF and pefile agree with each other, our answer must be the same; each alone has its own oddities."""
    import lief
    import pefile

    lief.logging.disable()
    try:
        one = pefile.PE(data=data, fast_load=True)
        one.parse_data_directories([0, 1], import_dllnames_only=True)
    except Exception:  # pefile gives up in many ways; then there is nothing to compare
        return
    two = lief.PE.parse(io.BytesIO(data))
    if two is None or one.get_warnings():
        return
    dlls = [entry.dll for entry in getattr(one, "DIRECTORY_ENTRY_IMPORT", [])]
    if not any(b"*invalid*" in dll for dll in dlls):  # its word for a name that it does not like
        _agree(
            "imports",
            [dll_key(dll.decode("latin-1")) for dll in dlls],
            [dll_key(str(entry.name)) for entry in two.imports],
            [dll_key(entry.dll) for entry in facts.imports],
        )
    table, other = getattr(one, "DIRECTORY_ENTRY_EXPORT", None), two.get_export()
    if table is not None and other is not None:
        names = sorted({entry.name.decode("latin-1") for entry in table.symbols if entry.name})
        others = sorted({str(entry.name) for entry in other.entries if entry.name})
        _agree("exports", names, others, sorted(facts.exports.names))


def _agree(what: str, one: Iterable[str], two: Iterable[str], ours: Iterable[str]) -> None:
    """Compare names that are ASCII: beyond it each reader spells bytes differently."""
    first, second, third = ([name for name in names if name.isascii()] for names in (one, two, ours))
    if first != second:
        return
    if first != third:
        raise Disagreement(f"LIEF and pefile see the {what} {first[:5]}, we see {third[:5]}")
    COMPARED[f"LIEF and pefile ({what})"] += 1
