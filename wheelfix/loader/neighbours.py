"""The distributions that are installed with the subject: where their modules are, and what importing them does."""

from __future__ import annotations

import functools
import re
import weakref
from typing import TYPE_CHECKING

from wheelfix.loader.imports.importorder import ImportOrder, packages_above
from wheelfix.loader.packageloading import startup_at
from wheelfix.loader.profile import python_of_tags
from wheelfix.loader.requirements import Requirements
from wheelfix.loader.view import SITE_PACKAGES, base_name, parent
from wheelfix.model import canonical
from wheelfix.pycode.mentions import WORDS
from wheelfix.pycode.pythonsource import SOURCE_LIMIT, counts, python_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.loader.installations import Distribution
    from wheelfix.loader.places import Environment
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView

DEPTH = 4
"""How many distributions in a row are followed, each imported by the one before."""
LISTED = 500_000
"""Files that the views of single distributions list together; beyond that the oldest view is made again if needed."""
DEEP = 300
"""Files that are followed for one import where a load fails without what they do."""
FILES = 40
"""Python files that are followed for one import of another distribution's module."""


class Neighbours:
    """What is installed in one place; shared by the examinations of all its distributions."""

    def __init__(
        self,
        view: FileView,
        distributions: Iterable[Distribution],
        *,
        complete: bool,
        absent: Mapping[str, str] | None = None,
        searched: tuple[str, ...] = (),
        reported: Iterable[str] = (),
    ) -> None:
        """``complete``: nothing else is installed. ``absent``: what has no files here although it is, or may be,
        installed, and why. ``reported``: what is a subject in the same run."""
        self.view = view
        """All files, none of them the subject's."""
        self.distributions = {canonical(one.name): one for one in distributions}
        self.complete = complete
        self.absent: Mapping[str, str] = {canonical(name): why for name, why in (absent or {}).items()}
        self.searched = searched
        self._reported = frozenset(map(canonical, reported))
        self._runs: dict[str, tuple[str, ...]] = {}
        self._views: dict[str, FileView] = {}
        self._files_of_modules: dict[str, str | None] = {}
        self._extensions: dict[str, dict[str, str]] = {}
        self._with_code: dict[str, bool] = {}

    def __contains__(self, distribution: str) -> bool:
        return distribution in self.distributions

    def __iter__(self) -> Iterator[str]:
        return iter(self.distributions)

    def view_of(self, distribution: str) -> FileView:
        """All files, with those of one distribution as the subject."""
        if distribution not in self._views:
            if len(self._views) * len(self._owners) > LISTED:
                del self._views[next(iter(self._views))]
            self._views[distribution] = self.view.focused(self.distributions[distribution].paths)
        return self._views[distribution]

    @functools.cached_property
    def _owners(self) -> dict[str, str]:
        return {path: name for name, one in self.distributions.items() for path in one.paths}

    def version(self, distribution: str) -> str:
        """The version that is installed; empty for a distribution that is not."""
        found = self.distributions.get(distribution)
        return found.version if found is not None else ""

    def requires(self, distribution: str) -> tuple[str, ...]:
        """What the metadata of a distribution requires; empty for one that is not installed."""
        found = self.distributions.get(distribution)
        return found.requires if found is not None else ()

    def paths(self, distribution: str) -> frozenset[str]:
        """The files of a distribution; none for one that is not installed."""
        found = self.distributions.get(distribution)
        return found.paths if found is not None else frozenset()

    def reported_python(self, distribution: str) -> tuple[int, int] | None:
        """The Python for which a distribution is a subject of the same run; None if it is not one, or is for any."""
        found = self.distributions.get(distribution) if distribution in self._reported else None
        return python_of_tags(found.tags) if found is not None else None

    def owner(self, path: str) -> str:
        """The distribution that a file belongs to; empty for a file of none."""
        return self._owners.get(path, "")

    @functools.cached_property
    def order(self) -> ImportOrder:
        """The import statements of all distributions."""
        view = self.view.focused(frozenset())
        view.beside = self
        return ImportOrder(view)

    def file_of_module(self, module: str) -> str | None:
        """The file of a module, as Python finds it: a package, an extension module, a Python file."""
        if module not in self._files_of_modules:
            self._files_of_modules[module] = self._find_module(module)
        return self._files_of_modules[module]

    def _find_module(self, module: str) -> str | None:
        folder, _, name = f"{SITE_PACKAGES}/{module.replace('.', '/')}".rpartition("/")
        package = self.view.find(f"{folder}/{name}", "__init__.py")
        if package is not None:
            return package
        if folder not in self._extensions:
            found = (path for path in reversed(self.view.in_folder(folder)) if path.endswith(".pyd"))
            self._extensions[folder] = {base_name(path).split(".")[0]: path for path in found}
        return self._extensions[folder].get(name) or self.view.find(folder, f"{name}.py")

    def has_module(self, module: str) -> bool:
        """Whether a top-level module, or a folder of that name, is there."""
        if self.file_of_module(module) is not None:
            return True
        prefix = f"{SITE_PACKAGES}/{module}/".lower()
        return any(folder.lower().startswith(prefix) for folder in self._folders)

    @functools.cached_property
    def _folders(self) -> tuple[str, ...]:
        return tuple(f"{folder}/" for folder in self.view.folders())

    # ------------------------------------------------------------------------------------- what an import runs

    def runs(self, path: str) -> tuple[str, ...]:
        """The files with DLL code that importing a file of another distribution runs for certain, in order."""
        if path not in self._runs:
            found: dict[str, None] = {}
            self._collect(path, found, set(), DEPTH)
            self._runs[path] = tuple(found)
        return self._runs[path]

    def reaches(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """All files that importing a file of another distribution runs or loads for certain, as far as it is followed.

        With them come the Python files of these whose imports could not be followed to the end.
        """
        found: dict[str, None] = {}
        unfollowed: list[str] = []
        pending = [path]
        while pending and len(found) < DEEP:
            file = pending.pop()
            if file in found or file not in self.view:
                continue
            found[file] = None
            if file.endswith(".py") and not self._is_modelled(file):
                pending += reversed([*self._inits_above(file), *self.order.imported_by(file)])
                if not self.order.is_followed(file):
                    unfollowed.append(file)
        return tuple(found), (*unfollowed, *pending[-1:])

    def _inits_above(self, path: str) -> list[str]:
        return [init for init in packages_above(path) if init in self.view]

    def _collect(self, path: str, found: dict[str, None], seen: set[str], depth: int) -> None:
        for file in [*self._inits_above(path), path]:
            if file in seen or len(seen) > FILES:
                continue
            seen.add(file)
            if not self._is_modelled(file) and file.endswith(".py"):
                self._collect_imports(file, found, seen, depth)
            if self.has_code(file):
                found[file] = None

    def _collect_imports(self, file: str, found: dict[str, None], seen: set[str], depth: int) -> None:
        top = _top(file)
        for other in self.order.imported_by(file) if self._may_import(file) else ():
            if other in seen or not other.endswith(".py"):
                continue
            if _top(other) != top and depth:
                self._collect(other, found, seen, depth - 1)
            elif _top(other) == top and self._names_loader(other):
                seen.add(other)
                found[other] = None

    def _may_import(self, file: str) -> bool:
        """Whether a file may import what is installed; False for a single module that names nothing of it."""
        if parent(file) != SITE_PACKAGES or self.view.file(file).size > SOURCE_LIMIT:
            return True
        named = set(re.findall(r"\w+", python_source(self.view, file).decode("utf-8", "replace")))
        return not named.isdisjoint(self._tops - {base_name(file).removesuffix(".py")})

    @functools.cached_property
    def _tops(self) -> set[str]:
        """The names in site-packages that can be imported."""
        inside = (folder.removeprefix(f"{SITE_PACKAGES}/") for folder in self._folders)
        modules = (base_name(path) for path in self.view.in_folder(SITE_PACKAGES))
        return {*(folder.partition("/")[0] for folder in inside), *(name.partition(".")[0] for name in modules)}

    def has_code(self, path: str) -> bool:
        """Whether a file adds folders or loads DLLs, or is a package whose import is modelled as a whole."""
        return self._is_modelled(path) or self._names_loader(path)

    def _names_loader(self, path: str) -> bool:
        if path not in self._with_code:
            self._with_code[path] = self._search(path)
        return self._with_code[path]

    def _search(self, path: str) -> bool:
        file = self.view.file(path)
        if not path.endswith(".py") or file.size > SOURCE_LIMIT:
            return False
        data = python_source(self.view, path)
        return any(word in data for word in WORDS)

    def _is_modelled(self, path: str) -> bool:
        """Whether a file is the ``__init__.py`` of a package whose import is modelled as a whole."""
        return startup_at(self.view, path) is not None

    # ------------------------------------------------------------------------------------------ who belongs to whom

    def related(self, requires: tuple[str, ...], modules: Iterable[str], profile: Profile) -> tuple[str, ...]:
        """The distributions that are required, transitively, or whose modules are imported."""
        found: dict[str, None] = {}
        pending = [name for name in self.distributions if name in Requirements(requires, profile)]
        pending += filter(None, (self.owner(self.file_of_module(module) or "") for module in modules))
        for name in pending:  # grows while it is walked
            if name not in found:
                found[name] = None
                own = Requirements(self.distributions[name].requires, profile)
                pending += [other for other in self.distributions if other not in found and other in own]
        return tuple(found)

    def code_of(self, distribution: str) -> Iterator[str]:
        """The Python files of a distribution that add folders or load DLLs; the one that is modelled stands for all."""
        paths = sorted(self.distributions[distribution].paths)
        modelled = [path for path in paths if self._is_modelled(path)]
        if modelled:
            yield from modelled
            return
        for path in paths:
            if path.endswith(".py") and counts(path) and self._names_loader(path):
                yield path


_WHOLE: weakref.WeakKeyDictionary[FileView, FileView] = weakref.WeakKeyDictionary()


def whole_view(environment: Environment, *, reported: bool = False) -> FileView:
    """All files of an environment, with the distributions they belong to; views of single ones are made from it.

    ``reported``: all of them with DLLs are subjects in the same run.
    """
    found = _WHOLE.get(environment.view)
    if found is None:
        found = _WHOLE[environment.view] = environment.view.background()
        found.beside = Neighbours(
            found,
            environment.distributions,
            complete=environment.complete,
            absent=environment.elsewhere,
            searched=environment.searched,
            reported=[one.name for one in environment.distributions if reported and one.has_modules],
        )
    return found


def focused_on(whole: FileView, distribution: Distribution) -> FileView:
    """All files with one distribution as the subject; a view that was made for it before is used again."""
    beside, name = whole.beside, canonical(distribution.name)
    if isinstance(beside, Neighbours) and beside.distributions.get(name) is distribution:
        return beside.view_of(name)
    return whole.focused(distribution.paths)  # another one of the same name


def _top(path: str) -> str:
    return parent(path).removeprefix(SITE_PACKAGES).strip("/").partition("/")[0] or base_name(path)
