"""The Python files of a package that count, found by the words in them; each is inflated once.

Several questions are asked of the same files, one after the other.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.pycode.budget import budget_of
from wheelfix.pycode.mentions import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.view import FileView

SOURCE_LIMIT = 1 << 20
"""Python files above this size are not parsed."""
SEARCH_LIMIT = 16 << 20
"""Python files above this size are not searched for words either."""
FEW_WORDS = 16
_ASIDE = re.compile(
    r"(?:^|/)(?:(?:_?tests?|_?examples?|demos?|samples?|benchmarks?|x11|wayland|linux|darwin|macos|cocoa)/"
    r"|test_[^/]*$|conftest\.py$)",
    re.IGNORECASE,
)
"""Code that importing a package on Windows does not run: tests, examples, benchmarks, and what is for other systems."""
MOST_KEPT = 12 << 20
"""Bytes that are kept; the code of most packages is smaller, and that of the others is read again."""


@dataclass
class _Kept:
    data: dict[str, bytes] = field(default_factory=dict)
    size: int = 0

    def add(self, path: str, data: bytes) -> None:
        """Keep a file, and drop the oldest ones if there are too many bytes."""
        if len(data) > MOST_KEPT // 4:
            return
        self.data[path] = data
        self.size += len(data)
        while self.size > MOST_KEPT:
            self.size -= len(self.data.pop(next(iter(self.data))))


def python_source(view: FileView, path: str) -> bytes:
    """Return the bytes of a file of a view; views of the same files share what is kept."""
    kept: _Kept = view.code_notes.setdefault("sources", _Kept())
    data = kept.data.get(path)
    if data is None:
        data = view.source(path).read_at(0, view.file(path).size)
        kept.add(path, data)
    return data


def counts(path: str) -> bool:
    """Whether a Python file is code that others may run by importing the package, and no test or example of it."""
    inside = path.removeprefix(f"{SITE_PACKAGES}/").partition("/")[2]
    return not _ASIDE.search(inside)


def python_code(view: FileView, words: tuple[bytes, ...]) -> Iterator[tuple[str, str]]:
    """The Python files of the subject that count and in which one of some words occurs."""
    budget = budget_of(view)
    for file in view.own_files:
        if not file.path.endswith(".py") or not counts(file.path):
            continue
        if file.size > SEARCH_LIMIT or not budget.search(file.path, file.size):
            budget.give_up(file.path, "it is too large")
            continue
        data = python_source(view, file.path)
        if not _has_word(data, words):
            continue
        if file.size > SOURCE_LIMIT:
            budget.give_up(file.path, "it is too large")
            if words[: len(WORDS)] == WORDS:
                budget.loading.add(file.path)
        else:
            yield file.path, data.decode("utf-8", "replace")


def _has_word(data: bytes, words: tuple[bytes, ...]) -> bool:
    """Whether one of some words is in a text; many words are looked up in one pass."""
    if len(words) <= FEW_WORDS:
        return any(word in data for word in words)
    return not frozenset(words).isdisjoint(re.findall(rb"[\w\x80-\xff]+", data))
