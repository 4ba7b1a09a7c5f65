"""Python environments that pip filled: ``Library\\bin``, NVIDIA's packages, and which wheel a file came from.

Intel's wheels put DLLs into ``<prefix>\\Library\\bin``; NVIDIA's into ``site-packages\\nvidia\\<package>`` below
``bin``, ``lib\\x64`` or ``extras\\CUPTI\\lib64``, those for CUDA 13 into ``nvidia\\cu13\\bin\\x86_64``; msvc-runtime
into the prefix and ``Scripts``.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.record import MAX_SIZE, Record
from wheelfix.base.inputfiles import read_file
from wheelfix.errors import InputError
from wheelfix.model import fold
from wheelfix.roots import tree
from wheelfix.roots.root import Kind, Place, Root, RootFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.roots.host import Host

KIND: Kind = "pip"
EXPECTED = (
    "a Python environment (a folder with Lib\\site-packages) or a site-packages folder, "
    "with DLLs in Library\\bin or nvidia\\*\\bin"
)

PREFIX_FOLDERS = ("Library/bin", "bin", "Scripts", ".")
"""Folders of an environment that wheels' data files reach."""

NVIDIA_FOLDERS = (
    "bin/x86_64",
    "bin/x64",
    "bin/arm64",
    "bin",
    "lib/x64",
    "lib",
    "extras/CUPTI/lib/x64",
    "extras/CUPTI/lib64",
    "nvvm/bin/x64",
    "nvvm/bin",
)
"""Where NVIDIA's packages keep DLLs, newest layout first."""

RUNTIME_DLL = r"(msvcp140\w*|vcruntime140_threads|concrt140|vcomp140|vccorlib140|vcamp140)\.dll"
"""What msvc-runtime brings; vcruntime140.dll and vcruntime140_1.dll are in every Python."""


def places(host: Host) -> Iterator[Place]:
    """Yield the environments of this machine."""
    for path, learned in host.prefixes:
        yield Place(path, learned, promised=False)
    if value := host.variable("CONDA_PREFIX"):
        # What pip put into a conda environment; conda's own folders are that root's affair.
        yield Place(Path(value), "environment variable CONDA_PREFIX", promised=False)


def recognise(folder: Path) -> Root | None:
    """Return the environment or site-packages folder that a folder is, or None when it has no vendor's DLLs."""
    sites = site_folders(folder)
    if not sites:
        return None
    folders: list[RootFolder] = []
    if tree.locate_folder(folder, "conda-meta") is None:
        folders += _prefix_folders(folder)
    for site in sites:
        folders += _nvidia_folders(site, folder)
    return Root(KIND, folder, folders=tuple(folders)) if folders else None


def site_folders(folder: Path) -> tuple[Path, ...]:
    """Return the site-packages of an environment; for a folder that pip filled with ``--target``, itself."""
    found = [
        site
        for below in ("Lib/site-packages", "site-packages")
        if (site := tree.locate_folder(folder, below)) is not None
    ]
    # Per-version folders: the user's on Windows, and every environment's on POSIX.
    for parent in (folder, tree.locate_folder(folder, "lib")):
        for version in tree.subfolders(parent, r"python\d[\d.]*") if parent is not None else ():
            if (site := tree.locate_folder(version, "site-packages")) is not None and site not in found:
                found.append(site)
    if not found and (tree.subfolders(folder, r".+\.dist-info") or fold(folder.name) == "site-packages"):
        found.append(folder)
    return tuple(found)


def _prefix_folders(folder: Path) -> Iterator[RootFolder]:
    for below in PREFIX_FOLDERS:
        found = tree.locate_folder(folder, below)
        # The prefix and its Scripts hold Python itself; only a runtime that msvc-runtime put there is of interest.
        pattern = "" if below in ("Library/bin", "bin") else RUNTIME_DLL
        if found is not None and tree.dll_names(found, pattern):
            yield RootFolder(tree.relative(found, folder))


def _nvidia_folders(site: Path, root: Path) -> Iterator[RootFolder]:
    nvidia = tree.locate_folder(site, "nvidia")
    for package in tree.subfolders(nvidia) if nvidia is not None else ():
        major = re.fullmatch(r"cu(\d+)", fold(package.name))
        for below in NVIDIA_FOLDERS:
            found = tree.locate_folder(package, below)
            if found is not None and tree.dll_names(found):
                yield RootFolder(tree.relative(found, root), cuda=major[1] if major else "")


def owners(environment: Path) -> dict[str, tuple[str, str]]:
    """Return for every DLL that pip installed its distribution and version, by folded path relative to the root."""
    found: dict[str, tuple[str, str]] = {}
    for site in site_folders(environment):
        base = tree.relative(site, environment)
        for dist_info in tree.subfolders(site, r"[^-]+-.+\.dist-info"):
            name, _, version = dist_info.name[: -len(".dist-info")].partition("-")
            for path in _recorded_dlls(dist_info):
                found[fold(posixpath.normpath(posixpath.join(base, path)))] = (name.replace("_", "-"), version)
    return found


def _recorded_dlls(dist_info: Path) -> Iterator[str]:
    record = tree.locate(dist_info, "RECORD")
    if record is None:
        return
    try:
        data = read_file(record, MAX_SIZE)
    except OSError:
        return
    # Most distributions have no DLL; to look for the four letters is much faster than to parse the rows.
    if b".dll" not in data.lower():
        return
    try:
        rows = Record.parse(data).rows
    except InputError:
        return
    yield from (row.path for row in rows if fold(row.path).endswith(".dll"))
