"""Read from Python source, without running it, which DLL folders it adds and which DLLs it loads.

``os.add_dll_directory``, ``ctypes.CDLL``, cffi's ``dlopen`` and their kin are found in the syntax tree; their
arguments are computed as far as :mod:`wheelfix.loader.pathvalue` can. Branches for other systems are passed over.
"""

from __future__ import annotations

import ast
import posixpath
from typing import TYPE_CHECKING

from wheelfix.loader.codebudget import CodeBudget, OutOfBudget
from wheelfix.loader.importcode import goes_on, suppresses
from wheelfix.loader.pathvalue import Values, as_list, called
from wheelfix.model import CodeFolder, UnreadCall
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.loader.pathvalue import Value

WORDS = (b"add_dll_directory", b"CDLL", b"WinDLL", b"LoadLibrary", b"load_library", b"dlopen")
_LOADERS = frozenset(
    {"CDLL", "WinDLL", "OleDLL", "PyDLL", "LoadLibrary", "load_library", "LoadLibraryExW", "LoadLibraryW", "dlopen"}
)
"""Of ctypes, NumPy, pywin32 and cffi."""
_SHOWN_NODES = 60
_SHOWN_TEXT = 80


@dataclass(frozen=True, slots=True)
class PathCode:
    """What one Python file does to the DLL search."""

    folders: tuple[CodeFolder, ...] = ()
    """What is given to ``os.add_dll_directory``, with the line; the same folder may be there twice."""
    loaded: tuple[str, ...] = ()
    """Files of the view, or bare names, that are loaded; may be glob patterns."""
    guarded: frozenset[str] = frozenset()
    """Those among the loaded whose failure the code catches, wherever it loads them, and goes on."""
    cffi: frozenset[str] = frozenset()
    """Those among the loaded that cffi loads, whose words for a failure are others than those of ctypes."""
    unread_calls: tuple[UnreadCall, ...] = ()
    """Loads and folders whose argument could not be read."""
    unread: str = ""
    """Why the file was not read; then nothing is known about it."""

    @property
    def added(self) -> tuple[str, ...]:
        """The folders, none twice."""
        return tuple(dict.fromkeys(item.folder for item in self.folders))


def read_path_code(source: str, path: str, budget: CodeBudget | None = None) -> PathCode:
    """Find the DLL folders and loads in one file, which lies at ``path`` in the view.

    A file that cannot be read, or takes more work than the budget has, gives nothing: half of its loads would be worse
    than none. That it was not read is in the budget and in the answer.
    """
    budget = budget or CodeBudget()
    known = budget.results.get(path)
    if not isinstance(known, PathCode):
        known = budget.results[path] = _read(source, path, budget)
    return known


def _read(source: str, path: str, budget: CodeBudget) -> PathCode:
    budget.loading.add(path)
    tree = budget.parse(source, path)
    if tree is None:
        return PathCode(unread=budget.unread[path])
    reader = _Reader(path, tree, budget)
    try:
        reader.visit(tree)
    except RecursionError:
        budget.give_up(path, "it is nested too deeply")
    except OutOfBudget as error:
        budget.give_up(path, str(error))
    if path in budget.unread:
        return PathCode(unread=budget.unread[path])
    return PathCode(
        folders=tuple(dict.fromkeys(reader.folders)),
        loaded=tuple(reader.loaded),
        guarded=frozenset(target for target, guarded in reader.loaded.items() if guarded),
        cffi=frozenset(reader.cffi),
        unread_calls=tuple(dict.fromkeys(reader.unread_calls)),
    )


def _is_none(node: ast.expr) -> bool:
    """Whether it is ``None``: ``dlopen(None)`` opens the process itself."""
    return isinstance(node, ast.Constant) and node.value is None


def spelled(node: ast.expr, budget: CodeBudget) -> str:
    """An expression as the code has it, shortened; one that takes too long to write out is ``…``."""
    for count, _ in enumerate(ast.walk(node)):
        budget.step()
        if count > _SHOWN_NODES:
            return "…"
    text = ast.unparse(node)
    return text if len(text) <= _SHOWN_TEXT else text[:_SHOWN_TEXT] + "…"


def _tidy(path: str) -> str:
    return posixpath.normpath(path.replace("\\", "/"))


class _Reader(ast.NodeVisitor):
    def __init__(self, path: str, tree: ast.Module, budget: CodeBudget) -> None:
        self.path = path
        self.budget = budget
        self.values = Values(path, tree, budget)
        self.folders: list[CodeFolder] = []
        self.unread_calls: list[UnreadCall] = []
        self.loaded: dict[str, bool] = {}
        self.cffi: set[str] = set()
        self.guards = 0
        """How many statements around the current one catch a failed load."""

    def visit(self, node: ast.AST) -> None:
        """Look at a node; each one counts, also when a loop comes by again."""
        self.budget.step()
        super().visit(node)

    # Statements that give names to values ---------------------------------------------------------------------

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

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add):
            self.values.extend(node.target.id, node.value)

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
        caught = goes_on(node, self.budget)
        self.guards += caught
        self._visit_all(node.body)
        self.guards -= caught
        for handler in node.handlers:
            self._visit_all(handler.body)
        self._visit_all([*node.orelse, *node.finalbody])

    def visit_With(self, node: ast.With) -> None:
        suppressed = suppresses(node)
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
            found = as_list(self._read_argument(name, node))
            self.folders += [CodeFolder(_tidy(item), self.path, node.lineno) for item in found]
        elif node.args and name in ("append", "extend") and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name):
                self.values.extend(node.func.value.id, node.args[0])
        elif node.args and name in _LOADERS:
            for item in filter(None, as_list(self._read_argument(name, node))):
                target = _tidy(item)
                self.loaded[target] = bool(self.guards) and self.loaded.get(target, True)
                if name == "dlopen":
                    self.cffi.add(target)
        self.generic_visit(node)

    def _read_argument(self, name: str, node: ast.Call) -> Value:
        """What a call is given; a call of which that cannot be read is noted."""
        value = self.values.value(node.args[0])
        if value is None and not _is_none(node.args[0]):
            self.unread_calls.append(UnreadCall(self.path, node.lineno, name, spelled(node.args[0], self.budget)))
        return value

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.values.learn_alias(alias)
