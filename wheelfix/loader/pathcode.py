"""Read from Python source, without running it, which DLL folders it adds, which DLLs it loads and modules it imports.

``os.add_dll_directory``, ``ctypes.CDLL`` and their kin are found in the syntax tree; their arguments are computed as
far as :mod:`wheelfix.loader.pathvalue` can. Branches for other systems are passed over.
"""

from __future__ import annotations

import ast
import posixpath
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wheelfix.loader.pathvalue import SITE_PACKAGES, Values, as_list, called

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

WORDS = (b"add_dll_directory", b"CDLL", b"WinDLL", b"LoadLibrary", b"load_library")
_LOADERS = frozenset(
    {"CDLL", "WinDLL", "OleDLL", "PyDLL", "LoadLibrary", "load_library", "LoadLibraryExW", "LoadLibraryW"}
)
_CAUGHT = frozenset(
    {"ImportError", "ModuleNotFoundError", "OSError", "FileNotFoundError", "WindowsError"}
    | {"EnvironmentError", "IOError", "Exception", "BaseException"}
)
"""What a failed load raises, and what that is a kind of."""


@dataclass(frozen=True, slots=True)
class PathCode:
    """What one Python file does to the DLL search."""

    added: tuple[str, ...] = ()
    """Folders of the view given to ``os.add_dll_directory``."""
    loaded: tuple[str, ...] = ()
    """Files of the view, or bare names, that are loaded; may be glob patterns."""
    guarded: frozenset[str] = frozenset()
    """Those among the loaded whose failure the code catches, wherever it loads them, and goes on."""
    imported: Mapping[str, bool] = field(default_factory=dict)
    """Modules that are imported, by full name; whether the code catches the failure wherever it imports them."""


def read_path_code(source: str, path: str) -> PathCode:
    """Find the DLL folders, loads and imports in one file, which lies at ``path`` in the view."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return PathCode()
    reader = _Reader(path)
    try:
        reader.visit(tree)
    except RecursionError:
        return PathCode()
    return PathCode(
        added=tuple(dict.fromkeys(reader.added)),
        loaded=tuple(reader.loaded),
        guarded=frozenset(target for target, guarded in reader.loaded.items() if guarded),
        imported=reader.imported,
    )


def _tidy(path: str) -> str:
    return posixpath.normpath(path.replace("\\", "/"))


class _Reader(ast.NodeVisitor):
    def __init__(self, path: str) -> None:
        self.values = Values(path)
        self.package = posixpath.dirname(path.removeprefix(SITE_PACKAGES + "/")).replace("/", ".")
        self.added: list[str] = []
        self.loaded: dict[str, bool] = {}
        self.imported: dict[str, bool] = {}
        self.guards = 0
        """How many statements around the current one catch a failed load."""

    # Statements that give names to values ---------------------------------------------------------------------

    def visit_Module(self, node: ast.Module) -> None:
        self.values.learn_functions(node)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.values.assign(target.id, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.value is not None:
            self.values.assign(node.target.id, node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.generic_visit(node)
        self.values.assign(node.target.id, node.value)

    def visit_For(self, node: ast.For) -> None:
        items = as_list(self.values.value(node.iter))
        if isinstance(node.target, ast.Name) and items:
            for item in items[:64]:
                self.values.names[node.target.id] = item
                self._visit_all(node.body)
            return
        self.generic_visit(node)

    # Statements that decide what is run -----------------------------------------------------------------------

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        holds = self.values.truth(node.test)
        if holds is not False:
            self._visit_all(node.body)
        if holds is not True:
            self._visit_all(node.orelse)

    def visit_Try(self, node: ast.Try) -> None:
        caught = any(_goes_on(handler) for handler in node.handlers)
        self.guards += caught
        self._visit_all(node.body)
        self.guards -= caught
        for handler in node.handlers:
            self._visit_all(handler.body)
        self._visit_all([*node.orelse, *node.finalbody])

    def visit_With(self, node: ast.With) -> None:
        suppressed = any(
            isinstance(item.context_expr, ast.Call)
            and called(item.context_expr) == "suppress"
            and any(_is_caught(arg) for arg in item.context_expr.args)
            for item in node.items
        )
        self.guards += suppressed
        self.generic_visit(node)
        self.guards -= suppressed

    def _visit_all(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self.visit(statement)

    # What we look for -----------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> None:
        name = called(node)
        if node.args and name == "add_dll_directory":
            self.added += [_tidy(item) for item in as_list(self.values.value(node.args[0]))]
        elif node.args and name in _LOADERS:
            self._note(self.loaded, (_tidy(item) for item in as_list(self.values.value(node.args[0])) if item))
        elif node.args and name in ("import_module", "__import__"):
            self._note(self.imported, as_list(self.values.value(node.args[0])))
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self._note(self.imported, (alias.name for alias in node.names))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.values.learn_alias(alias)
        parts = self.package.split(".") if node.level else []
        start = [*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])]
        origin = ".".join(part for part in start if part)
        self._note(self.imported, [origin, *(f"{origin}.{alias.name}" for alias in node.names)])

    def _note(self, noted: dict[str, bool], items: Iterable[str]) -> None:
        for item in items:
            noted[item] = bool(self.guards) and noted.get(item, True)


def _goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches a failed load and does not raise anew."""
    caught = handler.type is None or _is_caught(handler.type)
    return caught and not any(isinstance(part, ast.Raise) for part in ast.walk(handler))


def _is_caught(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return any(_is_caught(element) for element in node.elts)
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in _CAUGHT
