"""oneAPI: MKL, the OpenMP runtime, TBB and what they need, in the layouts of three generations.

Up to 2023 each component has its own deep folder (``mkl\\latest\\redist\\intel64``), from 2024 on ``bin``
(``mkl\\latest\\bin``), and the unified layout has one ``bin`` for a whole toolkit (``oneAPI\\2025.0\\bin``).
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

KIND: Kind = "oneapi"
EXPECTED = (
    "oneAPI: its installation folder, one component (MKLROOT, CMPLR_ROOT, TBBROOT) or a unified toolkit folder, "
    "with mkl_*.dll, libiomp5md.dll or tbb12.dll in bin or redist\\intel64"
)

COMPONENTS = ("mkl", "compiler", "tbb", "umf", "tcm", "dnnl", "ipp", "dal", "ccl")
"""The parts of an installation whose DLLs count, those that others ask for most first."""

FOLDERS = (
    "bin",
    "redist/intel64",
    "windows/redist/intel64_win/compiler",
    "redist/intel64_win/compiler",
    "redist/intel64/compiler",
    "redist/intel64/vc14",
    "redist/intel64/vc_mt",
)
"""Where one component keeps DLLs, newest layout first."""

DLL = r"(mkl_\w+\.\d|libiomp5md|libmmd|svml_dispmd|tbb\d+|tbbmalloc|tcm|umf|hwloc-\d+)\.dll"
"""DLLs by which a folder is known for oneAPI's."""

VARIABLES = ("ONEAPI_ROOT", "MKLROOT", "CMPLR_ROOT", "TBBROOT")
DEFAULT = "Intel/oneAPI"
VERSION = r"\d+(\.\d+)*"


def places(host: Host) -> Iterator[Place]:
    """Yield what setvars.bat sets, then the default folders."""
    for name in VARIABLES:
        if value := host.variable(name):
            yield Place(Path(value), f"environment variable {name}")
    for program_files in host.program_files:
        if (folder := tree.locate_folder(program_files, DEFAULT)) is not None:
            yield Place(folder, "default path", promised=False)


def recognise(folder: Path) -> Root | None:
    """Return the installation, component or unified toolkit that a folder is, or None."""
    installation = list(_installation(folder))
    found = installation or list(_component(folder, folder.name))
    folders: list[RootFolder] = []
    seen: set[Path] = set()
    for path, version in found:
        # ``latest`` is a link to the newest version: one folder, not two.
        where = tree.real(path)
        if where not in seen and where.is_relative_to(tree.real(folder)):
            seen.add(where)
            folders.append(RootFolder(tree.relative(path, folder), version=version))
    if not any(tree.dll_names(folder / entry.path, DLL) for entry in folders):
        return None
    version = next((entry.version for entry in folders if entry.version), "")
    return Root(KIND, folder, version, folders=tuple(folders))


def _installation(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the DLL folders of a whole installation with their versions; all components' newest come first."""
    rows: list[list[tuple[Path, str]]] = []
    for name in COMPONENTS:
        component = tree.locate_folder(folder, name)
        if component is None:
            continue
        rows += _versions_of(component)
    unified = [
        list(_dll_folders(toolkit, toolkit.name))
        for toolkit in tree.newest_first(tree.subfolders(folder, r"20\d\d(\.\d+)+"))
    ]
    newest = [row for row in rows if row and row[0][1] == "latest"]
    for row in [*newest, *unified, *(row for row in rows if row not in newest)]:
        for path, version in row:
            yield path, _said_version(path, version)


def _versions_of(component: Path) -> list[list[tuple[Path, str]]]:
    """Return the DLL folders of each version of a component: what ``latest`` leads to, then newest first."""
    versions = tree.newest_first(tree.subfolders(component, VERSION))
    latest = tree.locate_folder(component, "latest")
    ordered = [*([latest] if latest is not None else versions[:1]), *(versions if latest is not None else versions[1:])]
    rows = []
    for index, version in enumerate(ordered):
        rows.append(list(_dll_folders(version, "latest" if index == 0 else version.name)))
    return rows


def _said_version(path: Path, version: str) -> str:
    """Return the version of a folder; for ``latest`` the name of the folder that it leads to."""
    if version != "latest":
        return version
    parts = [part for part in (*reversed(tree.real(path).parts),) if tree.numbers(part) and part[0] != "v"]
    return parts[0] if parts else ""


def _component(folder: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Yield the DLL folders of one component: ``mkl\\2023.2.0`` itself, or ``mkl`` with its versions below."""
    direct = list(_dll_folders(folder, name))
    if direct:
        resolved = tree.real(folder).name
        version = resolved if tree.numbers(resolved) and fold(resolved)[0] != "v" else ""
        yield from ((path, version) for path, _ in direct)
        return
    for row in _versions_of(folder):
        for path, version in row:
            yield path, _said_version(path, version)


def _dll_folders(base: Path, version: str) -> Iterator[tuple[Path, str]]:
    for below in FOLDERS:
        found = tree.locate_folder(base, below)
        if found is not None and tree.dll_names(found):
            yield found, version
