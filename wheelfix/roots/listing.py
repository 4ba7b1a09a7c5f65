"""Which DLLs a root has: its folders are listed, its package is opened; what is not used is noted with the reason."""

from __future__ import annotations

import os
import posixpath
import stat
from collections import Counter
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.model import fold
from wheelfix.roots import tree
from wheelfix.roots.rootfile import RootFile, Skipped
from wheelfix.roots.vendors import conda, condafile, pyenv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from wheelfix.archive.reader import Archive
    from wheelfix.base.options import Limits
    from wheelfix.roots.root import Root, RootFolder


class RootLister:
    """Lists roots one after the other; a folder or package that two of them have counts once, for the first."""

    def __init__(self, archive_of: Callable[[Root], Archive], limits: Limits | None) -> None:
        self._archive_of, self._limits = archive_of, limits
        self._seen: set[Path] = set()
        self._owners: dict[Path, dict[str, tuple[str, str]]] = {}
        self.skipped: list[Skipped] = []
        """What was left out so far."""

    def files_of(self, root: Root) -> Iterator[RootFile]:
        """Yield the DLLs of a root, in the order of its folders."""
        if root.is_file:
            where = tree.real(root.path)
            if root.remote is not None or where not in self._seen:  # of a wheel on a server the path is a name only
                self._seen.add(where)
                yield from self._list_package(root)
            return
        for entry in root.folders:
            folder = root.path / entry.path
            if not tree.inside(folder, root.path):
                self.skipped.append(Skipped(str(folder), f"leads out of {root.path}"))
                continue
            # The same folder through two roots (CUDA_PATH and --cuda, say) counts once, for the first of them.
            if tree.real(folder) not in self._seen:
                self._seen.add(tree.real(folder))
                yield from self._list_folder(root, entry, folder)

    def _list_folder(self, root: Root, entry: RootFolder, folder: Path) -> Iterator[RootFile]:
        try:
            with os.scandir(folder) as listing:
                found = sorted(
                    (item for item in listing if fold(item.name).endswith(".dll")), key=lambda i: fold(i.name)
                )
        except OSError as exc:
            self.skipped.append(Skipped(str(folder), exc.strerror or str(exc)))
            return
        for item in found:
            reason, size = _inspect(item, folder, root)
            if reason:
                self.skipped.append(Skipped(str(folder / item.name), reason))
                continue
            path = item.name if entry.path == "." else f"{entry.path}/{item.name}"
            yield RootFile(item.name, root, entry, path, size, entry.package, entry.version or root.version)

    def _list_package(self, root: Root) -> Iterator[RootFile]:
        by_path = {entry.path: entry for entry in root.folders}
        for member, size in self._package_members(root):
            folder, name = posixpath.split(member)
            entry = by_path.get(folder or ".")
            if entry is not None and fold(name).endswith(".dll"):
                yield RootFile(name, root, entry, member, size, entry.package, entry.version)

    def _package_members(self, root: Root) -> Iterator[tuple[str, int]]:
        if root.kind == "conda-package":
            for dll in condafile.open_package(root.path, self._limits).dlls.values():
                yield dll.member, dll.size
            return
        archive = self._archive_of(root)
        members = [member for member in archive.members if not member.is_dir and fold(member.name).endswith(".dll")]
        count = Counter(member.name for member in members)
        for member in members:
            reason = archive.why_refused(member)
            if stat.S_ISLNK(member.mode):
                reason = "a symbolic link"
            elif count[member.name] > 1:
                reason = "more than once in the archive, and installers differ in which one they take"
            if reason:
                self.skipped.append(Skipped(f"{root.path}!{member.name}", reason))
            else:
                yield member.name, member.usize

    def owned(self, file: RootFile) -> RootFile:
        """Return the file with its package, where the environment knows it.

        Asked for the few files that are looked up, because a large environment has hundreds of lists to read.
        """
        readers: dict[str, Callable[[Path], dict[str, tuple[str, str]]]] = {"conda": conda.owners, "pip": pyenv.owners}
        reader = readers.get(file.root.kind)
        if reader is None or file.package:
            return file
        where = file.root.path
        if where not in self._owners:
            self._owners[where] = reader(where)
        package, version = self._owners[where].get(fold(file.path), ("", ""))
        return replace(file, package=package, version_hint=version) if package else file


def _inspect(item: os.DirEntry[str], folder: Path, root: Root) -> tuple[str, int]:
    """Return why a directory entry is not used (empty: it is) and its size."""
    if any("\ud800" <= letter <= "\udfff" for letter in item.name):
        return "its name is not Unicode", 0
    try:
        if item.is_symlink() and not tree.inside(folder / item.name, root.path):
            return f"a link that leads out of {root.path}", 0
        status = item.stat()
    except OSError as exc:
        return exc.strerror or str(exc), 0
    if not stat.S_ISREG(status.st_mode):
        return "not a file", 0
    return "", status.st_size
