"""The distributions that are installed with the subject: where their modules are, and what importing them does."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING

from wheelfix.loader.requirements import Requirements
from wheelfix.loader.view import SITE_PACKAGES, base_name
from wheelfix.model import canonical, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.loader.installations import Distribution
    from wheelfix.loader.places import Environment
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView

LISTED = 500_000
"""Files that the views of single distributions list together; beyond that the oldest view is made again if needed."""


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
    ) -> None:
        """``complete``: nothing else is installed. ``absent``: what has no files here although it is, or may be,
        installed, and why."""
        self.view = view
        """All files, none of them the subject's."""
        self.distributions = {canonical(one.name): one for one in distributions}
        self.complete = complete
        self.absent: Mapping[str, str] = {canonical(name): why for name, why in (absent or {}).items()}
        self.searched = searched
        self._views: dict[str, FileView] = {}
        self._files_of_modules: dict[str, str | None] = {}
        self._extensions: dict[str, dict[str, str]] = {}

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

    def owner(self, path: str) -> str:
        """The distribution that a file belongs to; empty for a file of none."""
        return self._owners.get(path, "")

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

    # ------------------------------------------------------------------------------------------ who belongs to whom

    def knowing(self, name: str, files: Iterable[str], profile: Profile) -> Iterator[str]:
        """Those of some files of distributions whose code may load a DLL of one of them, or add its folder.

        It is its own distribution's, or that of one that requires it, or that it requires.
        """
        owners = {self.owner(path) for path in self.view.named(dll_key(name))} - {""}
        for file in files if owners else ():
            own = self.owner(file)
            needed = {own, *self.related(self.requires(own), (), profile)}
            if not own or any(
                owner in needed or own in self.related(self.requires(owner), (), profile) for owner in owners
            ):
                yield file

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


_WHOLE: weakref.WeakKeyDictionary[FileView, FileView] = weakref.WeakKeyDictionary()


def whole_view(environment: Environment) -> FileView:
    """All files of an environment, with the distributions they belong to; views of single ones are made from it."""
    found = _WHOLE.get(environment.view)
    if found is None:
        found = _WHOLE[environment.view] = environment.view.background()
        found.beside = Neighbours(
            found,
            environment.distributions,
            complete=environment.complete,
            absent=environment.elsewhere,
            searched=environment.searched,
        )
    return found


def focused_on(whole: FileView, distribution: Distribution) -> FileView:
    """All files with one distribution as the subject; a view that was made for it before is used again."""
    beside, name = whole.beside, canonical(distribution.name)
    if isinstance(beside, Neighbours) and beside.distributions.get(name) is distribution:
        return beside.view_of(name)
    return whole.focused(distribution.paths)  # another one of the same name
