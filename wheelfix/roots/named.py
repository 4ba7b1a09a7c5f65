"""Roots that the user names: a folder of any kind, a plain folder of DLLs, a wheel or a conda package file."""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.reader import Archive
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.model import fold
from wheelfix.roots import tree
from wheelfix.roots.choice.fit import cuda_of_package
from wheelfix.roots.discover import recognise, vendors_by_kind
from wheelfix.roots.root import LABELS, Root, RootFolder
from wheelfix.roots.safety import with_warnings
from wheelfix.roots.vendors import condafile, msvc
from wheelfix.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.archive.reader import Limits
    from wheelfix.roots.host import Host
    from wheelfix.roots.root import Kind

PLAIN_FOLDERS = (".", "bin/x64", "bin", "lib/x64", "lib", "Library/bin")
"""Where a plain folder is searched; it is not walked, so that nothing gets in from unexpected places."""


def named_root(
    path: str | Path,
    host: Host,
    *,
    kind: Kind | None = None,
    option: str = "--root",
    limits: Limits | None = None,
) -> Root:
    """Return the root at a path that the user gave; UsageError when it is not there or not of the wanted kind."""
    text = os.fspath(path).strip().strip('"')
    where = _absolute(text)
    try:
        found = where is not None and where.exists()
    except OSError as exc:
        raise EnvironmentFailure(f"{option} {text}: cannot be looked at", because=exc.strerror or str(exc)) from exc
    if where is None or not text or not found:
        raise UsageError(f"{option} {text}: the file or folder does not exist", hint="check the path for a misspelling")
    root = _folder_root(where, option, kind) if where.is_dir() else _file_root(where, option, kind, limits)
    return with_warnings(replace(root, learned=option, explicit=True), host)


def named_roots(
    path: str | Path, host: Host, *, option: str = "--root", limits: Limits | None = None
) -> tuple[Root, ...]:
    """Return the roots that a path means: one, each wheel or package of a folder, or all that a pattern matches."""
    text = os.fspath(path).strip().strip('"')
    where = _absolute(text)
    if where is not None and any(sign in text for sign in "*?[") and not os.path.lexists(where):
        return tuple(named_root(found, host, option=option, limits=limits) for found in _matches(where, text, option))
    if where is None or not tree.is_folder(where):
        return (named_root(path, host, option=option, limits=limits),)
    packages = [where / name for name in tree.names(where) if fold(name).endswith((".whl", *condafile.SUFFIXES))]
    if packages and not _has_dlls(where):
        return tuple(named_root(package, host, option=option, limits=limits) for package in packages)
    return (named_root(path, host, option=option, limits=limits),)


def _matches(pattern: Path, text: str, option: str) -> list[Path]:
    """Return the files and folders that a pattern matches; UsageError when there are none."""
    anchor = Path(pattern.anchor)
    found = sorted(anchor.glob(str(pattern.relative_to(anchor))), key=lambda path: fold(str(path)))
    if not found:
        raise UsageError(f"{option} {text}: nothing matches this pattern", hint="check the path for a misspelling")
    return found


def _has_dlls(folder: Path) -> bool:
    """Whether a folder is a root by itself, and not only a place where packages lie."""
    root = recognise(folder)
    if root is not None and root.folders:
        return True
    places = (tree.locate_folder(folder, below) for below in PLAIN_FOLDERS)
    return any(tree.dll_names(found) for found in places if found is not None)


def _absolute(text: str) -> Path | None:
    """Return the path that a text means, or None when it means none (a home that does not exist, a NUL in it)."""
    try:
        where = Path(text).expanduser()
        # Names of folders tell versions, and ".." tells none; links elsewhere stay as they were named.
        return where.resolve() if ".." in where.parts else where.absolute()
    except (RuntimeError, ValueError):
        return None


def _folder_root(folder: Path, option: str, kind: Kind | None) -> Root:
    try:
        next(folder.iterdir(), None)
    except OSError as exc:
        raise EnvironmentFailure(f"{option} {folder}: cannot be read", because=exc.strerror or str(exc)) from exc
    if kind is not None:
        return _of_kind(folder, option, kind)
    root = recognise(folder)
    if root is not None and root.folders:
        return root
    folders = tuple(
        RootFolder(tree.relative(found, folder), redistributable=msvc.is_redistributable(found))
        for below in PLAIN_FOLDERS
        if (found := tree.locate_folder(folder, below)) is not None and tree.dll_names(found)
    )
    if folders:
        return Root("folder", folder, folders=folders)
    raise UsageError(
        f"{option} {folder}: there are no DLLs in it",
        because="it is not a CUDA, cuDNN, oneAPI, conda, Python or Visual C++ folder, and holds no DLLs itself",
        hint=_where_dlls_are(folder),
    )


def _of_kind(folder: Path, option: str, kind: Kind) -> Root:
    vendor = vendors_by_kind()[kind]
    # People name the folder that holds the DLLs, or the one that holds the versions; both are easily understood.
    tries = [folder, *([folder.parent] if fold(folder.name) in ("bin", "x64") else [])]
    if fold(folder.name) == "x64":
        tries.append(folder.parent.parent)
    for candidate in tries:
        root = vendor.recognise(candidate)
        if root is not None and root.folders:
            return root if candidate == folder else root.with_notes(f"{folder} is part of it")
    below = [child for child in tree.subfolders(folder) if vendor.recognise(child) is not None]
    if len(below) == 1 and (root := vendor.recognise(below[0])) is not None:
        return root.with_notes(f"the only one in {folder}")
    if below:
        hint = "name one of them: " + ", ".join(str(child) for child in below)
    else:
        other = recognise(folder)
        hint = f"it looks like {LABELS[other.kind]}; --root takes any kind" if other else "--root takes any folder"
    raise UsageError(f"{option} {folder}: not what was expected", because=f"expected {vendor.EXPECTED}", hint=hint)


def _where_dlls_are(folder: Path, limit: int = 2000) -> str:
    """Return a hint with folders further down that do hold DLLs, found in a short walk."""
    found: list[Path] = []
    for count, (here, _, files) in enumerate(os.walk(folder)):
        if any(fold(name).endswith(".dll") for name in files):
            found.append(Path(here))
        if len(found) == 3 or count > limit:
            break
    if found:
        return "DLLs lie in " + ", ".join(map(str, found)) + "; name such a folder"
    return "name the folder in which the DLLs lie"


def _file_root(path: Path, option: str, kind: Kind | None, limits: Limits | None) -> Root:
    name = fold(path.name)
    if kind == "conda" and name.endswith(condafile.SUFFIXES):
        kind = None
    if kind is not None:
        expected = vendors_by_kind()[kind].EXPECTED
        raise UsageError(
            f"{option} {path}: not what was expected",
            because=f"it is a file; expected {expected}",
            hint="--root takes wheels and conda packages",
        )
    if name.endswith(".whl"):
        return _wheel_root(path, limits)
    if name.endswith(condafile.SUFFIXES):
        return _conda_package_root(path, limits)
    if name.endswith(".dll"):
        hint = f"name its folder: --root {path.parent}"
    else:
        hint = "name a folder, a wheel (.whl) or a conda package (.conda, .tar.bz2)"
    raise UsageError(f"{option} {path}: not a root", because="it is neither a folder nor a package", hint=hint)


def _wheel_root(path: Path, limits: Limits | None) -> Root:
    with Archive.open(path, limits) as archive:
        members = [member.name for member in archive.members if not member.is_dir]
    package, version = wheel_identity(path.name, members)
    cuda = cuda_of_package(package, version)
    folders = _member_folders(members, version, package, cuda)
    notes = () if folders else ("there are no DLLs in it",)
    return Root("wheel", path, version, folders=folders, notes=notes)


def _conda_package_root(path: Path, limits: Limits | None) -> Root:
    package = condafile.open_package(path, limits)
    cuda = cuda_of_package(package.name, package.version)
    folders = _member_folders(package.dlls, package.version, package.name, cuda)
    notes = [] if folders else ["there are no DLLs in it"]
    if package.subdir and not package.subdir.startswith("win-"):
        notes.append(f"it is a package for {package.subdir}")
    return Root("conda-package", path, package.version, folders=folders, notes=tuple(notes))


def _member_folders(members: Iterable[str], version: str, package: str, cuda: str) -> tuple[RootFolder, ...]:
    names = dict.fromkeys(posixpath.dirname(name) or "." for name in members if fold(name).endswith(".dll"))
    return tuple(RootFolder(name, version=version, cuda=cuda, package=package) for name in names)


def wheel_identity(filename: str, members: Iterable[str]) -> tuple[str, str]:
    """Return distribution and version of a wheel, by its own dist-info, else by the file's name."""
    for name in members:
        if found := re.match(r"(?P<name>[^/]+?)-(?P<version>[^/-]+)\.dist-info/", name):
            return found["name"].replace("_", "-"), found["version"]
    parts = filename.removesuffix(".whl").split("-")
    return (parts[0].replace("_", "-"), parts[1]) if len(parts) >= 5 else (parts[0], "")
