"""Faults of an archive and of its RECORD, as values: what is wrong, where, and who will refuse it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

PIP, UV, PYPI, INSTALLER = "pip", "uv", "pypi", "installer"


@dataclass(frozen=True, slots=True)
class ArchiveFault:
    """Something irregular in a zip archive."""

    kind: str
    """Kebab-case, one of :data:`KINDS`."""
    subject: str
    """The member's name; empty when the fault is the archive's own."""
    message: str
    rejected_by: tuple[str, ...] = ()
    """Who refuses such an archive: ``pip``, ``uv``, ``installer``, ``pypi``."""


@dataclass(frozen=True, slots=True)
class RecordFault:
    """A disagreement between RECORD and the archive, or within RECORD."""

    kind: str
    """Kebab-case, one of :data:`RECORD_KINDS`."""
    path: str
    """The path the row or member is about."""
    message: str
    expected: str = ""
    """What RECORD says, where that helps."""
    found: str = ""
    """What the archive holds."""
    rejected_by: tuple[str, ...] = ()
    """Who refuses such a wheel; ``installer`` where it is asked to check RECORD."""


class FaultList:
    """Faults of an archive as they are found; of each kind only so many are kept, the rest are counted."""

    LIMIT = 10_000

    def __init__(self) -> None:
        self._faults: list[ArchiveFault] = []
        self._counts: Counter[str] = Counter()

    def add(self, faults: Iterable[ArchiveFault]) -> None:
        """Take up faults, as many of each kind as can be listed."""
        for fault in faults:
            self._counts[fault.kind] += 1
            if self._counts[fault.kind] <= self.LIMIT:
                self._faults.append(fault)

    def result(self) -> tuple[ArchiveFault, ...]:
        """Return all faults, with one more for each kind that had too many."""
        more = [
            ArchiveFault(kind, "", f"and {count - self.LIMIT} more members like this")
            for kind, count in self._counts.items()
            if count > self.LIMIT
        ]
        return (*self._faults, *more)


KINDS: dict[str, str] = {
    "stored": "most bytes are stored without compression",
    "unsafe-path": "the name leads outside the target folder or to a device, or Windows cannot hold it",
    "upward-name": "the name leads upwards, and stays inside dist-info",
    "backslash-name": "folders are separated by backslashes",
    "bad-utf8": "the name is not UTF-8",
    "utf8-flag-missing": "the name is UTF-8 but the header does not say so",
    "unprintable-name": "the name holds characters that cannot be seen",
    "reserved-name": "the file has a name that wheelfix uses for its own",
    "unicode-path": "an extra field gives the member another name",
    "long-name": "the name is longer than Windows can hold",
    "duplicate-member": "a name occurs more than once",
    "case-collision": "two names differ only in case or Unicode form, and are one file on Windows",
    "file-as-folder": "a name is a file and also a folder of other files",
    "symlink": "the member is a symbolic link",
    "special-file": "the member is a device, a socket or a pipe",
    "encrypted": "the member is encrypted",
    "unknown-method": "the compression method is neither stored nor deflate, or the version of zip is unknown",
    "data-descriptor": "sizes and CRC follow the data instead of preceding it",
    "comment": "the member has a comment",
    "archive-comment": "the archive has a comment",
    "zip-bomb": "the member unpacks to far more than it can hold",
    "size-lie": "sizes cannot be true",
    "overlap": "two members share bytes",
    "out-of-bounds": "the data lie outside the archive",
    "hidden-data": "bytes between members that no entry names",
    "prefix-data": "bytes precede the archive",
    "trailing-data": "bytes follow the archive",
    "entry-count": "the archive's end names another number of members than there are",
    "zip64-mismatch": "the ZIP64 and the plain records disagree",
    "zip64-malformed": "a ZIP64 record is malformed",
    "extra-malformed": "extra fields are malformed or occur twice",
    "multi-disk": "the archive claims to span several disks",
    "local-mismatch": "the header before the data says something else than the directory",
    "directory-data": "an entry for a folder holds data",
    "damaged": "the data do not fit size or CRC",
}
"""Every kind of :class:`ArchiveFault` with its meaning; the rules map kinds to finding codes."""

RECORD_KINDS: dict[str, str] = {
    "record-missing": "there is no RECORD",
    "row-missing": "a member has no row",
    "row-orphan": "a row has no member",
    "row-folder": "a row is for a folder",
    "row-spelling": "a row has a member's name in another encoding",
    "file-gone": "a row of an installed distribution has no file",
    "row-duplicate": "a path has several rows",
    "row-malformed": "a row cannot be understood",
    "hash-missing": "a row has no hash",
    "hash-weak": "a row's hash is weaker than sha256",
    "hash-stale": "a row's hash is not that of the member",
    "size-stale": "a row's size is not that of the member",
    "size-missing": "a row has no size",
    "self-hash": "RECORD has a hash for itself",
    "signature": "a signature file that rewriting invalidates and PEP 815 deprecates",
    "row-backslash": "a row's path is spelled with backslashes",
    "row-unsafe": "a row's path leads outside the installation",
    "member-unreadable": "the member cannot be read, so its row cannot be checked",
}
"""Every kind of :class:`RecordFault` with its meaning."""
