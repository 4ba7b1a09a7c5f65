"""The imports of a package that are followed, each once: what they load, what they catch, and how they end."""

from __future__ import annotations

import ast
import functools
import itertools
import posixpath
from typing import TYPE_CHECKING, Any

from wheelfix.base.values import distinct, replace
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.providers import owners_of
from wheelfix.loader.loading import MOD_NOT_FOUND
from wheelfix.loader.packagecode import Absent, FileLoads, PackageLoads, imported_modules, package_loads
from wheelfix.loader.packageloading import loading_of, module_name
from wheelfix.loader.view import SITE_PACKAGES, FileView, base_name, is_pyd, once_for_each, parent
from wheelfix.model import CodeFault, LoadOutcome, UnreadCall, dll_key
from wheelfix.pycode.budget import separate_budget
from wheelfix.pycode.sourcecode import (
    NOT_LOADED,
    WORDS,
    Mentions,
    counts,
    has_word,
    last_line,
    named_in_strings,
    nodes_in,
    python_code,
    python_source,
    read_imports,
    used_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wheelfix.loader.loading import Loader
    from wheelfix.loader.profile import Profile
    from wheelfix.pycode.importer import ImportEnd, Imports

_PATCH = b"# start delvewheel patch", b"# end delvewheel patch"
"""The lines around the code that delvewheel puts into a file."""
MAX_PACKAGES = 4
"""Top-level packages of one wheel whose imports are followed because their code loads DLLs."""
MAX_SOURCE = 256 << 10
"""Larger Python files (in bytes) are not asked for what they import: they were generated."""
NOT_FOUND = "FileNotFoundError"
ADD_FOLDER = "add_dll_directory"
MANY_IMPORTERS = 40
"""Python files that import one extension module and are asked whether they catch its failure."""
MAX_ASKED = 2
"""Modules of others, each of which is taken to be there and not to be there."""
MAX_IMPORTERS = 4
"""Python files whose imports are followed because they import one extension module."""


class FollowedImports:
    """The ends of imports of the subject of a view."""

    def __init__(
        self,
        view: FileView,
        profile: Profile,
        loads: PackageLoads,
        process: Loader | None = None,
        *,
        is_blank: bool = True,
    ) -> None:
        """``process`` knows who provides what is not there; in a blank one nothing has happened."""
        self._view, self._process, self.profile = view, process, profile
        self._may_share = process is not None and is_blank
        self._ends: dict[str, ImportEnd] = {}
        self._files = loads.files
        self._started: dict[str, ImportEnd] = {}
        self._busy = False
        self._imports: dict[tuple[str, str], Mapping[str, bool]] = {}
        self._budget = separate_budget(view)
        self._coded = loads.coded
        self._tops = list(_tops(view, loads.coded))[:MAX_PACKAGES]

    def of(self, module: str) -> ImportEnd:
        """How the import of a module ends, in a fresh process."""
        if self._busy:  # the evidence asks for it within an import
            return self.plain.of(module)
        return self._once(module, self._ends, self.plain._ends if self._may_share else {})

    @functools.cached_property
    def plain(self) -> FollowedImports:
        """The same imports in processes that know nothing of other distributions."""
        return followed_imports(self._view, self.profile)

    def with_modules(self, module: str, assumed: Mapping[str, bool]) -> ImportEnd:
        """How an import ends if some modules of others were there, or were not."""
        return self._follow(module, assumed=assumed)

    def started(self, path: str) -> ImportEnd:
        """The import of the package that a file is in, the one at the top or one below it that acts, as far as needed.

        The usual code of a wheel adds a folder before anything else: then the rest of the import is not followed.
        """
        if self._busy:
            return self.plain.started(path)
        top = top_level(path)
        acts = self._acting
        if path not in acts and not acts.isdisjoint(packages_above(path)[1:]):
            return self.of(_module(path).rpartition(".")[0])
        if top in self._ends:
            return self.of(top)
        if top not in self._started:
            own = [file for file in self._files if top_level(file.path) == top]
            acting = [file.path for file in own if file.path in acts]
            coded = (path for path in self._coded if top_level(path) == top)
            if not acting or not all(map(_only_adds, own)) or any(map(self._loads, coded)):
                return self.of(top)
            lines = {path: last_line(python_source(self._view, path)) for path in acting}
            return self._once(top, self._started, self.plain._started if self._may_share else {}, until=lines)
        return self._started[top]

    @functools.cached_property
    def _acting(self) -> frozenset[str]:
        """The Python files that do something to the DLL search when they are imported."""
        return frozenset(file.path for file in self._files if file.acts_at_import)

    def _loads(self, path: str) -> bool:
        """Whether code that loads DLLs may run when its package is imported, apart from what delvewheel puts into it.

        It does not run in functions that nothing in the package uses, as numpy's ``load_library``. A decorator may call
        them, but not what is called to make one.
        """
        source = python_source(self._view, path)
        before, _, code = source.partition(_PATCH[0])
        code = before + code.partition(_PATCH[1])[2] if code else before
        if not any(word in code for word in WORDS if word != b"add_dll_directory"):
            return False
        text = source.decode("utf-8", "replace")
        tree = self._budget.parse(text, path)
        mentions = Mentions(tree, text) if tree is not None else None
        if mentions is None or mentions.outside or mentions.hidden:
            return True
        functions = [node for node in mentions.functions if not node.name.startswith("_delvewheel_")]
        given = any(not isinstance(one, ast.Call) for node in functions for one in node.decorator_list)
        return given or self._uses({node.name for node in functions})

    def _uses(self, names: set[str]) -> bool:
        """Whether code of the package may call functions of some names."""
        if any(name.startswith("__") for name in names):
            return True
        for path, source in python_code(self._view, tuple(map(str.encode, names))) if names else ():
            tree = self._budget.parse(source, path)
            if tree is None or any(
                used_name(node) in names or (getattr(node, "asname", None) and getattr(node, "name", "") in names)
                for node in nodes_in(tree)
            ):
                return True
        return False

    @functools.cached_property
    def _followed(self) -> Imports:
        from wheelfix.pycode.importer import Imports  # 30 modules; most packages need none of them

        complete = self._view.beside is not None
        return Imports(self._view, self.profile, complete=complete, process=self._process)

    def _once(self, module: str, ends: dict[str, ImportEnd], plain: dict[str, ImportEnd], **options: Any) -> ImportEnd:
        """Follow an import once; `plain` gets and gives its end where nothing was asked about other distributions."""
        if module not in ends:
            end = plain.get(module)
            if end is None or not end.alone:
                end = self._follow(module, **options)
            if end.alone:
                plain.setdefault(module, end)
            ends[module] = end
        return ends[module]

    def _follow(self, module: str, **options: Any) -> ImportEnd:
        self._busy = True
        try:
            return self._followed.end(module, **options)
        finally:
            self._busy = False

    def running(self, path: str) -> ImportEnd:
        """An import that runs a Python file: that of its package, or else its own."""
        started = self.started(path)
        if path in started.ran:
            return started
        own = _module(path)
        top = self.of(own.partition(".")[0])
        return top if path in top.ran else self.of(own)

    @functools.cached_property
    def tops(self) -> dict[str, ImportEnd]:
        """The imports of the top-level packages whose code names what loads DLLs, by the file that is imported.

        Users import the modules of a package by name that imports nothing of its own, as pyzbar does: then it is the
        imports of files that import what loads DLLs.
        """
        found = {path: self.started(path) for _, path in self._tops}
        for path, end in list(found.items()):
            coded = [file for file in self._coded if top_level(file) == top_level(path)]
            if path.endswith("/__init__.py") and set(end.ran) == {path} and path not in coded:
                users = dict.fromkeys(next(self._importers(file), file) for file in coded[:MAX_PACKAGES])
                needed = (file for file in users if counts(file) and not self._is_done_without(file, {file}))
                found.update((file, self.of(_module(file))) for file in needed)
        return found

    @property
    def decided(self) -> dict[str, ImportEnd]:
        """Those of which it is known how they end, and that do not fail for want of something of others."""
        return {path: end for path, end in self.tops.items() if end.decided and (not end.error or _is_own(end))}

    @property
    def ran(self) -> frozenset[str]:
        """Every file that these have run."""
        return frozenset(path for end in self.decided.values() for path in end.ran)

    # ------------------------------------------------------------------------------------------ extension modules

    def importing(self, path: str) -> dict[str, ImportEnd]:
        """The Python files of the package that import a module, each with an import that runs it to its end."""
        found = {}
        for file in itertools.islice(self._importers(path), MAX_IMPORTERS):
            top = self.of(top_level(file))
            found[file] = top if file in top.ran else self.of(_module(file))
        return found

    def is_caught(self, path: str) -> bool:
        """Whether the code goes on after a module fails to load, wherever a followed import meets that.

        cassandra-driver has files that raise an error of their own then, and imports them where that is caught.
        """
        top, module = f"{SITE_PACKAGES}/{top_level(path)}/__init__.py", _module(path)
        ends = {**({top: self.of(top_level(path))} if top in self._view else {}), **self.importing(path)}
        met = {file: end for file, end in ends.items() if path in end.refused}
        passed = {file for end in met.values() if not end.error for file in end.ran}
        for file in itertools.islice(self._importers(path), MANY_IMPORTERS):
            raised = met[file].error if file in met else ""
            caught = raised and imported_modules(self._view, [_module(file)], raised).get(_module(file))
            if file not in passed and not caught and not self._imports_of(file, NOT_LOADED).get(module):
                return False
        return bool(met)

    def texts(self, failed: list[str]) -> dict[str, str]:
        """Those of some modules whose failure ends the import of their package, with what it then raises instead."""
        found = {}
        for end in map(self.of, dict.fromkeys(top_level(path) for path in failed)):
            modules = [path for path in end.refused if is_pyd(path)]
            if end.decided and end.error and modules:
                own = end.fault is not None and end.fault.cause == "extension"
                blamed = end.fault.target if end.fault is not None and own else modules[-1]
                found[blamed] = "" if own else f"{end.error}: {end.message}".partition("\n")[0].rstrip(": ")
        return found

    # ------------------------------------------------------------------------------------------ what code does

    def faults(self) -> tuple[CodeFault, ...]:
        """What fails, or may fail, in the code: what importing the package meets, then what else its files meet."""
        ran = {path for end in self.tops.values() for path in end.ran}
        others = [file.path for file in self._files if file.may_fail and file.path not in ran and counts(file.path)]
        ends = {**self.tops, **{path: self.of(_module(path)) for path in others[:MAX_PACKAGES]}}
        found = []
        for path, end in ((path, end) for path, end in ends.items() if end.error or not end.decided):
            met = self._fault_of(path, end)
            fault = met or self._unseen(path, end)
            if fault is not None:
                reached = path not in others or self.runs(path)
                found.append(replace(fault, reached=reached, sure=met.sure if met is not None else not reached))
        return distinct(found)

    def _fault_of(self, root: str, end: ImportEnd) -> CodeFault | None:
        """What an import that fails, or may fail, meets; None if nothing is known to fail."""
        absent = [one for file in self._files if file.path in end.ran for one in file.absent]
        if end.error and (end.decided or end.fault is not None or end.missed) and _is_own(end):
            fault = _fault(self._view, root, end)
            matters = any(one.matters for one in end.unclear)
            names = {name for name in fault.names if "/" in name} if fault is not None else set()
            # lightgbm 2.0.7 looks for its own file in vain; whether pandas is there is unclear, and may change the way.
            own = bool(names) and end.fault is None
            if not matters or own or names <= {one.name for one in absent}:
                if fault is None:
                    return None
                sure = fault.sure and (not matters or self._ends_so_anyway(_module(root), end))
                return replace(fault, sure=sure, searched=_searched(end), missed=end.missed)
        places = [*((one.file, one.line, one.last) for one in end.unclear), (*end.place, end.place[1])]
        for call in (call for file in self._files if file.path in end.ran for call in file.unread_calls):
            loads = call.at_import and not call.guarded and call.function != ADD_FOLDER
            if loads and _is_at(call.file, call.line, places):
                name = f"{call.function}({call.argument})"
                return CodeFault("unread", root, call.file, call.line, (name,), "", sure=False)
        if not end.decided:
            # Behind a module that may or may not be there, as in pyvips, is what is loaded without it.
            depends = {one.file for one in end.unclear if one.imports}
            inside = (one for one in absent if "/" in one.name)
            met = [one for one in inside if one.file in depends or _is_at(one.file, one.line, places)]
            met += [one for one in absent if one.along_path]
            return _of_absent(root, met)
        return None

    def _ends_so_anyway(self, module: str, end: ImportEnd) -> bool:
        """Whether an import ends in the same way with the modules of others that it asks for and without them.

        pycryptodome loads its modules with cffi or with ctypes.
        """
        if len(end.foreign) > MAX_ASKED or not all(one.imports for one in end.unclear if one.matters):
            return False
        for there in itertools.product((True, False), repeat=len(end.foreign)):
            other = self.with_modules(module, dict(zip(end.foreign, there, strict=True)))
            alike = (other.error, other.place, other.missed) == (end.error, end.place, end.missed)
            if not alike or any(one.matters for one in other.unclear):
                return False
        return True

    def _unseen(self, root: str, end: ImportEnd) -> CodeFault | None:
        """What a file asks for that its package does not have, where no import gets to it."""
        absent = [one for file in self._files if file.path == root and root not in end.ran for one in file.absent]
        return _of_absent(root, [one for one in absent if "/" in one.name])

    def calls(self, calls: Iterable[UnreadCall]) -> tuple[UnreadCall, ...]:
        """Calls that could not be read, with whether an import gets to them; one that was followed does without."""
        return tuple(
            replace(call, reached=call.at_import and call.file not in self.ran and self.runs(call.file))
            for call in calls
        )

    def runs(self, path: str) -> bool:
        """Whether importing the package that a Python file is in runs it.

        Users import the modules of a package by name that imports nothing of its own; not one that another module
        imports and does without: pyglet catches any failure of its module for tablets.
        """
        own = _module(path)
        top = self.of(own.partition(".")[0])
        if path in top.ran or not counts(path):
            return path in top.ran
        if any(not file.endswith("/__init__.py") for file in top.ran):
            return False
        return not self._is_done_without(path, {path})

    def _is_done_without(self, path: str, seen: set[str]) -> bool:
        """Whether some file of the package imports a file, and every one that does goes on without it."""
        users = [*itertools.islice((file for file in self._importers(path) if file not in seen), MAX_IMPORTERS)]
        seen.update(users)
        uncaught = [file for file in users if not self._imports_of(file, NOT_FOUND).get(_module(path))]
        uncaught = [file for file in uncaught if not self._goes_without(file, path)]
        if f"{SITE_PACKAGES}/{top_level(path)}/__init__.py" in uncaught:
            return False
        return bool(users) and all(self._is_done_without(file, seen) for file in uncaught)

    def _goes_without(self, file: str, path: str) -> bool:
        """Whether it is known that importing one file does not run another: watchdog has one for each system."""
        end = self.of(_module(file))
        return end.certain and not end.error and file in end.ran and path not in end.ran

    def _importers(self, path: str) -> Iterator[str]:
        """The Python files of the package that import a module, or have its name as a string, as lazy imports do."""
        module = _module(path)
        word = module.rpartition(".")[2]
        for file, source in python_code(self._view, (word.encode(),)):
            if file == path or not has_word(source, word):
                continue
            # A file that is too large to be read was generated; that it names the module is enough.
            if (
                len(source) > MAX_SOURCE
                or module in self._imports_of(file, NOT_LOADED)
                or named_in_strings(source, file, module, self._budget)
            ):
                yield file

    def _imports_of(self, file: str, kind: str) -> Mapping[str, bool]:
        """The modules that a file imports, with whether it catches an exception of a kind wherever it does."""
        if (file, kind) not in self._imports:
            source = python_source(self._view, file).decode("utf-8", "replace")
            self._imports[file, kind] = read_imports(source, file, self._budget, kind)
        return self._imports[file, kind]

    def in_order(self, outcomes: Iterable[LoadOutcome]) -> tuple[LoadOutcome, ...]:
        """Outcomes with the failed imports of extension modules in the order in which the package meets them."""
        found = list(outcomes)
        places = [at for at, one in enumerate(found) if _is_failed_import(one)]
        if len(places) < 2:
            return tuple(found)
        failed = [found[at] for at in places]
        tops = dict.fromkeys(one.event.module.partition(".")[0] for one in failed)
        ranks: dict[str, int] = {}
        for end in map(self.of, tops):
            blamed = [end.fault.target] if end.fault is not None else []
            for path in (*blamed, *end.refused):
                ranks.setdefault(path, len(ranks))
        failed.sort(key=lambda one: ranks.get(one.event.path, len(ranks)))
        package = failed[0].event.module.rpartition(".")[0]
        blame = self.of(package).fault if package else None  # a package between may import another one first
        if blame is not None:
            failed.sort(key=lambda one: one.event.path != blame.target)
        for at, one in zip(places, failed, strict=True):
            found[at] = one
        return tuple(found)


@once_for_each
def followed_imports(view: FileView, profile: Profile) -> FollowedImports:
    """The imports of the subject of a view, in processes that know nothing of other distributions; made once."""
    modelled = loading_of(view).startup is not None
    return FollowedImports(view, profile, PackageLoads() if modelled else package_loads(view, profile))


def _only_adds(file: FileLoads) -> bool:
    """Whether all that a file is known to do is to add folders, as the code of delvewheel does."""
    return not (file.events or file.may_fail)


def _is_failed_import(outcome: LoadOutcome) -> bool:
    return bool(outcome.code) and not outcome.event.guarded and outcome.event.cause in ("extension", "module")


def _tops(view: FileView, coded: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The top-level modules of the subject with code that loads DLLs by itself, each with its file."""
    for top in dict.fromkeys(path.removeprefix(f"{SITE_PACKAGES}/").partition("/")[0] for path in coded):
        name = top.removesuffix(".py")
        for path in (f"{SITE_PACKAGES}/{name}/__init__.py", f"{SITE_PACKAGES}/{name}.py"):
            if path in view and path in view.own:
                yield name, path
                break


def packages_above(path: str) -> list[str]:
    """Where the ``__init__.py`` of each package above a file would be, the outermost first."""
    folders = parent(path).removeprefix(SITE_PACKAGES).strip("/").split("/")
    return [posixpath.join(SITE_PACKAGES, *folders[:count], "__init__.py") for count in range(1, 1 + len(folders))]


def _module(path: str) -> str:
    """The dotted name of the module that a file is."""
    return module_name(path).removesuffix(".__init__")


def top_level(path: str) -> str:
    """The name that has to be imported first for a file of site-packages."""
    return path.removeprefix(f"{SITE_PACKAGES}/").partition("/")[0].partition(".")[0]


def _is_own(end: ImportEnd) -> bool:
    """Whether an import fails by the package itself, and not for a module of others or a program that is not there."""
    if end.fault is not None and end.fault.cause in ("module", "name", "entry"):
        return end.fault.cause == "name" and bool(end.missed)
    return end.fault is not None or bool(end.missed) or not end.asked


def _may_be_loaded_before(view: FileView, target: str) -> bool:
    """Whether code loads a DLL of CUDA or cuDNN by its bare name, which torch or others may have loaded before.

    Not in an environment in which nothing has such a file: NVIDIA's installers put their folders on PATH, where such
    a load does not look.
    """
    if "/" in target or family_of(target).group not in ("cuda", "cudnn"):
        return False
    beside = view.beside
    return beside is None or not beside.complete or bool(beside.absent) or bool(view.named(dll_key(target)))


def _is_at(file: str, line: int, places: list[tuple[str, int, int]]) -> bool:
    """Whether a line is in one of some statements."""
    return any(path == file and first <= line <= last for path, first, last in places)


def _of_absent(root: str, absent: Sequence[Absent]) -> CodeFault | None:
    """The fault of code that is known to ask for what is not there, if it gets that far."""
    names = distinct(one.name for one in absent)
    return CodeFault("load", root, absent[0].file, absent[0].line, names, NOT_FOUND, sure=False) if names else None


def _searched(end: ImportEnd) -> tuple[str, ...]:
    """The folders below site-packages that the code has put on the search, where an import ended."""
    folders = (*end.process.user_dirs, *end.process.path_dirs) if end.process is not None else ()
    return distinct(folder for folder in folders if folder.startswith(f"{SITE_PACKAGES}/"))


def _fault(view: FileView, root: str, end: ImportEnd) -> CodeFault | None:
    """The fault that an import meets; None for a file that is there and cannot be loaded in any process."""
    fault, (file, line) = end.fault, end.place
    if fault is not None and fault.cause == "extension":
        return None
    if fault is not None and fault.cause in ("load", "cffi", "folder", "listing"):
        failure = fault.failure
        chain = tuple(base_name(step) for step in failure.chain) if failure is not None else ()
        if failure is None or (failure.code == MOD_NOT_FOUND and len(chain) == 1):
            # Code that has looked for a file of the package before asks for another one in vain, as soundfile does.
            bundled = any("/" in name for name in end.missed)
            sure = bundled or (not fault.along_path and not _may_be_loaded_before(view, fault.target))
            return CodeFault(fault.cause, root, file, line, (fault.target,), end.error, sure=sure)
        if failure.code == MOD_NOT_FOUND and view.named(chain[-1].lower()):
            return CodeFault("order", root, file, line, (fault.target,), end.error, sure=True, chain=chain)
        return None
    if not end.missed:
        names = (fault.target,) if fault is not None else (root,)
        text = end.shown or "…"
        return CodeFault("end", root, file, line, names, end.error, sure=True, text=text)
    inside = any("/" in name or view.named(name.lower()) for name in end.missed)
    # A wheel without DLLs of its own, such as python-magic, leaves them to the user.
    bundles = any(path not in view.added for path in view.image_paths)
    known = any(family_of(name) or any(True for _ in owners_of(name)) for name in end.missed)
    sure = inside or (bundles and not known)
    # unicorn looks for runtimes of its compiler before it looks for unicorn.dll, and does without them.
    missed = tuple(sorted(end.missed, key=lambda name: not _is_named_after(name, root)))
    made = CodeFault("raise", root, file, line, missed, end.error, sure=sure)
    return replace(made, chain=end.chain, text=end.shown)


def _is_named_after(dll: str, path: str) -> bool:
    """Whether a DLL has the name of the package that a file is in, or the other way round."""
    stem, package = base_name(dll).lower().rpartition(".")[0].removeprefix("lib"), top_level(path).lower()
    return bool(stem) and (package in stem or stem in package)
