"""Which roots are searched, and in which order: those that the user named, those of this machine, then PATH.

A name may be a folder of any kind, a plain folder of DLLs, a wheel, a conda package file or a pattern. Discovery also
remarks on every variable or registry entry that names a folder which is not what it should be.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.reader import Archive
from wheelfix.base.values import frozen, replace
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.model import fold
from wheelfix.roots import condafile
from wheelfix.roots import root as tree
from wheelfix.roots.host import Host, this_machine, with_warnings
from wheelfix.roots.release import member_folders
from wheelfix.roots.root import LABELS, Place, Root, RootFolder
from wheelfix.roots.toolkits import CONDA, MSVC, PIP, TOOLKITS, Vendor, is_redistributable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wheelfix.base.options import Limits, RootOptions

VENDORS = (*(vendor for vendor in TOOLKITS if vendor is not MSVC), CONDA, PIP, MSVC)
"""In the order in which roots are listed; the Visual C++ runtime is last, because it is vendored on request only."""
KINDS = {vendor.kind: vendor for vendor in VENDORS}
PLAIN_FOLDERS = (".", "bin/x64", "bin", "lib/x64", "lib", "Library/bin")
"""Where a plain folder is searched; it is not walked, so that nothing gets in from unexpected places."""


def recognise(folder: Path) -> Root | None:
    """Return the root that a folder is, of any vendor, or None when no vendor recognises it."""
    # An environment before a toolkit: conda puts CUDA's files into folders that look like one.
    return next((root for vendor in (CONDA, *VENDORS) if (root := vendor.recognise(folder)) is not None), None)


def plain_root(folder: Path) -> Root | None:
    """Return the root that a folder of no vendor is, if it has DLLs where they are looked for."""
    folders = tuple(
        RootFolder(tree.relative(found, folder), redistributable=is_redistributable(found))
        for found in tree.folders_with_dlls(folder, PLAIN_FOLDERS)
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


def wheel_identity(filename: str, members: Iterable[str]) -> tuple[str, str]:
    """Return distribution and version of a wheel, by its own dist-info, else by the file's name."""
    for name in members:
        if found := re.match(r"(?P<name>[^/]+?)-(?P<version>[^/-]+)\.dist-info/", name):
            return found["name"].replace("_", "-"), found["version"]
    parts = filename.removesuffix(".whl").split("-")
    return (parts[0].replace("_", "-"), parts[1]) if len(parts) >= 5 else (parts[0], "")


def gather_roots(options: RootOptions, host: Host | None = None) -> tuple[Root, ...]:
    """Named roots first, then discovered ones of this machine, then PATH if asked for."""
    host, limits = host or this_machine(), options.limits
    given = [named_roots(path, host, limits) for path in options.roots]
    for kind in ("cuda", "cudnn", "oneapi", "conda"):
        folders: tuple[Path, ...] = getattr(options, kind)
        given += [(named_root(path, host, kind=kind, option=f"--{kind}", limits=limits),) for path in folders]
    named: dict[tuple[str, Path], Root] = {}
    for place, roots in enumerate(given):
        for root in roots:  # what is named twice counts once
            named.setdefault((root.kind, tree.real(root.path)), replace(root, place=place))
    discovered = explore(host)[0] if options.discover else ()
    path = search_path_roots(host) if options.search_path else ()
    return (*named.values(), *discovered, *path)


# ---------------------------------------------------------------------------------------- named by the user


def named_root(
    path: str | Path,
    host: Host,
    *,
    kind: str | None = None,
    option: str = "--root",
    limits: Limits | None = None,
) -> Root:
    """Return the root at a path that the user gave; UsageError when it is not there or not of the wanted kind."""
    text, where = _meant(path)
    try:
        found = where is not None and where.exists()
    except OSError as exc:
        raise EnvironmentFailure(f"{option} {text}: cannot be looked at", because=exc) from exc
    if where is None or not text or not found:
        raise UsageError(f"{option} {text}: the file or folder does not exist", hint=_where_it_may_be(text, host))
    root = _folder_root(where, option, kind) if where.is_dir() else _file_root(where, option, kind, limits)
    return with_warnings(replace(root, learned=option, explicit=True), host)


def _where_it_may_be(text: str, host: Host) -> str:
    if host.os_name != "nt" and re.match(r"[A-Za-z]:[\\/]|\\\\", text):
        below = text[3:].replace("\\", "/") if text[1] == ":" else ""
        mounted = f"; in WSL it is /mnt/{text[0].lower()}/{below}" if below else ""
        return f"that is a path of Windows, and this machine is not: name the folder as it is called here{mounted}"
    return "check the path for a misspelling"


def named_roots(path: str | Path, host: Host, limits: Limits | None = None) -> tuple[Root, ...]:
    """Return the roots that a path means: one, each wheel or package of a folder, or all that a pattern matches."""
    text, where = _meant(path)
    found: Sequence[str | Path] = (path,)
    if where is not None and any(sign in text for sign in "*?[") and not os.path.lexists(where):
        found = _matches(where, text)
    elif where is not None and tree.is_folder(where):
        packages = [where / name for name in tree.names(where) if is_package(name)]
        found = packages if packages and _recognised(where) is None else found
    return tuple(named_root(one, host, limits=limits) for one in found)


def _matches(pattern: Path, text: str) -> list[Path]:
    """Return the files and folders that a pattern matches; UsageError when there are none."""
    anchor = Path(pattern.anchor)
    found = sorted(anchor.glob(str(pattern.relative_to(anchor))), key=lambda path: fold(str(path)))
    if not found:
        raise UsageError(f"--root {text}: nothing matches this pattern", hint="check the path for a misspelling")
    return found


def _recognised(folder: Path) -> Root | None:
    """Return the root that a folder is by itself, of a vendor or a plain one; None where no DLLs are found in it."""
    root = recognise(folder)
    return root if root is not None and root.folders else plain_root(folder)


def _meant(path: str | Path) -> tuple[str, Path | None]:
    """Return a path without quotes, and where it leads; None for no place (a home that does not exist, a NUL in it)."""
    text = os.fspath(path).strip().strip('"')
    try:
        where = Path(text).expanduser()
        # Versions are read from names of folders, and ".." has none; links elsewhere stay as they were named.
        return text, where.resolve() if ".." in where.parts else where.absolute()
    except (RuntimeError, ValueError):
        return text, None


def _folder_root(folder: Path, option: str, kind: str | None) -> Root:
    try:
        next(folder.iterdir(), None)
    except OSError as exc:
        raise EnvironmentFailure(f"{option} {folder}: cannot be read", because=exc) from exc
    if kind is not None:
        return _of_kind(folder, option, kind)
    if (root := _recognised(folder)) is not None:
        return root
    raise UsageError(
        f"{option} {folder}: there are no DLLs in it",
        because="it is not a CUDA, cuDNN, oneAPI, conda, Python or Visual C++ folder, and holds no DLLs itself",
        hint=_where_dlls_are(folder),
    )


def _of_kind(folder: Path, option: str, kind: str) -> Root:
    vendor = KINDS[kind]
    # People name the folder that holds the DLLs, or the one that holds the versions; both are accepted.
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
    raise UsageError(f"{option} {folder}: not what was expected", because=f"expected {vendor.expected}", hint=hint)


def _where_dlls_are(folder: Path) -> str:
    """Return a hint with folders further down that do hold DLLs, found in a short walk."""
    found: list[Path] = []
    for count, (here, _, files) in enumerate(os.walk(folder)):
        if any(fold(name).endswith(".dll") for name in files):
            found.append(Path(here))
        if len(found) == 3 or count > 2000:
            break
    if found:
        return "DLLs lie in " + ", ".join(map(str, found)) + "; name such a folder"
    return "name the folder in which the DLLs lie"


def _file_root(path: Path, option: str, kind: str | None, limits: Limits | None) -> Root:
    name = fold(path.name)
    if kind == "conda" and name.endswith(condafile.SUFFIXES):
        kind = None
    if kind is not None:
        raise UsageError(
            f"{option} {path}: not what was expected",
            because=f"it is a file; expected {KINDS[kind].expected}",
            hint="--root takes wheels and conda packages",
        )
    if name.endswith(".whl"):
        return wheel_root(path, limits)
    if name.endswith(condafile.SUFFIXES):
        return conda_package_root(path, limits)
    if name.endswith(".dll"):
        hint = f"name its folder: --root {path.parent}"
    else:
        hint = "name a folder, a wheel (.whl) or a conda package (.conda, .tar.bz2)"
    raise UsageError(f"{option} {path}: not a root", because="it is neither a folder nor a package", hint=hint)


# -------------------------------------------------------------------------------------- found on this machine


@frozen
class Remark:
    """A path that a variable or the registry names, and that turns out not to be a root."""

    kind: str
    path: Path
    learned: str
    reason: str


def explore(host: Host) -> tuple[tuple[Root, ...], tuple[Remark, ...]]:
    """Return the roots that this machine has, and a remark on every variable or registry entry that names no root."""
    roots: dict[tuple[str, Path], Root] = {}
    remarks: list[Remark] = []
    for vendor in VENDORS:
        for place in vendor.places(host):
            key = (vendor.kind, tree.real(place.path))
            if key in roots:
                roots[key] = _also(roots[key], place)
                continue
            root, reason = _look(vendor, place)
            if root is not None:
                roots[key] = with_warnings(root, host)
            elif place.promised:
                remark = Remark(vendor.kind, place.path, place.learned, reason)
                remarks += [remark] if remark not in remarks else []
    return tuple(_without_nested(list(roots.values()))), tuple(remarks)


def _look(vendor: Vendor, place: Place) -> tuple[Root | None, str]:
    # A variable may hold a relative path; what the current folder happens to be must not decide what is vendored.
    if not place.path.is_absolute():
        return None, "not an absolute path"
    if not tree.is_folder(place.path):
        return None, "no such folder"
    root = vendor.recognise(place.path)
    if root is None or not root.folders:
        return None, f"not {vendor.expected}"
    return replace(root, learned=place.learned, last_resort=place.last_resort), ""


def _also(root: Root, place: Place) -> Root:
    """Return the root with a note that something else names it too."""
    if place.learned == root.learned:
        return root
    note = f"also {place.learned}"
    last_resort = root.last_resort and place.last_resort
    return replace(root.with_notes(*(() if note in root.notes else (note,))), last_resort=last_resort)


def _without_nested(roots: list[Root]) -> list[Root]:
    """Return the roots without those whose folders another root of the kind has: MKLROOT inside ONEAPI_ROOT."""
    kept = [root for root in roots if not any(_covers(other, root) for other in roots)]
    inner = [[other for other in roots if _covers(root, other)] for root in kept]
    notes = [[f"{other.learned} names {other.path} in it" for other in others] for others in inner]
    return [root.with_notes(*own) for root, own in zip(kept, notes, strict=True)]


def _covers(outer: Root, inner: Root) -> bool:
    if outer.kind != inner.kind or tree.real(outer.path) == tree.real(inner.path):
        return False
    if not tree.inside(inner.path, outer.path):
        return False
    outer_folders = {tree.real(outer.path / entry.path) for entry in outer.folders}
    return all(tree.real(inner.path / entry.path) in outer_folders for entry in inner.folders)


def search_path_roots(host: Host) -> tuple[Root, ...]:
    """Return the folders of PATH that hold DLLs, Windows' own left out; only with --search-path."""
    separator = ";" if host.os_name == "nt" else ":"
    windows = host.variable("SystemRoot") or host.variable("windir")
    seen: set[Path] = set()
    roots: list[Root] = []
    for text in host.variable("PATH").split(separator):
        path = Path(text.strip().strip('"')) if text.strip() else None
        # A relative entry means the current folder, which is not an installation.
        if path is None or not path.is_absolute() or tree.real(path) in seen:
            continue
        seen.add(tree.real(path))
        if windows and _is_windows_folder(path, Path(windows)):
            continue
        if tree.is_folder(path) and tree.dll_names(path):
            here = RootFolder(".", redistributable=is_redistributable(path))
            root = Root("folder", path, learned="PATH", folders=(here,), last_resort=True)
            roots.append(with_warnings(root, host))
    return tuple(roots)


def _is_windows_folder(path: Path, windows: Path) -> bool:
    mine, theirs = ([fold(part) for part in tree.real(where).parts] for where in (path, windows))
    return mine[: len(theirs)] == theirs
