"""The bytes and facts of the DLLs of roots: each is read when it is asked for, and once."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

from wheelfix.archive.reader import Archive, Member
from wheelfix.archive.record import HashedReading
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.model import Malformed, Signature
from wheelfix.pe.gpucode import read_archs
from wheelfix.pe.image import read_image
from wheelfix.pe.signature import read_signature
from wheelfix.pe.version import read_version
from wheelfix.roots import tree
from wheelfix.roots.vendors import condafile
from wheelfix.streams import codec
from wheelfix.streams.source import FileSource, TeeSource, chunks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wheelfix.base.options import Limits
    from wheelfix.model import ByteSource, FileVersion, ImageFacts
    from wheelfix.roots.root import Root
    from wheelfix.roots.rootfile import RootFile


class FileReader:
    """Reads DLLs of roots: files, members of wheels and of conda packages; open until it is closed."""

    def __init__(self, trusted_roots: Path | None = None, limits: Limits | None = None) -> None:
        self._trusted_roots = trusted_roots
        self._limits = limits
        self._archives: dict[Path, Archive] = {}
        self._sources: dict[tuple[Path, str], FileSource] = {}
        self._images: dict[tuple[Path, str], ImageFacts] = {}
        self._versions: dict[tuple[Path, str], FileVersion | None] = {}
        self._archs: dict[tuple[Path, str], tuple[str, ...]] = {}
        self._digests: dict[tuple[Path, str], str] = {}
        self._signatures: dict[tuple[Path, str], Signature] = {}

    def close(self) -> None:
        """Let go of every open file."""
        for source in self._sources.values():
            source.close()
        for archive in self._archives.values():
            archive.close()
        self._sources.clear()
        self._archives.clear()

    def is_open(self, root: Root) -> bool:
        """Whether a wheel was opened already."""
        return root.path in self._archives

    def use_whole(self, root: Root) -> None:
        """Have a wheel on a server downloaded whole, and read from there from now on; its hash has to be right."""
        if root.remote is not None:
            self._archives.pop(root.path).close()
            self._archives[root.path] = Archive.open(root.remote.whole(), self._limits)

    def digest_again(self, file: RootFile) -> str:
        """Return the digest of a file's bytes as they are now."""
        self._digests.pop(_ident(file), None)
        return self.sha256(file)

    def open(self, file: RootFile) -> ByteSource:
        """Return the bytes of a file; they stay open until the index is closed."""
        if file.root.kind == "wheel":
            archive, member = self._member(file)
            return archive.source(member)
        source = self._sources.get(_ident(file))
        if source is None:
            source = self._sources[_ident(file)] = FileSource(self._disk(file))
        return source

    def image(self, file: RootFile) -> ImageFacts:
        """Return the PE facts of a file; bytes that cannot be read are :class:`Malformed` too."""
        if _ident(file) not in self._images:
            try:
                with self._opened(file) as source:
                    facts = read_image(source)
            except InputError as exc:
                facts = Malformed("truncated", str(exc), file.size)
            self._images[_ident(file)] = facts
        return self._images[_ident(file)]

    def version(self, file: RootFile) -> FileVersion | None:
        """Return what the version resource of a file says, or None when it has none."""
        if _ident(file) not in self._versions:
            try:
                with self._opened(file) as source:
                    found = read_version(source)
            except InputError:
                found = None
            self._versions[_ident(file)] = found
        return self._versions[_ident(file)]

    def archs(self, file: RootFile) -> tuple[str, ...]:
        """Return the GPU architectures that a file has code for; reads all of it, so ask only when it matters."""
        if _ident(file) not in self._archs:
            try:
                with self._opened(file) as source:
                    found = read_archs(source) or ()
            except InputError:
                found = ()
            self._archs[_ident(file)] = found
        return self._archs[_ident(file)]

    def signature(self, file: RootFile) -> Signature:
        """Return what the signature of a file is worth; reads all of a signed one."""
        if _ident(file) not in self._signatures:
            try:
                with self._opened(file) as source:
                    found = read_signature(source, self._trusted_roots)
            except InputError as exc:
                found = Signature("not-checked", reason=str(exc))
            self._signatures[_ident(file)] = found
        return self._signatures[_ident(file)]

    def read_whole(self, file: RootFile) -> None:
        """Learn signature, digest and version of a file at once: a wheel's member is then unpacked only once.

        Safe from several threads for different files, once :meth:`packed` was asked about each.
        """
        key, packed = _ident(file), self.packed(file)
        if packed is not None:
            packed[0].expect([packed[1]])
        if packed is not None and packed[1].method == codec.DEFLATED and key not in self._digests:
            try:
                reading = HashedReading(*packed)
            except InputError:
                return  # asking for one of the facts gives the reason
            self._signatures[key] = read_signature(reading.source, self._trusted_roots)
            digest = reading.finish()
            if digest is not None:
                self._digests[key] = digest.value.hex()
                self._versions[key] = read_version(reading.source)
        elif packed is None and key not in self._digests:
            total = hashlib.sha256()
            with self._opened(file) as source:
                passing = TeeSource(source, total.update)
                self._signatures[key] = read_signature(passing, self._trusted_roots)
                passing.finish()
            self._digests[key] = total.hexdigest()
        self.signature(file)
        self.sha256(file)
        self.version(file)

    def sha256(self, file: RootFile) -> str:
        """Return the digest of a file's bytes, in hexadecimal; read once."""
        if _ident(file) not in self._digests:
            digest = hashlib.sha256()
            for piece in self.chunks(file):
                digest.update(piece)
            self._digests[_ident(file)] = digest.hexdigest()
        return self._digests[_ident(file)]

    def chunks(self, file: RootFile) -> Iterator[bytes]:
        """Yield the bytes of a file from front to back; a wheel's member is checked against its CRC."""
        if file.root.kind == "wheel":
            archive, member = self._member(file)
            yield from archive.chunks(member)
            return
        with self._opened(file) as source:
            yield from chunks(source)

    def packed(self, file: RootFile) -> tuple[Archive, Member] | None:
        """Return archive and member of a file in a wheel, so that its packed bytes can be copied; None for others."""
        return self._member(file) if file.root.kind == "wheel" else None

    def disk_path(self, file: RootFile) -> Path | None:
        """Return where a file's bytes lie by themselves, or None for a member of a wheel."""
        return None if file.root.kind == "wheel" else self._disk(file)

    @contextlib.contextmanager
    def _opened(self, file: RootFile) -> Iterator[ByteSource]:
        if file.root.kind == "wheel":
            yield self.open(file)
            return
        with FileSource(self._disk(file)) as source:
            yield source

    def _disk(self, file: RootFile) -> Path:
        if file.root.kind == "conda-package":
            return condafile.open_package(file.root.path, self._limits).dlls[file.path].disk
        path = file.root.path / file.path
        # Looked at again: between listing and opening a link may have been put in its place.
        if not tree.inside(path, file.root.path):
            raise EnvironmentFailure(f"{path} now leads out of {file.root.path}", hint="see who changes this folder")
        return path

    def _member(self, file: RootFile) -> tuple[Archive, Member]:
        archive = self.archive_of(file.root)
        member = archive.find(file.path)
        if member is None:
            raise EnvironmentFailure(f"{file.root.path} changed while it was read", hint="run again")
        return archive, member

    def archive_of(self, root: Root) -> Archive:
        """Return the wheel that a root is; it stays open until the reader is closed."""
        if root.path not in self._archives:
            self._archives[root.path] = Archive.open(root.remote or root.path, self._limits)
        return self._archives[root.path]


def _ident(file: RootFile) -> tuple[Path, str]:
    return file.root.path, file.path
