"""A conda package file (``.conda`` or ``.tar.bz2``) as a root: its DLLs, unpacked once to a temporary folder.

Neither format can be read from the middle, so all DLLs are taken out in one pass. Names inside the package are
never used on disk.
"""

from __future__ import annotations

import bz2
import contextlib
import re
import tarfile
import zipfile
from typing import IO, TYPE_CHECKING, Any, cast

from wheelfix.archive.directory import too_much
from wheelfix.archive.names import why_unsafe
from wheelfix.archive.reader import Archive
from wheelfix.base.options import Limits
from wheelfix.base.parsing import parse_json
from wheelfix.base.values import field, frozen
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.model import fold
from wheelfix.streams.codec import INSTALL, zstd_errors, zstd_reader
from wheelfix.streams.output import WorkFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


SUFFIXES = (".conda", ".tar.bz2")
RATIO_FROM = 64 << 20
"""Bytes up to which a package may unpack to whatever it likes; beyond that, so many times its size."""
MAX_HEADER = 128 << 10
"""Bytes that the headers before one member may have together: names, attributes, maps of sparse files."""
MAX_INDEX = 1 << 20
"""Bytes of an index.json that is read."""
_TAR_RECORD = 10240
"""Bytes that a tar file is read in: ``tarfile.RECORDSIZE``."""
_CHUNK = 1 << 20


@frozen
class CondaPackage:
    """What a package file holds for us."""

    name: str
    version: str
    subdir: str
    """``win-64`` for a package of 64-bit Windows; empty when unknown."""
    dlls: Mapping[str, Path]
    """Where each DLL was unpacked, by its POSIX path in the package."""
    folder: WorkFolder = field(repr=False)
    """Kept, because the files vanish with it."""


def open_package(path: Path, limits: Limits | None = None) -> CondaPackage:
    """Return a package with its DLLs unpacked; a second call for the unchanged file costs nothing.

    InputError if it is damaged or asks for more than the limits allow.
    """
    try:
        status = path.stat()
    except OSError as exc:
        raise EnvironmentFailure(f"cannot read {path}", because=exc) from exc
    key = (path, status.st_size, status.st_mtime_ns)
    package = _OPENED.get(key)
    if package is None:
        package = _unpack(path, status.st_size, limits or Limits())
        while len(_OPENED) >= _MOST_OPENED:
            del _OPENED[next(iter(_OPENED))]
        _OPENED[key] = package
    return package


_OPENED: dict[tuple[Path, int, int], CondaPackage] = {}
_MOST_OPENED = 64


def _unpack(path: Path, size: int, limits: Limits) -> CondaPackage:
    folder = WorkFolder()
    stream_inflater = _PackageReader(path, folder.path, size, limits)
    try:
        stream_inflater.run()
    except BaseException:
        folder.close()
        raise
    name, version = stream_inflater.identity()
    return CondaPackage(name, version, str(stream_inflater.index.get("subdir", "")), stream_inflater.dlls, folder)


class _TooMuch(Exception):
    """The package asks for more than a limit allows; ``limit`` is a field of Limits, empty if no option raises it."""

    def __init__(self, because: str, limit: str = "") -> None:
        super().__init__(because)
        self.limit = limit


class _Bounded:
    """An unpacked stream that stops reading more than the package may unpack to, or more than was announced.

    Between two members tarfile reads headers of its own accord: chains of attributes and maps of sparse files without
    end are stopped here.
    """

    def __init__(self, stream: IO[bytes], package: _PackageReader) -> None:
        self._stream, self._package = stream, package
        self.announced = 0

    def read(self, length: int) -> bytes:
        """Return the next bytes."""
        data = self._stream.read(length)
        self._package.count(len(data))
        self.announced -= len(data)
        if self.announced < -(MAX_HEADER + _TAR_RECORD):
            raise _TooMuch(f"the headers before one member have more than {MAX_HEADER} bytes")
        return data


class _PackageReader:
    """One pass over a package."""

    def __init__(self, path: Path, target: Path, size: int, limits: Limits) -> None:
        self.path = path
        self.target = target
        self.dlls: dict[str, Path] = {}
        self.index: Mapping[str, object] = {}
        self._size, self._limits = size, limits
        self._most = int(max(RATIO_FROM, size * limits.max_ratio))
        self._passed = self._members = 0

    def run(self) -> None:
        """Read the package from end to end; InputError when it is damaged."""
        # RuntimeError, KeyError: what zipfile says to a member that is encrypted, or has another name for it
        refused = (zipfile.BadZipFile, RuntimeError, KeyError)
        damage: tuple[type[Exception], ...] = (
            tarfile.TarError,
            EOFError,
            ValueError,
            OSError,
            *refused,
            *zstd_errors(),
        )
        try:
            for stream in self._tars():
                self._read_tar(_Bounded(stream, self))
        except _TooMuch as exc:
            raise self._refusal(exc) from exc
        except RecursionError as exc:
            raise self._refusal(_TooMuch("a member has headers of headers without end")) from exc
        except damage as exc:
            if isinstance(exc, OSError) and exc.errno is not None:  # bz2 has none for a stream that is not one of its
                raise EnvironmentFailure(f"cannot unpack {self.path}", because=exc) from exc
            because = str(exc) or type(exc).__name__
            raise InputError(f"{self.path} is a damaged conda package", because=because, hint="fetch it again") from exc

    def _refusal(self, what: _TooMuch) -> InputError:
        if what.limit:
            return too_much(self.path, str(what), what.limit)
        hint = "this looks like an attack; if it is not, unpack the package and name its folder with --root"
        return InputError(f"{self.path} asks for too much", because=what, hint=hint)

    def count(self, length: int) -> None:
        """Count unpacked bytes; _TooMuch when there are more than the package may have."""
        self._passed += length
        self._check(self._passed)

    def _check(self, total: int) -> None:
        if total > self._most:
            limit = f"{self._limits.max_ratio:g} times as much, or {RATIO_FROM} bytes"
            raise _TooMuch(f"its {self._size} bytes unpack to {total} or more; the limit is {limit}", "max_ratio")
        if total > self._limits.max_total:
            raise _TooMuch(f"it unpacks to more than {self._limits.max_total} bytes", "max_total")

    def identity(self) -> tuple[str, str]:
        """Return name and version, from the package itself, else from the file's name."""
        if "name" in self.index:
            return str(self.index["name"]), str(self.index.get("version", ""))
        stem = re.sub(r"(\.conda|\.tar\.bz2)$", "", self.path.name, flags=re.IGNORECASE)
        parts = stem.rsplit("-", 2)
        return (parts[0], parts[1]) if len(parts) == 3 else (stem, "")

    def _tars(self) -> Iterator[IO[bytes]]:
        if not fold(self.path.name).endswith(".conda"):
            with bz2.open(self.path, "rb") as stream:
                yield cast("IO[bytes]", stream)
            return
        decompress = _zstd_reader(self.path)
        # Ours keeps the limits, that of the standard library reads members as files.
        with Archive.open(self.path, self._limits) as archive, zipfile.ZipFile(self.path) as opened:
            names = [name for name in archive.names() if re.fullmatch(r"(info|pkg)-.+\.tar\.zst", name)]
            if not any(name.startswith("pkg-") for name in names):
                raise InputError(f"{self.path} is not a conda package", because="there is no pkg-*.tar.zst in it")
            for name in names:
                with opened.open(name) as packed, decompress(packed) as stream:
                    yield stream

    def _read_tar(self, stream: _Bounded) -> None:
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as tar:
            for header in tar:
                cast("Any", tar).members = []  # else it keeps every header
                # Its data may be read or passed over, and then the headers of the next member.
                stream.announced = max(0, tar.offset - tar.fileobj.tell()) if tar.fileobj is not None else 0
                self._look_at(tar, header)

    def _look_at(self, tar: tarfile.TarFile, header: tarfile.TarInfo) -> None:
        """Take a member's DLL or index; _TooMuch, before anything of it is unpacked, if it is too large."""
        self._members += 1
        if self._members > self._limits.max_members:
            raise _TooMuch(f"it has more than {self._limits.max_members} members", "max_members")
        if header.size > self._limits.max_member_size:
            raise _TooMuch(f"{header.name[:200]!r} has {header.size} bytes", "max_member_size")
        self._check(self._passed + header.size)
        if not header.isreg() or header.issparse():
            return
        name = header.name.removeprefix("./")
        if name == "info/index.json" and header.size <= MAX_INDEX:
            self._read_index(tar, header)
        elif fold(name).endswith(".dll") and "\\" not in name and not why_unsafe(name):
            self._take(tar, header, name)

    def _read_index(self, tar: tarfile.TarFile, header: tarfile.TarInfo) -> None:
        file = tar.extractfile(header)
        with contextlib.suppress(ValueError):
            facts = parse_json(file.read()) if file is not None else {}
            self.index = facts if isinstance(facts, dict) else {}

    def _take(self, tar: tarfile.TarFile, header: tarfile.TarInfo, name: str) -> None:
        file = tar.extractfile(header)
        if file is None:
            return
        # As tar has it, the later one of two with one name takes the place of the first.
        disk = self.dlls.setdefault(name, self.target / f"{len(self.dlls)}.dll")
        with disk.open("wb") as out:
            while piece := file.read(_CHUNK):
                out.write(piece)


def _zstd_reader(path: Path) -> Callable[[IO[bytes]], IO[bytes]]:
    """Return a function that makes a file of packed bytes one of unpacked bytes."""
    reader = zstd_reader()
    if reader is None:
        raise EnvironmentFailure(
            f"cannot unpack {path}",
            because="it is packed with zstd, which this Python cannot unpack",
            hint=f'{INSTALL}, or unpack it with "cph extract" and name the folder with --root',
        )
    return reader
