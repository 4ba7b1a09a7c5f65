"""What the Python code of a package does that matters to the DLLs of other distributions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wheelfix.loader.imports.importorder import ImportOrder, packages_above
from wheelfix.loader.view import SITE_PACKAGES, Layer, parent
from wheelfix.pe.modulenames import LARGEST, CompiledNames
from wheelfix.pycode.budget import budget_of, separate_budget
from wheelfix.pycode.importcode import read_imports
from wheelfix.pycode.pythonsource import SOURCE_LIMIT, python_code, python_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wheelfix.loader.packagecode import PackageLoads
    from wheelfix.loader.view import FileView
    from wheelfix.model import UnreadCall

MANY_MODULES = 40
"""Extension modules of one package for which the files that import them are looked for."""


class PackageHabits:
    """Answers about the code of a package; the code is read, and its imports are followed, when first asked."""

    def __init__(self, view: FileView, loads: PackageLoads, calls: tuple[UnreadCall, ...]) -> None:
        self._view = view
        self._extensions = loads.extensions
        starts = [*(event.path for event in loads.extensions), *(file.path for file in loads.files)]
        self._above = list(dict.fromkeys(init for path in starts for init in packages_above(path)))
        code = (file.path for file in loads.files if file.path.endswith(".py"))
        self._code = list(code)
        self.folders = frozenset(item.folder for item in loads.folders)
        """Folders that it adds to the search, also those in which the package itself has no file."""
        self.unread = any(call.reached for call in calls)
        """Whether it adds folders or loads DLLs that could not be read from it."""

    @functools.cached_property
    def _order(self) -> ImportOrder:
        return ImportOrder(self._view, work=separate_budget(self._view))

    def imports(self) -> tuple[str, ...]:
        """The top-level modules of others that running it imports for certain."""
        return self._order.imported_from_others(dict.fromkeys([*self._above, *self._code, *self._importers()]))

    def _importers(self) -> Iterator[str]:
        """The Python files that import the extension modules: what they import first is there by then."""
        words = tuple({event.module.rpartition(".")[2].encode() for event in self._extensions})
        if 0 < len(words) <= MANY_MODULES:
            found = python_code(self._view, words)
            for path, _ in self._order.importers([event.path for event in self._extensions], found):
                yield path

    def absent(self, present: Callable[[str], bool], *, whole: bool = False) -> Iterator[tuple[str, str]]:
        """The modules that are imported uncaught and are not there, by what says whether they are.

        Each comes with the file that imports it. With ``whole`` all packages are followed where none has a DLL that
        is loaded, or where the import is modelled as a whole.
        """
        view = self._view
        own = [init for init in self._above if init in view and view.layer(init) is not Layer.ENVIRONMENT]
        if whole and not own:
            own = [*self._order.tops]
        return self._order.absent_modules(own, present)

    def perhaps_imports(self) -> tuple[str, ...]:
        """The top-level modules that the code which runs before the loads imports anywhere outside of ``try``.

        executorch imports torch in the function that imports its extension module.
        """
        found: dict[str, None] = {}
        for path in dict.fromkeys([*self._above, *self._code, *self._importers()]):
            if (
                path in self._view
                and self._view.layer(path) is Layer.SUBJECT
                and self._view.file(path).size <= SOURCE_LIMIT
            ):
                source = python_source(self._view, path).decode("utf-8", "replace")
                imports = read_imports(source, path, budget_of(self._view))
                found.update((name.partition(".")[0], None) for name, guarded in imports.items() if not guarded)
        return tuple(found)

    def named(self, modules: tuple[str, ...]) -> dict[str, str]:
        """Those of some modules that an extension module names, with its path.

        Code that is compiled keeps the names of what it imports in its data.
        """
        found: dict[str, str] = {}
        for path in (event.path for event in self._extensions):
            left = [module for module in modules if module not in found]
            if left and self._view.file(path).size <= LARGEST:
                names = CompiledNames(self._view.source(path))
                found.update((module, path) for module in left if names.has(module))
        return found

    def has_words(self, words: tuple[str, ...]) -> bool:
        """Whether one of some words is in its code."""
        found = python_code(self._view, tuple(map(str.encode, words)))
        return next(found, None) is not None

    @functools.cached_property
    def own_modules(self) -> frozenset[str]:
        """The top-level modules of the subject itself, which no other distribution provides."""
        own = (file.path for file in self._view.own_files if file.layer is Layer.SUBJECT)
        return frozenset(path.removeprefix(f"{SITE_PACKAGES}/").partition("/")[0].partition(".")[0] for path in own)

    @functools.cached_property
    def only_root_modules(self) -> bool:
        """Whether the subject is extension modules in site-packages itself and no Python code.

        Windows loads such a module, with what it imports, before any code runs that could import something else.
        """
        own = [file.path.lower() for file in self._view.own_files if file.layer is Layer.SUBJECT]
        modules = [path for path in own if path.endswith(".pyd")]
        code = any(path.endswith((".py", ".pyc", ".pth", ".start")) for path in own)
        return bool(modules) and not code and {parent(path) for path in modules} == {SITE_PACKAGES.lower()}
