"""Read from Python source, without running it, which DLL folders it adds and which DLLs it loads.

The file is followed as Python would (``coderun``); functions that it does not call itself are looked into afterwards,
since they may be called.
"""

from __future__ import annotations

import ast
import bisect
import re
from typing import TYPE_CHECKING

from wheelfix.loader.codereader.codeattempt import path_folders
from wheelfix.loader.codereader.codeloads import is_folder_call, is_load_call, spelled
from wheelfix.loader.codereader.codestore import LATER, MAYBE, FoundCall
from wheelfix.loader.codereader.importcode import called
from wheelfix.model import CodeFolder, UnreadCall
from wheelfix.pycode.budget import CodeBudget, OutOfBudget, count_tokens
from wheelfix.pycode.valuesize import PYTHON_ERRORS
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.codereader.codestore import FoundEnd, FoundFolder, FoundLoad
    from wheelfix.loader.codereader.codevalue import FunctionNode
    from wheelfix.loader.codereader.nofiles import NoFiles

NOT_FOLLOWED = "it does something that cannot be followed"
WORDS = (b"add_dll_directory", b"CDLL", b"WinDLL", b"LoadLibrary", b"load_library", b"dlopen", b"cdll", b"windll")
_LISTS = frozenset({"cdll", "windll", "oledll", "pydll"})
_SPELLED = re.compile("|".join([*(word.decode() for word in WORDS), *sorted(_LISTS), "OleDLL", "PyDLL"]))


@dataclass(frozen=True, slots=True)
class PathCode:
    """What one Python file does to the DLL search."""

    found_folders: tuple[FoundFolder, ...] = ()
    loads: tuple[FoundLoad, ...] = ()
    found_calls: tuple[FoundCall, ...] = ()
    listings: tuple[FoundFolder, ...] = ()
    """Folders whose files the code lists although they are not there."""
    ends: tuple[FoundEnd, ...] = ()
    """Exceptions that the file raises when it is imported, because DLLs are not there."""
    open_functions: frozenset[str] = frozenset()
    """Names of functions with loads in them that the file itself does not call."""
    in_vain: bool = False
    """Whether importing the file looks for DLLs that are not there, and goes on."""
    on_path: tuple[str, ...] = ()
    """Folders of the view that importing the file puts on PATH."""
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


def names_loader(source: str, path: str, budget: CodeBudget) -> bool:
    """Whether the code of a file, without its comments and docstrings, names what loads DLLs; True if it is not known.

    A file without such a name may call functions of others that load DLLs, as any file may.
    """
    tree = budget.parse(source, path)
    if tree is None:
        return True
    budget.trees.add(path, tree, count_tokens(source))  # most of them are followed next
    try:
        return Mentions(tree, source, budget).any
    except (RecursionError, OutOfBudget):
        return True


def _read(source: str, path: str, budget: CodeBudget, files: NoFiles | None) -> PathCode:
    budget.loading.add(path)
    tree = budget.parse(source, path)
    if tree is None:
        return PathCode(unread=budget.unread[path])
    from wheelfix.loader.codereader.codeflow import NEXT
    from wheelfix.loader.codereader.coderun import CodeRun

    run = CodeRun(path, budget, files)
    on_path: tuple[str, ...] = ()
    uncalled: set[str] = set()
    try:
        functions = Mentions(tree, source, budget).functions
        if not run.run(tree.body) & NEXT and not run.findings():
            run.unread += _behind_the_end(tree, path, budget)
        in_vain = any("/" in name for name in run.looked_for)
        on_path = path_folders(run) or ()
        for node in functions:
            if node not in run.called and node in run.defined:
                uncalled.add(node.name)
                run.look_into(run.defined[node])
    except RecursionError:
        budget.give_up(path, "it is nested too deeply")
    except OutOfBudget as error:
        budget.give_up(path, str(error))
    except PYTHON_ERRORS as error:  # of Python's library, for a value that it cannot work with
        budget.give_up(path, f"{NOT_FOLLOWED} ({type(error).__name__})")
    if path in budget.unread:
        return PathCode(unread=budget.unread[path])
    return PathCode(
        found_folders=tuple(dict.fromkeys(run.folders)),
        loads=tuple(dict.fromkeys(run.loads)),
        found_calls=tuple(dict.fromkeys(run.unread)),
        listings=tuple(dict.fromkeys(run.listings)),
        ends=tuple(run.ends),
        open_functions=frozenset(uncalled),
        in_vain=in_vain,
        on_path=on_path,
    )


def _behind_the_end(tree: ast.Module, path: str, budget: CodeBudget) -> Iterator[FoundCall]:
    """Give the loads and folders of a file that raises an exception before any of them.

    It raises on a machine without other programs; pyjnius, for example, adds the folder of Java if it finds one.
    """
    for node in ast.walk(tree):
        budget.step()
        name = called(node) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and (is_load_call(name) or is_folder_call(name)):
            argument = node.args[0] if node.args else node.func
            yield FoundCall(path, node.lineno, name, spelled(argument, budget), MAYBE, False)


class Mentions:
    """Where the code of a file, without its comments and docstrings, names what loads DLLs.

    Only statements with such a word in their lines are looked into.
    """

    def __init__(self, tree: ast.Module, source: str, budget: CodeBudget) -> None:
        self.any = False
        """Whether there is such a name, in code or in a text that code uses."""
        self._around: dict[FunctionNode, FunctionNode | None] = {}
        self._marked: dict[FunctionNode, None] = {}
        # Letters of other alphabets may stand for those of a name, and then no word is found in the line.
        self._lines = _lines_with_words(source) if source.isascii() else None
        pending: list[tuple[ast.AST, FunctionNode | None]] = [(tree, None)]
        while pending:
            node, inside = pending.pop()
            if not self._has_word(node):
                continue
            budget.step()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._around[node] = inside
                inside = node
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            self._take(node, inside)
            pending += [(inner, inside) for inner in ast.iter_child_nodes(node)]

    @property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """The functions in which a name of a loader stands, in the order of the source."""
        found = [node for node in self._marked if not isinstance(node, ast.Lambda)]
        return sorted(found, key=lambda node: node.lineno)

    def _has_word(self, node: ast.AST) -> bool:
        """Whether there is a word in the lines of a statement or expression; True for what has no place."""
        first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if self._lines is None or first is None or last is None:
            return True
        decorators = getattr(node, "decorator_list", None)
        first = min(first, decorators[0].lineno) if decorators else first
        at = bisect.bisect_left(self._lines, first)
        return at < len(self._lines) and self._lines[at] <= last

    def _take(self, node: ast.AST, inside: FunctionNode | None) -> None:
        self.any = self.any or any(_SPELLED.search(text) for text in _texts(node))
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name and (is_load_call(name.lstrip("_")) or is_folder_call(name) or name in _LISTS):
            while inside is not None and inside not in self._marked:
                self._marked[inside] = None
                inside = self._around[inside]


def _lines_with_words(source: str) -> list[int]:
    """The numbers of the lines in which there is a word of code that loads DLLs, as Python counts lines."""
    text = source.replace("\r\n", "\n").replace("\r", "\n") if "\r" in source else source
    lines, number, at = [], 1, 0
    for found in _SPELLED.finditer(text):
        number, at = number + text.count("\n", at, found.start()), found.start()
        lines.append(number)
    return lines


def _texts(node: ast.AST) -> Iterator[str]:
    """The names and texts that belong to a node itself."""
    for field in ("id", "attr", "name", "asname", "module", "arg", "value"):
        text = getattr(node, field, None)
        if isinstance(text, str):
            yield text
    if isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
