"""Which files of a package Python runs before it loads an extension module, in order, read from import statements.

Nothing is run. What a statement imports is followed as far as it names files of the package; where code decides at run
time what to import, or changes where modules are found, the answer is marked as incomplete.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from wheelfix.loader.imports.fileimports import FileImports, ImportStatement, executed_imports
from wheelfix.loader.imports.importroute import Route, Step, StepTrace
from wheelfix.loader.imports.sitefiles import (
    imported_by_path_files,
    imported_by_start_files,
    roots_of_path_files,
)
from wheelfix.loader.view import SITE_PACKAGES, Layer, base_name, parent
from wheelfix.pycode.budget import CodeBudget, OutOfBudget, budget_of
from wheelfix.pycode.dynamicimports import decides_at_run_time
from wheelfix.pycode.exceptions import LOAD_ERRORS, NO_MODULE
from wheelfix.pycode.importcode import named_in_strings, read_imports
from wheelfix.pycode.pythonsource import counts, python_source

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Iterator

    from wheelfix.loader.view import FileView

MAX_FILES = 400
"""Python files that are followed for one package; beyond that the answer is incomplete."""
MAX_SOURCE = 3 << 20
"""Bytes of source that are parsed for one package; the imports of tensorflow take that much."""
MAX_FILE = 256 << 10
"""Python files above this size were generated, and are not followed."""
MAX_IMPORTERS = 20
"""Files that import one file, directly or through others, of which their importers are looked for."""
_LOADS = frozenset(LOAD_ERRORS)
_REGISTERS = re.compile(r"\b(?:__path__|meta_path|sys\.modules)\b")
"""Names in code that may give a package modules without files."""


class ImportOrder:
    """Follows the import statements of a view's own Python files."""

    def __init__(self, view: FileView, python: tuple[int, int] | None = None, work: CodeBudget | None = None) -> None:
        self.view = view
        self._work = work or budget_of(view)
        self._python = python
        self._budget = MAX_SOURCE
        self._parsed: dict[str, FileImports] = {}
        self._known: dict[str, tuple[tuple[ImportStatement, ...], bool]] = view.notes.setdefault("imports", {})
        self._traces: dict[tuple[str, ...], StepTrace] = {}
        self._roots = [SITE_PACKAGES, *roots_of_path_files(view)]
        self._modules = self._name_modules()
        self._registering: set[str] = set()
        self._tops = {name.partition(".")[0] for name in self._modules}
        self._folders = _names_above(self._modules)

    def _name_modules(self) -> dict[str, str]:
        """Dotted name → file, for every module of the package, under each folder that is on ``sys.path``."""
        found: dict[str, str] = {}
        packages: dict[str, list[str]] = {}
        for file in self.view.own_files:
            path = file.path
            if not path.endswith((".py", ".pyd")):
                continue
            folder, _, name = path.rpartition("/")
            if folder not in packages:
                packages[folder] = self._packages_of(folder)
            name = name.partition(".")[0]
            for package in packages[folder]:
                dotted = package if name == "__init__" else f"{package}.{name}" if package else name
                # Of an extension module and a Python file of one name, Python takes the extension module.
                if dotted and (dotted not in found or path.endswith(".pyd")):
                    found[dotted] = path
        return found

    def _packages_of(self, folder: str) -> list[str]:
        """The dotted names of a folder as a package; empty where it is on ``sys.path`` itself."""
        inside = [f"{folder}/"[len(root) + 1 : -1] for root in self._roots if f"{folder}/".startswith(root + "/")]
        return [path.replace("/", ".") for path in inside]

    # ------------------------------------------------------------------------------------------------ the routes

    def to(self, target: str) -> Route:
        """What runs when ``target`` is imported by its own name in a fresh process: the packages above it."""
        return self._follow(self._parents_of(target), target)

    def through(self, importer: str, target: str, *, deep: bool = True) -> Route:
        """What runs when the Python file ``importer`` is imported, up to the load of ``target``.

        Without ``deep`` only what that file itself imports is looked at, and the route is incomplete.
        """
        start = [*self._parents_of(importer), importer]
        if deep:
            return self._follow(start, target)
        steps = [*(Step(path, True) for path in start), *self._steps(self._code(importer), True)]
        paths = [step.path for step in steps]
        return Route(tuple(steps[: paths.index(target)] if target in paths else steps), complete=False)

    def runs(self, path: str) -> bool:
        """Whether importing the package that a Python file is in runs it for certain, and catches no failed load."""
        tops = [f"{SITE_PACKAGES}/{name}" for name in (base_name(path), f"{self._top_of(path)}/__init__.py")]
        if path in tops:
            return True
        if tops[1] not in self.view:
            return False
        if next(self._steps(self._code(tops[1]), True), None) is None:
            # A package that imports nothing of its own is there for its modules, which users import by name.
            return counts(path) and self._is_imported_by_name(path)
        trace = self._traces.setdefault((tops[1],), StepTrace(self._walk([tops[1]])))
        return any(step.path == path and step.certain and not step.caught >= _LOADS for step, _ in trace)

    def _is_imported_by_name(self, path: str) -> bool:
        """Whether users import a Python file by its name, or one that imports it and does not catch a failed load.

        pyglet has a module for tablets, which it imports where any failure of it is caught.
        """
        seen, pending = {path}, [path]
        for asked in pending:  # grows while it is walked
            found = list(self._importers_of(asked))
            uncaught = {file for file, statement in found if not statement.caught >= _LOADS} - seen
            if not found or len(seen) + len(uncaught) > MAX_IMPORTERS:
                return True
            seen |= uncaught
            pending += sorted(uncaught)
        return False

    def _importers_of(self, path: str) -> Iterator[tuple[str, ImportStatement]]:
        """The files of the package that import a Python file when they are imported, with the statements."""
        names = {name for name, file in self._modules.items() if file == path}
        words = {name.rpartition(".")[2].encode() for name in names}
        for file in self.view.own_files:
            if file.path == path or not file.path.endswith(".py") or not counts(file.path):
                continue
            source = python_source(self.view, file.path)
            for statement in self._code(file.path).statements if any(word in source for word in words) else ():
                if names.intersection(statement.names):
                    yield file.path, statement

    def may_run(self, path: str) -> bool:
        """Whether importing the package that a Python file is in runs it, or may do so; True if that is not known."""
        init = f"{SITE_PACKAGES}/{self._top_of(path)}/__init__.py"
        if path == init or init not in self.view:
            return True
        if next(self._steps(self._code(init), True), None) is None:
            return counts(path)  # users import the modules of such a package by name
        trace = self._traces.setdefault((init,), StepTrace(self._walk([init])))
        if any(step.path == path for step, _ in trace):
            return True
        return self._budget < 0 or len(self._parsed) >= MAX_FILES

    @staticmethod
    def _top_of(path: str) -> str:
        return path.removeprefix(SITE_PACKAGES + "/").partition("/")[0]

    def at_start(self) -> tuple[str, ...]:
        """The Python files that ``.pth`` and ``.start`` files import whenever Python starts."""
        names = [*imported_by_path_files(self.view, self._python), *imported_by_start_files(self.view, self._python)]
        return tuple(self._modules[name] for name in names if name in self._modules)

    def file_of(self, module: str) -> str | None:
        """The file of a module of the package, by its dotted name."""
        return self._modules.get(module)

    def steps(self, path: str) -> Iterator[tuple[Step, bool]]:
        """Each file that runs or is loaded when a file is imported by its own name, in order: the packages above it
        first, then the file, each followed by what it imports. With each comes whether its code could be followed."""
        start = dict.fromkeys([*self._parents_of(path), path])
        return iter(self._traces.setdefault(tuple(start), StepTrace(self._walk(list(start)))))

    def importers(
        self, targets: Iterable[str], sources: Iterable[tuple[str, str]]
    ) -> Iterator[tuple[str, frozenset[str]]]:
        """Those of some Python files that import one of some extension modules, with the modules that each imports.

        A file that has a module's name as a string imports it too: sage's ``lazy_import`` takes names.
        """
        wanted = set(targets)
        names = {name: path for name, path in self._modules.items() if path in wanted}
        for path, source in sources:
            if len(source) <= MAX_FILE and self._budget > 0:
                self._budget -= len(source)
                imports = read_imports(source, path, self._work).keys() & names.keys()
                imports |= named_in_strings(source, path, names.keys() - imports, self._work)
                found = frozenset(names[name] for name in imports)
                if found:
                    yield path, found

    def is_followed(self, path: str) -> bool:
        """Whether the imports of a Python file are all that its statements name."""
        return not path.endswith(".py") or self._code(path).complete

    def imported_by(self, path: str) -> list[str]:
        """The files of the package that running a Python file imports for certain, directly."""
        return [step.path for step in self._steps(self._code(path), True) if step.certain]

    @property
    def tops(self) -> tuple[str, ...]:
        """The files of the top-level modules, sorted by name."""
        return tuple(self._modules[name] for name in sorted(self._modules) if "." not in name)

    def imported_from_others(self, start: Iterable[str], *, caught: bool = False) -> tuple[str, ...]:
        """The top-level modules that are not in the package and that running some files, and what they import, imports.

        Only statements that are carried out for certain count, and without ``caught`` only those whose failure nothing
        catches; what the modules of others import in turn does not.
        """
        found: dict[str, None] = {}
        files = dict.fromkeys(path for path in start if path in self.view)
        for step, _ in self._walk([*files]):
            if not step.certain or (step.guarded and not caught) or not step.path.endswith(".py"):
                continue
            if step.path in files or self.view.layer(step.path) is not Layer.ENVIRONMENT:
                for statement in self._code(step.path).statements:
                    top = statement.names[0].partition(".")[0]
                    uncaught = caught or NO_MODULE not in statement.caught
                    if statement.certain and uncaught and top and top not in self._tops:
                        found[top] = None
        return tuple(found)

    def absent_modules(self, start: Iterable[str], present: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
        """The top-level modules of others that are imported for certain and unguarded, but of which there is no file.

        Each comes with the file that imports it.
        """
        for step, _ in self._walk([path for path in start if path in self.view]):
            run = step.certain and not step.guarded and step.path.endswith(".py")
            if run and self.view.layer(step.path) is not Layer.ENVIRONMENT:
                for statement in self._code(step.path).statements:
                    top = statement.names[0].partition(".")[0]
                    certain = statement.certain and NO_MODULE not in statement.caught
                    if certain and top and top not in self._tops and not present(top):
                        yield top, step.path

    def _parents_of(self, path: str) -> list[str]:
        return [init for init in packages_above(path) if init in self.view]

    def _follow(self, start: list[str], target: str) -> Route:
        """Follow some files one after the other, each with what it imports, until the target is met."""
        trace = self._traces.setdefault(tuple(start), StepTrace(self._walk(start)))
        steps: list[Step] = []
        whole = True
        for step, complete in trace:
            whole = whole and complete
            if step.path == target:
                break
            steps.append(step)
        return Route(tuple(steps), whole)

    def _walk(self, start: list[str]) -> Iterator[tuple[Step, bool]]:
        """Each file that is run or loaded, when it is first met, and whether its code can be followed."""
        seen: set[str] = set()
        pending: list[Iterator[Step]] = [iter([Step(path, True) for path in start])]
        while pending:
            step = next(pending[-1], None)
            if step is None:
                pending.pop()
            elif step.path not in seen:
                seen.add(step.path)
                own = step.path.endswith(".py") and self.view.layer(step.path) is not Layer.ENVIRONMENT
                code = self._code(step.path) if own else FileImports()
                yield step, code.complete
                pending.append(self._steps(code, step.certain, step.caught))

    def _steps(self, code: FileImports, certain: bool, caught: frozenset[str] = frozenset()) -> Iterator[Step]:
        """The files that the statements of a file import, in their order."""
        for statement in code.statements:
            if code.literal and self._is_absent(statement.names[0]):
                name = statement.names[0]
                yield Step(f"{name}:absent", certain and statement.certain, caught | statement.caught, name)
            for name in statement.names:
                parts = name.split(".")
                for count in range(1, len(parts) + 1):
                    path = self._file_of(".".join(parts[:count]))
                    if path is not None:
                        yield Step(path, certain and statement.certain, caught | statement.caught)

    def _file_of(self, module: str) -> str | None:
        """The file of a module of the package, or of a distribution that is installed with it."""
        found = self._modules.get(module)
        if found is None and self.view.beside is not None:
            found = self.view.beside.file_of_module(module)
        return found

    # ---------------------------------------------------------------------------------------------- one file

    def _code(self, path: str) -> FileImports:
        if path not in self._parsed:
            size = self.view.file(path).size
            self._budget -= min(size, MAX_FILE)
            if self._budget < 0 or size > MAX_FILE or len(self._parsed) >= MAX_FILES:
                return FileImports(complete=False)
            if path not in self._known and not self._read(path):
                self._parsed[path] = FileImports(complete=False)
            else:
                statements, fixed = self._known[path]
                whole = fixed and not any(map(self._is_unknown, statements))
                self._parsed[path] = FileImports(statements, whole, fixed)
        return self._parsed[path]

    def _read(self, path: str) -> bool:
        """Read the imports of a file, and whether they are all that it can import; False if it cannot be read.

        They do not depend on the subject, so that all views of the same files share them.
        """
        source, budget = python_source(self.view, path).decode("utf-8", "replace"), self._work
        tree = budget.parse(source, path)
        if tree is None:
            return False
        package = posixpath.dirname(path.removeprefix(SITE_PACKAGES + "/")).replace("/", ".")
        try:
            statements = tuple(executed_imports(tree, package, budget, self._holds))
            literal = not decides_at_run_time(source, tree, budget)
        except (OutOfBudget, RecursionError):
            return False
        self._known[path] = statements, literal
        return True

    def _is_unknown(self, statement: ImportStatement) -> bool:
        """Whether an import names a module of this package of which there is no file."""
        first = statement.names[0]
        return first.partition(".")[0] in self._tops and first not in self._modules and not self._is_folder(first)

    def _is_absent(self, name: str) -> bool:
        """Whether a module of a regular package of the view does not exist, and nothing can stand for it."""
        package = name.rpartition(".")[0]
        init = self._modules.get(package, "")
        if not init.endswith("/__init__.py") or name in self._modules or self._is_folder(name):
            return False
        if self._file_of(name) is not None or package in self._registering:
            return False
        source = self.view.source(init).read_at(0, MAX_FILE).decode("utf-8", "replace")
        if _REGISTERS.search(source):
            self._registering.add(package)
        return package not in self._registering

    def _holds(self, test: ast.expr) -> bool | None:
        """Whether a condition is true; None if that depends on more than the system and the version."""
        from wheelfix.pycode.conditions import holds

        return holds(self.view, self._python, test, self._work)

    def _is_folder(self, name: str) -> bool:
        """Whether a name stands for a folder without ``__init__.py``, which is a package too."""
        return name in self._folders


def _names_above(modules: Iterable[str]) -> set[str]:
    """Every name under which there is a module: ``a`` and ``a.b`` for ``a.b.c``."""
    found: set[str] = set()
    for name in modules:
        above = name.rpartition(".")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition(".")[0]
    return found


def packages_above(path: str) -> list[str]:
    """Where the ``__init__.py`` of each package above a file would be, the outermost first."""
    folders = parent(path).removeprefix(SITE_PACKAGES).strip("/").split("/")
    return [posixpath.join(SITE_PACKAGES, *folders[:count], "__init__.py") for count in range(1, 1 + len(folders))]
