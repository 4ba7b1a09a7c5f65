"""How much work reading the Python code of a package may take; code beyond that is not read, which is noted.

A few kilobytes of source can stand for loops without end, strings that double with every line, and a syntax tree of
gigabytes. Every step and every byte is counted, and every ``ast.parse`` of code of others happens here.
"""

from __future__ import annotations

import ast
import weakref
from typing import TYPE_CHECKING

from wheelfix.values import dataclass, field

if TYPE_CHECKING:
    from wheelfix.loader.view import FileView

FILE_TOKENS = 200_000
"""Tokens of one file, roughly; the largest of 125 packages with DLLs has 190 000."""
ALL_TOKENS = 1_500_000
"""Of all files that are parsed for one package; a dense megabyte takes three seconds and 600 MB."""
FILE_STEPS = 300_000
"""Expressions and statements that are looked at in one file; loops and functions repeat them."""
ALL_STEPS = 1_000_000
FILE_TEXT = 8 << 20
"""Characters of all strings that are made from one file."""
ALL_TEXT = 32 << 20
KEPT_TOKENS = 100_000
"""Of files whose syntax trees are kept for the next file that imports them; about 30 MB."""
KEPT_IN_SETS = 300_000
"""The same for a set, in which several distributions import the same files of others; about 90 MB."""
ALL_BYTES = 1 << 30
"""Bytes of source that are searched for words, all searches together; torch has 56 MB of it."""
MAX_DEPTH = 12
"""How deep calls of the package's functions may be nested."""
MAX_TURNS = 64
"""Turns of one loop that are followed."""
MAX_TEXT = 1 << 15
"""Characters of one string; Windows has no longer paths."""
MAX_ITEMS = 4096
"""Strings of one list."""
_NO_MARKS = bytes(code for code in range(256) if code >= 128 or chr(code).isalnum() or chr(code) in "_ \t\r\n")
NOT_PYTHON = "it is not valid Python for the version that wheelfix runs on"


class OutOfBudget(Exception):
    """Reading a file would take more work than is allowed; the message says why."""


def count_tokens(source: str) -> int:
    """Return about how many tokens a text has, without making any."""
    data = source.encode("utf-8", "replace")
    return len(data.translate(None, _NO_MARKS)) + data.count(b"\n") + data.count(b" ") // 4


@dataclass
class KeptTrees:
    """The syntax trees of files that others import; the packages of a set share them."""

    by_path: dict[str, ast.Module] = field(default_factory=dict)
    room: int = KEPT_TOKENS

    def add(self, path: str, tree: ast.Module, tokens: int) -> None:
        """Keep a tree if there is room."""
        if tokens <= self.room:
            self.room -= tokens
            self.by_path[path] = tree


@dataclass
class CodeBudget:
    """What is left to spend on the code of one package."""

    tokens: int = ALL_TOKENS
    steps: int = ALL_STEPS
    characters: int = ALL_TEXT
    searched: int = 0
    unread: dict[str, str] = field(default_factory=dict)
    """Files that were not read, or not to the end, and why."""
    loading: set[str] = field(default_factory=set)
    """Files in which there are words of code that loads DLLs or adds folders."""
    results: dict[str, object] = field(default_factory=dict)
    """What was read from a file, so that it is not read twice."""
    trees: KeptTrees = field(default_factory=KeptTrees)
    _file_steps: int = FILE_STEPS
    _file_text: int = FILE_TEXT

    def parse(self, source: str, path: str) -> ast.Module | None:
        """Return the syntax tree of a file, and begin to count for it; None, with a note why, if there is none."""
        self._file_steps, self._file_text = min(FILE_STEPS, self.steps), min(FILE_TEXT, self.characters)
        known = self.trees.by_path.get(path)
        if known is not None and self.steps and self.characters:
            return known
        tokens = count_tokens(source)
        if tokens > FILE_TOKENS:
            self.give_up(path, "it has too many tokens")
        elif tokens > self.tokens or not self.steps or not self.characters:
            self.give_up(path, "the package has too much code")
        else:
            self.tokens -= tokens
            try:
                return ast.parse(source)
            except (RecursionError, MemoryError):
                self.give_up(path, "it is nested too deeply")
            except (SyntaxError, ValueError):
                self.give_up(path, NOT_PYTHON)
        return None

    def parse_more(self, source: str, path: str) -> ast.Module | None:
        """Return the syntax tree of a file that is followed because another imports it; None if it cannot be parsed.

        Those of ordinary files are kept: several files of a package import the same ones.
        """
        known = self.trees.by_path.get(path)
        if known is not None:
            return known
        tokens = count_tokens(source)
        if tokens > min(FILE_TOKENS, self.tokens):
            return None
        self.tokens -= tokens
        try:
            tree = ast.parse(source)
        except (RecursionError, MemoryError, SyntaxError, ValueError):
            return None
        self.trees.add(path, tree, tokens)
        return tree

    def give_up(self, path: str, reason: str) -> None:
        """Note that a file was not read."""
        self.unread.setdefault(path, reason)

    def search(self, path: str, size: int) -> bool:
        """Whether a file may still be searched for words; if not, that is noted."""
        if self.searched + size > ALL_BYTES:
            self.give_up(path, "the package has too much code")
            return False
        self.searched += size
        return True

    def step(self, count: int = 1) -> None:
        """Spend steps; OutOfBudget when there are none left for the file."""
        self._file_steps -= count
        self.steps -= count
        if self._file_steps < 0:
            self.steps = max(self.steps, 0)
            raise OutOfBudget("its loops and functions go on for too long")

    def text(self, length: int) -> None:
        """Spend characters; OutOfBudget when there are none left for the file."""
        self._file_text -= length
        self.characters -= length
        if self._file_text < 0:
            self.characters = max(self.characters, 0)
            raise OutOfBudget("its strings grow too long")


_BUDGETS: weakref.WeakKeyDictionary[FileView, CodeBudget] = weakref.WeakKeyDictionary()


def budget_of(view: FileView) -> CodeBudget:
    """Return the budget of the package in a view; all readers of its code share it."""
    found = _BUDGETS.get(view)
    if found is None:
        found = _BUDGETS[view] = separate_budget(view)
    return found


def separate_budget(view: FileView) -> CodeBudget:
    """Return a budget for one question about the package, so that others keep theirs; trees are shared."""
    room = KEPT_TOKENS if view.beside is None else KEPT_IN_SETS
    trees: KeptTrees = view.code_notes.setdefault("trees", KeptTrees(room=room))
    return CodeBudget(trees=trees)
