"""The Visual C++ runtime that Visual Studio keeps for redistribution, and beside it what must not be passed on.

Layout: ``VC\\Redist\\MSVC\\<version>\\<machine>\\Microsoft.VC143.CRT`` and its siblings; the same below
``debug_nonredist`` for what Microsoft does not license for redistribution (debug runtimes, LLVM's OpenMP).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.model import fold
from wheelfix.roots import tree
from wheelfix.roots.root import Kind, Place, Root, RootFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.roots.host import Host

KIND: Kind = "msvc"
EXPECTED = (
    "the Visual C++ runtime: a Visual Studio folder, its VC\\Redist\\MSVC, or one version there with "
    "x64\\Microsoft.VC14*.CRT"
)

VISUAL_STUDIO = "Microsoft Visual Studio"
MACHINES = ("x64", "arm64", "x86")
REGISTRY = r"HKLM\SOFTWARE\Microsoft\VisualStudio\SxS\VS7"


def places(host: Host) -> Iterator[Place]:
    """Yield what a developer prompt sets, what the registry has, then the default folders, newest first."""
    for name in ("VCToolsRedistDir", "VCINSTALLDIR", "VSINSTALLDIR"):
        if value := host.variable(name):
            yield Place(Path(value), f"environment variable {name}")
    if (key := host.registry(REGISTRY)) is not None:
        for version in sorted(key.values, key=tree.numbers, reverse=True):
            yield Place(Path(key.values[version]), "registry")
    for program_files in host.program_files:
        studio = tree.locate_folder(program_files, VISUAL_STUDIO)
        for year in _years(studio) if studio is not None else ():
            for edition in tree.subfolders(year):
                if tree.locate_folder(edition, "VC/Redist/MSVC") is not None:
                    yield Place(edition, "default path", promised=False)


def _years(studio: Path) -> tuple[Path, ...]:
    """Return the folders of the releases, newest first; from 2026 on they are named for the version, ``18``."""

    def age(folder: Path) -> int:
        number = next(iter(tree.numbers(folder.name)), 0)
        return number if number < 100 else {2017: 15, 2019: 16, 2022: 17}.get(number, 0)

    return tuple(sorted(tree.subfolders(studio, r"\d+"), key=age, reverse=True))


def recognise(folder: Path) -> Root | None:
    """Return the runtime below a folder: of an installation, of all its versions, or of one version."""
    versions: tuple[Path, ...] = ()
    for below in ("VC/Redist/MSVC", "Redist/MSVC", "."):
        base = tree.locate_folder(folder, below)
        if base is not None and (versions := tree.newest_first(tree.subfolders(base, r"14\.\d+(\.\d+)*"))):
            break
    folders = [entry for version in versions or (folder,) for entry in _version_folders(version, folder)]
    if not folders:
        return None
    return Root(KIND, folder, folders[0].version, folders=tuple(folders))


def is_redistributable(folder: Path) -> bool:
    """Whether what lies in a folder may be passed on, as far as its path says."""
    return "debug_nonredist" not in (fold(part) for part in tree.real(folder).parts)


def _version_folders(version: Path, root: Path) -> Iterator[RootFolder]:
    said = version.name if tree.numbers(version.name)[:1] == (14,) else ""
    for prefix, redistributable in (("", True), ("debug_nonredist/", False)):
        for machine in MACHINES:
            base = tree.locate_folder(version, prefix + machine)
            for found in tree.subfolders(base, r"microsoft\.vc14\d\..+") if base is not None else ():
                if tree.dll_names(found):
                    yield RootFolder(tree.relative(found, root), version=said, redistributable=redistributable)
