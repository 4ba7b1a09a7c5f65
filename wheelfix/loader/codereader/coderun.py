"""Follow a Python file as Python would on Windows, without running any of it.

Names get their values, imports and definitions are followed, and calls of the package's own functions are followed
with their arguments; what decides which statements run is in :mod:`wheelfix.loader.codereader.codeflow`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.loader.codereader import codesyntax
from wheelfix.loader.codereader.codeflow import NEXT, RETURN, ControlFlow
from wheelfix.loader.codereader.codestore import CERTAIN, LATER, Raised
from wheelfix.loader.codereader.codevalue import ANYTHING, Class, Function, Items, Scope, united
from wheelfix.pycode.budget import MAX_DEPTH

if TYPE_CHECKING:
    from wheelfix.loader.codereader.codevalue import Value

MAX_VAIN = 10_000
"""Steps for all calls of one function in which nothing concerns DLLs; TensorFlow calls such ones thousands of times."""


class CodeRun(ControlFlow):
    """Goes through the statements of a file, and through those of the functions that it calls."""

    def visit_Assign(self, node: ast.Assign) -> int:
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, value)
        return NEXT

    def visit_AnnAssign(self, node: ast.AnnAssign) -> int:
        if node.value is not None:
            self.assign(node.target, self.value(node.value))
        return NEXT

    def visit_AugAssign(self, node: ast.AugAssign) -> int:
        left, right = self.value(node.target), self.value(node.value)
        self.assign(node.target, self.binary(node.op, left, right))
        return NEXT

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
        function = self.defined[node] = Function(node, self.scope)
        value: Value = (function,)
        for decorator in reversed(node.decorator_list):
            if not self._is_of_this_file(decorator):  # TensorFlow has thousands of functions with those of others
                continue
            own = [atom for atom in self.value(decorator) if isinstance(atom, Function)]
            if len(own) == 1 and self.level != LATER:
                value = self.call_function(own[0], [value], {})
        known = any(isinstance(atom, Function) for atom in value) or self.called >= {node}
        self.bind(node.name, value if known else (function,))
        return NEXT

    visit_AsyncFunctionDef = visit_FunctionDef

    def _is_of_this_file(self, decorator: ast.expr) -> bool:
        name = decorator.func if isinstance(decorator, ast.Call) else decorator
        return any(isinstance(atom, Function) and atom.scope.path == self.scope.path for atom in self.value(name))

    def visit_ClassDef(self, node: ast.ClassDef) -> int:
        scope, outer = Scope(self.scope.path, self.scope), self.scope
        self.scope = scope
        try:
            self.run(node.body)
        finally:
            self.scope = outer
        bases = [atom for base in node.bases for atom in self.value(base) if isinstance(atom, Class)]
        made = Class(scope, fields=codesyntax.fields_of(node), bases=tuple(bases))
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef) and inner in self.defined:
                self.methods[inner] = made
        self.bind(node.name, (made,))
        return NEXT

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> int:
        self.scope.shared = self.scope.shared | frozenset(node.names)
        return NEXT

    visit_Nonlocal = visit_Global

    def visit_Import(self, node: ast.Import) -> int:
        for alias in node.names:
            found = self.imported(alias.name)
            if alias.asname:
                self.bind(alias.asname, found)
            else:
                self.bind(alias.name.partition(".")[0], self.imported(alias.name.partition(".")[0]))
        return NEXT

    def visit_ImportFrom(self, node: ast.ImportFrom) -> int:
        origin = self.origin_of(node)
        for alias in node.names:
            if alias.name != "*":
                self.bind(alias.asname or alias.name, self.imported_name(origin, alias.name))
            else:
                self.bind_all(origin)
        return NEXT

    # ----------------------------------------------------------------------------------------------- functions

    def call_function(self, function: Function, args: list[Value], keywords: dict[str, Value]) -> Value:
        """Follow the body of a function of the package with what it is given; return what it may return."""
        node = function.node
        if len(self.active) >= MAX_DEPTH or node in self.active or self.vain.get(node, 0) > MAX_VAIN:
            return ANYTHING
        before, steps = self.findings(), self.budget.steps
        scope, outer, returned = Scope(function.scope.path, function.scope), self.scope, self.returned
        yielded, self.yielded = self.yielded, []
        maybe, self.yielded_maybe = self.yielded_maybe, False
        self.called.add(node)
        self.active.append(node)
        self.scope, self.returned = scope, []
        try:
            self.bind_parameters(node, function, args, keywords)
            if isinstance(node, ast.Lambda):
                return self.value(node.body)
            flow = self.run(node.body)
            if flow & NEXT:
                self.returned.append((None,))
            values, items, unclear = self.returned, self.yielded, self.yielded_maybe
        finally:
            self.scope, self.returned, self.yielded = outer, returned, yielded
            self.yielded_maybe = maybe
            self.active.pop()
            if self.findings() == before:
                self.vain[node] = self.vain.get(node, 0) + steps - self.budget.steps
        if items:
            return (Items(tuple(items), complete=flow == NEXT and self.level == CERTAIN and not unclear),)
        if not flow & (NEXT | RETURN):
            raise Raised(self.raised)
        return united(values)

    def findings(self) -> int:
        """How much was found so far."""
        return len(self.loads) + len(self.folders) + len(self.unread) + len(self.ends)

    def look_into(self, function: Function) -> None:
        """Follow a function that nothing is known to call, with unknown arguments."""
        level, self.level = self.level, LATER
        owner = self.methods.get(function.node)
        given = Function(function.node, function.scope, (Class(owner.scope, owner),)) if owner else function
        self.store.push()
        try:
            self.call_function(given, [], {})
        except Raised:
            pass
        finally:
            self.store.pop()
            self.level = level
