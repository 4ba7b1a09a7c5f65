"""Read from Python source, without running it, which DLL folders it adds and which DLLs it loads.

``os.add_dll_directory``, ``ctypes.CDLL`` and their kin are found in the syntax tree; their arguments are computed as
far as they are made of literals, ``__file__``, ``os.path`` and ``pathlib``. What cannot be computed is left out.
"""

from __future__ import annotations

import ast
import posixpath
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = "str | list[str] | None"

WORDS = (b"add_dll_directory", b"CDLL", b"WinDLL", b"LoadLibrary", b"load_library")
_LOADERS = frozenset(
    {"CDLL", "WinDLL", "OleDLL", "PyDLL", "LoadLibrary", "load_library", "LoadLibraryExW", "LoadLibraryW"}
)
_PACKAGE_FOLDERS = frozenset({"files", "resource_filename"})
"""``importlib.resources`` and ``pkg_resources``: the folder of a package by its name."""
_SAME = frozenset(
    {"abspath", "realpath", "normpath", "normcase", "fspath", "fsdecode", "expanduser", "str"}
    | {"Path", "PurePath", "WindowsPath", "resolve", "absolute", "as_posix"}
)


@dataclass(frozen=True, slots=True)
class PathCode:
    """What one Python file does to the DLL search."""

    added: tuple[str, ...] = ()
    """Folders of the view given to ``os.add_dll_directory``."""
    loaded: tuple[str, ...] = ()
    """Files of the view, or bare names, that are loaded; may be glob patterns."""


def read_path_code(source: str, path: str) -> PathCode:
    """Find the DLL folders and loads in one file, which lies at ``path`` in the view."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return PathCode()
    reader = _Reader(path)
    try:
        reader.visit(tree)
    except RecursionError:
        return PathCode()
    return PathCode(tuple(dict.fromkeys(reader.added)), tuple(dict.fromkeys(reader.loaded)))


def _as_list(value: Value) -> list[str]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _tidy(path: str) -> str:
    return posixpath.normpath(path.replace("\\", "/"))


class _Reader(ast.NodeVisitor):
    def __init__(self, path: str) -> None:
        self.path = path
        self.names: dict[str, Value] = {"__file__": path, "__path__": [posixpath.dirname(path)]}
        self.functions: dict[str, ast.expr] = {}
        """What the file's own functions return, for those that have one return statement."""
        self.aliases: dict[str, str] = {}
        """Other names for functions that give a package's folder."""
        self.added: list[str] = []
        self.loaded: list[str] = []

    # Statements that give names to values ---------------------------------------------------------------------

    def visit_Module(self, node: ast.Module) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef):
                returned = [part.value for part in ast.walk(inner) if isinstance(part, ast.Return) and part.value]
                if len(returned) == 1:
                    self.functions[inner.name] = returned[0]
        self.generic_visit(node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.asname and alias.name in _PACKAGE_FOLDERS:
                self.aliases[alias.asname] = alias.name

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        value = self.value(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.names[target.id] = value

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.value is not None:
            self.names[node.target.id] = self.value(node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.generic_visit(node)
        self.names[node.target.id] = self.value(node.value)

    def visit_For(self, node: ast.For) -> None:
        items = _as_list(self.value(node.iter))
        if isinstance(node.target, ast.Name) and items:
            for item in items[:64]:
                self.names[node.target.id] = item
                for statement in node.body:
                    self.visit(statement)
            return
        self.generic_visit(node)

    # Calls that we look for -----------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> None:
        name = _called(node)
        if node.args and name == "add_dll_directory":
            self.added += [_tidy(item) for item in _as_list(self.value(node.args[0]))]
        elif node.args and name in _LOADERS:
            self.loaded += [_tidy(item) for item in _as_list(self.value(node.args[0])) if item]
        self.generic_visit(node)

    # Expressions ----------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """The string or strings an expression gives, as far as that can be told."""
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
            return self.value(node.body) or self.value(node.orelse)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return [item for element in node.elts for item in _as_list(self.value(element))]
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        return None

    def _attribute(self, node: ast.Attribute) -> Value:
        if node.attr in ("pardir", "curdir", "sep"):
            return {"pardir": "..", "curdir": ".", "sep": "/"}[node.attr]
        if isinstance(node.value, ast.Name) and node.value.id == "sys":
            return "." if node.attr in ("prefix", "exec_prefix") else None
        if node.attr == "__path__" and isinstance(node.value, ast.Name):
            return [f"Lib/site-packages/{node.value.id}"]
        if node.attr == "parent":
            inner = self.value(node.value)
            return posixpath.dirname(inner) if isinstance(inner, str) else None
        return None

    def _call(self, node: ast.Call) -> Value:
        name = self.aliases.get(_called(node), _called(node))
        args = [self.value(arg) for arg in node.args]
        if name in _PACKAGE_FOLDERS and args and isinstance(args[0], str):
            return _join([f"Lib/site-packages/{args[0].replace('.', '/')}", *args[1:]])
        if isinstance(node.func, ast.Name) and name in self.functions:
            body = self.functions.pop(name)  # a function may call itself
            try:
                return self.value(body)
            finally:
                self.functions[name] = body
        if name in ("join", "joinpath") and _is_separator_join(node):
            return None
        if name == "join":
            return _join(args)
        if name == "joinpath" and isinstance(node.func, ast.Attribute):
            return _join([self.value(node.func.value), *args])
        if name == "dirname" and args and isinstance(args[0], str):
            return posixpath.dirname(args[0].replace("\\", "/"))
        if name in ("glob", "iglob", "rglob"):
            if isinstance(node.func, ast.Attribute) and not _is_module(node.func.value, "glob"):
                return _join([self.value(node.func.value), *args])
            return args[0] if args else None
        if name in _SAME:
            if args:
                return _join(args) if "Path" in name else args[0]
            return self.value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        return None

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Div):
            return _join([left, right])
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
        return "".join(parts)

    def _subscript(self, node: ast.Subscript) -> Value:
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.value, ast.Attribute) and node.value.attr == "parents" and isinstance(index, int):
            inner = self.value(node.value.value)
            for _ in range(index + 1):
                inner = posixpath.dirname(inner) if isinstance(inner, str) else None
            return inner
        if isinstance(node.value, ast.Call) and _called(node.value) == "split" and index == 0 and node.value.args:
            inner = self.value(node.value.args[0])
            return posixpath.dirname(inner) if isinstance(inner, str) else None
        items = self.value(node.value)
        if isinstance(items, list) and isinstance(index, int) and -len(items) <= index < len(items):
            return items[index]
        return None


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _is_module(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_separator_join(node: ast.Call) -> bool:
    """``";".join(…)`` is no path."""
    return isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant)


def _join(parts: list[Value]) -> Value:
    if not parts or not all(isinstance(part, str) for part in parts):
        return None
    return posixpath.join(*(part.replace("\\", "/") for part in parts if isinstance(part, str)))
