"""The process in which Python code is followed: the folders that it has added so far, and what it has loaded so far.

With it the order of statements counts: a load before its folder is added fails, and so does one after the folder was
taken away again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.distributions import owners_of
from wheelfix.loader.loadcall import BAD_EXE_FORMAT, MOD_NOT_FOUND
from wheelfix.loader.loading import Loader
from wheelfix.loader.target import NoProviders, Target
from wheelfix.loader.view import BASE
from wheelfix.model import InView, MayComeFrom

if TYPE_CHECKING:
    from wheelfix.loader.loadcall import Failure
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.model import Provider


class _OwnersOfNames:
    """What the process finds outside of the view: DLLs that some distribution is known to ship may be there."""

    def provide(self, name: str, steps: tuple[str, ...]) -> Provider | None:
        """The distributions that ship a DLL; which of them are installed is not known here."""
        owners = tuple(dict.fromkeys(owner.distribution for owner in owners_of(name)))
        return MayComeFrom(name, owners, "it may be installed") if owners else None


def first_process(view: FileView, profile: Profile, *, complete: bool = False) -> Loader:
    """A process in which nothing of the view has been loaded; in a ``complete`` one nothing else is installed."""
    base = BASE if view.find(BASE, "python.exe") else ""
    searched = view.beside.searched if view.beside is not None else ()
    system = Target(profile, NoProviders() if complete else _OwnersOfNames())
    return Loader(view, system, profile.machine, application_dir=base, user_dirs=searched)


class CodeProcess:
    """What the code that is followed has done to the search for DLLs, as far as it does so for certain."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self.settled = True
        """False if something may have been added or loaded that is not known."""
        self.begun = False
        """Whether what happened before the file began to run has been looked at."""
        self.catching_up = False
        """Whether that is being done."""
        self.imported: list[tuple[str, bool]] = []
        """Files of the package that were imported and not looked at, each with whether that is certain."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that are searched now."""
        return tuple(self._loader.user_dirs)

    def add(self, folder: str) -> None:
        """``os.add_dll_directory``."""
        self._loader.user_dirs.append(folder)

    def remove(self, folder: str) -> None:
        """``close`` of what ``os.add_dll_directory`` returned; the same folder may have been added twice."""
        if folder in self._loader.user_dirs:
            self._loader.user_dirs.remove(folder)

    def load(self, path: str, flags: int, along: tuple[str, ...] | None) -> Failure | None:
        """Load a file of the view, with the folders that are on PATH; None is success."""
        self._loader.path_dirs = list(along or ())
        return self._loader.load(path, flags)

    def load_by_name(self, name: str, flags: int, along: tuple[str, ...] | None) -> Failure | None:
        """Load by bare name, likewise."""
        self._loader.path_dirs = list(along or ())
        return self._loader.load_by_name(name, flags)

    def where(self, name: str, flags: int, along: tuple[str, ...] | None) -> str:
        """The file of the view that a load by bare name finds; empty if there is none."""
        self._loader.path_dirs = list(along or ())
        found = self._loader.find(name, self._loader.search_steps("", flags))
        return found.path if isinstance(found, InView) else ""

    def is_certain(self, failure: Failure, flags: int, along: tuple[str, ...] | None) -> bool:
        """Whether a load fails whatever else may have happened."""
        if fails_everywhere(failure):
            return True
        return self.settled and not (not flags and along is None and failure.code == MOD_NOT_FOUND)


def fails_everywhere(failure: Failure) -> bool:
    """Whether a load fails in every process: the file itself is not an image that fits."""
    return failure.code == BAD_EXE_FORMAT and len(failure.chain) == 1
