"""conda: environments, the package cache, and which package a file belongs to.

An environment is a folder with ``conda-meta``; its DLLs lie in ``Library\\bin``, a few in the folder itself. The
cache has one folder per package, ``pkgs\\<name>-<version>-<build>``, laid out like a small environment.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import read_file
from wheelfix.base.parsing import MAX_JSON, parse_json
from wheelfix.model import fold
from wheelfix.roots import tree
from wheelfix.roots.root import Kind, Place, Root, RootFolder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wheelfix.roots.host import Host

KIND: Kind = "conda"
EXPECTED = "a conda environment (a folder with conda-meta), a package cache (pkgs) or an unpacked conda package"

FOLDERS = ("Library/bin/x64", "Library/bin", "Library/mingw-w64/bin", "bin", ".")
"""Where an environment or package keeps DLLs, in the order in which conda's Python looks."""

INSTALLATIONS = ("miniforge3", "mambaforge", "miniconda3", "anaconda3", "micromamba")


def places(host: Host) -> Iterator[Place]:
    """Yield the active environment, then, as a last resort, caches and installations that are not active."""
    if value := host.variable("CONDA_PREFIX"):
        yield Place(Path(value), "environment variable CONDA_PREFIX")
    for prefix, learned in host.prefixes:  # started by its path, a conda Python has no CONDA_PREFIX
        if tree.locate_folder(prefix, "conda-meta") is not None:
            yield Place(prefix, learned, promised=False)
    bases: dict[Path, str] = {}
    if value := host.variable("CONDA_EXE"):
        bases[Path(value).parent.parent] = "environment variable CONDA_EXE"
    if value := host.variable("MAMBA_ROOT_PREFIX"):
        bases[Path(value)] = "environment variable MAMBA_ROOT_PREFIX"
    for parent in (host.home, host.program_data):
        for name in INSTALLATIONS if parent is not None else ():
            if parent is not None and (folder := tree.locate_folder(parent, name)) is not None:
                bases.setdefault(folder, "default path")
    for value in host.variable("CONDA_PKGS_DIRS").split(os.pathsep if host.os_name == os.name else ";"):
        if value.strip():
            yield Place(Path(value.strip()), "environment variable CONDA_PKGS_DIRS", last_resort=True)
    for base, learned in bases.items():
        yield Place(base, learned, last_resort=True, promised=False)
        if (cache := tree.locate_folder(base, "pkgs")) is not None:
            yield Place(cache, f"package cache, {learned}", last_resort=True, promised=False)


def recognise(folder: Path) -> Root | None:
    """Return the environment, cache or unpacked package that a folder is, or None."""
    if tree.locate_folder(folder, "conda-meta") is not None:
        return Root(KIND, folder, folders=tuple(_dll_folders(folder, folder)))
    if (package := unpacked_package(folder)) is not None:
        name, version = package
        entries = tuple(_dll_folders(folder, folder, name, version))
        return Root(KIND, folder, version, folders=entries, notes=(f"the unpacked package {name}",))
    cached = tuple(_cache(folder))
    if cached:
        return Root(KIND, folder, folders=cached, notes=("a package cache",))
    return None


def _dll_folders(base: Path, root: Path, package: str = "", version: str = "") -> Iterator[RootFolder]:
    for below in FOLDERS:
        found = tree.locate_folder(base, below)
        if found is not None and tree.dll_names(found):
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


def unpacked_package(folder: Path) -> tuple[str, str] | None:
    """Return name and version of the package that was unpacked into a folder, or None."""
    path = tree.locate(folder, "info/index.json")
    if path is None:
        return None
    facts = _read_json(path)
    if facts is None or "name" not in facts:
        return None
    return str(facts["name"]), str(facts.get("version", ""))


def owners(environment: Path) -> dict[str, tuple[str, str]]:
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
