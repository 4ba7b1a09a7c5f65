"""Which DLLs the Python code of a package names in its strings: these must keep their names."""

from __future__ import annotations

import ast
import fnmatch
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.model import dll_key, fold
from wheelfix.pycode.budget import CodeBudget, budget_of
from wheelfix.pycode.sourcecode import SOURCE_LIMIT, WORDS, python_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.view import FileView

_LOADING = (*WORDS, b"cdll", b"windll", b"find_library", b"GetModuleHandle", b"ctypes", b"cffi")
"""A file with one of these words may put the name of a DLL together from parts."""
_ANY_DLL = frozenset({"*", "*.*", "*.dll"})
_SHORTEST = 4
"""Characters of a string that can be the first part of a DLL's name; shorter ones stand for too much."""


@dataclass(frozen=True, slots=True)
class CodeNames:
    """The strings of a package's code that may be names of DLLs."""

    whole: frozenset[str]
    """Strings in which a whole file name stands."""
    parts: frozenset[str]
    """Strings of files that load DLLs: names without suffix, patterns, first parts."""

    def mentions(self, name: str) -> bool:
        """Whether the code names this DLL, or may put its name together."""
        key = dll_key(name)
        stem = key.rpartition(".")[0]
        stems = (stem, stem.removeprefix("lib"))
        if any(_holds(text, key) for text in self.whole):
            return True
        return any(
            text in stems
            or ("*" in text and text not in _ANY_DLL and fnmatch.fnmatchcase(key, text))
            or (len(text) >= _SHORTEST and any(other.startswith(text) for other in stems))
            for text in self.parts
        )


def _holds(text: str, key: str) -> bool:
    return key in text and re.search(rf"(?<![\w.-]){re.escape(key)}(?![\w.-])", text) is not None


def names_in_code(view: FileView) -> CodeNames:
    """Read the strings of the subject's Python files, without running them."""
    whole: set[str] = set()
    parts: set[str] = set()
    for file in view.own_files:
        if not file.path.endswith(".py") or file.size > SOURCE_LIMIT:
            continue
        data = python_source(view, file.path)
        loading = any(word in data for word in _LOADING)
        if loading or b".dll" in data.lower():
            texts = [fold(text) for text in _strings(data.decode("utf-8", "replace"), file.path, budget_of(view))]
            whole.update(text for text in texts if ".dll" in text)
            parts.update(_last(text) for text in texts if loading)
    return CodeNames(frozenset(whole), frozenset(parts) - {""})


def _strings(source: str, path: str, budget: CodeBudget) -> Iterator[str]:
    tree = budget.parse(source, path)
    if tree is None:
        yield source  # what cannot be parsed is one long string
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            yield node.value if isinstance(node.value, str) else node.value.decode("utf-8", "replace")


def _last(text: str) -> str:
    return re.split(r"[\\/]", text)[-1].strip()
