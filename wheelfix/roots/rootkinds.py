"""Which root a folder or a package file is: each vendor's module is asked, and wheels and conda packages are opened."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from wheelfix.archive.reader import Archive
from wheelfix.model import fold
from wheelfix.roots import tree
from wheelfix.roots.choice.release import cuda_of_package
from wheelfix.roots.root import Root, RootFolder, Vendor
from wheelfix.roots.vendors import conda, condafile, cuda, cudnn, msvc, nvtoolsext, oneapi, pyenv

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from wheelfix.base.options import Limits

VENDORS: tuple[Vendor, ...] = (cuda, cudnn, nvtoolsext, oneapi, conda, pyenv, msvc)
"""One module for each kind, in the order in which roots are listed."""
PLAIN_FOLDERS = (".", "bin/x64", "bin", "lib/x64", "lib", "Library/bin")
"""Where a plain folder is searched; it is not walked, so that nothing gets in from unexpected places."""


def vendors_by_kind() -> dict[str, Vendor]:
    """Return the module of each kind."""
    return {vendor.KIND: vendor for vendor in VENDORS}


def recognise(folder: Path) -> Root | None:
    """Return the root that a folder is, of any vendor, or None when no vendor recognises it."""
    # An environment before a toolkit: conda puts CUDA's files into folders that look like one.
    first: tuple[Vendor, ...] = (conda, cuda, cudnn, nvtoolsext, msvc, oneapi, pyenv)
    for vendor in (*first, *(vendor for vendor in VENDORS if vendor not in first)):
        root = vendor.recognise(folder)
        if root is not None:
            return root
    return None


def plain_root(folder: Path) -> Root | None:
    """Return the root that a folder of no vendor is, if it has DLLs where they are looked for."""
    folders = tuple(
        RootFolder(tree.relative(found, folder), redistributable=msvc.is_redistributable(found))
        for below in PLAIN_FOLDERS
        if (found := tree.locate_folder(folder, below)) is not None and tree.dll_names(found)
    )
    return Root("folder", folder, folders=folders) if folders else None


def is_package(name: str) -> bool:
    """Whether a file's name is that of a wheel or of a conda package."""
    return fold(name).endswith((".whl", *condafile.SUFFIXES))


def wheel_root(path: Path, limits: Limits | None) -> Root:
    """Return the root that a wheel is."""
    with Archive.open(path, limits) as archive:
        members = [member.name for member in archive.members if not member.is_dir]
    package, version = wheel_identity(path.name, members)
    folders = member_folders(members, package, version)
    notes = () if folders else ("there are no DLLs in it",)
    return Root("wheel", path, version, folders=folders, notes=notes)


def conda_package_root(path: Path, limits: Limits | None) -> Root:
    """Return the root that a conda package file is."""
    package = condafile.open_package(path, limits)
    folders = member_folders(package.dlls, package.name, package.version)
    notes = [] if folders else ["there are no DLLs in it"]
    if package.subdir and not package.subdir.startswith("win-"):
        notes.append(f"it is a package for {package.subdir}")
    return Root("conda-package", path, package.version, folders=folders, notes=tuple(notes))


def member_folders(members: Iterable[str], package: str, version: str) -> tuple[RootFolder, ...]:
    """Return the folders of a package that have DLLs, each with the CUDA release that the package is for."""
    release = cuda_of_package(package, version)
    names = dict.fromkeys(posixpath.dirname(name) or "." for name in members if fold(name).endswith(".dll"))
    return tuple(RootFolder(name, version=version, cuda=release, package=package) for name in names)


def wheel_identity(filename: str, members: Iterable[str]) -> tuple[str, str]:
    """Return distribution and version of a wheel, by its own dist-info, else by the file's name."""
    for name in members:
        if found := re.match(r"(?P<name>[^/]+?)-(?P<version>[^/-]+)\.dist-info/", name):
            return found["name"].replace("_", "-"), found["version"]
    parts = filename.removesuffix(".whl").split("-")
    return (parts[0].replace("_", "-"), parts[1]) if len(parts) >= 5 else (parts[0], "")
