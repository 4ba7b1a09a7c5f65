"""Folders looked up the way Windows does it, without regard to case, on any disk."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import dotted_numbers
from wheelfix.model import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def is_folder(path: Path) -> bool:
    """Whether a path is a folder that we may look at; one behind a closed door is none to us."""
    try:
        return path.is_dir()
    except OSError:
        return False


def names(folder: Path) -> tuple[str, ...]:
    """Return what is in a folder, sorted without case; nothing when it cannot be read."""
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


def locate_folder(folder: Path, below: str) -> Path | None:
    """Return the folder ``below`` as spelled on disk, or None."""
    found = locate(folder, below)
    return found if found is not None and is_folder(found) else None


def subfolders(folder: Path, pattern: str = "") -> tuple[Path, ...]:
    """Return the folders in a folder, those whose folded name matches the pattern as a whole."""
    wanted = re.compile(pattern) if pattern else None
    return tuple(
        folder / name
        for name in names(folder)
        if (wanted is None or wanted.fullmatch(fold(name))) and is_folder(folder / name)
    )


def dll_names(folder: Path, pattern: str = "") -> tuple[str, ...]:
    """Return the names of the DLLs in a folder, those whose folded name matches the pattern as a whole."""
    wanted = re.compile(pattern) if pattern else None
    return tuple(
        name
        for name in names(folder)
        if (key := fold(name)).endswith(".dll") and (wanted is None or wanted.fullmatch(key))
    )


def folders_with_dlls(base: Path, below: Iterable[str]) -> Iterator[Path]:
    """Yield those of some folders below a base that hold DLLs."""
    for name in below:
        found = locate_folder(base, name)
        if found is not None and dll_names(found):
            yield found


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


def numbers(version: str) -> tuple[int, ...]:
    """Return the leading dotted numbers of a version, so that versions compare: ``v12.4.1-rc1`` gives 12, 4, 1."""
    return dotted_numbers(version.strip().lower().removeprefix("v"))


def newest_first(folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return folders named for versions, the highest version first."""
    return tuple(sorted(folders, key=lambda folder: (numbers(folder.name), fold(folder.name)), reverse=True))
