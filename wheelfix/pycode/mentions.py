"""Where Python code names what loads DLLs: asked before a file is parsed, and again before it is followed."""

from __future__ import annotations

import ast
import bisect
import re
from typing import TYPE_CHECKING

from wheelfix.pycode.budget import CodeBudget, OutOfBudget, count_tokens
from wheelfix.pycode.trace import LOADING

if TYPE_CHECKING:
    from collections.abc import Iterator

    FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

WORDS = (
    *(b"add_dll_directory", b"CDLL", b"WinDLL", b"OleDLL", b"PyDLL", b"LoadLibrary", b"load_library", b"dlopen"),
    *(b"cdll", b"windll", b"oledll", b"pydll"),
)
"""What is in the bytes of every file that loads DLLs or adds folders to the search, unless it computes names."""
_LISTS = frozenset({"cdll", "windll", "oledll", "pydll"})
_SPELLED = re.compile("|".join(word.decode() for word in WORDS))


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
        if name and (name.lstrip("_") in LOADING or name in _LISTS):
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
