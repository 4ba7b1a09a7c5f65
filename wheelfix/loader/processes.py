"""Fresh processes: what was run and loaded in them before a file, and what is in them by base name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import frozen, replace
from wheelfix.loader.followed import FollowedImports, top_level
from wheelfix.loader.loading import AS_PYTHON_DOES, MOD_NOT_FOUND, Failure
from wheelfix.loader.packagecode import FileLoads, PackageLoads, imported_modules
from wheelfix.loader.packageloading import ENTRIES, loading_of
from wheelfix.loader.view import SITE_PACKAGES, base_name, is_pyd, key_of, parent
from wheelfix.model import Edge, Edges, Image, InView, LoadEvent, Missing, UnreadCall, canonical, dll_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.loader.loading import Loader
    from wheelfix.pycode.importer import ImportEnd

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


def load_in_any_order(
    process: Loader, events: Iterable[LoadEvent], flags: dict[str, int] | None = None
) -> dict[str, Loaded]:
    """Load several files in one process; those that failed are tried again as long as one more succeeds."""
    own = flags or {}
    done = {event.path: load_in(process, event, own.get(event.path, AS_PYTHON_DOES)) for event in events}
    for _ in range(ROUNDS):
        again = [loaded.event for loaded in done.values() if loaded.failure]
        done.update({event.path: load_in(process, event, own.get(event.path, AS_PYTHON_DOES)) for event in again})
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
        files: dict[str, list[FileLoads]] = {}
        for file in self.loads.files if self.loads.coded else ():
            files.setdefault(file.path, []).append(file)
        found: dict[str, list[Loaded]] = {}
        for path, own in files.items():
            for loaded in self._run(path, own):
                found.setdefault(loaded.event.path, []).append(loaded)
        for end in self.followed.tops.values():
            for loaded in _loads_of(end):
                if loaded.event.path not in found:
                    found[loaded.event.path] = [loaded]
        for loads in found.values():
            yield min(loads, key=lambda loaded: (loaded.event.guarded, loaded.failure is None))

    def _run(self, path: str, files: list[FileLoads]) -> Iterator[Loaded]:
        """Load what a Python file loads, in any order, after it was imported."""
        end = self.followed.started(path)
        done = self._load_all(end, files)
        if path not in end.ran and any(loaded.failure for loaded in done.values()):
            end = self.followed.running(path)
            done = self._load_all(end, files)
        late = {path for file in files for path in file.late}
        failing = end.fault.target if end.fault is not None else ""
        for event in (event for file in files for event in file.events):
            # Where it is known how the import ends, it does without what it has not loaded.
            without = end.decided and path in end.ran and event.path not in {*end.loaded, *late, failing}
            loaded = self._through(end, event) if event.path in end.done else done[event.path]
            yield replace(loaded, event=replace(event, guarded=event.guarded or without))

    def _load_all(self, end: ImportEnd, files: list[FileLoads]) -> dict[str, Loaded]:
        """Load what a file loads in a process in which an import was carried out, and what the file adds."""
        process = self._after(end)
        self._of_code.append(process)
        process.add_folders(folder for file in files for folder in file.added)
        flags = {path: own for file in files for path, own in file.flags}
        return load_in_any_order(process, (event for file in files for event in file.events), flags)

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
        done = load_in_any_order(process, (loaded.event for loaded in ordered))
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
