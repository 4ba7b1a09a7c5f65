"""Whether a statement could concern DLLs: only one that cannot may be left out where a condition is not known."""

from __future__ import annotations

import abc
import ast

from wheelfix.loader.interpreter.assignments import Assignments
from wheelfix.loader.interpreter.objects import CodeClass, CodeFunction, CodeModule, Instance, MarkedFunction

_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Raise)
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
"""A ``return`` in a function that is only defined here does not leave the code around it."""
_CHANGING = frozenset(
    "add_dll_directory CDLL WinDLL OleDLL PyDLL LoadLibrary LoadLibraryExW LoadLibraryW dlopen cdll windll load_library"
    " chdir environ putenv import_module __import__ exec".split()
)
"""Names of what changes the search for DLLs, or loads something."""
DEEPEST = 3
"""How many calls deep the code of functions is searched for what concerns DLLs."""


def statements_of(node: ast.AST) -> list[ast.stmt]:
    """The statements of a function; a lambda has none."""
    body = getattr(node, "body", [])
    return body if isinstance(body, list) else []


class Concerns(Assignments):
    """Looks for loads, changed folders and ways out in code that is not carried out."""

    def concerns(self, node: ast.AST, depth: int = DEEPEST) -> bool:
        """Whether a statement may change what is loaded, or where the code goes on."""
        leaving = _LEAVING if depth == DEEPEST else ast.Raise
        defined = {id(inner) for outer in ast.walk(node) if isinstance(outer, _DEFINING) for inner in ast.walk(outer)}
        for inner in ast.walk(node):
            self.step()
            if isinstance(inner, leaving) and id(inner) not in defined:
                return True
            name = inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")
            if name in _CHANGING:
                return True
            if isinstance(inner, ast.ImportFrom | ast.Import) and self.imports_own(inner):
                return True
            if isinstance(inner, ast.Call) and self._calls_own(inner.func, depth):
                return True
        return False

    @abc.abstractmethod
    def imports_own(self, node: ast.Import | ast.ImportFrom) -> bool:
        """Whether a statement imports a module of the package that has not been imported."""

    def _calls_own(self, function: ast.expr, depth: int) -> bool:
        """Whether a call leads to code of the package in which something concerns DLLs."""
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            owner = self.environment.globals.get(function.value.id)
            return isinstance(owner, CodeClass | Instance) or (isinstance(owner, CodeModule) and not owner.is_compiled)
        if not isinstance(function, ast.Name):
            return False
        found = self.environment.names.get(function.id, self.environment.globals.get(function.id))
        found = found.function if isinstance(found, MarkedFunction) else found
        if isinstance(found, CodeFunction):
            return depth == 0 or any(self.concerns(one, depth - 1) for one in statements_of(found.node))
        if isinstance(found, CodeClass):
            starter = found.names.get("__init__")
            body = statements_of(starter.node) if isinstance(starter, CodeFunction) else []
            return depth == 0 or any(self.concerns(one, depth - 1) for one in body)
        return isinstance(found, Instance)
