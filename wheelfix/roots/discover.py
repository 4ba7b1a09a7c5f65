"""Discovery: the roots that this machine has, and what was promised but is not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.model import fold
from wheelfix.roots import tree
from wheelfix.roots.root import Root, RootFolder, Vendor
from wheelfix.roots.safety import with_warnings
from wheelfix.roots.vendors import conda, cuda, cudnn, msvc, nvtoolsext, oneapi, pyenv
from wheelfix.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.roots.host import Host
    from wheelfix.roots.root import Place

VENDORS: tuple[Vendor, ...] = (cuda, cudnn, nvtoolsext, oneapi, conda, pyenv, msvc)
"""One module for each kind, in the order in which roots are listed."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A path that a variable or the registry names, and that turns out not to be a root."""

    kind: str
    path: Path
    learned: str
    reason: str


@dataclass(frozen=True, slots=True)
class Discovery:
    """Everything that discovery found out."""

    roots: tuple[Root, ...] = ()
    remarks: tuple[Remark, ...] = ()


def discover(host: Host) -> tuple[Root, ...]:
    """Return the roots that this machine has."""
    return explore(host).roots


def explore(host: Host) -> Discovery:
    """Return the roots that this machine has, and a remark on every promise that was not kept."""
    roots: dict[tuple[str, Path], Root] = {}
    remarks: list[Remark] = []
    for vendor in VENDORS:
        for place in vendor.places(host):
            key = (vendor.KIND, tree.real(place.path))
            if key in roots:
                roots[key] = _also(roots[key], place)
                continue
            root, reason = _look(vendor, place)
            if root is not None:
                roots[key] = with_warnings(root, host)
            elif place.promised:
                remark = Remark(vendor.KIND, place.path, place.learned, reason)
                remarks += [remark] if remark not in remarks else []
    return Discovery(tuple(_without_nested(list(roots.values()))), tuple(remarks))


def _look(vendor: Vendor, place: Place) -> tuple[Root | None, str]:
    # A variable may hold a relative path; what the current folder happens to be must not decide what is vendored.
    if not place.path.is_absolute():
        return None, "not an absolute path"
    if not tree.is_folder(place.path):
        return None, "no such folder"
    root = vendor.recognise(place.path)
    if root is None or not root.folders:
        return None, f"not {vendor.EXPECTED}"
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
    kept: list[Root] = []
    for root in roots:
        outer = next((other for other in roots if other is not root and _covers(other, root)), None)
        if outer is None:
            kept.append(root)
    return [_with_inner_notes(root, roots) for root in kept]


def _covers(outer: Root, inner: Root) -> bool:
    if outer.kind != inner.kind or tree.real(outer.path) == tree.real(inner.path):
        return False
    if not tree.inside(inner.path, outer.path):
        return False
    outer_folders = {tree.real(outer.path / entry.path) for entry in outer.folders}
    return all(tree.real(inner.path / entry.path) in outer_folders for entry in inner.folders)


def _with_inner_notes(root: Root, roots: list[Root]) -> Root:
    inner = [other for other in roots if other is not root and _covers(root, other)]
    return root.with_notes(*(f"{other.learned} names {other.path} in it" for other in inner))


def search_path_roots(host: Host) -> tuple[Root, ...]:
    """Return the folders of PATH that hold DLLs, Windows' own left out; only ever for who asks with --search-path."""
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
            here = RootFolder(".", redistributable=msvc.is_redistributable(path))
            root = Root("folder", path, learned="PATH", folders=(here,), last_resort=True)
            roots.append(with_warnings(root, host))
    return tuple(roots)


def _is_windows_folder(path: Path, windows: Path) -> bool:
    mine, theirs = ([fold(part) for part in tree.real(where).parts] for where in (path, windows))
    return mine[: len(theirs)] == theirs


def vendors_by_kind() -> dict[str, Vendor]:
    """Return the module of each kind."""
    return {vendor.KIND: vendor for vendor in VENDORS}


def recognise(folder: Path, vendors: Iterable[Vendor] = ()) -> Root | None:
    """Return the root of whatever kind a folder is, or None when no vendor knows it."""
    # An environment before a toolkit: conda puts CUDA's files into folders that look like one.
    first: tuple[Vendor, ...] = (conda, cuda, cudnn, nvtoolsext, msvc, oneapi, pyenv)
    for vendor in tuple(vendors) or (*first, *(vendor for vendor in VENDORS if vendor not in first)):
        root = vendor.recognise(folder)
        if root is not None:
            return root
    return None
