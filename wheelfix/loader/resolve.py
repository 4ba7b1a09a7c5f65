"""Everything that importing the subject of a view loads, in fresh processes and in any order, and what is not found."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import distinct, frozen, replace
from wheelfix.errors import InputError
from wheelfix.knowledge.companions import CompanionNeed, companions_of, depends_on_version, needs_in_practice
from wheelfix.knowledge.cuda import release_of_product
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.system import STABLE_ABI_DLLS, python_of
from wheelfix.loader.evidence import PackageHabits, ProviderChain
from wheelfix.loader.followed import FollowedImports
from wheelfix.loader.loading import (
    ALTERED_SEARCH_PATH,
    AS_PYTHON_DOES,
    DEFAULT_DIRS,
    MOD_NOT_FOUND,
    PATH_NOT_FOUND,
    PROC_NOT_FOUND,
    Loader,
    Target,
    runs_on,
)
from wheelfix.loader.packagecode import PackageLoads, imported_modules, package_loads
from wheelfix.loader.packageloading import (
    ENTRIES,
    PackageLoading,
    Startup,
    begin,
    entry_name,
    extension_modules,
    has_entry,
    import_before,
    is_for_another_python,
    is_stable_ending,
    load_event,
    loading_of,
    module_files,
    module_name,
    stem,
)
from wheelfix.loader.predict import BY_CODE, NO_FILE, absent_folder_code
from wheelfix.loader.processes import FreshProcesses, Loaded, load_in, merged_edges
from wheelfix.loader.view import FileView, base_name, once_for_each, parent
from wheelfix.model import (
    Alone,
    CodeFault,
    Edge,
    EdgeKind,
    Image,
    ImageFacts,
    InView,
    LoadEvent,
    LoadOutcome,
    Machine,
    Missing,
    Provider,
    Resolution,
    UnreadCall,
    dll_key,
)
from wheelfix.pe.version import read_version
from wheelfix.pycode.sourcecode import NO_MODULE, python_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.places import InstalledSet
    from wheelfix.loader.profile import Profile


def with_needs_in_practice(loader: Loader) -> Iterator[Edge]:
    """The loader's edges; a delay load that the DLL's family needs in practice is marked as required."""
    for edge in loader.edges.values():
        need = needs_in_practice(base_name(edge.importer), edge.name) if edge.kind is EdgeKind.DELAY else None
        yield edge if need is None else replace(edge, required=True, because=need.without, source=need.source)


class Companions:
    """What the DLLs of a view load by name at run time, which no import table shows."""

    def __init__(self, loader: Loader, processes: list[Loader], loading: PackageLoading, profile: Profile) -> None:
        self.loader = loader
        self.processes = processes
        self.cuda = loading.cuda if loading.startup is not None else profile.cuda
        self.named = loading.named

    def needs(self, name: str, path: str = "") -> list[CompanionNeed]:
        """The table's entries for a DLL name; what is only vendored too is not needed by a load.

        Some are about certain releases only: then the version of the file at the path counts. A DLL that is missing
        is taken to come in a current release: most are, and a repair should not ask for more than the scan did.
        """
        found = read_version(self.loader.view.source(path)) if path and depends_on_version(name) else None
        version = str(found) if found is not None else None
        if not path and (family := family_of(name)):
            version = f"{family.major(name)}.999"
        cuda = self._release_of_nvrtc(name, path) or self.cuda
        needs = [need for need in companions_of(name, cuda=cuda, version=version) if need.strength != "beside"]
        own = (load for load in self.named if path and load.by == path)
        return [*needs, *(CompanionNeed((one.name,), "required", "", one.without, one.source) for one in own)]

    def _release_of_nvrtc(self, name: str, path: str) -> str:
        """The toolkit of an NVRTC without built-ins beside it, from its version resource: it opens only those."""
        if not path or not re.fullmatch(r"nvrtc64_\d+_0\.dll", dll_key(name)):
            return ""
        view = self.loader.view
        if any(base_name(file).lower().startswith("nvrtc-builtins64_") for file in view.in_folder(parent(path))):
            return ""
        found = read_version(view.source(path))
        release = release_of_product(found.strings.get("ProductName", "")) if found is not None else None
        return f"{release[0]}.{release[1]}" if release is not None else ""

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
        missing = {dll_key(e.name): e.name for e in self.loader.edges.values() if e.is_missing}
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
        folders = distinct([parent(path), *process.user_dirs])
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


_LOADERS = (b"spec_from_file_location", b"ExtensionFileLoader", b"load_dynamic")
"""What loads a module by its path, under a name that is given."""
_LIBRARY_LOADERS = (b"load_library(", b"LoadLibrary(", b"CDLL(", b"PyDLL(", b"WinDLL(")
"""What loads a file that is not a module: torch.ops.load_library, ctypes."""


def unimportable_modules(view: FileView, profile: Profile) -> list[LoadOutcome]:
    """The modules that Python cannot import; those that the package's code does without are guarded."""
    found = {outcome.event.module: outcome for outcome in (*_for_others(view, profile), *_without_entry(view, profile))}
    if not found:
        return []
    absent = [module for module, outcome in found.items() if outcome.code == MOD_NOT_FOUND]
    imported = {**imported_modules(view, found.keys() - absent), **imported_modules(view, absent, NO_MODULE)}
    return [
        replace(outcome, event=replace(outcome.event, guarded=imported.get(module, True)))
        for module, outcome in found.items()
    ]


def _for_others(view: FileView, profile: Profile) -> Iterator[LoadOutcome]:
    """Modules of which there are only files for other Pythons; wheels for several Pythons have one for each."""
    files = module_files(view)
    paths = [path for path in files if not is_for_another_python(view, path, files, profile)]
    fitting = set(extension_modules(view, profile))
    if len(fitting) == len(paths):
        return
    there = {module_name(path) for path in fitting}
    for path in paths:
        module = module_name(path)
        if path not in fitting and module not in there and f"{path.rpartition('/')[0]}/{stem(path)}.py" not in view:
            there.add(module)
            if is_stable_ending(path):
                detail = "no Python for Windows looks for a file whose name ends like this"
            elif profile.python is None:
                detail = f"its name says that it is not for {profile.machine}"
            else:
                detail = f"its name says that it is for another Python than {profile.python[0]}.{profile.python[1]}"
            yield LoadOutcome(LoadEvent(path, "module", module), MOD_NOT_FOUND, (base_name(path),), detail)


def _without_entry(view: FileView, profile: Profile) -> Iterator[LoadOutcome]:
    """Modules that do not export the function that Python calls to import them."""
    old = profile.python is not None and profile.python[0] == 2
    entries = ("init",) if old else ENTRIES
    for path in extension_modules(view, profile):
        image, name = view.image(path), entry_name(path)
        if not isinstance(image, Image) or has_entry(view, path, entries):
            continue
        if _is_module(image, entries) and not _is_loaded_as(view, image, entries, name):
            detail = f"it does not export {entries[0]}{name}"
            yield LoadOutcome(LoadEvent(path, "module", module_name(path)), PROC_NOT_FOUND, (base_name(path),), detail)


def _is_loaded_as(view: FileView, image: Image, entries: tuple[str, ...], stem: str) -> bool:
    """Whether code loads a module by its path, under the name that it was built as, as torchcodec does.

    A file without any entry is a library, for code that names it and loads libraries: torchvision's image.pyd.
    """
    built = [name.removeprefix(entry) for name in image.exports.names for entry in entries if name.startswith(entry)]
    names = [name.encode() for name in built] or [f'"{stem}"'.encode(), f"'{stem}'".encode()]
    if next(python_code(view, _LOADERS if built else _LIBRARY_LOADERS), None) is None:
        return False
    return next(python_code(view, tuple(names)), None) is not None


def _is_module(image: Image, entries: tuple[str, ...]) -> bool:
    """Whether a file has to do with Python at all: it has an entry of another name, or calls the interpreter."""
    if any(name.startswith(entries) for name in image.exports.names):
        return True
    return any(python_of(item.dll) or dll_key(item.dll) in STABLE_ABI_DLLS for item in image.imports)


_FOR_PROGRAMS = (b'"PATH"', b"'PATH'", b"cwd=", b"chdir(")
"""What is in code that decides where the programs which it starts look for DLLs."""


@once_for_each
def resolve(view: FileView, profile: Profile, requires: tuple[str, ...] = ()) -> Resolution:
    """Load, in the model, everything that importing the subject of a view loads; then ask what else it needs.

    A plan asks what the scan before it asked.
    """
    start = Start.of(view, profile, requires)
    startup, followed = start.loading.startup, start.followed
    found, processes, dirs = start.alone
    whole = all_together(start.blank, found, processes)
    reached = _touched(found)
    _survey_programs(whole, start.blank, reached)
    others = frozenset(module_files(view)).difference(extension_modules(view, profile))  # for another Python
    _survey(whole, view, reached | others)
    companions = Companions(whole, processes, start.loading, profile)
    edges = [*with_needs_in_practice(whole), *companions.edges()]
    failing = {loaded.event.path for loaded in found if loaded.failure and not loaded.event.guarded}
    # A load that fails in any order has a failure of its own, with all that is known about it.
    faults = followed.faults()
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
        unread_calls=distinct([*start.calls, *whole.unread]),
        code_faults=faults,
        absent_modules=start.evidence.absent_modules(),
    )


@frozen
class Start:
    """An import of the subject of a view, before anything is loaded."""

    blank: Loader
    """A process in which nothing has been loaded."""
    profile: Profile
    loading: PackageLoading
    loads: PackageLoads
    calls: tuple[UnreadCall, ...]
    evidence: ProviderChain
    followed: FollowedImports

    @classmethod
    def of(cls, view: FileView, profile: Profile, requires: tuple[str, ...]) -> Start:
        """Read what importing the subject of a view loads."""
        loading = loading_of(view)
        loads = package_loads(view, profile) if loading.startup is None else PackageLoads()
        habits = PackageHabits(view, loads)
        evidence = ProviderChain(profile, requires, loading, view, habits)
        blank = Loader(view, Target(profile, evidence.provide))
        followed = FollowedImports(view, profile, loads, blank)
        habits.followed = followed
        calls = followed.plain.calls(loads.unread_calls)  # before the evidence is asked, which they are a part of
        habits.unread = any(call.reached for call in calls)
        return cls(blank, profile, loading, loads, calls, evidence, followed)

    @functools.cached_property
    def alone(self) -> Imported:
        """The import in a fresh process."""
        return self.run()

    def run(self, before: Loader | None = None) -> Imported:
        """Import the subject, in a fresh process or in one in which others were imported before."""
        process = self.blank.after(before) if before is not None else self.blank.fork()
        if self.loading.startup is not None:
            return _import_with(self.loading.startup, process, self.profile)
        followed = self.followed
        if before is not None:
            followed = FollowedImports(process.view, self.profile, self.loads, process, is_blank=False)
        fresh = FreshProcesses(process, self.loads, followed)
        found = fresh.all()
        return found, fresh.started, fresh.common_dirs if self.loads.extensions else self.loads.added


def all_together(blank: Loader, found: list[Loaded], processes: list[Loader]) -> Loader:
    """A process with everything that some process has: what plugins and companions may find there."""
    whole = blank.fork()
    for process in processes:
        whole.add_folders(process.user_dirs)
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
        found.append(Loaded(event, load_event(startup, loader, event), loader.edges, loader.touched))
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
                    provider = blank.target.beside_python(need.dll) or provider
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
            if isinstance(provider, InView) and kind is EdgeKind.IMPORT:
                unexported = loader.symbols_missing_from(need, provider.path)
            edge = Edge(path, need.dll, kind, provider, kind is EdgeKind.IMPORT, unexported=unexported)
            loader.edges.setdefault((path, dll_key(need.dll), kind), edge)


@frozen
class AfterOthers:
    """The import of a distribution in a process in which others were imported before."""

    failed: tuple[Loaded, ...] = ()
    """The loads that work in a fresh process and fail here."""
    edges: tuple[Edge, ...] = ()
    """Every need of all its loads, as it is met here."""


class ImportOrders:
    """Tries orders of the distributions of a set; what each of them loads by itself is found out once."""

    def __init__(self, beside: InstalledSet, profile: Profile) -> None:
        self._beside, self._profile = beside, profile
        self._starts: dict[str, Start] = {}
        self._states: dict[tuple[str, ...], Loader] = {}

    def state(self, names: tuple[str, ...]) -> Loader | None:
        """The process after some distributions were imported, each with all of its modules; None for no names.

        A distribution whose DLLs ask for too much is passed over.
        """
        if not names:
            return None
        if names not in self._states:
            before = self.state(names[:-1])
            try:
                start = self._start(names[-1])
                found, processes, _ = start.alone if before is None else start.run(before)
                whole = all_together(start.blank if before is None else start.blank.after(before), found, processes)
            except InputError:
                whole = before if before is not None else self._start(names[-1]).blank
            self._states[names] = whole
        return self._states[names]

    def after(self, before: tuple[str, ...], name: str) -> AfterOthers:
        """What comes of importing a distribution after others."""
        try:
            alone, found = self.loads((), name), self.loads(before, name)
        except InputError:
            return AfterOthers()
        works = {loaded.event.path for loaded in alone if loaded.failure is None}
        failed = tuple(one for one in found if one.failure and not one.event.guarded and one.event.path in works)
        return AfterOthers(failed, tuple(merged_edges(found).values()))

    def loads(self, before: tuple[str, ...], name: str) -> list[Loaded]:
        """Every load of a distribution, in a process in which others were imported before."""
        state = self.state(before)
        found, _, _ = self._start(name).alone if state is None else self._start(name).run(state)
        return found

    def _start(self, name: str) -> Start:
        if name not in self._starts:
            view, requires = self._beside.view_of(name), self._beside[name].requires
            self._starts[name] = Start.of(view, self._profile, requires)
        return self._starts[name]


orders_of = once_for_each(ImportOrders)
"""The orders of a set, shared by the examinations of all its distributions."""
