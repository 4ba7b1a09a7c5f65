"""Compute what an expression of Python source gives, without running it, as far as paths on Windows go.

Literals, ``__file__``, ``os.path``, ``pathlib``, ``importlib.resources`` and the names that were given to them; what is
made of anything else cannot be told and is None.
"""

from __future__ import annotations

import ast
import functools
import posixpath
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.loader.codebudget import MAX_ITEMS, MAX_TEXT, CodeBudget

if TYPE_CHECKING:
    from collections.abc import Iterator

Value: TypeAlias = "str | list[str] | None"

SITE_PACKAGES = "Lib/site-packages"
_PACKAGE_FOLDERS = frozenset({"files", "resource_filename"})
"""``importlib.resources`` and ``pkg_resources``: the folder of a package by its name."""
_SAME = frozenset(
    {"abspath", "realpath", "normpath", "normcase", "fspath", "fsdecode", "expanduser", "str"}
    | {"Path", "PurePath", "WindowsPath", "resolve", "absolute", "as_posix"}
)
_ON_WINDOWS = {
    ("os", "name"): "nt",
    ("os", "pardir"): "..",
    ("os", "curdir"): ".",
    ("os", "sep"): "/",
    ("path", "pardir"): "..",
    ("path", "sep"): "/",
    ("sys", "platform"): "win32",
    ("sys", "prefix"): ".",
    ("sys", "exec_prefix"): ".",
}
_SCHEMES = {"platlib": SITE_PACKAGES, "purelib": SITE_PACKAGES, "data": ".", "scripts": "Scripts"}


class Values:
    """The names of one Python file and what they stand for."""

    def __init__(self, path: str, tree: ast.Module, budget: CodeBudget | None = None) -> None:
        self.budget = budget or CodeBudget()
        self.names: dict[str, Value] = {"__file__": path, "__path__": [posixpath.dirname(path)]}
        self.tree = tree
        self.aliases: dict[str, str] = {}
        """Other names for functions that give a package's folder."""

    @functools.cached_property
    def functions(self) -> dict[str, ast.expr]:
        """What the file's own functions return, for those that have one return statement."""
        found = {}
        for inner in self._nodes(self.tree):
            if isinstance(inner, ast.FunctionDef):
                returned = [part.value for part in self._nodes(inner) if isinstance(part, ast.Return) and part.value]
                if len(returned) == 1:
                    found[inner.name] = returned[0]
        return found

    def _nodes(self, tree: ast.AST) -> Iterator[ast.AST]:
        """Everything in a tree; functions within functions are passed once for each, so it is counted."""
        for node in ast.walk(tree):
            self.budget.step()
            yield node

    def learn_alias(self, alias: ast.alias) -> None:
        """Note ``from importlib.resources import files as where``."""
        if alias.asname and alias.name in _PACKAGE_FOLDERS:
            self.aliases[alias.asname] = alias.name

    def assign(self, name: str, node: ast.expr) -> None:
        """Give a name to what an expression gives; the None of another branch does not undo a value."""
        if not (isinstance(node, ast.Constant) and node.value is None and name in self.names):
            self.names[name] = self.value(node)

    def extend(self, name: str, node: ast.expr) -> None:
        """Add what an expression gives to a list that has a name."""
        known = self.names.get(name)
        if isinstance(known, list):
            self.names[name] = self._bounded([*known, *as_list(self.value(node))])

    def value(self, node: ast.expr) -> Value:
        """The string or strings an expression gives, as far as that can be told."""
        self.budget.step()
        return self._bounded(self._value(node))

    def _bounded(self, value: Value) -> Value:
        """The value, paid for; None for what is too long to be a path or a list of some."""
        if isinstance(value, str):
            self.budget.text(len(value))
            return value if len(value) <= MAX_TEXT else None
        if isinstance(value, list):
            self.budget.step(len(value))
            return value if len(value) <= MAX_ITEMS else None
        return None

    def _value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self.names.get(node.id)
        if isinstance(node, ast.NamedExpr):
            return self.value(node.value)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.JoinedStr):
            return self._formatted(node)
        if isinstance(node, ast.IfExp):
            return self._either(node)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [item for element in node.elts for item in as_list(self.value(element))]
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        return None

    def truth(self, node: ast.expr) -> bool | None:
        """Whether a condition holds on Windows, as far as that can be told."""
        self.budget.step()
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.truth(node.operand)
            return None if inner is None else not inner
        if isinstance(node, ast.BoolOp):
            decisive = isinstance(node.op, ast.Or)
            parts = [self.truth(part) for part in node.values]
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compared(node)
        if isinstance(node, ast.Call) and called(node) == "startswith" and isinstance(node.func, ast.Attribute):
            text, start = self.value(node.func.value), self.value(node.args[0]) if node.args else None
            return text.startswith(start) if isinstance(text, str) and isinstance(start, str) else None
        return None

    def _compared(self, node: ast.Compare) -> bool | None:
        left, right, operator = self.value(node.left), self.value(node.comparators[0]), node.ops[0]
        if not isinstance(left, str) or right is None:
            return None
        self.budget.step(len(right) if isinstance(right, list) else 1)
        same = left == right if isinstance(right, str) else left in right
        if isinstance(operator, ast.Eq) or (isinstance(operator, ast.In) and isinstance(right, list)):
            return same
        if isinstance(operator, ast.NotEq) or (isinstance(operator, ast.NotIn) and isinstance(right, list)):
            return not same
        return None

    def _either(self, node: ast.IfExp) -> Value:
        holds = self.truth(node.test)
        if holds is None:
            return self.value(node.body) or self.value(node.orelse)
        return self.value(node.body if holds else node.orelse)

    def _attribute(self, node: ast.Attribute) -> Value:
        owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
        if (owner, node.attr) in _ON_WINDOWS:
            return _ON_WINDOWS[owner, node.attr]
        if node.attr == "__path__" and isinstance(node.value, ast.Name):
            return [f"{SITE_PACKAGES}/{node.value.id}"]
        if node.attr == "parent":
            inner = self.value(node.value)
            return posixpath.dirname(inner) if isinstance(inner, str) else None
        return None

    def _call(self, node: ast.Call) -> Value:
        name = self.aliases.get(called(node), called(node))
        args = [self.value(arg) for arg in node.args]
        first = args[0] if args else None
        if name in _PACKAGE_FOLDERS and isinstance(first, str):
            return join([f"{SITE_PACKAGES}/{first.replace('.', '/')}", *args[1:]])
        if isinstance(node.func, ast.Name) and name in self.functions:
            return self._returned(name)
        if name == "system" and not args:
            return "Windows"
        if name == "get_path" and isinstance(first, str):
            return _SCHEMES.get(first)
        if name == "dirname" and isinstance(first, str):
            return posixpath.dirname(first.replace("\\", "/"))
        if name in _SAME and args:
            return join(args) if "Path" in name else first
        if isinstance(node.func, ast.Attribute):
            return self._method(name, node.func.value, args)
        return join(args) if name == "join" else None

    def _method(self, name: str, owner: ast.expr, args: list[Value]) -> Value:
        """A call of something with a dot before it: a method of a path, or a function of a module."""
        if name == "join":
            return None if isinstance(owner, ast.Constant) else join(args)  # ";".join(…) is no path
        if name in ("glob", "iglob", "rglob") and isinstance(owner, ast.Name) and owner.id == "glob":
            return args[0] if args else None
        if name in ("joinpath", "glob", "iglob", "rglob"):
            return join([self.value(owner), *args])
        if name in _SAME:
            return self.value(owner)
        inner, last = self.value(owner), args[0] if args else None
        if name == "lower" and isinstance(inner, str):
            return inner.lower()
        if name in ("with_suffix", "with_name") and isinstance(inner, str) and isinstance(last, str):
            folder, base = posixpath.split(inner)
            return posixpath.join(folder, last if name == "with_name" else posixpath.splitext(base)[0] + last)
        return None

    def _returned(self, name: str) -> Value:
        body = self.functions.pop(name)  # a function may call itself
        try:
            return self.value(body)
        finally:
            self.functions[name] = body

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Div):
            return join([left, right])
        if isinstance(node.op, ast.Add) and isinstance(left, str) and isinstance(right, str):
            return left + right
        return None

    def _formatted(self, node: ast.JoinedStr) -> Value:
        parts: list[str] = []
        for piece in node.values:
            inner = piece.value if isinstance(piece, ast.FormattedValue) else piece
            text = self.value(inner)
            if not isinstance(text, str):
                return None
            parts.append(text)
            self.budget.text(len(text))
        return "".join(parts)

    def _subscript(self, node: ast.Subscript) -> Value:
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.value, ast.Attribute) and node.value.attr == "parents" and isinstance(index, int):
            inner = self.value(node.value.value)
            return ancestor(inner, index) if isinstance(inner, str) else None
        if isinstance(node.value, ast.Call) and called(node.value) == "split" and index == 0 and node.value.args:
            inner = self.value(node.value.args[0])
            return posixpath.dirname(inner) if isinstance(inner, str) else None
        items = self.value(node.value)
        if isinstance(items, list) and isinstance(index, int) and -len(items) <= index < len(items):
            return items[index]
        return None


def ancestor(path: str, index: int) -> str | None:
    """What ``Path(path).parents[index]`` gives; None where there is no such folder, however large the number."""
    if not 0 <= index <= path.count("/"):
        return None
    for _ in range(index + 1):
        path = posixpath.dirname(path)
    return path


def as_list(value: Value) -> list[str]:
    """One string, several or none, as a list."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def join(parts: list[Value]) -> Value:
    """Join paths as ``os.path.join`` does, if all of them are known."""
    known = [part.replace("\\", "/") for part in parts if isinstance(part, str)]
    if not parts or len(known) < len(parts):
        return None
    # A path that begins at site-packages is a whole one, and as with os.path.join what stands before it is forgotten.
    start = max((at for at, part in enumerate(known) if part.startswith(SITE_PACKAGES)), default=0)
    return posixpath.join(*known[start:])


def called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""
