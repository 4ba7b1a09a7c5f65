"""Everything that importing the subject of a view loads, in fresh processes and in any order, and what is not found."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import distinct, frozen, grouped, replace
from wheelfix.errors import InputError
from wheelfix.knowledge.companions import CompanionNeed, companions_of, depends_on_version, needs_in_practice
from wheelfix.knowledge.cuda import release_of_product
from wheelfix.knowledge.families import family_of
from wheelfix.loader.evidence import PackageHabits, ProviderChain
from wheelfix.loader.followed import FollowedImports, top_level
from wheelfix.loader.loading import (
    ALTERED_SEARCH_PATH,
    AS_PYTHON_DOES,
    DEFAULT_DIRS,
    MOD_NOT_FOUND,
    PATH_NOT_FOUND,
    Failure,
    Loader,
    Target,
    runs_on,
)
from wheelfix.loader.packagecode import FileLoads, PackageLoads, imported_modules, package_loads, unimportable_modules
from wheelfix.loader.packageloading import (
    ENTRIES,
    PackageLoading,
    Startup,
    begin,
    extension_modules,
    import_before,
    load_event,
    loading_of,
    module_files,
    module_name,
)
from wheelfix.loader.predict import BY_CODE, NO_FILE, absent_folder_code
from wheelfix.loader.view import SITE_PACKAGES, FileView, base_name, is_pyd, key_of, once_for_each, parent
from wheelfix.model import (
    Alone,
    CodeFault,
    Edge,
    EdgeKind,
    Edges,
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
    canonical,
    dll_key,
)
from wheelfix.pe.version import read_version
from wheelfix.pycode.sourcecode import python_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.loader.places import InstalledSet
    from wheelfix.loader.profile import Profile
    from wheelfix.pycode.importer import ImportEnd


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


# ------------------------------------------------------------------------------------------------ fresh processes

ROUNDS = 10
"""How often loads that failed are tried again, while others of the package succeed."""


@frozen
class Loaded:
    """One load in a process of its own, and everything that came of it."""

    event: LoadEvent
    failure: Failure | None
    edges: Edges
    touched: dict[str, None]
    alone: Failure | None = None
    """Why it fails when it is imported by its own name, where the package's code imports it in another way."""
    sure: bool = True
    """For such a load: whether that code could be followed, and imports everything that the load needs first."""
    after: str = ""
    """The other top-level package that has to be imported before the one with this module."""


def load_in(process: Loader, event: LoadEvent, flags: int = AS_PYTHON_DOES) -> Loaded:
    """Load one file as Python would, and keep what came of it apart from other loads."""
    process.edges, process.touched = {}, {}
    failure = process.load(event.path, flags)
    return Loaded(event, failure, process.edges, process.touched)


def load_in_any_order(process: Loader, events: Iterable[LoadEvent], flags: Mapping[str, int]) -> dict[str, Loaded]:
    """Load several files in one process; those that failed are tried again as long as one more succeeds."""
    done = {event.path: load_in(process, event, flags.get(event.path, AS_PYTHON_DOES)) for event in events}
    for _ in range(ROUNDS):
        again = [loaded.event for loaded in done.values() if loaded.failure]
        done.update({event.path: load_in(process, event, flags.get(event.path, AS_PYTHON_DOES)) for event in again})
        if all(done[event.path].failure for event in again):
            break
    return done


def merged_edges(found: Iterable[Loaded]) -> Edges:
    """Every need of all loads; one that is unmet in some process counts as unmet, unless that load does no harm."""
    merged: Edges = {}
    harmless: Edges = {}
    for loaded in found:
        if loaded.failure and loaded.event.guarded:
            harmless.update(loaded.edges)
            continue
        for key, edge in loaded.edges.items():
            known = merged.get(key)
            if known is None or (edge.broken and not known.broken):
                merged[key] = edge
    return {**harmless, **merged}


def as_if_found(edge: Edge) -> Edge:
    """A need of a module that loads once others are imported: the file of that name in the set serves it then."""
    provider = edge.provider
    if isinstance(provider, Missing) and provider.present_at:
        return replace(edge, provider=InView(provider.present_at[0]))
    return edge


class FreshProcesses:
    """Loads everything that a package loads, each file in a process with only what is certainly there before it."""

    def __init__(self, blank: Loader, loads: PackageLoads, followed: FollowedImports) -> None:
        self.blank, self.loads, self.followed = blank.fork() if loads.first else blank, loads, followed
        self.blank.add_folders(loads.first)
        self.processes: dict[str, Loader] = {}
        """Processes by the folder whose modules are loaded in them."""
        self._of_code: list[Loader] = []
        """Processes in which the code of one file has run."""
        self._adding = [file for file in loads.files if file.added]
        self._acts = bool(loads.coded) or blank.view.beside is not None
        """Whether code of the package, or of others that it imports, may change what a load finds."""
        self._unfollowed = blank.fork()
        """A process that has only the code of others which was not followed and may help loads that fail."""

    @property
    def started(self) -> list[Loader]:
        """Every process that was started."""
        return [*self._of_code, *self.processes.values(), self._unfollowed]

    @property
    def common_dirs(self) -> tuple[str, ...]:
        """The folders that are searched for every extension module, in the order in which they are added."""
        every = [process.user_dirs for process in self.processes.values()]
        return tuple(folder for folder in self.loads.added if all(folder in dirs for dirs in every))

    def all(self) -> list[Loaded]:
        """Every load of the package, those of its code first."""
        found = [*self._loads_of_code(), *(self._extension(event) for event in self.loads.extensions)]
        if any(loaded.failure for loaded in found):
            together = self._together(found)
            found = [self._settled(one, one.event.path in together) if one.failure else one for one in found]
        return self._with_caught_failures(found)

    # --------------------------------------------------------------------------------------------- in one process

    def _after(self, end: ImportEnd | None) -> Loader:
        """A process in which an import was carried out, with the folders that it adds by ``loader/packages``.

        Where not all of its code was followed, what that code may add counts, too: it is there to be added.
        """
        if end is None or end.process is None:  # before Python 3.8, which is not followed, PATH was searched
            process = self.blank.fork()
            process.user_dirs += [*(self.loads.added if end is not None else ())]
            return process
        process = self.blank.after(end.process)
        known = [folders for file, folders in loading_of(self.blank.view).adds if file in end.ran]
        if not end.decided:
            known += [file.added for file in self._adding if file.path in end.ran]
        process.add_folders(folder for folders in known for folder in folders)
        return process

    def _loads_of_code(self) -> Iterator[Loaded]:
        """What Python code loads; of several files that load a DLL, one that fails without being caught decides."""
        read = self.loads.files if self.loads.coded else ()
        found = grouped((loaded.event.path, loaded) for file in read for loaded in self._run(file))
        for end in self.followed.tops.values():
            for loaded in _loads_of(end):
                if loaded.event.path not in found:
                    found[loaded.event.path] = [loaded]
        for loads in found.values():
            yield min(loads, key=lambda loaded: (loaded.event.guarded, loaded.failure is None))

    def _run(self, file: FileLoads) -> Iterator[Loaded]:
        """Load what a Python file loads, in any order, after it was imported."""
        end = self.followed.started(file.path)
        done = self._load_all(end, file)
        if file.path not in end.ran and any(loaded.failure for loaded in done.values()):
            end = self.followed.running(file.path)
            done = self._load_all(end, file)
        failing = end.fault.target if end.fault is not None else ""
        for event in file.events:
            # Where it is known how the import ends, it does without what it has not loaded.
            without = end.decided and file.path in end.ran and event.path not in {*end.loaded, *file.late, failing}
            loaded = self._through(end, event) if event.path in end.done else done[event.path]
            yield replace(loaded, event=replace(event, guarded=event.guarded or without))

    def _load_all(self, end: ImportEnd, file: FileLoads) -> dict[str, Loaded]:
        """Load what a file loads in a process in which an import was carried out, and what the file adds."""
        process = self._after(end)
        self._of_code.append(process)
        process.add_folders(file.added)
        return load_in_any_order(process, file.events, dict(file.flags))

    def _extension(self, event: LoadEvent) -> Loaded:
        folder = parent(event.path)
        above = self.followed.started(event.path) if self._acts else None
        if above is not None and event.path in above.done:
            self.processes.setdefault(folder, self._after(above))
            return self._through(above, event)
        # Within a folder every name means the same file, so that its modules may share a process: what one of them
        # has loaded, another would have found.
        if folder not in self.processes:
            self.processes[folder] = self._after(above)
        return load_in(self.processes[folder], event)

    # -------------------------------------------------------------------------------------- what is possible

    def _together(self, found: list[Loaded]) -> frozenset[str]:
        """What loads once everything else of the package is loaded."""
        process = self.blank.fork()
        process.add_folders(self.loads.added)
        ordered = sorted(found, key=lambda loaded: loaded.failure is not None)
        done = load_in_any_order(process, (loaded.event for loaded in ordered), {})
        return frozenset(path for path, loaded in done.items() if loaded.failure is None)

    def _settled(self, loaded: Loaded, possible: bool) -> Loaded:
        """Decide about a load that fails after the import of its package: other imports may carry it out."""
        event = loaded.event
        if not possible and not self._is_elsewhere(loaded):
            return loaded
        own = self.followed.of(event.module) if event.module else self.followed.running(self._file_of(event))
        if event.path not in own.refused:
            tried = self._through(own, event)
            if tried.failure is None:
                return tried
        elif self.blank.view.beside is not None:
            loaded = Loaded(event, *own.refused[event.path])  # what others have done may make it fail in another way
        ends = [own]
        good: list[Loaded] = []
        refused = False
        for file, end in self._carrying_out(event):
            ends.append(end)
            if event.path in end.refused and end.decided:
                refused = True
                continue
            tried = self._through(end, event)
            if tried.failure is None:
                after = top_level(file) if top_level(file) != top_level(event.path) else ""
                good.append(replace(tried, alone=loaded.failure, sure=end.decided, after=after))
        good = [one for one in good if one.after] if refused else [replace(one, after="") for one in good]
        if good:
            return min(good, key=lambda one: not one.sure)
        if refused or all(end.decided for end in ends) or self._may_be_helped(loaded, ends):
            return loaded
        edges = {key: as_if_found(edge) for key, edge in loaded.edges.items()}
        touched = dict.fromkeys([event.path])
        return replace(loaded, failure=None, edges=edges, touched=touched, alone=loaded.failure, sure=False)

    def _may_be_helped(self, loaded: Loaded, ends: list[ImportEnd]) -> bool:
        """Whether code of others that was not followed may make a load succeed; that code is remembered."""
        beside, failure = self.blank.view.beside, loaded.failure
        if beside is None or failure is None:
            return False
        others = {file: function for end in ends for file, function in end.others.items()}
        known = list(beside.knowing(base_name(failure.chain[-1]), others, self.followed.profile))
        calls = (UnreadCall(file, 0, others[file], "…", reached=True) for file in known)
        self._unfollowed.unread.update(dict.fromkeys(calls))
        return bool(known)

    def _through(self, end: ImportEnd, event: LoadEvent) -> Loaded:
        """What comes of a load in an import that carries it out, or after one that does not."""
        if event.path in end.done:
            return Loaded(event, None, *end.done[event.path])
        return load_in(self._after(end), event)

    def _carrying_out(self, event: LoadEvent) -> Iterator[tuple[str, ImportEnd]]:
        """Imports that may carry out a load: of files that import the module, of other packages of the wheel.

        netgen-mesher has the packages netgen, which adds the folder of its DLLs, and pyngcore, which needs them.
        """
        if event.module:
            yield from self.followed.importing(event.path).items()
        own = top_level(event.path)
        for file, end in self.followed.tops.items() if canonical(own) not in _distributions(self.blank) else ():
            if top_level(file) != own and event.path in end.done:
                yield file, end

    def _file_of(self, event: LoadEvent) -> str:
        """The Python file that loads a DLL, or the DLL itself where only a followed import shows that one does."""
        files = (file.path for file in self.loads.files if event.path in {one.path for one in file.events})
        return next(files, event.path)

    def _is_elsewhere(self, loaded: Loaded) -> bool:
        """Whether all DLLs that a load lacks are in the set, where the code of others may find them."""
        failure = loaded.failure
        if self.blank.view.beside is None or failure is None or failure.code != MOD_NOT_FOUND:
            return False
        lacking = (edge.provider for edge in loaded.edges.values() if edge.is_import)
        return all(provider.present_at for provider in lacking if isinstance(provider, Missing))

    # ---------------------------------------------------------------------------------------- what is caught

    def _with_caught_failures(self, found: list[Loaded]) -> list[Loaded]:
        """Mark the failed imports of extension modules that the package's code catches."""
        failed = [one for one in found if one.failure and one.event.cause == "extension"]
        texts = self.followed.texts([one.event.path for one in failed])
        failed = [one for one in failed if one.event.path not in texts]
        statements = imported_modules(self.blank.view, [one.event.module for one in failed])
        caught = {
            one.event.module
            for one in failed
            if statements.get(one.event.module) or self.followed.is_caught(one.event.path)
        }
        caught |= self._only_needed_by(caught, found) if caught else set()
        marked = []
        for one in found:
            event = one.event
            if one.failure and event.cause == "extension":
                event = replace(event, guarded=event.module in caught, text=texts.get(event.path, ""))
            marked.append(replace(one, event=event))
        return marked

    def _only_needed_by(self, caught: set[str], found: list[Loaded]) -> set[str]:
        """The failed files that only look like modules, and that only modules with caught failures import."""
        view = self.blank.view
        importers: dict[str, set[str]] = {}
        for loaded in found:
            image = view.image(loaded.event.path)
            for needed in image.imports if isinstance(image, Image) else ():
                importers.setdefault(dll_key(needed.dll), set()).add(loaded.event.module)
        more = set()
        for loaded in found:
            image, module = view.image(loaded.event.path), loaded.event.module
            own = importers.get(key_of(loaded.event.path), set())
            last = module.rpartition(".")[2]
            starts = isinstance(image, Image) and any(image.exports.offers(entry + last) for entry in ENTRIES)
            if loaded.failure and module and own and own <= caught and not starts:
                more.add(module)
        return more


def _loads_of(end: ImportEnd) -> Iterator[Loaded]:
    """What the code of a followed import loads, or tries to; what it goes on without is guarded."""
    fault = end.fault if end.error else None
    for path, (edges, touched) in end.done.items():
        if not is_pyd(path):
            yield Loaded(LoadEvent(path, "code"), None, edges, touched)
    for path, (failure, edges, touched) in end.refused.items():
        if not is_pyd(path):
            blamed = fault is not None and fault.target == path
            cause = "cffi" if fault is not None and blamed and fault.cause == "cffi" else "code"
            yield Loaded(LoadEvent(path, cause, guarded=not blamed), failure, edges, touched)


def _distributions(process: Loader) -> set[str]:
    """The names of the distributions that the files of the subject belong to."""
    own = (file.path.removeprefix(f"{SITE_PACKAGES}/").partition("/")[0] for file in process.view.own_files)
    return {canonical(name.partition("-")[0]) for name in own if name.endswith(".dist-info")}


# ------------------------------------------------------------------------------------------------------ the import


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
