"""The chain of evidence: who provides a DLL that is not in the view, and what the code of the package does first."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

from wheelfix.base.values import distinct, replace
from wheelfix.knowledge.companions import program_of
from wheelfix.knowledge.cuda import cuda_part
from wheelfix.knowledge.families import demangle, family_of
from wheelfix.knowledge.provider_index import ProviderAnswer, Ships, provider_index
from wheelfix.knowledge.providers import Owner, conda_package, module_owners, owners_of
from wheelfix.knowledge.system import runtime_file
from wheelfix.loader.followed import FollowedImports, packages_above, top_level
from wheelfix.loader.missingmodules import MissingModules
from wheelfix.loader.packageloading import PackageLoading, adds_toolkit
from wheelfix.loader.places import InstalledSet
from wheelfix.loader.requirements import Dependency, DependencyTree
from wheelfix.loader.view import SITE_PACKAGES, FileView
from wheelfix.model import AbsentModule, Assumed, Image, MayComeFrom, Missing, OwnedBy, Provider, canonical, dll_key
from wheelfix.pe.modulenames import LARGEST, CompiledNames
from wheelfix.pycode.budget import budget_of
from wheelfix.pycode.sourcecode import (
    SOURCE_LIMIT,
    is_standard,
    python_code,
    python_source,
    read_imports,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.loader.packagecode import PackageLoads
    from wheelfix.loader.profile import Profile
    from wheelfix.pycode.importer import ImportEnd

MANY_MODULES = 40
"""Extension modules of one package for which the files that import them are looked for."""
MANY_FILES = 4
"""Python files of one package whose imports are followed for what they import of others."""
MANY_ABSENT = 4
"""Modules that are not there, each found after the ones before it were taken to be."""


class PackageHabits:
    """Answers about the code of a package; its imports are followed when first asked."""

    def __init__(self, view: FileView, loads: PackageLoads) -> None:
        self._view = view
        self._extensions = loads.extensions
        self._loading = [file.path for file in loads.files if file.path.endswith(".py")]
        self.followed: FollowedImports
        """They are made last: they ask for what this is a part of."""
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
        return distinct(top for top, one in found if not one.caught)

    def absent(self) -> Iterator[tuple[str, str, str]]:
        """The modules of others that importing it needs and that are not there.

        Each with the file that imports it, and what the package raises instead of Python's exception, as pandas does.

        All packages are followed where none has a DLL that is loaded.
        """
        own = dict.fromkeys(map(top_level, (*(event.path for event in self._extensions), *self._loading)))
        tops = [top for top in own if f"{SITE_PACKAGES}/{top}/__init__.py" in self._view]
        for top in tops or sorted(filter(str.isidentifier, self.own_modules)):
            assumed: dict[str, bool] = {}
            for _ in range(MANY_ABSENT):
                end = self.followed.with_modules(top, assumed)
                gone = {name: one.file for name, one in end.foreign.items() if not one.there}
                if not end.error or not gone or end.refused:
                    break
                if end.fault is not None and end.fault.cause == "module":
                    last = end.fault.target.partition(".")[0]
                    gone = {name: file for name, file in gone.items() if name == last}
                raised = "" if end.fault is not None else f"{end.error}: {end.shown}".rstrip(": ")
                yield from ((name, file, raised) for name, file in gone.items())
                assumed.update(dict.fromkeys(gone, True))

    def absent_own(self) -> Iterator[AbsentModule]:
        """The modules of its own that importing it, or a package below it, needs and that no file is.

        An import is followed only where a file that it may run names such a module, which few do.
        """
        for missing in self._missing.values():
            yield from missing.needed(self.followed)

    def absent_of_others(self) -> Iterator[tuple[str, str, bool]]:
        """The modules of others for want of which the import of a package ends, whether they are required or not.

        Each with the file that imports it, and whether that is sure. Tools import private ones, as pytest does
        ``_hypothesis_pytestplugin``.
        """
        for top, missing in self._missing.items():
            end = self.followed.of(top) if missing.others and not top.startswith("_") else None
            if end is not None and end.error and end.fault is not None and end.fault.cause == "module":
                name = end.fault.target.partition(".")[0]
                if name in missing.others:
                    yield name, end.place[0], end.certain

    @functools.cached_property
    def _missing(self) -> dict[str, MissingModules]:
        """What importing each top-level package of the subject may miss."""
        extensions = [event.path for event in self._extensions]
        tops = sorted(filter(str.isidentifier, self.own_modules))
        return {top: MissingModules(self._view, top, extensions) for top in tops}

    def perhaps_imports(self) -> tuple[str, ...]:
        """The top-level modules that the code which runs before the loads imports anywhere outside of ``try``.

        executorch imports torch in the function that imports its extension module.
        """
        found: dict[str, None] = {}
        for path in self._before:
            if path in self._view.own and self._view.file(path).size <= SOURCE_LIMIT:
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

    def names(self, modules: tuple[str, ...], dll: str) -> bool:
        """Whether an extension module that does not need a DLL has the name of one of some modules in its data."""
        for path in (event.path for event in self._extensions):
            image, key = self._view.image(path), dll_key(dll)
            if not isinstance(image, Image) or any(dll_key(item.dll) == key for item in image.imports):
                continue
            if self._view.file(path).size > LARGEST or any(map(CompiledNames(self._view.source(path)).has, modules)):
                return True
        return False

    def has_words(self, words: tuple[str, ...]) -> bool:
        """Whether one of some words is in its code."""
        found = python_code(self._view, tuple(map(str.encode, words)))
        return next(found, None) is not None

    @functools.cached_property
    def own_modules(self) -> frozenset[str]:
        """The top-level modules of the subject itself, which no other distribution provides."""
        own = (file.path for file in self._view.own_files if file.path not in self._view.added)
        tops = {path.split("/", 3)[2] for path in own if path.startswith(f"{SITE_PACKAGES}/")}
        return frozenset(top.partition(".")[0] for top in tops)

    @functools.cached_property
    def has_other_code(self) -> bool:
        """Whether it has Python code that is not searched for words: compiled files, and what runs at the start."""
        own = (file.path.lower() for file in self._view.own_files if file.path not in self._view.added)
        return any(path.endswith((".pyc", ".pth", ".start")) for path in own)


FOLDER_NOT_CHECKED = "whether its folder is searched was not checked; 'wheelfix scan --with' with its wheel does that"


def is_shippable(name: str) -> bool:
    """Whether a wheel may contain a DLL: it is not a part of the compiler, and its licence allows it."""
    return runtime_file(name) is None and family_of(name).redistribute


def owner_entry(name: str, distribution: str) -> Owner | None:
    """The entry of the table of distributions for a DLL of that distribution, one for every build first."""
    entries = [owner for owner in owners_of(name) if owner.distribution == distribution]
    return min(entries, key=lambda owner: bool(owner.only), default=None)


def some_have_it(dependency: Dependency, answer: ProviderAnswer) -> str:
    """Say which versions, or which extra, of a dependency have a DLL."""
    if dependency.extra:
        return f"{dependency.name} has it, but is installed only with the extra {dependency.extra!r}"
    return f"{dependency.name} {answer.having[-1]} has it, {answer.without[-1]} does not"


def not_in_version(name: str, dependency: Dependency) -> str:
    """Say that the required version does not have a DLL, and which versions do; empty where none does."""
    own = [dll.versions for dll in provider_index().shipped(name) if dll.distribution == dependency.name]
    if not own:
        return ""
    shown = own[0][0] if len(own[0]) == 1 else f"{own[0][0]} to {own[0][-1]}"
    return f"{dependency} does not have it, {dependency.name} {shown} does"


class ProviderChain:
    """Takes the steps of the decision that concern RECORD and other distributions."""

    def __init__(
        self,
        profile: Profile,
        requires: tuple[str, ...],
        loading: PackageLoading,
        view: FileView,
        habits: PackageHabits,
    ) -> None:
        self.profile = profile
        self.loading = loading
        self.startup = loading.startup
        self.beside = InstalledSet(view) if view.beside is None else view.beside
        """What is installed with the package; nothing that is known where it is a wheel by itself."""
        self._view = view
        self.adds_cuda = adds_toolkit(loading, view)
        self.habits = habits
        self.dependencies = DependencyTree(requires, profile, lambda: self.optional, self.beside)
        self._answers: dict[tuple[str, str, str], ProviderAnswer] = {}
        self._unclear_names: dict[str, Provider | None] = {}

    @functools.cached_property
    def imported(self) -> tuple[str, ...]:
        """The distributions whose modules the package's code imports for certain before its loads."""
        first = self.startup.after if self.startup is not None else ()
        return self._owners((*first, *self.habits.imports()))

    @functools.cached_property
    def optional(self) -> tuple[str, ...]:
        """Those, and the distributions of modules that the same code imports later or only perhaps, outside of try."""
        return distinct((*self.imported, *self._owners(self.habits.perhaps_imports())))

    def _owners(self, modules: Iterable[str]) -> tuple[str, ...]:
        """The known distributions that have some modules; a module's name alone names none."""
        found: dict[str, None] = {}
        for module in modules:
            if not is_standard(module) and module not in self.habits.own_modules:
                own = canonical(module)
                owners = module_owners().get(module, ()) or self.dependencies.required.named_like(module)
                found.update(dict.fromkeys(owners or ([own] if provider_index().looked_at(own) else [])))
        return tuple(found)

    def provide(self, name: str, steps: tuple[str, ...]) -> Provider | None:
        """The distribution or assumption that provides a DLL, or may do so, or why none does, if that is known.

        The index of providers is more certain than the table of distributions.
        """
        deleted = self._view.deleted.get(dll_key(name))
        if deleted is not None:
            return Missing(deleted=deleted)
        runtime = runtime_file(name)
        if runtime is not None and runtime.debug:  # nobody gives these away; to ask would follow the package's code
            return None
        certain = self.dependencies.certain if not self.beside.complete else ()
        absent = [one for one in certain if one.name not in self.beside and one.name not in self.beside.absent]
        required = [(one, self._answer(one, name)) for one in absent]  # before the code is asked what it imports
        for dependency, answer in required:
            if answer.ships is Ships.YES or (answer.ships is Ships.SOME and answer.newest):  # pip takes the newest
                return self._owned(name, dependency, steps, answer.folders, answer.having or answer.between)
        for dependency, answer in required:
            owner = owner_entry(name, dependency.name)
            if owner is not None and (owner.only or answer.ships is Ships.UNKNOWN):
                only = owner.only if answer.ships is Ships.NO else ""
                return self._owned(name, dependency, steps, owner.folders, only=only)
        if name not in self._unclear_names:  # the folders do not matter to it, and it reads the package's code
            self._unclear_names[name] = self._unclear(name)
        return self._assumed(name) or self._unclear_names[name]

    def _unclear(self, name: str) -> Provider | None:
        """Who may provide a DLL without a known provider, else why those that should have it do not."""
        unsure: list[tuple[str, str]] = []
        unknown: list[tuple[str, str]] = []
        without: list[str] = []
        for dependency in self._absent_or_assumed():
            answer = self._answer(dependency, name)
            if dependency.name in self.beside.absent and answer.ships is not Ships.NO:
                unsure.append((str(dependency), f"{dependency}: {self.beside.absent[dependency.name]}"))
            elif dependency.imported:
                if self._offers(name, dependency, answer):
                    unsure.append(
                        (dependency.name, f"the package's code imports {dependency.name}, which is not required")
                    )
            elif answer.ships is Ships.SOME or (answer.ships is Ships.YES and dependency.extra):
                unsure.append((str(dependency), some_have_it(dependency, answer)))
            elif answer.ships is Ships.UNKNOWN and not dependency.extra and self._may_have(name, dependency):
                unknown.append((str(dependency), f"what {dependency} contains is not known"))
            elif dependency.with_extras and not self.beside.complete and self._may_be_others(name, dependency):
                asked = f"{dependency.name}[{','.join(dependency.with_extras)}]"
                unknown.append((asked, f"what {asked} installs besides {dependency.name} is not known"))
            elif answer.ships is Ships.NO and (text := not_in_version(name, dependency)):
                without.append(text)
        unsure = unsure or unknown  # one that has the DLL says more than those of which nothing is known
        if not self._view.named(dll_key(name)):  # a file that is there, and is not found, is what matters
            unsure += self._of_programs(name)
        reasons, absent, optional = self._installed_without(name)
        without += reasons
        if unsure:
            whose = distinct(who for who, _ in unsure)
            return MayComeFrom(name, whose, "; ".join(why for _, why in unsure[:3]))
        if not without:
            return None
        return Missing(required=tuple(without), absent=tuple(absent), optional=tuple(optional))

    @staticmethod
    def _offers(name: str, dependency: Dependency, answer: ProviderAnswer) -> bool:
        """Whether importing a distribution that is not required makes a DLL available.

        Many wheels have a vendor's DLL: importing one of them helps only if that loads it.
        """
        if runtime_file(name) is not None or not is_shippable(name):
            return False
        if family_of(name):
            owner = owner_entry(name, dependency.name)
            return owner is not None and owner.preloads
        return answer.ships in (Ships.YES, Ships.SOME)

    def _of_programs(self, name: str) -> list[tuple[str, str]]:
        """A feature of Windows that has a DLL, or a program of users that has it and that the code looks for."""
        program = program_of(name)
        if program is not None and program.feature:
            return [(program.name, "it is an optional feature of Windows, which users turn on")]
        if program is None or not self.habits.has_words(program.words):
            return []
        return [(program.name, "the package's code looks for it; it is a program, and pip does not install it")]

    def _installed_without(self, name: str) -> tuple[list[str], list[str], list[str]]:
        """Why distributions that should provide a DLL do not: another version is installed, or none.

        With the names of those that are not installed: what is required, and what only an extra asks for.
        """
        found, absent, optional = list[str](), list[str](), list[str]()
        beside, shippers = self.beside, {dll.distribution for dll in provider_index().shipped(name)}
        for dependency in self.dependencies.all if shippers else ():
            if dependency.name not in shippers or dependency.imported:
                continue
            if dependency.name in beside and dependency.name not in beside.absent:
                found.append(f"{dependency.name} {beside[dependency.name].version} is installed and does not have it")
                if dependency.specifier:
                    found[-1] += f", {dependency} is asked for"
            elif beside.complete and dependency.name not in beside.absent:
                if self._answer(dependency, name).ships is Ships.NO:
                    continue  # only other versions have it, as kivy-deps.sdl2 0.4.1 has GLib
                found.append(f"{dependency} should have it and is not installed")
                (optional if dependency.extra else absent).append(dependency.name)
        if not found:
            others = list(self._not_installed(name))
            asked = (f"{one.name}[{','.join(one.with_extras)}]" if one.with_extras else str(one) for one in others)
            found = [f"{text} is required and not installed" for text in asked]
            absent = [one.name for one in others]
        return found, absent, optional

    def _not_installed(self, name: str = "") -> Iterator[Dependency]:
        """What the subject itself requires and a complete set does not have, unless it is known not to have a DLL."""
        beside = self.beside
        for one in self.dependencies.required.direct if beside.complete else ():
            if one.name in beside or one.name in beside.absent:
                continue
            if name and not one.with_extras and self._answer(one, name).ships is Ships.NO:
                continue
            if not name or runtime_file(name) is None:
                yield one

    def absent_modules(self) -> tuple[AbsentModule, ...]:
        """The modules that are imported for certain and that no file is; a sure entry counts before others."""
        found: dict[str, AbsentModule] = {}
        for one in self._absent_modules():
            if one.module not in found or (one.sure and not found[one.module].sure):
                found[one.module] = one
        sure = {one.distribution for one in found.values() if one.sure and one.distribution}
        return tuple(one for one in found.values() if one.sure or one.distribution not in sure)

    def _absent_modules(self) -> Iterator[AbsentModule]:
        """Those of the package, and of what it requires."""
        beside = self.beside
        for absent in self.habits.absent_own():
            one = self._may_have_module(absent.module)
            if one is None:
                yield absent
            elif beside.complete:
                yield replace(absent, distribution=one.name, requirement=str(one), specifier=one.specifier)
        if not beside.complete:
            return
        required = {one.name: one for one in self.dependencies.required.direct}
        if beside.installed:
            yield from self._not_required(required)
        if next(self._not_installed(), None) is None:
            return  # what is required is there
        for module, file, raised in self.habits.absent():
            owners = [name for name in (*module_owners().get(module, ()), canonical(module)) if name in required]
            if owners and owners[0] not in beside.absent:
                one = required[owners[0]]
                yield AbsentModule(module, one.name, str(one), file, specifier=one.specifier, raised=raised)
        yield from self._named_by_extensions()

    def _not_required(self, required: Mapping[str, Dependency]) -> Iterator[AbsentModule]:
        """The modules that an environment does not have, and that nothing required has, as setuptools' often are."""
        for module, file, sure in self.habits.absent_of_others():
            owners = (*module_owners().get(module, ()), canonical(module))
            if not any(one in required or one in self.beside.absent for one in owners):
                yield AbsentModule(module, owners[0], "", file, sure and not self._has_other_folders())

    def _has_other_folders(self) -> bool:
        """Whether modules may lie in folders that are not read: those of editable installations and ``.pth`` files."""
        files = [path for path in self._view.in_folder(SITE_PACKAGES) if path.endswith(".pth")]
        lines = (line for path in files for line in (self._view.read_text(path, 1 << 16) or "").splitlines())
        return bool(self.beside.absent) or any(":" in line and not line.startswith(("import", "#")) for line in lines)

    def _may_have_module(self, module: str) -> Dependency | None:
        """The required distribution that is not here and may have a module of a package, as pyqt5-sip has PyQt5.sip.

        Of several, as winrt-Windows.Storage requires, the one whose name says most of the module's.
        """
        top = module.partition(".")[0]
        owners, start, index = module_owners().get(top, ()), canonical(top), provider_index()
        required = self._not_installed() if self.beside.complete else self.dependencies.required.direct
        found = [one for one in required if one.name in owners or one.name.startswith(start)]
        found = [one for one in found if one.name in owners or not index.looked_at(one.name)]
        parts = canonical(module)
        return max(found, key=lambda one: len(one.name) * parts.startswith(one.name), default=None)

    def _named_by_extensions(self) -> Iterator[AbsentModule]:
        """The modules of required distributions that are not installed, and whose names are in extension modules."""
        wanted: dict[str, Dependency] = {}
        for one in self._not_installed():
            modules = [module for module, owners in module_owners().items() if one.name in owners]
            wanted.update(dict.fromkeys(modules or [one.name.replace("-", "_")], one))
        for module, file in self.habits.named(tuple(wanted)).items() if wanted else ():
            one = wanted[module]
            yield AbsentModule(module, one.name, str(one), file, sure=False, specifier=one.specifier)

    def _answer(self, dependency: Dependency, name: str) -> ProviderAnswer:
        """What the index says about a dependency whose files are not here, asked once for each name."""
        key, machine = (dependency.name, dependency.specifier, dll_key(name)), self.profile.machine
        if key not in self._answers:
            try:
                self._answers[key] = provider_index().ships(dependency.name, dependency.specifier, name, machine)
            except ValueError:  # a specifier that is not valid
                self._answers[key] = provider_index().ships(dependency.name, "", name, machine)
        return self._answers[key]

    def _absent_or_assumed(self) -> list[Dependency]:
        """The dependencies whose files are not in the view, so that only the index can answer for them."""
        beside = self.beside
        # What is installed in an environment without its files matters to those that require or import it.
        related = {one.name for one in self.dependencies.all if one.name in beside.absent}
        absent = [Dependency(name) for name in sorted(beside.absent) if name not in beside or name in related]
        if beside.complete:
            return absent
        return [*absent, *(one for one in self.dependencies.all if one.name not in beside and one not in absent)]

    def _may_be_others(self, name: str, dependency: Dependency) -> bool:
        """Whether a DLL of that name can belong to another distribution, or to what comes with it.

        A name with delvewheel's hash is used by the wheel that ships it, by code that adds that wheel's folder, and by
        a wheel that was repaired together with it: it has files in that folder, too (``meshlib_core.libs``).
        """
        if not is_shippable(name):
            return False
        if demangle(dll_key(name)) == dll_key(name):
            return True
        own = (file.path.rpartition("/")[0] for file in self._view.own_files if file.path not in self._view.added)
        folders = {*self.habits.folders, *own}
        names = {folder.rpartition("/")[2].removesuffix(".libs") for folder in folders if folder.endswith(".libs")}
        return dependency.name in map(canonical, names)

    def _may_have(self, name: str, dependency: Dependency) -> bool:
        """Whether a distribution of which nothing is known about a DLL can have it: one for any system has none."""
        wheels = provider_index().looked_at(dependency.name)
        is_pure = bool(wheels) and all(wheel.machine is None and wheel.tags.endswith("-any") for wheel in wheels)
        return not is_pure and self._may_be_others(name, dependency)

    def _owned(
        self,
        name: str,
        dependency: Dependency,
        steps: tuple[str, ...],
        folders: tuple[str, ...],
        versions: tuple[str, ...] = (),
        only: str = "",
    ) -> Provider:
        """A required distribution that has a DLL in some folders: whether the load finds it there."""
        owner = owner_entry(name, dependency.name)
        reachable, because = self._reach(name, dependency, folders or (owner.folders if owner else ()), owner, steps)
        if reachable:
            return OwnedBy(name, dependency.name, True, because, dependency.specifier, dependency.via, versions, only)
        unsure = owner is not None and owner.preloads
        if not unsure and self.habits.unread:
            unsure, because = True, f"{because}, as far as the package's code could be read"
        if not unsure and (first := self._imported_user_of(dependency.name, folders)):
            unsure = True
            because += f" here, but {first[0]} is imported first, requires {first[1]}, and may add it"
        if unsure:
            return MayComeFrom(name, (str(dependency),), because)
        return OwnedBy(name, dependency.name, False, because, dependency.specifier, dependency.via, versions, only)

    def _imported_user_of(self, distribution: str, folders: tuple[str, ...]) -> tuple[str, str] | None:
        """A distribution that the package imports, and that requires this one or one like it, not both in the view.

        It has DLLs in the same folder: dpnp imports dpctl, which adds ``Library/bin`` for Intel's runtimes, if it is
        there.
        """
        index = provider_index()
        for name in self.imported:
            for one in index.requirements(name) or () if name != distribution else ():
                like = one.name == distribution or not {*folders}.isdisjoint(index.folders(one.name))
                if like and not (name in self.beside and one.name in self.beside):
                    return name, one.name
        return None

    def _reach(
        self, dll: str, dependency: Dependency, folders: tuple[str, ...], owner: Owner | None, steps: tuple[str, ...]
    ) -> tuple[bool, str]:
        """Whether the folder is searched, or the DLL is loaded already, when the load happens, and why."""
        name = dependency.name
        searched = next((folder for folder in folders if folder in steps), None)
        if searched is not None:
            return True, f"{name} puts it into {searched}, which is searched"
        if owner is not None and owner.preloads:
            if owner.at_start or not self._is_never_imported(dll, dependency.name, folders):
                return True, owner.why
            return False, f"{owner.why}, and the wheel has no Python code that does so before the load"
        added = next((folder for folder in folders if folder in self.habits.folders), None)
        if added is not None:
            return True, f"{name} puts it into {added}, which the package's code adds to the search"
        if self.startup is not None:
            own = next((folder.replace("/", "\\") for folder in folders if folder in self.startup.folders), None)
            if own is not None:
                return True, f"{self.loading.package} adds {own} to the search"
        if name in self.imported:
            return True, f"the package's code imports {name} first"
        outside = [folder for folder in folders if not folder.startswith(SITE_PACKAGES)]
        if outside and len(outside) == len(folders):
            return False, f"{name} puts it into {outside[0]}, which nothing adds to the search"
        return True, FOLDER_NOT_CHECKED

    def _is_never_imported(self, dll: str, distribution: str, folders: tuple[str, ...]) -> bool:
        """Whether no code of the package imports the distribution that has a DLL, nor another one that may.

        Windows loads an extension module, with what it needs, before its code runs: without ``import torch`` before it,
        one that needs torch's DLLs cannot be imported.
        """
        start, habits = f"{SITE_PACKAGES}/", self.habits
        tops = tuple({folder[len(start) :].partition("/")[0] for folder in folders if folder.startswith(start)})
        if not tops or not habits.own_modules.isdisjoint(tops) or habits.has_other_code:
            return False
        if habits.has_words(tops) or habits.names(tops, dll):
            return False
        others = {*habits.imports(), *habits.perhaps_imports()} - habits.own_modules
        for module in (one for one in others if not is_standard(one)):
            known = [provider_index().requirements(owner) for owner in self._owners((module,))]
            if not known or any(one is None or distribution in {each.name for each in one} for one in known):
                return False
        return True

    def _assumed(self, name: str) -> Provider | None:
        toolkit, nvtx = self.profile.toolkit, self.profile.nvtx
        if nvtx is not None and self.startup is not None and dll_key(name) in nvtx.dlls:
            return Assumed(name, nvtx.label)
        if self.adds_cuda and toolkit is not None:
            if dll_key(name) in toolkit.dlls:
                return Assumed(name, toolkit.label)
        elif self.adds_cuda and self.profile.cuda and cuda_part(name, self.profile.cuda):
            return Assumed(name, f"cuda={self.profile.cuda}")
        if "conda" in self.profile.assume and conda_package(name):
            return Assumed(name, "conda")
        return None
