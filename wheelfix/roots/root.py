"""A root, one place that DLLs can come from, and a candidate, one of its DLLs, with what can be asked about it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.parsing import dotted_numbers
from wheelfix.base.values import field, frozen, replace
from wheelfix.knowledge.families import family_of
from wheelfix.model import dll_key, fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from wheelfix.remote.ranges import RemoteWheel


def is_folder(path: Path) -> bool:
    """Whether a path is a folder that we may look at; one behind a closed door is none to us."""
    try:
        return path.is_dir()
    except OSError:
        return False


def names(folder: Path | None) -> tuple[str, ...]:
    """Return what is in a folder, sorted without case; nothing when it is not there or cannot be read."""
    if folder is None:
        return ()
    try:
        with os.scandir(folder) as listing:
            found = [entry.name for entry in listing]
    except OSError:
        return ()
    return tuple(sorted(found, key=lambda name: (fold(name), name)))


def locate(folder: Path, below: str) -> Path | None:
    """Return the path of ``below`` (POSIX, any case), as spelled on a disk that tells cases apart; None if absent."""
    exact = folder / below
    # One question settles it nearly always, and on Windows always: there the disk itself ignores case.
    if os.path.lexists(exact):
        return exact
    if os.name == "nt":
        return None
    here = folder
    for part in below.split("/"):
        if not os.path.lexists(here / part):
            wanted = fold(part)
            spelled = next((name for name in names(here) if fold(name) == wanted), None)
            if spelled is None:
                return None
            part = spelled
        here = here / part
    return here


def located(folder: Path | None, *below: str) -> Iterator[Path]:
    """Yield those of some folders below one that are there, as spelled on disk."""
    if folder is not None:
        found = (locate(folder, name) for name in below)
        yield from (path for path in found if path is not None and is_folder(path))


def locate_folder(folder: Path | None, below: str) -> Path | None:
    """Return the folder ``below`` as spelled on disk, or None."""
    return next(located(folder, below), None)


def _matching(folder: Path | None, pattern: str) -> Iterator[str]:
    return (name for name in names(folder) if re.fullmatch(pattern or ".*", fold(name), re.DOTALL))


def subfolders(folder: Path | None, pattern: str = "") -> tuple[Path, ...]:
    """Return the folders in a folder, those whose folded name matches the pattern as a whole."""
    return tuple(filter(is_folder, (folder / name for name in _matching(folder, pattern)))) if folder else ()


def dll_names(folder: Path | None, pattern: str = "") -> tuple[str, ...]:
    """Return the names of the DLLs in a folder, those whose folded name matches the pattern as a whole."""
    return tuple(name for name in _matching(folder, pattern) if fold(name).endswith(".dll"))


def folders_with_dlls(base: Path | None, below: Iterable[str]) -> Iterator[Path]:
    """Yield those of some folders below a base that hold DLLs."""
    return (folder for folder in located(base, *below) if dll_names(folder))


def found_by(base: Path, *patterns: str) -> Iterator[tuple[Path, str]]:
    """Yield the folders below a base that patterns mean, in their order, each with what its first ``<…>`` stands for.

    A step in such brackets is an expression for the names of folders, those with the highest version come first.
    """
    for pattern in patterns:
        found = [(base, "")]
        for step in pattern.split("/"):
            if step.startswith("<"):
                found = [
                    (path, named or path.name)
                    for folder, named in found
                    for path in newest_first(subfolders(folder, step[1:-1]))
                ]
            else:
                found = [(path, named) for folder, named in found for path in located(folder, step)]
        yield from found


def relative(folder: Path, root: Path) -> str:
    """Return a folder below a root as a POSIX string; ``.`` is the root itself."""
    return folder.relative_to(root).as_posix()


def real(path: Path) -> Path:
    """Return where a path leads, links and junctions followed; the path itself when that is not known."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):  # closed to us, a loop of links, no path at all
        return path.absolute()


def inside(path: Path, root: Path) -> bool:
    """Whether a path, links followed, lies in a root or is the root."""
    return real(path).is_relative_to(real(root))


def newest_first(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return folders named for versions, the highest version first."""
    return tuple(sorted(folders, key=lambda folder: dotted_numbers(folder.name), reverse=True))


@frozen
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


@frozen
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
    place: int = 0
    """Of a root that was named: its place among what was named."""
    last_resort: bool = False
    """Asked only for what no other root has: package caches, environments that are not active, PATH."""
    warnings: tuple[str, ...] = ()
    """What makes the root doubtful, such as that others can write to it."""
    notes: tuple[str, ...] = ()
    """Notes for the user."""
    remote: RemoteWheel | None = field(default=None, compare=False)
    """The wheel on a server that the root is; then the path is its name only."""
    requires: tuple[str, ...] = ()
    """Of a wheel on a server: what its METADATA requires."""

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


@frozen
class Place:
    """A path where a root may be, before it is looked at."""

    path: Path
    learned: str
    last_resort: bool = False
    promised: bool = True
    """It is said to be there (by a variable, the registry), so that its absence is worth a remark."""


@frozen
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
        family = family_of(self.name)
        if self.root.kind == "cuda" and family.group == "cudnn":
            return f"{family.title} in {self.root.label}"
        return self.root.label


@frozen
class Skipped:
    """A file or folder of a root that is not used, and why."""

    path: str
    reason: str


Required: TypeAlias = tuple[tuple[str, str], ...]
"""Distributions, each with the versions of it that another one requires: ``<2026,>=2024``."""
