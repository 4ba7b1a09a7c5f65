"""A root: one place that DLLs can come from, and how it came to be known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from wheelfix.base.values import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wheelfix.remote.ranges import RemoteWheel
    from wheelfix.roots.host import Host

Kind = Literal["cuda", "cudnn", "oneapi", "conda", "pip", "msvc", "nvtoolsext", "folder", "wheel", "conda-package"]


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

    kind: Kind
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


LABELS: dict[Kind, str] = {
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


@dataclass(frozen=True, slots=True)
class Place:
    """A path where a root may be, before it is looked at."""

    path: Path
    learned: str
    last_resort: bool = False
    promised: bool = True
    """It is said to be there (by a variable, the registry), so that its absence is worth a remark."""


class Vendor(Protocol):
    """What each module of a kind of root offers to discovery."""

    KIND: Kind
    EXPECTED: str

    def places(self, host: Host) -> Iterator[Place]:
        """Yield the paths where this machine may have such a root."""
        ...

    def recognise(self, folder: Path) -> Root | None:
        """Return the root that a folder is, or None when it is not of this kind."""
        ...
