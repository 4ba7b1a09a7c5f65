"""A wheel as a zip archive: its members, their bytes, and everything that is irregular about them.

Nothing the archive claims is believed without a bound: what cannot be true is a fault, and a member with such a
fault is not read.
"""

from __future__ import annotations

import functools
import io
import os
import threading
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.directory import LOCAL, locate
from wheelfix.archive.faults import PYPI, UV, ArchiveFault
from wheelfix.archive.inspection import Inspection
from wheelfix.archive.local import SMALL_WINDOW, WINDOW, header_spans, headers_are_regular
from wheelfix.archive.members import Limits, Member, parse_directory, too_much
from wheelfix.base.inputfiles import UnfitFile, open_regular
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.streams import codec
from wheelfix.streams.source import InflatedSource, StoredSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from wheelfix.model import ByteSource
    from wheelfix.remote.wheel import RemoteWheel

__all__ = ["Archive", "ArchiveFault", "Limits", "Member"]

_PREAD: Callable[[int, int, int], bytes] | None = getattr(os, "pread", None)
_CHUNK = 1 << 18
_DEFAULT_READ_LIMIT = 64 << 20


class Archive:
    """An open zip archive; reading from it is safe from several threads."""

    def __init__(self, path: Path | RemoteWheel, limits: Limits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self.shown = str(path)
        """The file as messages name it: a path, or a URL without secrets."""
        self.remote = None if isinstance(path, Path) else path
        """The wheel on a server that this is, or None for a file on this disk."""
        self._source = self.remote.open() if self.remote is not None else None
        self.path = path if isinstance(path, Path) else Path(path.name)
        """The file; of one on a server only the name."""
        self.size = self._source.size if self._source is not None else 0
        if self._source is None:
            self._open_file(self.path)
        self.members: tuple[Member, ...] = ()
        self.directory = b""
        """The bytes of the central directory."""
        self.directory_at = 0
        """Where the central directory begins in the file."""
        self._index: dict[str, Member] = {}
        self._refused: dict[int, str] = {}

    def _open_file(self, path: Path) -> None:
        try:
            self._file = open_regular(path)
        except UnfitFile as exc:
            raise InputError(f"{path} is not a wheel", because=str(exc)) from exc
        except OSError as exc:
            raise _cannot_open(path, exc) from exc
        status = os.fstat(self._file.fileno())
        self.size = status.st_size
        self._identity = (status.st_size, status.st_mtime_ns)

    @classmethod
    def open(
        cls, path: Path | RemoteWheel, limits: Limits | None = None, known: frozenset[str] = frozenset()
    ) -> Archive:
        """Open a zip archive and read its directory; InputError if it is not one, is cut short or exceeds a limit.

        ``known`` are names that were looked at together and found to be in order.
        """
        archive = cls(path, limits or Limits())
        try:
            archive._load(known)
        except BaseException:
            archive.close()
            raise
        return archive

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        if self._source is None:
            self._file.close()
        elif self.remote is not None:
            self._source.close()
            self.remote.closed(self._source)

    def fileno(self) -> int:
        """The open file's descriptor, for copying within the kernel; io.UnsupportedOperation for one on a server."""
        if self._source is not None:
            raise io.UnsupportedOperation("a file on a server has no descriptor")
        return self._file.fileno()

    def expect(self, members: Iterable[Member]) -> None:
        """Have the packed bytes of members fetched in as few requests as make sense, if this is on a server."""
        if self._source is not None:
            self._source.expect((start, start + length) for start, length in map(self.data_span, members))

    # ------------------------------------------------------------------------------------------------ opening

    def _load(self, known: frozenset[str]) -> None:
        layout = locate(self.read_at, self.size, self.shown)
        limits = self.limits
        if layout.directory_size > limits.max_directory:
            raise too_much(self.shown, f"its directory has {layout.directory_size} bytes", "max_directory")
        self.directory = self.read_at(layout.directory, layout.directory_size)
        self.directory_at = layout.directory
        members, odd = parse_directory(self.directory, layout.start, limits, self.shown)
        self.members = tuple(members)
        self._index = {member.name: member for member in reversed(members)}
        if self._source is not None:
            self._source.expect(*header_spans(members, self.directory_at))
        inspection = Inspection(self.directory, self.directory_at, self.size, limits)
        inspection.faults.add(layout.faults)
        if len(members) != layout.entries:
            message = f"the end record says {layout.entries} members, the directory has {len(members)}"
            inspection.faults.add([ArchiveFault("entry-count", "", message, (UV, PYPI))])
        inspection.examine(members, odd)
        self._known = known
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
        self._inspection.examine_names(self.members, self._index, self._known)
        return self._inspection.faults.result()

    @functools.cached_property
    def is_regular(self) -> bool:
        """Whether nothing at all is irregular: one member after the other, headers as the directory says, no extra
        fields. Every header is read to tell."""
        return not self.faults and headers_are_regular(
            self.read_at, self.directory, self.directory_at, self.members, self.window
        )

    @property
    def window(self) -> int:
        """Bytes that are read around a header, in the hope that the next one is near."""
        return WINDOW if self._source is None else SMALL_WINDOW

    # ------------------------------------------------------------------------------------------------ reading

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes of the file from ``offset``."""
        if self._source is not None:
            return self._source.read_at(offset, length)
        try:
            if _PREAD is not None:
                data = _PREAD(self._file.fileno(), length, offset)
                while len(data) < length and (more := _PREAD(self.fileno(), length - len(data), offset + len(data))):
                    data += more
                return data
            with self._lock:  # Windows: one position for all threads
                self._file.seek(offset)
                data = self._file.read(length)
                while len(data) < length and (more := self._file.read(length - len(data))):
                    data += more
                return data
        except (OSError, ValueError, OverflowError) as exc:
            raise EnvironmentFailure(f"cannot read {self.path}", because=str(exc)) from exc

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

    def reader(self, member: Member, *, ahead: bool = True) -> Callable[[int, int], bytes]:
        """Return a function that reads the member's packed bytes by offset and length.

        Without ``ahead`` nothing more than that is fetched from a server.
        """
        start, length = self.data_span(member)

        def read(offset: int, wanted: int) -> bytes:
            wanted = max(0, min(wanted, length - offset))
            if self._source is not None and not ahead:
                self._source.expect([(start + offset, start + offset + wanted)])
            return self.read_at(start + offset, wanted)

        return read

    def source(self, member: Member, on_bytes: Callable[[bytes], object] | None = None) -> ByteSource:
        """Return the member's unpacked bytes for reading at any place, in bounded memory.

        ``on_bytes`` gets the bytes of a packed member once and in order, as they are unpacked.
        """
        if member.method == codec.STORED:
            return StoredSource(self.reader(member), member.usize)
        remote = self._source is not None
        read = self.reader(member, ahead=not remote)
        return InflatedSource(read, member.csize, member.usize, on_bytes=on_bytes, sparing=remote)

    def chunks(self, member: Member) -> Iterator[bytes]:
        """Give the member's unpacked bytes piece by piece; InputError at the end if size or CRC were wrong."""
        crc = total = 0
        for piece in self.unchecked_chunks(member):
            total += len(piece)
            crc = codec.crc32(piece, crc)
            yield piece
        if total != member.usize:
            raise self.unreadable(member, f"it unpacks to {total} bytes instead of {member.usize}")
        if crc != member.crc:
            raise self.unreadable(member, f"its CRC is {crc:08x} instead of {member.crc:08x}")

    def unchecked_chunks(self, member: Member) -> Iterator[bytes]:
        """Give the member's unpacked bytes without adding up their CRC; never more than its size and one piece."""
        start, left = self.data_span(member)
        if member.method == codec.STORED:
            while left:
                piece = self.read_at(start, min(left, _CHUNK))
                if not piece:
                    raise self.unreadable(member, "the file ends within its data")
                start, left = start + len(piece), left - len(piece)
                yield piece
            return
        stream_inflater, produced = codec.stream_inflater(), 0
        while not stream_inflater.eof:
            hungry, data = stream_inflater.needs_input, b""
            if hungry:
                data = self.read_at(start, min(left, _CHUNK))
                start, left = start + len(data), left - len(data)
            try:
                piece = stream_inflater.decompress(data, _CHUNK * 4)
            except codec.inflate_error() as exc:
                raise self.unreadable(member, f"its deflate stream is damaged ({exc})") from exc
            if hungry and not data and not piece and not stream_inflater.eof:
                whole = produced >= member.usize
                raise self.unreadable(member, f"its deflate stream {'has no end' if whole else 'is cut short'}")
            produced += len(piece)
            if produced > member.usize:
                raise self.unreadable(member, f"it unpacks to more than its {member.usize} bytes")
            if piece:
                yield piece
        if left or stream_inflater.unused_data:
            raise self.unreadable(member, "bytes follow the end of its deflate stream")

    def read(self, member: Member, limit: int = _DEFAULT_READ_LIMIT) -> bytes:
        """Return the member's unpacked bytes; InputError if there are more than ``limit`` or they are damaged."""
        if member.usize > limit:
            raise self.unreadable(member, f"it has {member.usize} bytes, more than the {limit} that are read at once")
        return b"".join(self.chunks(member))

    def check_unchanged(self) -> None:
        """EnvironmentFailure if the file was written to since it was opened; each answer of a server is checked."""
        if self._source is not None:
            return
        status = os.fstat(self.fileno())
        if (status.st_size, status.st_mtime_ns) != self._identity:
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
        return InputError(f"{self.shown}: cannot read {member.name!r}", because=because, hint="the wheel is damaged")


def _cannot_open(path: Path, exc: OSError) -> InputError | EnvironmentFailure:
    if isinstance(exc, FileNotFoundError | NotADirectoryError):
        return InputError(f"{path} does not exist")
    return EnvironmentFailure(f"cannot open {path}", because=exc.strerror or str(exc))
