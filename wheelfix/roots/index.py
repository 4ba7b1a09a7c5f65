"""The index of candidates: which DLLs the roots have, by name and by folder.

Making an index reads nothing; the roots are listed when the first name is looked up, a DLL is opened when it is asked
for its facts. Links are followed only as long as they stay inside the root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import dll_key
from wheelfix.roots.choice.release import shown_version
from wheelfix.roots.filefacts import FileReader
from wheelfix.roots.listing import RootLister

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from wheelfix.base.options import Limits
    from wheelfix.model import Machine
    from wheelfix.roots.root import Root
    from wheelfix.roots.rootfile import Offering, RootFile, Skipped


class RootIndex(FileReader):
    """All DLLs of the given roots, in the order of the roots and of their folders."""

    def __init__(self, roots: Iterable[Root], trusted_roots: Path | None = None, limits: Limits | None = None) -> None:
        super().__init__(trusted_roots, limits)
        self.roots = tuple(roots)
        self._lister = RootLister(self.archive_of, limits)
        self._by_key: dict[str, list[RootFile]] | None = None
        self._by_folder: dict[tuple[Path, str], dict[str, RootFile]] = {}
        self.fetcher: Offering | None = None
        """What finds wheels on the package index, if that is asked for."""

    def __enter__(self) -> RootIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prepare(self) -> None:
        """List the roots now, so that several threads may look up names afterwards."""
        self._listing()

    def candidates(self, name: str) -> tuple[RootFile, ...]:
        """Return every file of that name, whatever its case."""
        return tuple(map(self._lister.owned, self._listing().get(dll_key(name), ())))

    def look_on_index(self, name: str, cuda: str, machine: Machine, releases: Iterable[str] = ()) -> bool:
        """Add the next wheel of the package index that ships a name; whether there was one. Only with ``--fetch``."""
        root = self.fetcher.offer(name, cuda, machine, releases) if self.fetcher is not None else None
        if root is None:
            return False
        listing = self._listing()
        if not self.is_open(root):
            self.roots = (*self.roots, root)
            self._add(root, listing)
        return True

    def siblings(self, file: RootFile) -> tuple[RootFile, ...]:
        """Return the DLLs of the folder in which a file lies, itself among them."""
        self._listing()
        return tuple(map(self._lister.owned, self._by_folder.get(_place(file), {}).values()))

    def beside(self, file: RootFile, name: str) -> RootFile | None:
        """Return the DLL of that name in the folder of a file, or None."""
        self._listing()
        found = self._by_folder.get(_place(file), {}).get(dll_key(name))
        return self._lister.owned(found) if found is not None else None

    def files(self) -> Iterator[RootFile]:
        """Yield every DLL, by name."""
        return map(self._lister.owned, self.listed())

    def listed(self) -> Iterator[RootFile]:
        """Yield every DLL, by name, without asking environments for its package."""
        listing = self._listing()
        for key in sorted(listing):
            yield from listing[key]

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out while the roots were listed."""
        self._listing()
        return tuple(self._lister.skipped)

    def shown_version(self, file: RootFile) -> str:
        """Return the version of the library that a file is, for a list; a member of a wheel is not unpacked for it."""
        return file.version_hint if file.root.is_file else shown_version(file, self)

    def _listing(self) -> dict[str, list[RootFile]]:
        if self._by_key is None:
            listing: dict[str, list[RootFile]] = {}
            for root in self.roots:
                self._add(root, listing)
            self._by_key = listing
        return self._by_key

    def _add(self, root: Root, listing: dict[str, list[RootFile]]) -> None:
        for file in self._lister.files_of(root):
            listing.setdefault(file.key, []).append(file)
            self._by_folder.setdefault(_place(file), {}).setdefault(file.key, file)


def _place(file: RootFile) -> tuple[Path, str]:
    return file.root.path, file.folder.path
