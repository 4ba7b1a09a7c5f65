"""The loads of an ordinary package, each in a fresh process: the order of other imports is not relied on.

An extension module is loaded after the code that Python is known to run before it, and after nothing else: ``.pth``
files, and the ``__init__.py`` of each package above it. Only where that is not enough are import statements followed.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.loader.foreigncode import ForeignCode
from wheelfix.loader.imports.guards import with_caught_failures
from wheelfix.loader.imports.importorder import ImportOrder, packages_above
from wheelfix.loader.loadcall import AS_PYTHON_DOES, DEFAULT_DIRS, MOD_NOT_FOUND
from wheelfix.loader.loaded import Loaded, as_if_found, load_in, load_in_any_order
from wheelfix.loader.profile import Profile
from wheelfix.loader.view import SITE_PACKAGES, Layer, base_name, parent
from wheelfix.model import Image, canonical, dll_key
from wheelfix.pycode.mentions import WORDS
from wheelfix.pycode.pythonsource import SOURCE_LIMIT, python_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.imports.importroute import Route
    from wheelfix.loader.loading import Loader
    from wheelfix.loader.packagecode import FileLoads, PackageLoads
    from wheelfix.loader.view import FileView, ViewFile
    from wheelfix.model import LoadEvent

IMPORTERS = 20
"""Python files that import one extension module and are followed for it."""


class FreshProcesses:
    """Loads everything that a package loads, each file in a process with only what is certainly there before it."""

    def __init__(
        self,
        blank: Loader,
        loads: PackageLoads,
        profile: Profile | None = None,
        requires: tuple[str, ...] = (),
        known: frozenset[str] = frozenset(),
    ) -> None:
        """``known``: files that importing the package loads, whatever a fresh process says."""
        self.blank, self.known = blank, known
        self.loads = loads
        self.profile, self.requires = profile or Profile(), requires
        self.beside = blank.view.beside
        self.processes: dict[tuple[tuple[str, ...], str], Loader] = {}
        """Processes by the files that were run in them and the folder whose modules are loaded in them."""
        self._unfollowed = blank.fork()
        """A process that has only the code which was met on the way to loads that fail, and could not be read."""
        self._prepared: dict[tuple[str, ...], tuple[Loader, dict[str, Loaded]]] = {}
        self._above: dict[str, list[str]] = {}
        self._inits: dict[str, list[str]] = {}
        self._code: dict[str, list[FileLoads]] = {}
        for file in loads.files:
            self._code.setdefault(file.path, []).append(file)

    @functools.cached_property
    def others(self) -> ForeignCode:
        """The code of the distributions that are installed with the package."""
        assert self.beside is not None
        return ForeignCode(self.blank.view, self.beside, self.profile)

    @functools.cached_property
    def order(self) -> ImportOrder:
        """The import statements of the package."""
        return ImportOrder(self.blank.view, self.profile.python)

    @property
    def started(self) -> list[Loader]:
        """Every process that was started for something certain."""
        return [*(process for process, _ in self._prepared.values()), *self.processes.values(), self._unfollowed]

    @property
    def common_dirs(self) -> tuple[str, ...]:
        """The folders that are searched for every extension module, in the order in which they are added."""
        every = [process.user_dirs for process in self.processes.values()]
        return tuple(folder for folder in self.loads.added if all(folder in dirs for dirs in every))

    def all(self) -> list[Loaded]:
        """Every load of the package, those of its code first."""
        found = [*self._loads_of_code(), *(self._extension(event) for event in self.loads.extensions)]
        if any(map(self._is_open, found)):
            together = self._together(found)
            doubtful = [loaded for loaded in found if self._is_open(loaded) and loaded.event.path in together]
            settled = self._settled(doubtful)
            if self.beside is not None:
                left = [loaded for loaded in found if self._is_open(loaded) and loaded.event.path not in together]
                settled |= self._settled([loaded for loaded in left if self._is_elsewhere(loaded)], only_good=True)
            found = [settled.get(loaded.event, loaded) for loaded in found]
            found = [self._with_others(loaded) for loaded in found] if self.beside is not None else found
        return with_caught_failures(self.blank.view, found, self.known)

    def _is_open(self, loaded: Loaded) -> bool:
        """Whether a load fails, and nothing else is known about it."""
        return loaded.failure is not None and loaded.event.path not in self.known

    # ------------------------------------------------------------------------------------- what is certain

    def _loads_of_code(self) -> Iterator[Loaded]:
        """What Python code loads: after the code before it, and with the loads of its own file in any order."""
        found: dict[str, list[Loaded]] = {}
        for path in self._code:
            _, done = self._prepare((*self._certain(path), *self._others_of(path), path))
            for event in (event for file in self._code[path] for event in file.events):
                found.setdefault(event.path, []).append(replace(done[event.path], event=event))
        for loads in found.values():
            # Of several files that load it, one that fails without being caught decides.
            yield min(loads, key=lambda loaded: (loaded.event.guarded, loaded.failure is None))

    def _extension(self, event: LoadEvent) -> Loaded:
        certain = self._certain(event.path)
        key = (certain, parent(event.path))
        process = self.processes.get(key)
        # Within a folder every name means the same file, so that its modules may share a process: what one of them
        # has loaded, another would have found. Only images with search flags of their own are searched for elsewhere.
        if process is None or self._has_own_flags:
            process = self.processes[key] = self._prepare(certain)[0].fork()
        return load_in(process, event)

    @functools.cached_property
    def _has_own_flags(self) -> bool:
        images = self.blank.view.images().values()
        return any(isinstance(image, Image) and image.dependent_load_flags for image in images)

    def _certain(self, path: str) -> tuple[str, ...]:
        """The files with DLL code that run before a file for certain.

        They are what ``.pth`` files import, the ``__init__.py`` of each package above it, and what these import.
        """
        if not self._code and self.beside is None:
            return ()
        found = [file for file in self._at_start if file in self._code]
        folder = parent(path)
        if folder not in self._above:
            self._above[folder] = [file for init in packages_above(path) for file in self._run_by(init)]
        return tuple(file for file in dict.fromkeys([*found, *self._above[folder]]) if file != path)

    def _run_by(self, init: str) -> list[str]:
        """An ``__init__.py`` and what it imports for certain, as far as they have DLL code."""
        if init not in self._inits:
            if self.beside is not None and self._is_foreign(init):
                self._inits[init] = [*self.beside.runs(init)]
                return self._inits[init]
            found = [*self._others_of(init), *([init] if init in self._code else [])]
            words = {base_name(path).removesuffix(".py").encode() for path in self._code} - {b"__init__"}
            if words and init in self.blank.view:
                source = self.blank.view.source(init).read_at(0, SOURCE_LIMIT)
                if any(word in source for word in words):
                    found += [path for path in self.order.imported_by(init) if path in self._code]
            self._inits[init] = found
        return self._inits[init]

    def _others_of(self, path: str) -> list[str]:
        """The files of other distributions, with DLL code, that a Python file of the package runs for certain."""
        if self.beside is None or path not in self.blank.view or not path.endswith(".py"):
            return []
        foreign = [other for other in self.order.imported_by(path) if self._is_foreign(other)]
        return list(dict.fromkeys(file for other in foreign for file in self.beside.runs(other)))

    def _is_foreign(self, path: str) -> bool:
        return path in self.blank.view and self.blank.view.layer(path) is Layer.ENVIRONMENT

    @functools.cached_property
    def _at_start(self) -> tuple[str, ...]:
        paths = any(file.path.endswith((".pth", ".start")) for file in self.blank.view.own_files)
        return self.order.at_start() if paths else ()

    def _prepare(self, files: tuple[str, ...]) -> tuple[Loader, dict[str, Loaded]]:
        """A process in which the code of some files has run, and what came of their loads."""
        if files not in self._prepared:
            process = self._prepare(files[:-1])[0].fork() if files else self.blank.fork()
            done = self._run(process, files[-1]) if files else {}
            self._prepared[files] = process, done
        return self._prepared[files]

    def _run(self, process: Loader, path: str) -> dict[str, Loaded]:
        """Do in a process what a Python file does: add its folders, then load its DLLs, in any order."""
        if self.beside is not None and path not in self._code:
            self.others.run(process, path)
            return {}
        files = self._code.get(path, [])
        if path in process.ran:  # another distribution has imported it before
            events = [event for file in files for event in file.events]
            return {event.path: load_in(process.fork(), event) for event in events}
        process.ran.add(path)
        for folder in (folder for file in files for folder in file.added):
            if folder not in process.user_dirs:
                process.user_dirs.append(folder)
        for name in (name for file in files for name in file.names):
            process.load_by_name(name, DEFAULT_DIRS)
        process.path_dirs = [folder for file in files for folder in file.along]
        flags = {path: own for file in files for path, own in file.flags}
        return load_in_any_order(process, (event for file in files for event in file.events), flags)

    # -------------------------------------------------------------------------------------- what is possible

    def _together(self, found: list[Loaded]) -> frozenset[str]:
        """What loads once everything else of the package is loaded."""
        process = self.blank.fork()
        process.user_dirs += [folder for folder in self.loads.added if folder not in process.user_dirs]
        for name in (name for file in self.loads.files for name in file.names):
            process.load_by_name(name, DEFAULT_DIRS)
        if self.beside is not None and any(map(self._is_elsewhere, found)):
            modules = self.order.imported_from_others(init for one in found for init in packages_above(one.event.path))
            for other in self.beside.related(self.requires, modules, self.profile):
                for file in self.beside.code_of(other):
                    self.others.import_file(process, file)
        ordered = sorted(found, key=lambda loaded: loaded.failure is not None)
        done = load_in_any_order(process, (loaded.event for loaded in ordered))
        return frozenset(path for path, loaded in done.items() if loaded.failure is None)

    def _is_elsewhere(self, loaded: Loaded) -> bool:
        """Whether a load fails because of a missing DLL that is in the set, where the code of others may find it."""
        failure = loaded.failure
        if failure is None or failure.code != MOD_NOT_FOUND:
            return False
        return bool(self.blank.view.named(dll_key(base_name(failure.chain[-1]))))

    def _settled(self, doubtful: list[Loaded], *, only_good: bool = False) -> dict[LoadEvent, Loaded]:
        """Decide about loads that fail in a fresh process, and would not with others before them.

        With ``only_good``, nothing is known of others that would help: then only loads that succeed are decided.
        """
        direct = {loaded.event: self._try(self._route(loaded.event), loaded.event) for loaded in doubtful}
        settled = {event: tried for event, tried in direct.items() if tried.failure is None and tried.sure}
        left = [loaded for loaded in doubtful if loaded.event not in settled]
        # Where the way to the packages above is unclear, nothing can be proven, and looking deeper shows nothing.
        deep = {loaded.event.path for loaded in left if direct[loaded.event].sure}
        imported = self._through_importers([loaded.event for loaded in left], deep) if left else {}
        for loaded in left:
            tried, others = direct[loaded.event], imported.get(loaded.event, [])
            good = [one for one in (*others, tried) if one.failure is None]
            if others and all(one.failure is None and one.sure for one in others):
                settled[loaded.event] = replace(others[0], alone=loaded.failure)
            elif any(one.failure and one.sure for one in others):
                settled.update(self._after_packages(loaded))
            elif good or not (only_good or all(one.sure for one in (*others, tried))):
                edges = {key: as_if_found(edge) for key, edge in loaded.edges.items()}
                unknown = replace(loaded, failure=None, edges=edges, touched=dict.fromkeys([loaded.event.path]))
                settled[loaded.event] = replace(good[0] if good else unknown, alone=loaded.failure, sure=False)
        return settled

    def _after_packages(self, loaded: Loaded) -> dict[LoadEvent, Loaded]:
        """A load that succeeds once another top-level package of the wheel is imported, which imports this one.

        netgen-mesher has the packages netgen, which adds the folder of its DLLs, and pyngcore, which needs them.
        """
        view, path = self.blank.view, loaded.event.path
        top = _top_level(path)
        if canonical(top) in _distributions(view):
            return {}  # it is the one that users import
        for init in sorted(file.path for file in view.own_files if file.path.count("/") == 3 and _is_init(file)):
            if _top_level(init) != top and self._imports_later(init, top):
                tried = self._try(self.order.through(init, path), loaded.event)
                if tried.failure is None and tried.sure:
                    return {loaded.event: replace(tried, alone=loaded.failure, after=_top_level(init))}
        return {}

    def _imports_later(self, init: str, top: str) -> bool:
        """Whether a file imports a top-level package for certain, and not before the first line that is about DLLs."""
        if f"{SITE_PACKAGES}/{top}/__init__.py" not in self.order.imported_by(init):
            return False
        lines = self.blank.view.source(init).read_at(0, SOURCE_LIMIT).splitlines() if init in self._code else []
        about = next((at for at, line in enumerate(lines) if any(word in line for word in WORDS)), -1)
        words = (
            line.split(maxsplit=2)[1:2] for line in lines[: max(about, 0)] if line.startswith((b"import", b"from"))
        )
        return not any(word and word[0].split(b".")[0].rstrip(b",;") == top.encode() for word in words)

    def _with_others(self, loaded: Loaded) -> Loaded:
        """A load that fails in any case, tried after the code of others that runs before it: the fault may differ."""
        if not self._is_open(loaded) or not self._is_elsewhere(loaded):
            return loaded
        tried = self._try(self._route(loaded.event), loaded.event)
        known = loaded.failure.chain[-1:] if loaded.failure is not None else ()
        if tried.failure is None:
            return tried if tried.sure else replace(tried, alone=loaded.failure)
        return tried if tried.failure is not None and tried.failure.chain[-1:] != known else loaded

    def _route(self, event: LoadEvent) -> Route:
        """What runs before a load: of an extension module the packages above it, of code those above its file."""
        if event.cause == "extension":
            return self.order.to(event.path)
        file = self._file_of(event)
        # What the file itself imports is there too; of its own package that has been looked at before.
        return self.order.through(file, event.path) if self.beside is not None else self.order.to(file)

    def _through_importers(self, events: list[LoadEvent], deep: set[str]) -> dict[LoadEvent, list[Loaded]]:
        """What comes of extension modules when Python files of the package import them; up to the first that fails."""
        found: dict[LoadEvent, list[Loaded]] = {}
        open_events = {event.path: event for event in events if event.module}
        words = tuple({event.module.rpartition(".")[2].encode() for event in open_events.values()})
        sources = python_code(self.blank.view, words) if words else ()
        for importer, targets in self.order.importers(open_events, sources):
            for target in targets & open_events.keys():
                event = open_events[target]
                tried = self._try(self.order.through(importer, target, deep=target in deep), event)
                found.setdefault(event, []).append(tried)
                if tried.failure or not tried.sure or len(found[event]) == IMPORTERS:
                    del open_events[target]
            if not open_events:
                break
        return found

    def _file_of(self, event: LoadEvent) -> str:
        files = (file.path for file in self.loads.files if event in file.events)
        return next(files, event.path)

    def _try(self, route: Route, event: LoadEvent) -> Loaded:
        """Run what a route runs, in a fresh process, until the load succeeds or the route ends.

        The answer is sure if only what runs for certain was needed for it, or if nothing was left to try.
        """
        process = self._prepare(tuple(file for file in self._at_start if file in self._code))[0].fork()
        for certain in (True, False):
            for step in route.steps:
                if step.certain is certain and self._do(process, step.path):
                    loaded = load_in(process.fork(), event)
                    if loaded.failure is None:
                        return replace(loaded, sure=certain)
        loaded = load_in(process.fork(), event)
        if self.beside is not None and self._is_elsewhere(loaded):
            return self._after_all_imports(process, route, event)
        return replace(loaded, sure=loaded.failure is None or route.complete)

    def _after_all_imports(self, process: Loader, route: Route, event: LoadEvent) -> Loaded:
        """A load after all that the files of other distributions on a route import in turn.

        What could not be followed there may add the folder, or load the DLL: then nothing is certain.
        """
        for step in sorted(route.steps, key=lambda step: not step.certain):
            if self._is_foreign(step.path):
                self.others.import_all(process, step.path)
                loaded = load_in(process.fork(), event)
                if loaded.failure is None:
                    return replace(loaded, sure=step.certain)
        loaded = load_in(process.fork(), event)
        owners = self._owners_of_missing(loaded)
        self._unfollowed.unread.update({call: None for call in process.unread if self._may_know(call.file, owners)})
        return replace(loaded, sure=route.complete)

    def _owners_of_missing(self, loaded: Loaded) -> set[str]:
        """The distributions that have the DLL which a load does not find."""
        assert self.beside is not None
        name = dll_key(base_name(loaded.failure.chain[-1])) if loaded.failure is not None else ""
        return {self.beside.owner(path) for path in self.blank.view.named(name)} - {""}

    def _may_know(self, file: str, owners: set[str]) -> bool:
        """Whether code may add a folder of some distributions: it is theirs, they require it, or it requires them."""
        assert self.beside is not None
        own = self.beside.owner(file)
        needed = {own, *self.beside.related(self.beside.requires(own), (), self.profile)}
        return not own or any(
            owner in needed or own in self.beside.related(self.beside.requires(owner), (), self.profile)
            for owner in owners
        )

    def _do(self, process: Loader, path: str) -> bool:
        """Run or load one file of a route; whether the process has changed."""
        before = len(process.modules), len(process.user_dirs)
        if path.endswith(".pyd"):
            process.load(path, AS_PYTHON_DOES)
        elif path in self._code:
            for other in self._others_of(path):  # import statements come before the code that needs them
                self.others.run(process, other)
            self._run(process, path)
        elif self.beside is not None and self._is_foreign(path):
            self.others.import_file(process, path)
        return before != (len(process.modules), len(process.user_dirs))


def _top_level(path: str) -> str:
    return path.removeprefix(f"{SITE_PACKAGES}/").partition("/")[0]


def _is_init(file: ViewFile) -> bool:
    return file.layer is Layer.SUBJECT and base_name(file.path) == "__init__.py"


def _distributions(view: FileView) -> set[str]:
    """The names of the distributions that the files of the subject belong to."""
    own = (_top_level(file.path) for file in view.own_files if file.layer is Layer.SUBJECT)
    return {canonical(name.partition("-")[0]) for name in own if name.endswith(".dist-info")}
