"""The whole import of a package: what is loaded, who needs whom, what is missing, and what fails first."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.knowledge.companions import CompanionNeed, companions_of, depends_on_version, needs_in_practice
from wheelfix.loader.codebudget import budget_of, separate_budget
from wheelfix.loader.firstimport import in_import_order
from wheelfix.loader.importcode import read_imports
from wheelfix.loader.importorder import ImportOrder, packages_above
from wheelfix.loader.interpreted import InterpretedImports
from wheelfix.loader.loadcall import AS_PYTHON_DOES, DEFAULT_DIRS, MOD_NOT_FOUND, PATH_NOT_FOUND, runs_on
from wheelfix.loader.loading import Loader
from wheelfix.loader.modulefiles import unimportable_modules
from wheelfix.loader.others import PackageHabits, Provisions
from wheelfix.loader.packagecode import PackageLoads, extension_modules, module_name, package_loads, python_code
from wheelfix.loader.packageloading import begin, import_before, load_event, loading_of
from wheelfix.loader.predict import NO_FILE, absent_folder_code
from wheelfix.loader.processes import FreshProcesses, Loaded, load_in, merged_edges
from wheelfix.loader.target import Target
from wheelfix.loader.view import BASE, SITE_PACKAGES, Layer, base_name, parent
from wheelfix.model import (
    Alone,
    Edge,
    EdgeKind,
    Image,
    InView,
    LoadEvent,
    LoadOutcome,
    Missing,
    Resolution,
    dll_key,
)
from wheelfix.pe.modulenames import LARGEST, CompiledNames
from wheelfix.pe.version import read_version
from wheelfix.values import dataclass, replace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wheelfix.loader.packageloading import PackageLoading, Startup
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.model import AbsentModule, CodeFault, Provider, UnreadCall


_RESOLVED: weakref.WeakKeyDictionary[FileView, dict[tuple[Profile, tuple[str, ...]], Resolution]]
_RESOLVED = weakref.WeakKeyDictionary()


def resolve(view: FileView, profile: Profile, requires: tuple[str, ...] = ()) -> Resolution:
    """Load, in the model, everything that importing the subject of a view loads; then ask what else it needs.

    A view never changes, so what was found out once is used again: a plan asks what the scan before it asked.
    """
    known = _RESOLVED.setdefault(view, {})
    key = (profile, requires)
    if key not in known:
        known[key] = _resolve(view, profile, requires)
    return known[key]


def _resolve(view: FileView, profile: Profile, requires: tuple[str, ...]) -> Resolution:
    start = Start.of(view, profile, requires)
    loading, startup, loads = start.loading, start.startup, start.loads
    found, processes, dirs = start.run()
    known = InterpretedImports.of(view, profile, loads) if startup is None else InterpretedImports()
    found = known.loads(found, loads)
    whole = all_together(start.blank, found, processes)
    reached = _touched(found)
    _survey(whole, view, reached)
    companions = _Companions(whole, processes, loading, profile)
    edges = [*_upgraded(whole), *companions.edges()]
    failing = {loaded.event.path for loaded in found if loaded.failure and not loaded.event.guarded}
    # A load that fails in any order has a failure of its own, with all that is known about it.
    faults = known.faults(view, _reached_faults(view, loads))
    faults = tuple(one for one in faults if one.cause != "order" or one.names[0] not in failing)
    unimportable = unimportable_modules(view, profile) if startup is None else ()
    outcomes = (*_failed_code(view, faults), *map(_outcome, found), *unimportable)
    if startup is None or not _fails(startup, found):  # else the import ends before it gets to an extension module
        outcomes = in_import_order(view, profile, outcomes)
    return Resolution(
        edges=tuple(sorted(edges, key=lambda edge: (edge.importer, edge.kind.value, dll_key(edge.name)))),
        outcomes=outcomes,
        reached=reached,
        search_dirs=tuple(folder for folder in dirs if view.in_folder(folder)),
        code_folders=loads.folders,
        unread_calls=known.calls(start.calls),
        code_faults=faults,
        absent_modules=_absent_modules(start.provisions),
    )


def _absent_modules(provisions: Provisions) -> tuple[AbsentModule, ...]:
    """The modules that are not installed, none twice, what is sure first."""
    found: dict[str, AbsentModule] = {}
    for one in provisions.absent_modules():
        if one.sure or one.module not in found:
            found[one.module] = one
    return tuple(found.values())


@dataclass(frozen=True, slots=True)
class Start:
    """An import of the subject of a view, before anything is loaded."""

    blank: Loader
    """A process in which nothing has been loaded."""
    profile: Profile
    requires: tuple[str, ...]
    loading: PackageLoading | None
    loads: PackageLoads
    calls: tuple[UnreadCall, ...]
    provisions: Provisions

    @property
    def startup(self) -> Startup | None:
        """How a package that loads its DLLs in its own way begins."""
        return self.loading.startup if self.loading is not None else None

    @classmethod
    def of(cls, view: FileView, profile: Profile, requires: tuple[str, ...]) -> Start:
        """Read what importing the subject of a view loads."""
        loading = loading_of(view)
        startup = loading.startup if loading is not None else None
        loads = package_loads(view, profile) if startup is None else PackageLoads()
        calls = _reached_calls(view, loads)
        provisions = Provisions(profile, requires, loading, view, _habits(view, loads, calls))
        base = BASE if view.find(BASE, "python.exe") else ""  # a venv runs the python.exe that it was made from
        blank = Loader(view, Target(profile, provisions), profile.machine, application_dir=base)
        return cls(blank, profile, requires, loading, loads, calls, provisions)

    def run(self, before: Loader | None = None) -> Imported:
        """Import the subject, in a fresh process or in one in which others were imported before."""
        process = self.blank.after(before) if before is not None else self.blank.fork()
        if self.startup is not None:
            return _import_with(self.startup, process, self.profile)
        return _import_package(process, self.loads, self.profile, self.requires)


MANY_MODULES = 40
"""Extension modules of one package for which the files that import them are looked for."""


def _reached_calls(view: FileView, loads: PackageLoads) -> tuple[UnreadCall, ...]:
    """Calls that could not be read, with whether importing the package gets to them: only those matter to it."""
    if not loads.unread_calls:
        return ()
    order = ImportOrder(view, work=separate_budget(view))
    return tuple(replace(call, reached=call.at_import and order.may_run(call.file)) for call in loads.unread_calls)


def _habits(view: FileView, loads: PackageLoads, calls: tuple[UnreadCall, ...]) -> PackageHabits:
    """What the package's code does that matters to the DLLs of others; its imports are followed on demand."""

    starts = [*(event.path for event in loads.extensions), *(file.path for file in loads.files)]
    above = list(dict.fromkeys(init for path in starts for init in packages_above(path)))
    code = [file.path for file in loads.files if file.path.endswith(".py")]
    order = functools.cache(lambda: ImportOrder(view, work=separate_budget(view)))

    def imports() -> tuple[str, ...]:
        return order().imported_from_others(dict.fromkeys([*above, *code, *importers()]))

    def importers() -> Iterator[str]:
        """The Python files that import the extension modules: what they import first is there by then."""
        words = tuple({event.module.rpartition(".")[2].encode() for event in loads.extensions})
        if 0 < len(words) <= MANY_MODULES:
            own = ((path, text) for path, text in python_code(view, words) if "/tests/" not in path)
            for path, _ in order().importers([event.path for event in loads.extensions], own):
                yield path

    def absent(present: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        own = [init for init in above if init in view and view.layer(init) is not Layer.ENVIRONMENT]
        return order().absent_modules(own, present)

    @functools.cache
    def mentions(modules: tuple[str, ...]) -> tuple[str, ...]:
        left, found = set(modules), list[str]()
        for path, source in python_code(view, tuple(module.encode() for module in modules)):
            tops = {name.partition(".")[0] for name in read_imports(source, path, budget_of(view))}
            found += sorted(tops & left)
            left -= tops
        return tuple(found)

    def named(modules: tuple[str, ...]) -> dict[str, str]:
        """Code that is compiled keeps the names of what it imports in its data."""
        found: dict[str, str] = {}
        for path in (event.path for event in loads.extensions):
            left = [module for module in modules if module not in found]
            if left and view.file(path).size <= LARGEST:
                names = CompiledNames(view.source(path))
                found.update((module, path) for module in left if names.has(module))
        return found

    def has_words(words: tuple[str, ...]) -> bool:
        return next(python_code(view, tuple(map(str.encode, words))), None) is not None

    @functools.cache
    def kin() -> tuple[str, ...]:
        tops = {init.removeprefix(f"{SITE_PACKAGES}/").partition("/")[0] for init in above} - {"__init__.py"}
        stems = tuple({f"{part}_" for top in tops for part in (top, top.rpartition("_")[0]) if part})
        found: set[str] = set()
        for path, source in python_code(view, tuple(f"import {stem}".encode() for stem in stems)) if stems else ():
            found |= {name.partition(".")[0] for name in read_imports(source, path, budget_of(view))}
        return tuple(sorted(name for name in found - tops if name.startswith(stems)))

    folders = frozenset(item.folder for item in loads.folders)
    unread = any(call.reached for call in calls)
    return PackageHabits(folders, unread, imports, mentions, named, has_words, kin, absent)


def all_together(blank: Loader, found: list[Loaded], processes: list[Loader]) -> Loader:
    """A process with everything that some process has: what plugins and companions may find there."""
    whole = blank.fork()
    for process in processes:
        whole.user_dirs += [folder for folder in process.user_dirs if folder not in whole.user_dirs]
        for name, path in process.loaded.items():
            whole.loaded.setdefault(name, path)
        whole.modules.update(process.modules)
        whole.ran |= process.ran
    whole.edges = merged_edges(found)
    return whole


def _touched(found: list[Loaded]) -> frozenset[str]:
    """What some load has mapped, harmless failures left out: for the package it is as if never loaded."""
    return frozenset(
        path for loaded in found if not (loaded.failure and loaded.event.guarded) for path in loaded.touched
    )


# --------------------------------------------------------------------------------------------------- the import

Imported: TypeAlias = "tuple[list[Loaded], list[Loader], tuple[str, ...]]"
"""Every load, every process, and the folders that all extension modules search."""


def _import_with(startup: Startup, loader: Loader, profile: Profile) -> Imported:
    """The package's own loads in one process, then each extension module in one that begins like it."""
    found = []
    failed = import_before(startup, loader)
    if failed is not None:
        found.append(Loaded(*failed, {}, {}))
    begin(startup, loader)
    for event in startup.events:
        loader.edges, loader.touched = {}, {}
        failure = load_event(startup, loader, event)
        found.append(Loaded(event, failure, loader.edges, loader.touched))
    processes = [loader]
    for path in extension_modules(loader.view, profile):
        processes.append(loader.fork())
        found.append(load_in(processes[-1], LoadEvent(path, "extension", module_name(path))))
    return found, processes, tuple(loader.user_dirs)


def _fails(startup: Startup, found: list[Loaded]) -> bool:
    """Whether one of the package's own loads fails, and nothing catches that."""
    return any(loaded.failure and not loaded.event.guarded for loaded in found[: len(startup.events)])


def _import_package(blank: Loader, loads: PackageLoads, profile: Profile, requires: tuple[str, ...]) -> Imported:
    """Every load that an ordinary package performs, each in a fresh process."""
    fresh = FreshProcesses(blank, loads, profile, requires)
    found = fresh.all()
    return found, fresh.started, fresh.common_dirs if loads.extensions else loads.added


def _reached_faults(view: FileView, loads: PackageLoads) -> tuple[CodeFault, ...]:
    """The faults of Python code, with whether importing the package gets to them."""
    if not loads.faults:
        return ()
    order = ImportOrder(view, work=separate_budget(view))
    return tuple(replace(fault, reached=order.runs(fault.root)) for fault in loads.faults)


def _failed_code(view: FileView, faults: tuple[CodeFault, ...]) -> Iterator[LoadOutcome]:
    """The loads that fail in Python code because there is no such file or folder, where importing the package does."""
    for fault in faults:
        if fault.sure and fault.reached:
            path = fault.names[0]
            cause = fault.cause if fault.cause in ("cffi", "folder", "listing", "raise") else "code"
            cause = "cffi" if fault.cause == "order" and fault.error == "OSError" else cause
            event = LoadEvent(path, cause, fault.error if cause == "raise" else "", text=fault.text)
            code = {"folder": absent_folder_code(view, path), "listing": PATH_NOT_FOUND}.get(cause, MOD_NOT_FOUND)
            detail = "there is no such folder" if cause in ("folder", "listing") else NO_FILE
            if path in view and cause == "raise":
                detail = "the file is there, but cannot be loaded"
            elif fault.chain:
                detail = f"{fault.chain[-1]} is in the wheel, but not where this load looks at that point"
            yield LoadOutcome(event, code, fault.chain or (base_name(path),), detail)


def _outcome(loaded: Loaded) -> LoadOutcome:
    event, failure = loaded.event, loaded.failure or loaded.alone
    if failure is None:
        return LoadOutcome(event)
    chain = tuple(base_name(step) for step in failure.chain)
    if chain[0] != base_name(event.path):
        chain = (base_name(event.path), *chain)
    if loaded.failure is None:
        return LoadOutcome(event, alone=Alone(failure.code, chain, loaded.sure, loaded.after))
    return LoadOutcome(event, failure.code, chain, failure.detail)


def _survey(loader: Loader, view: FileView, touched: frozenset[str]) -> None:
    """Resolve the imports of images that nothing is known to load, as a load of them would.

    A plugin is loaded when the package's own DLLs are already in the process, from wherever they lie; so a DLL that
    is anywhere in the view counts as found for it.
    """
    for path, image in view.images().items():
        if path in touched or not isinstance(image, Image) or image.managed or path.lower().endswith(".sys"):
            continue  # assemblies and kernel drivers have loaders of their own
        steps = loader.search_steps(path, AS_PYTHON_DOES)
        needs = [(need, EdgeKind.IMPORT) for need in image.imports]
        needs += [(need, EdgeKind.DELAY) for need in image.delay_imports]
        for need, kind in needs:
            provider = loader.find(need.dll, steps)
            if isinstance(provider, Missing) and provider.present_at:
                provider = InView(provider.present_at[0])
            unexported: tuple[str | int, ...] = ()
            if isinstance(provider, InView) and kind is EdgeKind.IMPORT and runs_on(image.machine, loader.machine):
                unexported = loader.symbols_missing_from(need, provider.path)
            edge = Edge(path, need.dll, kind, provider, kind is EdgeKind.IMPORT, unexported=unexported)
            loader.edges.setdefault((path, dll_key(need.dll), kind), edge)


# ----------------------------------------------------------------------------------------------- the companions


def _upgraded(loader: Loader) -> Iterator[Edge]:
    """The loader's edges; a delay load that the DLL's family needs in practice is marked as required."""
    for edge in loader.edges.values():
        need = needs_in_practice(base_name(edge.importer), edge.name) if edge.kind is EdgeKind.DELAY else None
        yield edge if need is None else replace(edge, required=True, because=need.without, source=need.source)


class _Companions:
    """What the DLLs of a view load by name at run time, which no import table shows."""

    def __init__(
        self, loader: Loader, processes: list[Loader], loading: PackageLoading | None, profile: Profile
    ) -> None:
        self.loader = loader
        self.processes = processes
        self.cuda = loading.cuda if loading is not None and loading.startup is not None else profile.cuda
        self.named = loading.named if loading is not None else ()

    def needs(self, name: str, path: str = "") -> list[CompanionNeed]:
        """The table's entries for a DLL name; what is only vendored too is not needed by a load.

        Some are about certain releases only: then the version of the file at the path counts.
        """
        found = read_version(self.loader.view.source(path)) if path and depends_on_version(name) else None
        version = str(found) if found is not None else None
        needs = [need for need in companions_of(name, cuda=self.cuda, version=version) if need.strength != "beside"]
        own = (load for load in self.named if path and load.by == path)
        return [*needs, *(CompanionNeed((one.name,), "required", "", one.without, one.source) for one in own)]

    def edges(self) -> Iterator[Edge]:
        """One edge for each companion of each image of the subject, and of each DLL that is missing."""
        asked: dict[str, list[str]] = {}
        for edge in self.loader.edges.values():
            asked.setdefault(edge.importer, []).append(edge.name)
        for path, image in self.loader.view.images().items():
            if isinstance(image, Image):
                for need in self.needs(base_name(path), path):
                    if not any(need.matches(name) for name in asked.get(path, ())):
                        yield self._edge(path, need)
        missing = {dll_key(e.name): e.name for e in self.loader.edges.values() if isinstance(e.provider, Missing)}
        for name in sorted(missing.values()):
            for need in self.needs(name):
                if need.met_by(missing) is None:
                    yield self._edge(name, need)

    def _edge(self, path: str, need: CompanionNeed) -> Edge:
        provider = self._find(path, need)
        spelled = base_name(provider.path) if isinstance(provider, InView) else need.name
        return Edge(
            importer=path,
            name=spelled,
            kind=EdgeKind.COMPANION,
            provider=provider,
            required=need.required,
            strength=need.strength,
            because=need.without,
            source=need.source,
        )

    def _find(self, path: str, need: CompanionNeed) -> Provider:
        """The provider of a companion, in each process that has its parent; none if it is missing in one of them."""
        processes = [process for process in self.processes if path in process.modules] or [self.loader]
        answers = [self._find_in(process, path, need) for process in processes]
        return next((answer for answer in answers if isinstance(answer, Missing)), answers[0])

    def _find_in(self, process: Loader, path: str, need: CompanionNeed) -> Provider:
        """A companion is found when it is loaded, beside its parent, in an added folder, or in another distribution."""
        loaded = need.met_by(process.loaded)
        if loaded is not None:
            return InView(process.loaded[dll_key(loaded)])
        folders = tuple(dict.fromkeys([parent(path), *process.user_dirs]))
        for folder in folders:
            names = {base_name(found): found for found in process.view.in_folder(folder)}
            met = need.met_by(names)
            if met is not None:
                return InView(names[met])
        for name in need.names:
            other = process.find(name, process.search_steps(path, DEFAULT_DIRS))
            if not isinstance(other, Missing):
                return other
        present = tuple(file.path for file in process.view.files if need.matches(base_name(file.path)))
        return Missing(searched=folders, present_at=present)
