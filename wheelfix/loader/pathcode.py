"""Read from Python source, without running it, which DLL folders it adds and which DLLs it loads.

The file is followed as Python would (:mod:`wheelfix.loader.coderun`); functions that it does not call itself are looked
into afterwards, since they may be called.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from wheelfix.loader.codebudget import CodeBudget, OutOfBudget
from wheelfix.loader.codeloads import is_folder_call, is_load_call
from wheelfix.loader.coderun import CodeRun
from wheelfix.loader.codestore import LATER
from wheelfix.model import CodeFolder, UnreadCall
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.codefiles import NoFiles
    from wheelfix.loader.codestore import FoundCall, FoundEnd, FoundFolder, FoundLoad
    from wheelfix.loader.codevalue import FunctionNode

WORDS = (b"add_dll_directory", b"CDLL", b"WinDLL", b"LoadLibrary", b"load_library", b"dlopen", b"cdll", b"windll")
_LISTS = frozenset({"cdll", "windll", "oledll", "pydll"})


@dataclass(frozen=True, slots=True)
class PathCode:
    """What one Python file does to the DLL search."""

    found_folders: tuple[FoundFolder, ...] = ()
    loads: tuple[FoundLoad, ...] = ()
    found_calls: tuple[FoundCall, ...] = ()
    ends: tuple[FoundEnd, ...] = ()
    """Exceptions that the file raises when it is imported, because DLLs are not there."""
    open_functions: frozenset[str] = frozenset()
    """Names of functions with loads in them that the file itself does not call."""
    in_vain: bool = False
    """Whether importing the file looks for DLLs that are not there, and goes on."""
    unread: str = ""
    """Why the file was not read; then nothing is known about it."""

    @property
    def folders(self) -> tuple[CodeFolder, ...]:
        """What is given to ``os.add_dll_directory``, with the line."""
        found = (CodeFolder(item.folder, item.file, item.line) for item in self.found_folders)
        return tuple(dict.fromkeys(found))

    @property
    def unread_calls(self) -> tuple[UnreadCall, ...]:
        """Loads and folders whose argument could not be read."""
        found = (
            UnreadCall(item.file, item.line, item.function, item.argument, item.level != LATER)
            for item in self.found_calls
        )
        return tuple(dict.fromkeys(found))

    @property
    def added(self) -> tuple[str, ...]:
        """The folders, none twice."""
        return tuple(dict.fromkeys(item.folder for item in self.found_folders))

    @property
    def loaded(self) -> tuple[str, ...]:
        """Files of the view, patterns or bare names that are loaded, none twice."""
        return tuple(dict.fromkeys(target for item in self.loads for target in item.targets))


def read_path_code(source: str, path: str, budget: CodeBudget | None = None, files: NoFiles | None = None) -> PathCode:
    """Find the DLL folders and loads in one file, which lies at ``path`` in the view.

    A file that cannot be read, or takes more work than the budget has, gives nothing: half of its loads would be worse
    than none. That it was not read is in the budget and in the answer.
    """
    budget = budget or CodeBudget()
    key = f"{path}\0{'' if files is None else 'in view'}"
    known = budget.results.get(key)
    if not isinstance(known, PathCode):
        known = budget.results[key] = _read(source, path, budget, files)
    return known


def read_in_view(budget: CodeBudget) -> Iterator[tuple[str, PathCode]]:
    """What was read so far, by the path of the file."""
    for key, code in budget.results.items():
        path, _, where = key.partition("\0")
        if where and isinstance(code, PathCode):
            yield path, code


def _read(source: str, path: str, budget: CodeBudget, files: NoFiles | None) -> PathCode:
    budget.loading.add(path)
    tree = budget.parse(source, path)
    if tree is None:
        return PathCode(unread=budget.unread[path])
    run = CodeRun(path, budget, files)
    uncalled: set[str] = set()
    try:
        functions = list(_functions_with_loads(tree, budget))
        run.run(tree.body)
        in_vain = bool(run.looked_for)
        for node in functions:
            if node not in run.called and node in run.defined:
                uncalled.add(node.name)
                run.look_into(run.defined[node])
    except RecursionError:
        budget.give_up(path, "it is nested too deeply")
    except OutOfBudget as error:
        budget.give_up(path, str(error))
    if path in budget.unread:
        return PathCode(unread=budget.unread[path])
    return PathCode(
        found_folders=tuple(dict.fromkeys(run.folders)),
        loads=tuple(dict.fromkeys(run.loads)),
        found_calls=tuple(dict.fromkeys(run.unread)),
        ends=tuple(run.ends),
        open_functions=frozenset(uncalled),
        in_vain=in_vain,
    )


def _functions_with_loads(tree: ast.Module, budget: CodeBudget) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions in which a name of a loader stands, in the order of the source."""
    around: dict[FunctionNode, FunctionNode | None] = {}
    marked: dict[FunctionNode, None] = {}
    pending: list[tuple[ast.AST, FunctionNode | None]] = [(tree, None)]
    while pending:
        node, inside = pending.pop()
        budget.step()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            around[node] = inside
            inside = node
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name and (is_load_call(name.lstrip("_")) or is_folder_call(name) or name in _LISTS):
            outer = inside
            while outer is not None and outer not in marked:
                marked[outer] = None
                outer = around[outer]
        pending += [(inner, inside) for inner in ast.iter_child_nodes(node)]
    found = [node for node in marked if not isinstance(node, ast.Lambda)]
    yield from sorted(found, key=lambda node: node.lineno)
