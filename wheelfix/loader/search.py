"""How Windows finds a DLL: the folders that a process searches for a name, in which order, and what provides it.

The order and the rules are those of Microsoft's "Dynamic-link library search order" and "LoadLibraryEx"; they are
checked against a real PE loader in ``tests/oracle``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from wheelfix.base.values import replace
from wheelfix.errors import InputError
from wheelfix.loader.loadcall import (
    ALTERED_SEARCH_PATH,
    APPLICATION_DIR,
    DEFAULT_DIRS,
    DLL_LOAD_DIR,
    SEARCH_FLAGS,
    SYSTEM32,
    USER_DIRS,
)
from wheelfix.loader.view import parent
from wheelfix.model import InView, MayComeFrom, Missing, OwnedBy, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.loader.view import FileView
    from wheelfix.model import Edge, EdgeKind, Machine, Provider, Symbol, UnreadCall

MAX_LOOKUPS = 300_000
"""Imports that all loads of a package may look up together; vtk, with 368 images, needs ten thousand."""
_PYTHON, _SYSTEM = "<folder of python.exe>", "<System32>"


class SystemModules(Protocol):
    """What the target machine brings besides the files of the view."""

    def redirected(self, name: str) -> Provider | None:
        """API sets and KnownDLLs: found before any folder is searched."""
        ...

    def resident(self, name: str) -> Provider | None:
        """Modules that are in the process before anything of the package is loaded."""
        ...

    def beside_python(self, name: str) -> Provider | None:
        """Files in the folder of ``python.exe``."""
        ...

    def in_system32(self, name: str) -> Provider | None:
        """Files in System32: Windows' own, drivers, the VC++ runtime."""
        ...

    def elsewhere(self, name: str, steps: tuple[str, ...]) -> Provider | None:
        """What the profile assumes or another distribution brings, asked only after every folder of ``steps``."""
        ...


class DllSearch:
    """What a process has: folders to search, modules, what was asked so far; and how it finds a DLL by its name."""

    def __init__(
        self,
        view: FileView,
        system: SystemModules,
        machine: Machine,
        *,
        application_dir: str = "",
        user_dirs: Iterable[str] = (),
        path_dirs: Iterable[str] = (),
    ) -> None:
        self.view = view
        self.system = system
        self.machine = machine
        self.application_dir = application_dir
        self.user_dirs = list(user_dirs)
        """Folders given to AddDllDirectory, in order."""
        self.path_dirs = list(path_dirs)
        """Folders on PATH; used only by loads without search flags."""
        self.loaded: dict[str, str] = {}
        """Base name → path of the module that an import of that name will get."""
        self.modules: dict[str, None] = {}
        """Paths of all loaded modules, in order."""
        self.ran: set[str] = set()
        """Python files whose code has run: importing them again does nothing."""
        self.unread: dict[UnreadCall, None] = {}
        """Loads and folders in the code of other distributions that has run, and that could not be read from it."""
        self.touched: dict[str, None] = {}
        """Paths that some load mapped, also those of loads that failed in the end."""
        self.edges: dict[tuple[str, str, EdgeKind], Edge] = {}
        """Every need that was met or not, by importer, name and kind."""
        self._spent = [0]
        """Lookups so far, counted together with those of every process that was forked from this one."""
        self._searched: dict[tuple[str, tuple[str, ...]], Provider] = {}
        """What searching for a name in some steps finds, shared by all forks: the files of a view never change."""
        self._unmet: dict[tuple[str, int, str], tuple[Symbol, ...]] = {}
        """The symbols that an entry of a file's import table does not find in another file; shared as well."""

    def search_steps(self, path: str, flags: int) -> tuple[str, ...]:
        """The places (folders, System32, python.exe's folder) in which a load looks for dependencies, in order."""
        if flags & DEFAULT_DIRS:
            flags |= APPLICATION_DIR | USER_DIRS | SYSTEM32
        own = parent(path)
        if flags & SEARCH_FLAGS:
            steps = [own] if flags & DLL_LOAD_DIR else []
            steps += [_PYTHON] if flags & APPLICATION_DIR else []
            # The documentation leaves the order open; the loader puts each new folder in front of the others.
            steps += reversed(self.user_dirs) if flags & USER_DIRS else []
            steps += [_SYSTEM] if flags & SYSTEM32 else []
        else:
            steps = [own if flags & ALTERED_SEARCH_PATH else _PYTHON, _SYSTEM, *self.path_dirs]
        return tuple(dict.fromkeys(steps))

    def find(self, name: str, steps: tuple[str, ...], mapped: dict[str, str] | None = None) -> Provider:
        """The provider of a DLL name in this process, where the given steps are searched."""
        key = dll_key(name)
        found = self.system.redirected(name)
        if found is not None:
            return found
        if key in self.loaded:
            return InView(self.loaded[key])
        if mapped and key in mapped:
            return InView(mapped[key])
        known = self._searched.get((name, steps))
        if known is None:
            self.spend(1)
            known = self._searched[name, steps] = self._search(name, key, steps)
        return known

    def _search(self, name: str, key: str, steps: tuple[str, ...]) -> Provider:
        """The provider of a name that no module in the process has."""
        found = self.system.resident(name)
        if found is not None:
            return found
        for step in steps:
            found = self._look(step, name, key)
            if found is not None:
                return found
        present = self.view.named(key)
        found = self.system.elsewhere(name, steps)
        if present and (isinstance(found, MayComeFrom) or (isinstance(found, OwnedBy) and not found.reachable)):
            found = None
        if found is not None and not isinstance(found, Missing):
            return found
        searched = tuple(step or "<prefix>" for step in steps)
        return replace(found or Missing(), searched=searched, present_at=present)

    def _look(self, step: str, name: str, key: str) -> Provider | None:
        if step == _SYSTEM:
            return self.system.in_system32(name)
        if step == _PYTHON:
            path = self.view.find(self.application_dir, key)
            return InView(path) if path else self.system.beside_python(name)
        path = self.view.find(step, key)
        return InView(path) if path else None

    def spend(self, lookups: int) -> None:
        """Count the work; InputError if the DLLs were made to need more of it than any package does."""
        self._spent[0] += lookups
        if self._spent[0] > MAX_LOOKUPS:
            raise InputError(
                "the DLLs ask for too much",
                because=f"loading them takes more than {MAX_LOOKUPS} lookups; they import each other in circles",
                hint="this looks like an attack; if it is none, please report it",
            )

    def note(self, edge: Edge) -> None:
        """Keep the first positive answer to each need, and what later binding learned about its symbols."""
        key = (edge.importer, dll_key(edge.name), edge.kind)
        known = self.edges.get(key)
        # A later load may find what an earlier one missed, because it is in the process by then.
        if known is None or edge.unexported or (isinstance(known.provider, Missing) and not known.unexported):
            self.edges[key] = edge
