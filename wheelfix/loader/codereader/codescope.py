"""The names of Python code that is followed: assignments, parameters, and the modules that it imports."""

from __future__ import annotations

import ast
import contextlib
import posixpath
from typing import TYPE_CHECKING

from wheelfix.loader.codereader import codesyntax
from wheelfix.loader.codereader.codestore import CERTAIN, LATER, CodeState, Raised
from wheelfix.loader.codereader.codevalue import (
    ANYTHING,
    ROOT,
    UNKNOWN,
    Class,
    DictValue,
    Extern,
    Function,
    Items,
    Module,
    Scope,
    united,
)
from wheelfix.loader.codereader.importcode import imported_from
from wheelfix.pycode.exceptions import NO_MODULE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.loader.codereader.codevalue import FunctionNode, Value
    from wheelfix.loader.codereader.nofiles import NoFiles
    from wheelfix.pycode.budget import CodeBudget

MAX_MODULES = 12
"""Other files of the package that are followed because one file imports them."""


class _Reached(Exception):
    """Raised where a file that runs before the current one imports it."""


class Names(CodeState):
    """The names of a file that is followed: what they are bound to, and what imports bind."""

    def __init__(self, path: str, budget: CodeBudget, files: NoFiles | None = None) -> None:
        super().__init__(path, budget, files)
        self._set_module_names(self.scope)

    def _set_module_names(self, scope: Scope) -> None:
        inside = scope.path.removeprefix("Lib/site-packages/")
        name = inside.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        folder = posixpath.dirname(scope.path)
        is_package = scope.path.endswith("/__init__.py")
        self.store.set(scope, "__file__", (f"{ROOT}/{scope.path}",))
        self.store.set(scope, "__name__", (name,))
        self.store.set(scope, "__package__", (name if is_package else name.rpartition(".")[0],))
        self.store.set(scope, "__path__", (Items(((f"{ROOT}/{folder}",),)),))
        self.store.set(scope, "__debug__", (True,))

    # ------------------------------------------------------------------------------------------------ names

    def bind(self, name: str, value: Value) -> None:
        """Let a name of the current scope stand for something."""
        scope = self.scope
        if name in scope.shared:
            scope = scope.above or scope
            while scope.above is not None and self.store.get(scope, name) is None:
                scope = scope.above
        self.store.set(scope, name, value)

    def look_up(self, name: str) -> Value:
        """What a name stands for; one that was never assigned is taken for something of Python's own."""
        scope: Scope | None = self.scope
        while scope is not None:
            found = self.store.get(scope, name)
            if found is not None:
                return found
            scope = scope.above
        return (Extern(name),)

    def assign(self, target: ast.expr, value: Value) -> None:
        """Give a value to whatever stands on the left of ``=``."""
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Attribute):
            for atom in self.value(target.value):
                if isinstance(atom, Class):
                    self.store.set(atom.scope, target.attr, value)
        elif isinstance(target, ast.Subscript):
            self._set_item(target, value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, ANYTHING)

    def _unpack(self, targets: list[ast.expr], value: Value) -> None:
        lists = [atom for atom in value if isinstance(atom, Items) and len(atom.items) == len(targets)]
        whole = len(lists) == len(value) and all(one.complete for one in lists)
        for at, target in enumerate(targets):
            parts = [one.items[at] for one in lists]
            self.assign(target, united(parts if whole else [*parts, ANYTHING]))

    def _set_item(self, target: ast.Subscript, value: Value) -> None:
        owners, keys = self.value(target.value), self.value(target.slice)
        if any(isinstance(atom, Extern) and atom.last == "environ" for atom in owners):
            for key in keys:
                if isinstance(key, str):
                    self.store.set(self.variables, key.upper(), value)
            return
        tables = [atom for atom in owners if isinstance(atom, DictValue)]
        if len(owners) == 1 and tables and len(keys) == 1 and isinstance(keys[0], str | int):
            self.budget.step(len(tables[0].entries))
            changed = DictValue({**tables[0].entries, keys[0]: value}, tables[0].complete)
            self.assign(target.value, (changed,))
        elif tables:
            self.assign(target.value, (DictValue(tables[0].entries, complete=False),))

    def bind_parameters(
        self, node: FunctionNode, function: Function, args: list[Value], keywords: dict[str, Value]
    ) -> None:
        """Give the parameters of a function what it is called with."""
        wanted = [*node.args.posonlyargs, *node.args.args]
        given = [*([function.owner] if function.owner is not None else []), *args]
        known = self.level != LATER
        defaults = [None] * (len(wanted) - len(node.args.defaults)) + [*node.args.defaults]
        for at, parameter in enumerate(wanted):
            default = defaults[at]
            if at < len(given):
                value = given[at]
            elif parameter.arg in keywords:
                value = keywords[parameter.arg]
            elif default is not None:
                value = self.value(default) if known else (*self.value(default), UNKNOWN)
            else:
                value = ANYTHING
            self.store.set(self.scope, parameter.arg, value)
        for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            otherwise = self.value(default) if default is not None else ANYTHING
            self.store.set(self.scope, parameter.arg, keywords.get(parameter.arg, otherwise))
        if node.args.vararg:
            self.store.set(self.scope, node.args.vararg.arg, (Items(tuple(given[len(wanted) :]), known),))
        if node.args.kwarg:
            self.store.set(self.scope, node.args.kwarg.arg, ANYTHING)

    # ------------------------------------------------------------------------------------------------ modules

    def origin_of(self, node: ast.ImportFrom) -> str:
        """The dotted name of the module that names are imported from."""
        package = posixpath.dirname(self.scope.path.removeprefix("Lib/site-packages/")).replace("/", ".")
        return imported_from(node, package)[0]

    def is_foreign(self, name: str) -> bool:
        """Whether a module is neither the package's own nor the standard library's."""
        return not codesyntax.is_standard(name) and self.files.module(name) is None

    def imported(self, name: str) -> Value:
        """What ``import name`` gives."""
        path = self.files.module(name)
        if path:
            self._run_import(path)
            return (Module(name, path),)
        if path == "" and any(codesyntax.catches_imports(node) for node in self.tries):
            raise Raised(NO_MODULE)
        if path is None and not codesyntax.is_standard(name):
            self.foreign = True
        return (Extern(name),)

    def imported_name(self, origin: str, name: str) -> Value:
        """What ``from origin import name`` gives."""
        inner = self.files.module(f"{origin}.{name}")
        if inner:
            self._run_import(inner)
            return (Module(f"{origin}.{name}", inner),)
        found = self.imported(origin)
        return united(
            self._of_module(atom, name) if isinstance(atom, Module) else (Extern(f"{origin}.{name}"),) for atom in found
        )

    def _run_import(self, path: str) -> None:
        """Remember that a module of the package is imported: its code may add folders and load DLLs."""
        self.imported_files[path] = None
        process = self.process
        if process is not None and process.catching_up and path == next(iter(self.modules)):
            raise _Reached
        if process is not None and process.settled and self.level != LATER and path not in self.modules:
            process.imported.append((path, self.level == CERTAIN))

    def catch_up(self) -> None:
        """Follow what other files of the package have done to the process by now; where that is unclear, note so."""
        process = self.process
        if process is None or not process.settled:
            return
        if not process.begun:
            process.begun = True
            before = self.files.run_before(next(iter(self.modules)))
            process.catching_up = True
            with contextlib.suppress(_Reached):  # what the importing file does later has not happened yet
                process.settled = before is not None and self._all_run(before)
            process.catching_up = False
        pending, process.imported = process.imported, []
        for path, certain in pending:
            if process.settled:
                files, complete = self.files.loading_in(path)
                others = [file for file in files if file not in self.modules]
                process.settled = complete and (certain or not others) and self._all_run(others)

    def _all_run(self, files: Iterable[str]) -> bool:
        """Follow files of the package for what they do to the process; whether that was possible for all of them."""
        return all(self._scope_of(Module("", file)) is not None for file in files)

    def bind_all(self, origin: str) -> None:
        """``from origin import *``, for a module of the package."""
        for atom in self.imported(origin):
            scope = self._scope_of(atom) if isinstance(atom, Module) else None
            for name, value in (self.store.names_of(scope) if scope is not None else {}).items():
                self.budget.step()
                if not name.startswith("_"):
                    self.bind(name, value)

    def _of_module(self, module: Module, name: str) -> Value:
        if name == "__file__":
            return (f"{ROOT}/{module.path}",)
        if name == "__path__":
            folder = posixpath.dirname(module.path) if "." in posixpath.basename(module.path) else module.path
            return (Items(((f"{ROOT}/{folder}",),)),)
        if name in ("__name__", "__package__"):
            return (module.name,)
        inner = self.files.module(f"{module.name}.{name}")
        if inner:
            return (Module(f"{module.name}.{name}", inner),)
        scope = self._scope_of(module)
        found = self.store.get(scope, name) if scope is not None else None
        return found if found is not None else ANYTHING

    def _scope_of(self, module: Module) -> Scope | None:
        """The names of another file of the package, which is followed for them once, quietly."""
        if module.path in self.modules:
            return self.modules[module.path]
        source = self.files.source(module.path) if len(self.modules) <= MAX_MODULES else None
        tree = self.budget.parse_more(source, module.path) if source is not None else None
        if tree is None:
            return None
        outer, self.scope = self.scope, Scope(module.path)
        self.modules[module.path] = self.scope
        self._set_module_names(self.scope)
        state = self.level, self.tries, self.active, self.guards
        self.level, self.tries, self.active, self.guards = CERTAIN, [], [], 0
        self.muted += 1
        try:
            self.run(tree.body)
        finally:
            self.muted -= 1
            self.level, self.tries, self.active, self.guards = state
            self.scope = outer
        return self.modules[module.path]
