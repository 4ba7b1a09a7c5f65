"""The index of candidates: which DLLs the roots have, by name and by folder.

Making an index reads nothing; the roots are listed when the first name is looked up, a DLL is opened when it is asked
for its facts. Links are followed only as long as they stay inside the root.
"""

from __future__ import annotations

import contextlib
import functools
import os
import posixpath
import stat
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from wheelfix.archive.reader import Archive, Member
from wheelfix.base.values import replace
from wheelfix.errors import EnvironmentFailure, InputError, reason_of
from wheelfix.model import ByteSource, FileVersion, ImageFacts, Machine, Malformed, Signature, dll_key, fold
from wheelfix.pe.gpucode import read_archs
from wheelfix.pe.image import read_image
from wheelfix.pe.signature import read_signature
from wheelfix.pe.version import read_version
from wheelfix.remote.client import Client
from wheelfix.roots import root as tree
from wheelfix.roots.release import shown_version
from wheelfix.roots.root import Required, Root, RootFile, RootFolder, Skipped
from wheelfix.roots.toolkits import conda_owners, pip_owners
from wheelfix.streams.codec import hasher
from wheelfix.streams.source import FileSource, HashingSource, chunks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from wheelfix.base.options import Limits, RemoteOptions, RootOptions
    from wheelfix.roots.fetched import Fetcher
    from wheelfix.roots.host import Host

_Fact = TypeVar("_Fact")


def _inspect(item: os.DirEntry[str], folder: Path, root: Root) -> tuple[str, int]:
    """Return why a directory entry is not used (empty: it is) and its size."""
    if any("\ud800" <= letter <= "\udfff" for letter in item.name):
        return "its name is not Unicode", 0
    try:
        if item.is_symlink() and not tree.inside(folder / item.name, root.path):
            return f"a link that leads out of {root.path}", 0
        status = item.stat()
    except OSError as exc:
        return reason_of(exc), 0
    if not stat.S_ISREG(status.st_mode):
        return "not a file", 0
    return "", status.st_size


class RootIndex:
    """All DLLs of the given roots, in the order of the roots and of their folders; open until it is closed."""

    def __init__(
        self,
        roots: Iterable[Root] | Callable[[], Iterable[Root]],
        trusted_roots: Path | None = None,
        limits: Limits | None = None,
        fetcher: Fetcher | None = None,
    ) -> None:
        """``roots`` may be a function that finds them; ``fetcher`` finds more of them on the package index."""
        self._given, self._trusted_roots, self._limits = roots, trusted_roots, limits
        self.fetcher = fetcher
        self._archives: dict[Path, Archive] = {}
        self._facts: dict[tuple[str, tuple[Path, str]], Any] = {}
        """What is known about files, by kind and file."""
        self._seen: set[Path] = set()
        """Folders and packages that were listed: what two roots have counts once, for the first."""
        self._owners: dict[Path, dict[str, tuple[str, str]]] = {}
        self._skipped: list[Skipped] = []
        self._by_key: dict[str, list[RootFile]] | None = None
        self._by_folder: dict[tuple[Path, str], dict[str, RootFile]] = {}

    def __enter__(self) -> RootIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @functools.cached_property
    def roots(self) -> tuple[Root, ...]:
        """The roots, which are looked for when this is first asked."""
        return tuple(self._given() if callable(self._given) else self._given)

    def prepare(self) -> None:
        """List the roots now, so that several threads may look up names afterwards."""
        self._listing()

    def candidates(self, name: str) -> tuple[RootFile, ...]:
        """Return every file of that name, whatever its case."""
        return tuple(map(self._owned, self._listing().get(dll_key(name), ())))

    def look_on_index(
        self, name: str, cuda: str, machine: Machine, releases: Iterable[str] = (), required: Required = ()
    ) -> bool:
        """Add the next wheel of the package index that ships a name; whether there was one. Only with ``--fetch``."""
        root = self.fetcher.offer(name, cuda, machine, releases, required) if self.fetcher is not None else None
        if root is None:
            return False
        listing = self._listing()
        if root.path not in self._archives:
            self.roots = (*self.roots, root)
            self._add(root, listing)
        return True

    def siblings(self, file: RootFile) -> tuple[RootFile, ...]:
        """Return the DLLs of the folder in which a file lies, itself among them."""
        self._listing()
        return tuple(map(self._owned, self._by_folder.get(_place(file), {}).values()))

    def beside(self, file: RootFile, name: str) -> RootFile | None:
        """Return the DLL of that name in the folder of a file, or None."""
        self._listing()
        found = self._by_folder.get(_place(file), {}).get(dll_key(name))
        return self._owned(found) if found is not None else None

    def files(self) -> Iterator[RootFile]:
        """Yield every DLL, by name."""
        return map(self._owned, self.listed())

    def listed(self) -> Iterator[RootFile]:
        """Yield every DLL, by name, without asking environments for its package."""
        listing = self._listing()
        for key in sorted(listing):
            yield from listing[key]

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out while the roots were listed."""
        self._listing()
        return tuple(self._skipped)

    def shown_version(self, file: RootFile) -> str:
        """Return the version of the library that a file is, for a list; a member of a wheel is not unpacked for it."""
        return file.version_hint if file.root.is_file else shown_version(file, self)

    def _listing(self) -> dict[str, list[RootFile]]:
        if self._by_key is None:
            listing: dict[str, list[RootFile]] = {}
            for root in self.roots:
                self._add(root, listing)
            self._by_key = listing
        return self._by_key

    def _add(self, root: Root, listing: dict[str, list[RootFile]]) -> None:
        for file in self._files_of(root):
            listing.setdefault(file.key, []).append(file)
            self._by_folder.setdefault(_place(file), {}).setdefault(file.key, file)

    def _files_of(self, root: Root) -> Iterator[RootFile]:
        """Yield the DLLs of a root, in the order of its folders."""
        if root.is_file:
            where = tree.real(root.path)
            if root.remote is not None or where not in self._seen:  # of a wheel on a server the path is a name only
                self._seen.add(where)
                yield from self._list_package(root)
            return
        for entry in root.folders:
            folder = root.path / entry.path
            if not tree.inside(folder, root.path):
                self._skipped.append(Skipped(str(folder), f"leads out of {root.path}"))
                continue
            # The same folder through two roots (CUDA_PATH and --cuda, say) counts once, for the first of them.
            if tree.real(folder) not in self._seen:
                self._seen.add(tree.real(folder))
                yield from self._list_folder(root, entry, folder)

    def _list_folder(self, root: Root, entry: RootFolder, folder: Path) -> Iterator[RootFile]:
        try:
            with os.scandir(folder) as listing:
                found = sorted(
                    (item for item in listing if fold(item.name).endswith(".dll")), key=lambda i: fold(i.name)
                )
        except OSError as exc:
            self._skipped.append(Skipped(str(folder), reason_of(exc)))
            return
        for item in found:
            reason, size = _inspect(item, folder, root)
            if reason:
                self._skipped.append(Skipped(str(folder / item.name), reason))
                continue
            path = item.name if entry.path == "." else f"{entry.path}/{item.name}"
            yield RootFile(item.name, root, entry, path, size, entry.package, entry.version or root.version)

    def _list_package(self, root: Root) -> Iterator[RootFile]:
        by_path = {entry.path: entry for entry in root.folders}
        for member, size in self._package_members(root):
            folder, name = posixpath.split(member)
            entry = by_path.get(folder or ".")
            if entry is not None and fold(name).endswith(".dll"):
                yield RootFile(name, root, entry, member, size, entry.package, entry.version)

    def _package_members(self, root: Root) -> Iterator[tuple[str, int]]:
        if root.kind == "conda-package":
            for name, disk in self._unpacked(root).items():
                yield name, disk.stat().st_size
            return
        archive = self.archive_of(root)
        members = [member for member in archive.members if not member.is_dir and fold(member.name).endswith(".dll")]
        count = Counter(member.name for member in members)
        for member in members:
            reason = archive.why_refused(member)
            if stat.S_ISLNK(member.mode):
                reason = "a symbolic link"
            elif count[member.name] > 1:
                reason = "more than once in the archive, and installers differ in which one they take"
            if reason:
                self._skipped.append(Skipped(f"{root.path}!{member.name}", reason))
            else:
                yield member.name, member.usize

    def _unpacked(self, root: Root) -> Mapping[str, Path]:
        """The DLLs of a conda package, whose archive formats few runs need."""
        from wheelfix.roots.condafile import open_package

        return open_package(root.path, self._limits).dlls

    def _owned(self, file: RootFile) -> RootFile:
        """Return the file with its package, where the environment knows it.

        Asked for the few files that are looked up, because a large environment has hundreds of lists to read.
        """
        readers: dict[str, Callable[[Path], dict[str, tuple[str, str]]]] = {"conda": conda_owners, "pip": pip_owners}
        reader = readers.get(file.root.kind)
        if reader is None or file.package:
            return file
        where = file.root.path
        if where not in self._owners:
            self._owners[where] = reader(where)
        package, version = self._owners[where].get(fold(file.path), ("", ""))
        return replace(file, package=package, version_hint=version) if package else file

    # --------------------------------------------------------------------------------------- what one file says

    def close(self) -> None:
        """Let go of every open file."""
        for archive in self._archives.values():
            archive.close()
        self._archives.clear()

    def use_whole(self, root: Root) -> None:
        """Have a wheel on a server downloaded whole, and read from there from now on; its hash has to be right."""
        if root.remote is not None:
            self._archives.pop(root.path).close()
            self._archives[root.path] = Archive.open(root.remote.whole(), self._limits)

    def digest_again(self, file: RootFile) -> str:
        """Return the digest of a file's bytes as they are now."""
        self._facts.pop(("sha256", _ident(file)), None)
        return self.sha256(file)

    def open(self, file: RootFile) -> ByteSource:
        """Return the bytes of a file, for as long as the index is open."""
        packed = self.packed(file)
        return packed[0].source(packed[1]) if packed is not None else FileSource(self.disk_path(file))

    def image(self, file: RootFile) -> ImageFacts:
        """Return the PE facts of a file; bytes that cannot be read are :class:`Malformed` too."""
        return self._fact("image", file, read_image, lambda error: Malformed("truncated", str(error), file.size))

    def version(self, file: RootFile) -> FileVersion | None:
        """Return what the version resource of a file says, or None when it has none."""
        return self._fact("version", file, read_version, lambda _: None)

    def archs(self, file: RootFile) -> tuple[str, ...]:
        """Return the GPU architectures that a file has code for; reads all of it, so ask only when it matters."""
        return self._fact("archs", file, lambda source: read_archs(source) or (), lambda _: ())

    def signature(self, file: RootFile) -> Signature:
        """Return what the signature of a file is worth; reads all of a signed one."""
        return self._fact(
            "signature", file, self._read_signature, lambda error: Signature("not-checked", reason=str(error))
        )

    def _read_signature(self, source: ByteSource) -> Signature:
        return read_signature(source, self._trusted_roots)

    def _fact(
        self, kind: str, file: RootFile, read: Callable[[ByteSource], _Fact], unread: Callable[[InputError], _Fact]
    ) -> _Fact:
        """Return what is read from a file, once, or what stands for bytes that cannot be read."""
        key = (kind, _ident(file))
        if key not in self._facts:
            try:
                self._facts[key] = read(self.open(file))
            except InputError as exc:
                self._facts[key] = unread(exc)
        found: _Fact = self._facts[key]
        return found

    def read_whole(self, file: RootFile) -> None:
        """Learn signature, digest and version of a file at once, from one reading of it: it may change between two.

        Safe from several threads for different files, once :meth:`packed` was asked about each.
        """
        key, packed = _ident(file), self.packed(file)
        if packed is not None:
            packed[0].expect([packed[1]])
        if ("sha256", key) not in self._facts:
            with contextlib.suppress(InputError):  # asking for a fact gives the reason
                hashing = HashingSource(source := self.open(file))
                self._facts["signature", key] = self._read_signature(hashing)
                self._facts["sha256", key] = hashing.finish(packed[1].crc if packed is not None else None).hex()
                self._facts["version", key] = read_version(source)
        self.signature(file)
        self.sha256(file)
        self.version(file)

    def sha256(self, file: RootFile) -> str:
        """Return the digest of a file's bytes, in hexadecimal; read once."""
        key = ("sha256", _ident(file))
        if key not in self._facts:
            digest = hasher()
            for piece in self.chunks(file):
                digest.update(piece)
            self._facts[key] = digest.hexdigest()
        found: str = self._facts[key]
        return found

    def chunks(self, file: RootFile) -> Iterator[bytes]:
        """Yield the bytes of a file from front to back; a wheel's member is checked against its CRC."""
        packed = self.packed(file)
        yield from packed[0].chunks(packed[1]) if packed is not None else chunks(self.open(file))

    def packed(self, file: RootFile) -> tuple[Archive, Member] | None:
        """Return archive and member of a file in a wheel, so that its packed bytes can be copied; None for others."""
        if file.root.kind != "wheel":
            return None
        archive = self.archive_of(file.root)
        member = archive.find(file.path)
        if member is None:
            raise EnvironmentFailure(f"{file.root.path} changed while it was read", hint="run again")
        return archive, member

    def disk_path(self, file: RootFile) -> Path:
        """Return where the bytes of a file that is not a member of a wheel lie by themselves."""
        if file.root.kind == "conda-package":
            return self._unpacked(file.root)[file.path]
        path = file.root.path / file.path
        # Looked at again: between listing and opening a link may have been put in its place.
        if not tree.inside(path, file.root.path):
            raise EnvironmentFailure(f"{path} now leads out of {file.root.path}", hint="see who changes this folder")
        return path

    def archive_of(self, root: Root) -> Archive:
        """Return the wheel that a root is; it stays open until the reader is closed."""
        if root.path not in self._archives:
            self._archives[root.path] = Archive.open(root.remote or root.path, self._limits)
        return self._archives[root.path]


@contextlib.contextmanager
def open_index(
    options: RootOptions, remote: RemoteOptions | None = None, host: Host | None = None
) -> Iterator[RootIndex]:
    """Give the index of what may be vendored; a root that was named and does not exist is an error at once.

    Nothing else is looked at before a name is asked for, and what looks is not imported: a wheel with nothing missing
    never asks. Where ``remote`` asks for it, what no root has is looked for on the package index.
    """

    def roots() -> tuple[Root, ...]:
        from wheelfix.roots.gather import gather_roots

        return gather_roots(options, host)

    with contextlib.ExitStack() as stack:
        fetcher = None
        if remote is not None and remote.fetch:
            from wheelfix.roots.fetched import Fetcher

            client = stack.enter_context(Client(remote))
            client.refuse_offline("the package index")
            fetcher = Fetcher(client, options.limits)
        index = RootIndex(roots, options.trusted_roots, options.limits, fetcher)
        stack.callback(index.close)
        if not all(path.exists() for path in options.named):
            index.prepare()
        yield index


def _ident(file: RootFile) -> tuple[Path, str]:
    return file.root.path, file.path


def _place(file: RootFile) -> tuple[Path, str]:
    return file.root.path, file.folder.path
