"""A conda package file (``.conda`` or ``.tar.bz2``) as a root: its DLLs, unpacked once to a temporary folder.

Neither format can be read from the middle, so all DLLs are taken out in one pass. Names inside the package are
never used on disk.
"""

from __future__ import annotations

import bz2
import contextlib
import functools
import importlib
import io
import re
import tarfile
from typing import IO, TYPE_CHECKING, cast

from wheelfix.archive.reader import Archive
from wheelfix.archive.workfolder import WorkFolder
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.model import fold
from wheelfix.parsing import parse_json
from wheelfix.values import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from wheelfix.model import ByteSource

SUFFIXES = (".conda", ".tar.bz2")
MAX_UNPACKED = 16 << 30
"""Bytes that the DLLs of one package may have."""
MAX_PASSED = 64 << 30
"""Bytes of tar that are looked through for them."""
MAX_HEADER = 1 << 20
"""Bytes that a name or an extended header may have."""
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class PackedDll:
    """A DLL of a package and where it was unpacked."""

    member: str
    """POSIX path in the package."""
    disk: Path
    size: int


@dataclass(frozen=True)
class CondaPackage:
    """What a package file holds for us."""

    name: str
    version: str
    subdir: str
    """``win-64`` for a package of 64-bit Windows; empty when it does not tell."""
    dlls: Mapping[str, PackedDll]
    """By member."""
    folder: WorkFolder = field(repr=False)
    """Kept, because the files vanish with it."""


def open_package(path: Path) -> CondaPackage:
    """Return a package with its DLLs unpacked; a second call for the unchanged file costs nothing."""
    try:
        status = path.stat()
    except OSError as exc:
        raise EnvironmentFailure(f"cannot read {path}", because=exc.strerror or str(exc)) from exc
    return _unpack(path, status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _unpack(path: Path, _size: int, _changed: int) -> CondaPackage:
    folder = WorkFolder()
    unpacker = _Unpacker(path, folder.path)
    try:
        unpacker.run()
    except BaseException:
        folder.close()
        raise
    name, version = unpacker.identity()
    return CondaPackage(name, version, str(unpacker.index.get("subdir", "")), unpacker.dlls, folder)


class _Header(tarfile.TarInfo):
    """A tar header that refuses the long names and attributes which nobody needs and which would fill the memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Header:
        header = super().frombuf(buf, encoding, errors)
        if header.type not in tarfile.REGULAR_TYPES and header.size > MAX_HEADER:
            raise _TooMuch(f"a header of {header.size} bytes")
        return header


class _TooMuch(Exception):
    """The package asks for more than we give."""


class _Unpacker:
    """One pass over a package."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path = path
        self.target = target
        self.dlls: dict[str, PackedDll] = {}
        self.index: Mapping[str, object] = {}
        self._passed = 0
        self._unpacked = 0

    def run(self) -> None:
        """Read the package from end to end; InputError when it is damaged."""
        damage: tuple[type[Exception], ...] = (tarfile.TarError, EOFError, ValueError, *_zstd_errors())
        try:
            for stream in self._tars():
                self._read_tar(stream)
        except _TooMuch as exc:
            hint = "this looks like an attack; if it is none, unpack the package and name its folder"
            raise InputError(f"{self.path} asks for too much", because=str(exc), hint=hint) from exc
        except damage as exc:
            because = str(exc) or type(exc).__name__
            raise InputError(f"{self.path} is a damaged conda package", because=because, hint="fetch it again") from exc
        except OSError as exc:
            if exc.errno is None:  # what bz2 says of a stream that is none
                because = str(exc)
                hint = "fetch it again"
                raise InputError(f"{self.path} is a damaged conda package", because=because, hint=hint) from exc
            raise EnvironmentFailure(f"cannot unpack {self.path}", because=exc.strerror or str(exc)) from exc

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
        with Archive.open(self.path) as archive:
            members = [m for m in archive.members if re.fullmatch(r"(info|pkg)-.+\.tar\.zst", m.name)]
            if not any(member.name.startswith("pkg-") for member in members):
                raise InputError(f"{self.path} is no conda package", because="there is no pkg-*.tar.zst in it")
            for member in members:
                with decompress(io.BufferedReader(_SourceFile(archive.source(member)), _CHUNK)) as stream:
                    yield stream

    def _read_tar(self, stream: IO[bytes]) -> None:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header) as tar:
            for header in tar:
                self._passed += max(header.size, 512)
                if self._passed > MAX_PASSED:
                    raise _TooMuch(f"more than {MAX_PASSED} bytes")
                if not header.isreg() or header.issparse():
                    continue
                name = header.name.removeprefix("./")
                if name == "info/index.json" and header.size <= MAX_HEADER:
                    self._read_index(tar, header)
                elif fold(name).endswith(".dll") and _is_plain(name):
                    self._take(tar, header, name)

    def _read_index(self, tar: tarfile.TarFile, header: tarfile.TarInfo) -> None:
        file = tar.extractfile(header)
        with contextlib.suppress(ValueError):
            facts = parse_json(file.read()) if file is not None else {}
            self.index = facts if isinstance(facts, dict) else {}

    def _take(self, tar: tarfile.TarFile, header: tarfile.TarInfo, name: str) -> None:
        self._unpacked += header.size
        if self._unpacked > MAX_UNPACKED:
            raise _TooMuch(f"DLLs of more than {MAX_UNPACKED} bytes")
        file = tar.extractfile(header)
        if file is None:
            return
        # As tar has it, the later one of two with one name takes the place of the first.
        disk = self.dlls[name].disk if name in self.dlls else self.target / f"{len(self.dlls)}.dll"
        with disk.open("wb" if name in self.dlls else "xb") as out:
            while piece := file.read(_CHUNK):
                out.write(piece)
        self.dlls[name] = PackedDll(name, disk, header.size)


def _is_plain(name: str) -> bool:
    """Whether a member's name is a relative path without tricks."""
    parts = name.split("/")
    return "\\" not in name and ":" not in name and not any(part in ("", ".", "..") for part in parts)


class _SourceFile(io.RawIOBase):
    """A byte source as a file that is read from front to back."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer)).cast("B")
        piece = self._source.read_at(self._at, len(view))
        view[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


def _zstd_reader(path: Path) -> Callable[[IO[bytes]], IO[bytes]]:
    """Return a function that makes a file of packed bytes one of unpacked bytes."""
    if (standard := _module("compression.zstd")) is not None:
        return lambda packed: standard.ZstdFile(packed, "rb")
    if (library := _module("zstandard")) is not None:
        return lambda packed: library.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
    raise EnvironmentFailure(
        f"cannot unpack {path}",
        because="it is packed with zstd, which this Python cannot unpack",
        hint='pip install "wheelfix[conda]", or unpack it with "cph extract" and name the folder with --root',
    )


def _zstd_errors() -> tuple[type[Exception], ...]:
    found = (_module("compression.zstd"), _module("zstandard"))
    return tuple(module.ZstdError for module in found if module is not None)


@functools.cache
def _module(name: str) -> _Zstd | None:
    try:
        return cast("_Zstd", importlib.import_module(name))
    except ImportError:
        return None


class _Zstd:
    """The parts that we use of the two modules; either has its own."""

    ZstdFile: Callable[..., IO[bytes]]
    ZstdDecompressor: Callable[[], _Zstd]
    stream_reader: Callable[..., IO[bytes]]
    ZstdError: type[Exception]
