"""Whether importing a Python file may import what no statement of it names, or change where modules come from."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from wheelfix.pycode.importcode import statements_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.pycode.budget import CodeBudget

_WORDS = re.compile(r"__path__|meta_path|sys\.path\b|\b(?:exec|import_module|__import__|run_module|load_module)\s*\(")
"""Such code contains one of these; most files contain none."""
_NAMES = frozenset({"__path__", "meta_path"})
_CALLS = frozenset({"exec", "import_module", "__import__", "run_module", "load_module"})
_LATER = frozenset({"__getattr__", "__dir__"})
"""Functions of a module that Python calls when one of its names is asked for, and not when it is imported."""


def decides_at_run_time(source: str, tree: ast.Module, budget: CodeBudget) -> bool:
    """Whether importing a file may run code that imports by computed names, or changes where modules come from."""
    if not _WORDS.search(source):
        return False
    functions = {node.name: node for node in statements_in(tree) if isinstance(node, _FUNCTIONS | ast.ClassDef)}
    # Functions of a module count: others may call them while they are imported. Methods count if they are mentioned.
    callable_ = [node for node in tree.body if isinstance(node, _FUNCTIONS) and node.name not in _LATER]
    pending: list[ast.AST] = [node for node in tree.body if not isinstance(node, _FUNCTIONS)]
    pending += [statement for function in callable_ for statement in function.body]
    seen: set[str] = set(_LATER)
    while pending:
        for node in _parts(pending.pop(), budget):
            if _is_dynamic(node):
                return True
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
            if name in functions and name not in seen:
                seen.add(name)
                pending += functions[name].body
    return False


_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def _parts(node: ast.AST, budget: CodeBudget) -> Iterator[ast.AST]:
    """A node and everything in it, without the bodies of functions that are defined there."""
    pending = [node]
    while pending:
        one = pending.pop()
        budget.step()
        yield one
        if isinstance(one, _FUNCTIONS):
            pending += [*one.decorator_list, *one.args.defaults]
        else:
            pending += ast.iter_child_nodes(one)


def _is_dynamic(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        function = node.func
        called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return called in _CALLS
    if isinstance(node, ast.Attribute):
        return node.attr in _NAMES or (node.attr == "path" and getattr(node.value, "id", "") == "sys")
    return isinstance(node, ast.Name) and node.id in _NAMES
