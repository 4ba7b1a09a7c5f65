"""Environments: those of conda with its package cache, those that pip filled, and which package a file belongs to."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.record import MAX_SIZE, Record
from wheelfix.base.inputfiles import read_file
from wheelfix.base.parsing import MAX_JSON, parse_json
from wheelfix.errors import InputError
from wheelfix.model import fold
from wheelfix.roots import tree
from wheelfix.roots.root import Place, Root, RootFolder
from wheelfix.roots.toolkits import Vendor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wheelfix.roots.host import Host

# ------------------------------------------------------------------------------------------------------ conda
# An environment is a folder with ``conda-meta``; its DLLs lie in ``Library\bin``, a few in the folder itself. The cache
# has one folder per package, ``pkgs\<name>-<version>-<build>``, laid out like a small environment.

_CONDA_FOLDERS = ("Library/bin/x64", "Library/bin", "Library/mingw-w64/bin", "bin", ".")
"""Where an environment or package keeps DLLs, in the order in which conda's Python looks."""

_INSTALLATIONS = ("miniforge3", "mambaforge", "miniconda3", "anaconda3", "micromamba")


def _conda_places(host: Host) -> Iterator[Place]:
    """Yield, after the active environment and as a last resort, caches and installations that are not active."""
    for prefix, learned in host.prefixes:  # started by its path, a conda Python has no CONDA_PREFIX
        if tree.locate_folder(prefix, "conda-meta") is not None:
            yield Place(prefix, learned, promised=False)
    bases: dict[Path, str] = {}
    if value := host.variable("CONDA_EXE"):
        bases[Path(value).parent.parent] = "environment variable CONDA_EXE"
    if value := host.variable("MAMBA_ROOT_PREFIX"):
        bases[Path(value)] = "environment variable MAMBA_ROOT_PREFIX"
    for parent in (host.home, host.program_data):
        for name in _INSTALLATIONS if parent is not None else ():
            if parent is not None and (folder := tree.locate_folder(parent, name)) is not None:
                bases.setdefault(folder, "default path")
    for value in host.variable("CONDA_PKGS_DIRS").split(os.pathsep if host.os_name == os.name else ";"):
        if value.strip():
            yield Place(Path(value.strip()), "environment variable CONDA_PKGS_DIRS", last_resort=True)
    for base, learned in bases.items():
        yield Place(base, learned, last_resort=True, promised=False)
        if (cache := tree.locate_folder(base, "pkgs")) is not None:
            yield Place(cache, f"package cache, {learned}", last_resort=True, promised=False)


def _recognise_conda(folder: Path) -> Root | None:
    """Return the environment, cache or unpacked package that a folder is, or None."""
    if tree.locate_folder(folder, "conda-meta") is not None:
        return Root("conda", folder, folders=tuple(_dll_folders(folder, folder)))
    if (package := _unpacked_package(folder)) is not None:
        name, version = package
        entries = tuple(_dll_folders(folder, folder, name, version))
        return Root("conda", folder, version, folders=entries, notes=(f"the unpacked package {name}",))
    cached = tuple(_cache(folder))
    if cached:
        return Root("conda", folder, folders=cached, notes=("a package cache",))
    return None


def _dll_folders(base: Path, root: Path, package: str = "", version: str = "") -> Iterator[RootFolder]:
    for found in tree.folders_with_dlls(base, _CONDA_FOLDERS):
        yield RootFolder(tree.relative(found, root), version=version, package=package)


def _cache(folder: Path) -> Iterator[RootFolder]:
    """Yield the DLL folders of every unpacked package in a cache; nothing when the folder is not a cache."""
    if tree.locate(folder, "urls.txt") is None and fold(folder.name) != "pkgs":
        return
    for entry in tree.subfolders(folder, r".+-[^-]+-[^-]+"):
        # A cache has thousands of packages, most of them without DLLs: one listing shows it, and the folder's own name
        # is the package's, so that no index.json has to be read.
        if not any(fold(name) == "library" or fold(name).endswith(".dll") for name in tree.names(entry)):
            continue
        name, version, _build = entry.name.rsplit("-", 2)
        yield from _dll_folders(entry, folder, name, version)


def _unpacked_package(folder: Path) -> tuple[str, str] | None:
    """Return name and version of the package that was unpacked into a folder, or None."""
    path = tree.locate(folder, "info/index.json")
    if path is None:
        return None
    facts = _read_json(path)
    if facts is None or "name" not in facts:
        return None
    return str(facts["name"]), str(facts.get("version", ""))


def conda_owners(environment: Path) -> dict[str, tuple[str, str]]:
    """Return for every DLL of an environment its package and version, by folded relative path."""
    meta = tree.locate_folder(environment, "conda-meta")
    found: dict[str, tuple[str, str]] = {}
    for name in tree.names(meta) if meta is not None else ():
        if meta is None or not fold(name).endswith(".json"):
            continue
        facts = _read_json(meta / name, needle=b".dll")
        files = facts.get("files") if facts is not None else None
        if facts is None or not isinstance(files, list):
            continue
        owner = (str(facts.get("name", "")), str(facts.get("version", "")))
        for path in files:
            if isinstance(path, str) and fold(path).endswith(".dll"):
                found[fold(path.replace("\\", "/"))] = owner
    return found


def _read_json(path: Path, needle: bytes = b"") -> Mapping[str, object] | None:
    """Return the object in a JSON file; None when there is none, or when the needle is not in it."""
    try:
        data = read_file(path, MAX_JSON)
        if needle not in data.lower():
            return None
        facts = parse_json(data)
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) else None


CONDA = Vendor(
    "conda",
    "a conda environment (a folder with conda-meta), a package cache (pkgs) or an unpacked conda package",
    _recognise_conda,
    ("CONDA_PREFIX",),
    _conda_places,
)

# -------------------------------------------------------------------------------------------------------- pip
# Intel's wheels put DLLs into ``<prefix>\Library\bin``; NVIDIA's into ``site-packages\nvidia\<package>`` below ``bin``,
# ``lib\x64`` or ``extras\CUPTI\lib64``, those for CUDA 13 into ``nvidia\cu13\bin\x86_64``; msvc-runtime into the
# prefix and ``Scripts``.

_PREFIX_FOLDERS = ("Library/bin", "bin", "Scripts", ".")
"""Folders of an environment that wheels' data files reach."""

_NVIDIA_FOLDERS = (
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

_RUNTIME_DLL = r"(msvcp140\w*|vcruntime140_threads|concrt140|vcomp140|vccorlib140|vcamp140)\.dll"
"""What msvc-runtime brings; vcruntime140.dll and vcruntime140_1.dll are in every Python."""


def _pip_places(host: Host) -> Iterator[Place]:
    """Yield the environments of this machine."""
    for path, learned in host.prefixes:
        yield Place(path, learned, promised=False)
    if value := host.variable("CONDA_PREFIX"):
        # What pip put into a conda environment; conda's own folders are that root's affair.
        yield Place(Path(value), "environment variable CONDA_PREFIX", promised=False)


def _recognise_pip(folder: Path) -> Root | None:
    """Return the environment or site-packages folder that a folder is, or None when it has no vendor's DLLs."""
    sites = site_folders(folder)
    if not sites:
        return None
    folders: list[RootFolder] = []
    if tree.locate_folder(folder, "conda-meta") is None:
        folders += _prefix_folders(folder)
    for site in sites:
        folders += _nvidia_folders(site, folder)
    return Root("pip", folder, folders=tuple(folders)) if folders else None


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
    for below in _PREFIX_FOLDERS:
        found = tree.locate_folder(folder, below)
        # The prefix and its Scripts hold Python itself; only a runtime that msvc-runtime put there is of interest.
        pattern = "" if below in ("Library/bin", "bin") else _RUNTIME_DLL
        if found is not None and tree.dll_names(found, pattern):
            yield RootFolder(tree.relative(found, folder))


def _nvidia_folders(site: Path, root: Path) -> Iterator[RootFolder]:
    nvidia = tree.locate_folder(site, "nvidia")
    for package in tree.subfolders(nvidia) if nvidia is not None else ():
        major = re.fullmatch(r"cu(\d+)", fold(package.name))
        for found in tree.folders_with_dlls(package, _NVIDIA_FOLDERS):
            yield RootFolder(tree.relative(found, root), cuda=major[1] if major else "")


def pip_owners(environment: Path) -> dict[str, tuple[str, str]]:
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


PIP = Vendor(
    "pip",
    "a Python environment (a folder with Lib\\site-packages) or a site-packages folder, "
    "with DLLs in Library\\bin or nvidia\\*\\bin",
    _recognise_pip,
    more=_pip_places,
)
