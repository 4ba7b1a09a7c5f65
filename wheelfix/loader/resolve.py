"""The whole import of a package: what is loaded, who needs whom, what is missing, and what fails first."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import dataclass
from wheelfix.loader.companionloads import Companions, with_needs_in_practice
from wheelfix.loader.evidence import ProviderChain
from wheelfix.loader.extensionmodules import extension_modules, module_files, module_name
from wheelfix.loader.followed import FollowedImports
from wheelfix.loader.habits import PackageHabits
from wheelfix.loader.loadcall import ALTERED_SEARCH_PATH, AS_PYTHON_DOES, MOD_NOT_FOUND, PATH_NOT_FOUND, runs_on
from wheelfix.loader.loaded import Loaded, load_in, merged_edges
from wheelfix.loader.loading import Loader
from wheelfix.loader.packagecode import PackageLoads, package_loads
from wheelfix.loader.packageloading import begin, import_before, load_event, loading_of
from wheelfix.loader.predict import BY_CODE, NO_FILE, absent_folder_code
from wheelfix.loader.processes import FreshProcesses
from wheelfix.loader.target import Target
from wheelfix.loader.unimportable import unimportable_modules
from wheelfix.loader.view import BASE, base_name
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
from wheelfix.pycode.sourcecode import python_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.packageloading import PackageLoading, Startup
    from wheelfix.loader.profile import Profile
    from wheelfix.loader.view import FileView
    from wheelfix.model import AbsentModule, CodeFault, ImageFacts, Machine, UnreadCall


_RESOLVED: weakref.WeakKeyDictionary[FileView, dict[tuple[Profile, tuple[str, ...]], Resolution]]
_RESOLVED = weakref.WeakKeyDictionary()
_FOR_PROGRAMS = (b'"PATH"', b"'PATH'", b"cwd=", b"chdir(")
"""What is in code that decides where the programs which it starts look for DLLs."""


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
    followed = start.followed
    found, processes, dirs = start.run()
    whole = all_together(start.blank, found, processes)
    reached = _touched(found)
    _survey_programs(whole, start.blank, reached)
    others = frozenset(module_files(view)).difference(extension_modules(view, profile))  # for another Python
    _survey(whole, view, reached | others)
    companions = Companions(whole, processes, loading, profile)
    edges = [*with_needs_in_practice(whole), *companions.edges()]
    failing = {loaded.event.path for loaded in found if loaded.failure and not loaded.event.guarded}
    # A load that fails in any order has a failure of its own, with all that is known about it.
    faults = followed.faults(loads.faults)
    faults = tuple(one for one in faults if one.cause != "order" or one.names[0] not in failing)
    unimportable = unimportable_modules(view, profile) if startup is None else ()
    outcomes = (*_failed_code(view, faults), *map(_outcome, found), *unimportable)
    if startup is None or not _fails(startup, found):  # else the import ends before it gets to an extension module
        outcomes = followed.in_order(outcomes)
    return Resolution(
        edges=tuple(sorted(edges, key=lambda edge: (edge.importer, edge.kind.value, dll_key(edge.name)))),
        outcomes=outcomes,
        reached=reached,
        search_dirs=tuple(folder for folder in dirs if view.in_folder(folder)),
        code_folders=loads.folders,
        unread_calls=tuple(dict.fromkeys([*start.calls, *whole.unread])),
        code_faults=faults,
        absent_modules=_absent_modules(start.evidence),
    )


def _absent_modules(evidence: ProviderChain) -> tuple[AbsentModule, ...]:
    """The modules that are not installed, none twice: of several entries for one module the first sure one counts."""
    found: dict[str, AbsentModule] = {}
    for one in evidence.absent_modules():
        if one.module not in found or (one.sure and not found[one.module].sure):
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
    evidence: ProviderChain
    followed: FollowedImports

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
        habits = PackageHabits(view, profile, loads)
        evidence = ProviderChain(profile, requires, loading, view, habits)
        base = BASE if view.find(BASE, "python.exe") else ""  # a venv runs the python.exe that it was made from
        searched = view.beside.searched if view.beside is not None else ()
        system = Target(profile, evidence)
        blank = Loader(view, system, profile.machine, application_dir=base, user_dirs=searched)
        followed = FollowedImports(view, profile, loads, blank)
        habits.followed = followed
        calls = followed.plain.calls(loads.unread_calls)  # before the evidence is asked, which they are a part of
        habits.unread = any(call.reached for call in calls)
        return cls(blank, profile, requires, loading, loads, calls, evidence, followed)

    def run(self, before: Loader | None = None) -> Imported:
        """Import the subject, in a fresh process or in one in which others were imported before."""
        process = self.blank.after(before) if before is not None else self.blank.fork()
        if self.startup is not None:
            return _import_with(self.startup, process, self.profile)
        followed = self.followed if before is None else FollowedImports(process.view, self.profile, self.loads, process)
        fresh = FreshProcesses(process, self.loads, followed)
        found = fresh.all()
        return found, fresh.started, fresh.common_dirs if self.loads.extensions else self.loads.added


def all_together(blank: Loader, found: list[Loaded], processes: list[Loader]) -> Loader:
    """A process with everything that some process has: what plugins and companions may find there."""
    whole = blank.fork()
    for process in processes:
        whole.user_dirs += [folder for folder in process.user_dirs if folder not in whole.user_dirs]
        for name, path in process.loaded.items():
            whole.loaded.setdefault(name, path)
        whole.modules.update(process.modules)
        whole.ran |= process.ran
        whole.unread.update(process.unread)
    whole.edges = merged_edges(found)
    return whole


def _touched(found: list[Loaded]) -> frozenset[str]:
    """The files that loads have mapped, but not those of guarded loads that failed: the package goes on without."""
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


def _failed_code(view: FileView, faults: tuple[CodeFault, ...]) -> Iterator[LoadOutcome]:
    """The loads that fail in Python code because there is no such file or folder, where importing the package does."""
    for fault in faults:
        if fault.sure and fault.reached and fault.cause == "end":
            event = LoadEvent(fault.file, "raise", fault.error, text=fault.text)
            yield LoadOutcome(event, MOD_NOT_FOUND, (base_name(fault.file),), BY_CODE)
        elif fault.sure and fault.reached:
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


def _survey_programs(loader: Loader, blank: Loader, touched: frozenset[str]) -> None:
    """Resolve the imports of programs, and of what they load from their own folders, as their processes do.

    A program has nothing of the Python that starts it. PATH is not known; where the package's code changes it for
    programs, or starts them in another folder, a DLL that is anywhere in the view may be found, and nothing is said.
    """
    view = blank.view
    programs = [path for path in view.image_paths if path.lower().endswith(".exe") and path not in touched]
    programs = [path for path in programs if _runs(view.image(path), blank.machine)]
    if not programs or next(python_code(view, _FOR_PROGRAMS), None) is not None:
        return
    for program in programs:
        steps = blank.search_steps(program, ALTERED_SEARCH_PATH)
        loaded, pending = {program}, [program]
        for path in pending:  # grows while it is walked
            image = view.image(path)
            for need in image.imports if isinstance(image, Image) and not image.managed else ():
                provider = blank.find(need.dll, steps)
                if isinstance(provider, Missing):  # Python's folder is on PATH in many installations
                    provider = blank.system.beside_python(need.dll) or provider
                edge = Edge(path, need.dll, EdgeKind.IMPORT, provider, True)
                loader.edges.setdefault((path, dll_key(need.dll), EdgeKind.IMPORT), edge)
                if isinstance(provider, InView) and provider.path not in touched and provider.path not in loaded:
                    loaded.add(provider.path)
                    pending.append(provider.path)


def _runs(image: ImageFacts | None, machine: Machine) -> bool:
    return isinstance(image, Image) and runs_on(image.machine, machine)


def _survey(loader: Loader, view: FileView, touched: frozenset[str]) -> None:
    """Resolve the imports of images that nothing is known to load, as a load of them would.

    A plugin is loaded when the package's own DLLs are already in the process, from wherever they lie; so a DLL that
    is anywhere in the view counts as found for it.
    """
    for path, image in view.images().items():
        if path in touched or not isinstance(image, Image) or image.managed or path.lower().endswith(".sys"):
            continue  # assemblies and kernel drivers have loaders of their own
        if not runs_on(image.machine, loader.machine):
            continue  # another kind of process loads it, on a machine that may have other DLLs
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
