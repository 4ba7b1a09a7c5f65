"""A root, one place that DLLs can come from, and a candidate, one of its DLLs, with what can be asked about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wheelfix.base.values import dataclass, field, replace
from wheelfix.knowledge.families import family_of
from wheelfix.model import dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from wheelfix.model import FileVersion, ImageFacts, Machine
    from wheelfix.remote.ranges import RemoteWheel


@dataclass(frozen=True, slots=True)
class RootFolder:
    """A folder of a root whose DLLs count."""

    path: str
    """POSIX, relative to the root, as spelled there; ``.`` is the root itself."""
    version: str = ""
    """Version of what lies in it, where the layout shows it."""
    cuda: str = ""
    """CUDA release its DLLs were built for, where the layout shows it: ``11.7``, or ``12`` alone."""
    package: str = ""
    """Package that owns the folder, where the layout shows it."""
    redistributable: bool = True
    """False where the vendor forbids passing the DLLs on (``debug_nonredist``)."""


@dataclass(frozen=True, slots=True)
class Root:
    """One place that DLLs can come from."""

    kind: str
    """One of LABELS."""
    path: Path
    """The folder or package file, absolute, as it was named."""
    version: str = ""
    """Release of the toolkit, library or package; empty when unknown."""
    learned: str = ""
    """How we know of it: ``environment variable CUDA_PATH``, ``default path``, ``registry``, ``--root``."""
    folders: tuple[RootFolder, ...] = ()
    """The folders that count, in the order in which they are asked."""
    explicit: bool = False
    """Named by the user, and so before anything discovered."""
    last_resort: bool = False
    """Asked only for what no other root has: package caches, environments that are not active, PATH."""
    warnings: tuple[str, ...] = ()
    """What makes the root doubtful, such as that others can write to it."""
    notes: tuple[str, ...] = ()
    """Notes for the user."""
    remote: RemoteWheel | None = field(default=None, compare=False)
    """The wheel on a server that the root is; then the path is its name only."""

    @property
    def where(self) -> str:
        """The root as it is shown: a path, or a URL without secrets."""
        return str(self.remote) if self.remote is not None else str(self.path)

    @property
    def is_file(self) -> bool:
        """Whether the root is a package file rather than a folder."""
        return self.kind in ("wheel", "conda-package")

    @property
    def label(self) -> str:
        """Kind and version in words, as in ``CUDA 11.7``."""
        name = LABELS[self.kind]
        return f"{name} {self.version}" if self.version else name

    def with_notes(self, *notes: str) -> Root:
        """Return the root with more notes."""
        return replace(self, notes=(*self.notes, *notes))


LABELS = {
    "cuda": "CUDA",
    "cudnn": "cuDNN",
    "oneapi": "oneAPI",
    "conda": "conda",
    "pip": "pip",
    "msvc": "MSVC",
    "nvtoolsext": "NvToolsExt",
    "folder": "folder",
    "wheel": "wheel",
    "conda-package": "conda package",
}
"""The kinds of roots, as they are shown."""


@dataclass(frozen=True, slots=True)
class Place:
    """A path where a root may be, before it is looked at."""

    path: Path
    learned: str
    last_resort: bool = False
    promised: bool = True
    """It is said to be there (by a variable, the registry), so that its absence is worth a remark."""


@dataclass(frozen=True, slots=True)
class RootFile:
    """A DLL in a root."""

    name: str
    """As spelled on disk or in the package."""
    root: Root = field(hash=False)
    folder: RootFolder = field(hash=False)
    path: str
    """POSIX, relative to the root; for a package the member's name."""
    size: int
    package: str = ""
    """The wheel or conda package it came in, where that is known."""
    version_hint: str = ""
    """Version of the package, component or root; the file's own may say more."""

    @property
    def key(self) -> str:
        """The form in which the name compares."""
        return dll_key(self.name)

    @property
    def location(self) -> str:
        """Where it is, for people: a path, or a package and the path inside it."""
        return f"{self.root.where}!{self.path}" if self.root.is_file else str(self.root.path / self.path)

    @property
    def origin(self) -> str:
        """Whose it is, without any path of this machine: ``CUDA 11.7``, ``wheel intel-openmp 2023.2.0``."""
        if self.package:
            kind = {"wheel": "wheel", "pip": "wheel"}.get(self.root.kind, "conda package")
            return f"{kind} {self.package} {self.version_hint}".strip()
        member = family_of(self.name)
        if self.root.kind == "cuda" and member is not None and member.family.group == "cudnn":
            return f"{member.family.title} in {self.root.label}"
        return self.root.label


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder of a root that is not used, and why."""

    path: str
    reason: str


class Candidates(Protocol):
    """What a scan asks for: the DLLs of a name, wherever they are."""

    def prepare(self) -> None:
        """List the roots now, so that several threads may look up names afterwards."""
        ...

    def look_on_index(self, name: str, cuda: str, machine: Machine, releases: Iterable[str] = ()) -> bool:
        """Add the next wheel of the package index that ships a name; whether there was one."""
        ...

    def candidates(self, name: str) -> tuple[RootFile, ...]:
        """Return every file of that name, whatever its case."""
        ...

    def shown_version(self, file: RootFile) -> str:
        """Return the version of the library that a file is, for a list."""
        ...


class Offering(Protocol):
    """Finds further roots for a DLL, one at a time."""

    def offer(self, name: str, cuda: str, machine: Machine, releases: Iterable[str] = ()) -> Root | None:
        """Return the next root that has a DLL of a name, or None when there are no more."""
        ...


class Facts(Protocol):
    """What the choice asks about files; :class:`wheelfix.roots.index.RootIndex` answers."""

    def image(self, file: RootFile) -> ImageFacts:
        """Return the PE facts of a file."""
        ...

    def version(self, file: RootFile) -> FileVersion | None:
        """Return what the version resource of a file says."""
        ...

    def sha256(self, file: RootFile) -> str:
        """Return the digest of a file's bytes."""
        ...

    def beside(self, file: RootFile, name: str) -> RootFile | None:
        """Return the DLL of that name in the folder of a file."""
        ...

    def siblings(self, file: RootFile) -> tuple[RootFile, ...]:
        """Return the DLLs of the folder in which a file lies."""
        ...
