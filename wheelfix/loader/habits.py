"""What the Python code of a package does that matters to the DLLs of other distributions."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

from wheelfix.loader.followed import FollowedImports, packages_above, top_level
from wheelfix.loader.view import SITE_PACKAGES, Layer, parent
from wheelfix.pe.modulenames import LARGEST, CompiledNames
from wheelfix.pycode.budget import budget_of
from wheelfix.pycode.sourcecode import SOURCE_LIMIT, python_code, python_source, read_imports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.packagecode import PackageLoads
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.pycode.importer import ImportEnd

MANY_MODULES = 40
"""Extension modules of one package for which the files that import them are looked for."""
MANY_FILES = 4
"""Python files of one package whose imports are followed for what they import of others."""
MANY_ABSENT = 4
"""Modules that are not there, each found after the ones before it were taken to be."""


class PackageHabits:
    """Answers about the code of a package; its imports are followed when first asked."""

    def __init__(self, view: FileView, profile: Profile, loads: PackageLoads) -> None:
        self._view = view
        self._extensions = loads.extensions
        self._loading = [file.path for file in loads.files if file.path.endswith(".py")]
        self.followed = FollowedImports(view, profile, loads)
        self.folders = frozenset(item.folder for item in loads.folders)
        """Folders that it adds to the search, also those in which the package itself has no file."""
        self.unread = False
        """Whether it adds folders or loads DLLs that could not be read from it."""

    @functools.cached_property
    def _before(self) -> dict[str, ImportEnd]:
        """The imports before and with which its loads happen, by the file that is imported."""
        packages = [init for event in self._extensions for init in packages_above(event.path) if init in self._view]
        extensions = [event.path for event in self._extensions]
        users = (file for path in extensions[:MANY_MODULES] for file in self.followed.importing(path))
        files = dict.fromkeys([*packages, *itertools.islice(users, MANY_FILES)])
        found = {file: self.followed.running(file) for file in itertools.islice(files, MANY_FILES)}
        ends = {file: self.followed.of(top_level(file)) for file in self._loading}
        return {**found, **{file: end for file, end in ends.items() if file in end.ran}}

    def imports(self) -> tuple[str, ...]:
        """The top-level modules of others that running it imports for certain, and does not do without."""
        found = ((top, one) for end in self._before.values() for top, one in end.foreign.items())
        return tuple(dict.fromkeys(top for top, one in found if not one.caught))

    def absent(self) -> Iterator[tuple[str, str]]:
        """The modules of others that importing it needs and that are not there, each with the file that imports it.

        All packages are followed where none has a DLL that is loaded.
        """
        own = dict.fromkeys(map(top_level, (*(event.path for event in self._extensions), *self._loading)))
        tops = [top for top in own if f"{SITE_PACKAGES}/{top}/__init__.py" in self._view]
        for top in tops or sorted(filter(str.isidentifier, self.own_modules)):
            assumed: frozenset[str] = frozenset()
            for _ in range(MANY_ABSENT):
                end = self.followed.with_modules(top, assumed)
                gone = {name: one.file for name, one in end.foreign.items() if not one.there}
                if not end.error or not gone or end.refused:
                    break
                if end.fault is not None and end.fault.cause == "module":
                    last = end.fault.target.partition(".")[0]
                    gone = {name: file for name, file in gone.items() if name == last}
                yield from gone.items()
                assumed |= gone.keys()

    def perhaps_imports(self) -> tuple[str, ...]:
        """The top-level modules that the code which runs before the loads imports anywhere outside of ``try``.

        executorch imports torch in the function that imports its extension module.
        """
        found: dict[str, None] = {}
        for path in self._before:
            if self._view.layer(path) is Layer.SUBJECT and self._view.file(path).size <= SOURCE_LIMIT:
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
