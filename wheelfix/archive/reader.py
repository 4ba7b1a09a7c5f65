"""A wheel as a zip archive: its members, their bytes, and everything that is irregular about them."""

from __future__ import annotations

import functools
import io
import posixpath
import stat
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive import names
from wheelfix.archive.directory import (
    CENTRAL,
    DESCRIPTOR,
    ENCRYPTED,
    LOCAL,
    MAX16,
    MAX32,
    METHODS,
    NEWEST,
    PATCHED,
    SMALL_WINDOW,
    STRONG_ENCRYPTION,
    UTF8,
    WINDOW,
    ZIP64,
    Member,
    contains_mark,
    decode_name,
    extra_fields,
    header_spans,
    locate,
    parse_directory,
    too_much,
)
from wheelfix.archive.faults import INSTALLER, PIP, PYPI, UV, ArchiveFault, FaultList, Faults
from wheelfix.base.inputfiles import UnfitFile
from wheelfix.base.options import Limits
from wheelfix.base.parsing import regex
from wheelfix.base.values import dataclass, field
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.streams import codec
from wheelfix.streams.source import PIECE, FileSource, InflatedSource, ReadAt, StoredSource, chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from wheelfix.model import ByteSource
    from wheelfix.remote.ranges import RangeSource, RemoteWheel


# ----------------------------------------------------------------------------------------------------------- inspection
# What is irregular about the members of an archive, as far as its directory shows.
# Each fault says who refuses such an archive, as observed with pip 26, uv 0.13 and in the sources of PyPI.

_METHOD_NAMES = {1: "shrink", 6: "implode", 9: "deflate64", 12: "bzip2", 14: "lzma", 93: "zstd", 95: "xz", 99: "AES"}


@dataclass
class Inspection:
    """The faults found so far, and the members that must not be read because of them."""

    directory: bytes
    directory_at: int
    limits: Limits
    faults: FaultList = field(default_factory=FaultList)
    refused: dict[int, str] = field(default_factory=dict)
    """The reason, by :attr:`Member.entry`."""

    def examine(self, members: Sequence[Member], odd: Iterable[Member]) -> None:
        """Look at the odd members one by one, and at where all of them lie."""
        for member in odd:
            self.faults.add(self._member_faults(member))
        self.faults.add(self._bounds_faults(members))

    def _member_faults(self, member: Member) -> Faults:
        """Give what is irregular in one entry by itself; remember if it must not be read."""
        name, limits = member.name, self.limits

        def fault(kind: str, message: str, by: tuple[str, ...] = (), *, refuse: bool = False) -> ArchiveFault:
            if refuse:
                self.refused.setdefault(member.entry, message)
            return ArchiveFault(kind, name, message, by)

        if member.flags & (ENCRYPTED | STRONG_ENCRYPTION):
            yield fault("encrypted", "the member is encrypted", (PIP, UV), refuse=True)
        if member.flags & PATCHED:
            yield fault("unknown-method", "the member is a patch for another file (flag bit 5)", (PIP, UV), refuse=True)
        if member.flags & DESCRIPTOR:
            # uv unpacks while it downloads, and a stored member does not say where it ends.
            endless = member.method == codec.STORED
            message = "sizes and CRC follow the data instead of preceding it"
            yield fault("data-descriptor", message, (UV, PYPI) if endless else (PYPI,))
        if member.method not in METHODS:
            what = _METHOD_NAMES.get(member.method, "unknown")
            by = {12: (UV, PYPI), 14: (UV, PYPI), 93: (PIP, PYPI)}.get(member.method, (PIP, UV, PYPI))
            yield fault("unknown-method", f"compression method {member.method} ({what})", by, refuse=True)
        elif member.method == codec.STORED and member.csize != member.usize:
            message = f"stored, yet {member.csize} bytes are to become {member.usize}"
            yield fault("size-lie", message, (UV,), refuse=True)
        elif member.usize > member.csize * codec.MAX_RATIO:
            message = f"{member.csize} bytes of deflate cannot become {member.usize}"
            yield fault("size-lie", message, (PIP, UV), refuse=True)
        elif member.usize > max(limits.ratio_from, member.csize * limits.max_ratio):
            message = f"{member.csize} bytes would unpack to {member.usize}"
            yield fault("zip-bomb", message, (PYPI,), refuse=True)
        if member.usize > limits.max_member_size:
            message = f"it would unpack to {member.usize} bytes"
            yield fault("zip-bomb", message, (PYPI,), refuse=True)
        kind = stat.S_IFMT(member.mode)
        if kind == stat.S_IFLNK:
            yield fault("symlink", "the member is a symbolic link")
        elif kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
            yield fault("special-file", f"the member is a special file (mode {member.mode:#o})")
        if member.comment:
            message, like_zip = (
                f"the member has a comment of {len(member.comment)} bytes",
                contains_mark(member.comment),
            )
            yield fault("comment", message, (UV, PYPI) if like_zip else (PYPI,))
        entry = CENTRAL.unpack_from(self.directory, member.entry)
        if (needed := entry[2] & 0xFF) > NEWEST:
            message = f"the member asks for version {needed / 10} of the zip format, {NEWEST / 10} is the latest"
            yield fault("unknown-method", message, (PIP, UV, PYPI))
        if entry[12] not in {0, MAX16}:
            yield fault("multi-disk", "the member claims to lie on another disk")
        announced = (entry[7], entry[8], entry[15]).count(MAX32)
        given = next((len(body) for tag, body in extra_fields(member.extra) if tag == ZIP64), -1)
        if announced and given < 8 * announced:
            by = (UV, PYPI) if given < 0 else (PIP, UV, PYPI)
            yield fault("zip64-malformed", "a ZIP64 field is announced and missing", by, refuse=True)
        if member.spelled is not None and not member.spelled.isascii():
            yield from _encoding_faults(member)

    def _bounds_faults(self, members: Sequence[Member]) -> Faults:
        """Give members that reach beyond the directory or into one another, by what the directory says."""
        edge = self.directory_at
        previous: Member | None = None
        for member in sorted(members, key=attrgetter("header_offset"), reverse=True):
            end = member.header_offset + 30 + len(member.name) + member.csize
            if end > edge:
                if previous is None or end > self.directory_at:
                    message = f"its data would end at {end}, the directory begins at {self.directory_at}"
                    self.refused[member.entry] = message
                    by = (PIP, UV) if member.header_offset > self.directory_at else (PIP, UV, PYPI)
                    yield ArchiveFault("out-of-bounds", member.name, message, by)
                else:
                    message = f"its data run into those of {previous.name!r}"
                    self.refused[member.entry] = message
                    self.refused.setdefault(previous.entry, f"its data are shared with {member.name!r}")
                    same = (member.name, member.header_offset) == (previous.name, previous.header_offset)
                    yield ArchiveFault("overlap", member.name, message, (UV, PYPI) if same else (PIP, UV, PYPI))
            edge, previous = min(edge, member.header_offset), member


def _encoding_faults(member: Member) -> Faults:
    raw = member.raw_name
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        by = (PIP, UV, PYPI) if member.flags & UTF8 else (UV, PYPI)
        yield ArchiveFault("bad-utf8", member.name, f"the name {raw!r} is not UTF-8", by)
        return
    if not member.flags & UTF8:
        message = "the name is UTF-8 without the flag that says so; pip installs it under a garbled name"
        yield ArchiveFault("utf8-flag-missing", member.name, message, (UV, PYPI))


def _name_faults(members: Sequence[Member], index: Collection[str]) -> Faults:
    """Give what is wrong with the names, alone and together."""
    spelled = [member.name if member.spelled is None else decode_name(member.spelled) for member in members]
    for member, name in zip(members, spelled, strict=True):
        if names.is_plain(name):
            continue
        if "\\" in name:
            message = "folders are separated by backslashes, which pip, uv and installer accept only on Windows"
            yield ArchiveFault("backslash-name", member.name, message)
        reason = names.why_unsafe(name)
        if reason and names.stays_inside(name):
            yield ArchiveFault("upward-name", member.name, f"{reason}, and stays inside")
        elif reason:
            yield ArchiveFault("unsafe-path", member.name, reason, _unsafe_rejected_by(name))
    text = "".join(spelled)
    odd_ones = not text.isascii() or "wheelfix" in text.lower()
    for member, name in zip(members, spelled, strict=True) if odd_ones else ():
        if not name.isascii() and (odd := names.unprintable(name)):
            message = f"the name holds U+{ord(odd):04X}, a character that cannot be seen"
            yield ArchiveFault("unprintable-name", member.name, message, (UV,))
        if names.is_reserved(name):
            message = "the file has a name of files of wheelfix, which could undo or remove something because of it"
            yield ArchiveFault("reserved-name", member.name, message)
    if len(index) != len(members):
        seen: dict[str, Member] = {}
        for member in members:
            first = seen.setdefault(member.name, member)
            if first is member:
                continue
            by: tuple[str, ...] = (UV, PYPI)
            message = "the name occurs more than once; installers disagree on which one counts"
            if (first.crc, first.usize) == (member.crc, member.usize) and first.header_offset != member.header_offset:
                message, by = "the member occurs more than once, with the same content", (PYPI, INSTALLER)
            elif first.raw_name != member.raw_name:
                message, by = f"on Windows it is the same file as {decode_name(first.raw_name)!r}", ()
            yield ArchiveFault("duplicate-member", member.name, message, by)
    if len(set(map(str.lower, spelled))) != len(members) or not all(map(str.isascii, index)):
        for one, second in names.collisions(spelled):
            if names.normalise(one) != names.normalise(second):
                message = f"on Windows it is the same file as {one!r}"
                yield ArchiveFault("case-collision", names.normalise(second), message)
    yield from _file_as_folder_faults(index)


def _file_as_folder_faults(index: Collection[str]) -> Faults:
    """Give files that are folders too, as they are spelled and as Windows reads them."""
    files = [name for name in index if name[-1:] != "/"]
    keys = {names.windows_key(name): name for name in files}
    on_windows = list(names.files_as_folders(keys))
    # What is a folder as it is spelled is one on Windows too; only entries of folders are not among the keys.
    some = on_windows or len(files) < len(index)
    exact = dict(names.files_as_folders(index)) if some else {}
    for file, below in exact.items():
        message = f"it is a file, yet other members lie in {below!r}"
        only_entry = below in index and not any(name.startswith(below) for name in index if name != below)
        yield ArchiveFault("file-as-folder", file, message, (UV,) if only_entry else (PIP, UV))
    for key, _ in on_windows:
        if keys[key] not in exact:
            message = "it is a file, yet on Windows other members lie in a folder of that name"
            yield ArchiveFault("file-as-folder", keys[key], message)


_CONTROL = regex(r"[\x00-\x1f\x7f]")


def _unsafe_rejected_by(name: str) -> tuple[str, ...]:
    """Return who refuses an unsafe name."""
    if _CONTROL.search(name):
        return (UV, PYPI)
    steps = name.split("/")
    if (steps[-1] == ".." and len(steps) > 1) or max(map(len, steps)) > names.MAX_PART:
        return (PIP, UV)
    outside = f"{posixpath.normpath(name)}/".startswith(("../", "/"))
    return (PIP,) if outside and not name.endswith("/") else ()  # pip passes over entries of folders


# --------------------------------------------------------------------------------------------------------------- reader
# A wheel as a zip archive: its members, their bytes, and everything that is irregular about them.
# Nothing the archive claims is believed without a bound: what cannot be true is a fault, and a member with such a
# fault is not read.


__all__ = ["Archive", "ArchiveFault", "Limits", "Member"]

_DEFAULT_READ_LIMIT = 64 << 20


class Archive:
    """An open zip archive; reading from it is safe from several threads."""

    def __init__(self, path: Path | RemoteWheel, limits: Limits) -> None:
        self.limits = limits
        self.shown = str(path)
        """The file as messages name it: a path, or a URL without secrets."""
        self.remote = None if isinstance(path, Path) else path
        """The wheel on a server that this is, or None for a file on this disk."""
        self._source: FileSource | RangeSource = _open_file(path) if isinstance(path, Path) else path.open()
        self.path = path if isinstance(path, Path) else Path(path.name)
        """The file; of one on a server only the name."""
        self.size = self._source.size
        self.members: tuple[Member, ...] = ()
        self.directory = b""
        """The bytes of the central directory."""
        self.directory_at = 0
        """Where the central directory begins in the file."""
        self._index: dict[str, Member] = {}
        self._refused: dict[int, str] = {}

    @classmethod
    def open(cls, path: Path | RemoteWheel, limits: Limits | None = None) -> Archive:
        """Open a zip archive and read its directory; InputError if it is not one, is cut short or exceeds a limit."""
        archive = cls(path, limits or Limits())
        try:
            archive._load()
        except BaseException:
            archive.close()
            raise
        return archive

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def fileno(self) -> int:
        """The open file's descriptor, for copying within the kernel; io.UnsupportedOperation for one on a server."""
        if not isinstance(self._source, FileSource):
            raise io.UnsupportedOperation("a file on a server has no descriptor")
        return self._source.fileno()

    def expect(self, members: Iterable[Member]) -> None:
        """Have the packed bytes of members fetched in as few requests as make sense, if this is on a server."""
        if not isinstance(self._source, FileSource):
            self._source.expect((start, start + length) for start, length in map(self.data_span, members))

    # ------------------------------------------------------------------------------------------------ opening

    def _load(self) -> None:
        layout = locate(self.read_at, self.size, self.shown)
        limits = self.limits
        if layout.directory_size > limits.max_directory:
            raise too_much(self.shown, f"its directory has {layout.directory_size} bytes", "max_directory")
        self.directory = self.read_at(layout.directory, layout.directory_size)
        self.directory_at = layout.directory
        members, odd = parse_directory(self.directory, layout.start, limits, self.shown)
        self.members = tuple(members)
        self._index = {member.name: member for member in reversed(members)}
        if not isinstance(self._source, FileSource):
            self._source.expect(*header_spans(members, self.directory_at))
        inspection = Inspection(self.directory, self.directory_at, limits)
        inspection.faults.add(layout.faults)
        if len(members) != layout.entries:
            message = f"the end record says {layout.entries} members, the directory has {len(members)}"
            inspection.faults.add([ArchiveFault("entry-count", "", message, (UV, PYPI))])
        inspection.examine(members, odd)
        self._inspection, self._refused = inspection, inspection.refused
        readable = [member for member in members if member.entry not in self._refused] if self._refused else members
        total = sum(map(attrgetter("usize"), readable))
        if total > limits.ratio_from and total > self.size * limits.max_ratio:
            raise too_much(self.shown, f"its {self.size} bytes would unpack to {total}", "max_ratio")
        if total > limits.max_total:
            raise too_much(self.shown, f"its members would unpack to {total} bytes", "max_total")

    @functools.cached_property
    def faults(self) -> tuple[ArchiveFault, ...]:
        """What is irregular, as far as the directory shows; names are looked at when asked for."""
        self._inspection.faults.add(_name_faults(self.members, self._index))
        return self._inspection.faults.result()

    @property
    def window(self) -> int:
        """Bytes that are read around a header, in the hope that the next one is near."""
        return WINDOW if self.remote is None else SMALL_WINDOW

    # ------------------------------------------------------------------------------------------------ reading

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes of the file from ``offset``."""
        return self._source.read_at(offset, length)

    def find(self, name: str) -> Member | None:
        """Return the first member with exactly that name."""
        return self._index.get(name)

    def data_span(self, member: Member) -> tuple[int, int]:
        """Return where the member's packed bytes are in the file, and how many; InputError if it cannot be read."""
        reason = self._refused.get(member.entry)
        if reason:
            raise self.unreadable(member, reason)
        header = self.read_at(member.header_offset, LOCAL.size)
        if len(header) < LOCAL.size or header[:4] != b"PK\x03\x04":
            raise self.unreadable(member, f"there is no header at {member.header_offset}")
        *_, name_length, extra_length = LOCAL.unpack(header)
        offset = member.header_offset + LOCAL.size + name_length + extra_length
        if offset + member.csize > self.directory_at:
            raise self.unreadable(member, "its data run into the directory")
        return offset, member.csize

    def reader(self, member: Member, *, ahead: bool = True) -> ReadAt:
        """Return a function that reads the member's packed bytes by offset and length.

        Without ``ahead`` nothing more than that is fetched from a server.
        """
        start, length = self.data_span(member)

        def read(offset: int, wanted: int) -> bytes:
            wanted = max(0, min(wanted, length - offset))
            if not ahead and not isinstance(self._source, FileSource):
                self._source.expect([(start + offset, start + offset + wanted)])
            return self.read_at(start + offset, wanted)

        return read

    def source(self, member: Member, *, whole: bool = False) -> ByteSource:
        """Return the member's unpacked bytes for reading at any place, in bounded memory; ``whole`` if all of them."""
        if member.method == codec.STORED:
            return StoredSource(self.reader(member), member.usize)
        sparing = self.remote is not None and not whole
        read = self.reader(member, ahead=not sparing)
        return InflatedSource(read, member.csize, member.usize, sparing=sparing)

    def chunks(self, member: Member) -> Iterator[bytes]:
        """Give the member's unpacked bytes piece by piece; InputError at the end if size or CRC were wrong."""
        source, crc, reason = self.source(member, whole=True), 0, ""
        try:
            for piece in chunks(source, step=PIECE):
                crc = codec.crc32(piece, crc)
                yield piece
            if isinstance(source, InflatedSource):
                reason = source.end_fault()
        except InputError as exc:
            reason = exc.because
        if reason or crc != member.crc:
            raise self.unreadable(member, reason or f"its CRC is {crc:08x} instead of {member.crc:08x}")

    def read(self, member: Member, limit: int = _DEFAULT_READ_LIMIT) -> bytes:
        """Return the member's unpacked bytes; InputError if there are more than ``limit`` or they are damaged."""
        if member.usize > limit:
            raise self.unreadable(member, f"it has {member.usize} bytes, more than the {limit} that are read at once")
        return b"".join(self.chunks(member))

    def check_unchanged(self) -> None:
        """EnvironmentFailure if the file was written to since it was opened; each answer of a server is checked."""
        if isinstance(self._source, FileSource) and self._source.has_changed():
            raise EnvironmentFailure(
                f"{self.path} changed while it was read", hint="run again when nothing writes to it"
            )

    # ------------------------------------------------------------------------------------------------ errors

    def names(self) -> Iterable[str]:
        """Return the members' names, each once."""
        return self._index.keys()

    def why_refused(self, member: Member) -> str:
        """Return why the member is not read, or nothing."""
        return self._refused.get(member.entry, "")

    def unreadable(self, member: Member, because: str) -> InputError:
        """Return the error for a member whose bytes cannot be had."""
        packed = member.method in METHODS
        hint = "the wheel is damaged" if packed else "pack the wheel again with members that are deflated or stored"
        return InputError(f"{self.shown}: cannot read {member.name!r}", because=because, hint=hint)


def _open_file(path: Path) -> FileSource:
    try:
        return FileSource(path)
    except EnvironmentFailure as exc:
        if isinstance(exc.__cause__, UnfitFile):
            raise InputError(f"{path} is not a wheel", because=str(exc.__cause__)) from exc
        if isinstance(exc.__cause__, FileNotFoundError | NotADirectoryError):
            raise InputError(f"{path} does not exist") from exc
        raise EnvironmentFailure(f"cannot open {path}", because=exc.because) from exc
