"""Limits on the work, the values and the syntax trees that code of strangers can ask for."""

from __future__ import annotations

import ast
import math
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from wheelfix.base.parsing import regex
from wheelfix.base.values import dataclass, field
from wheelfix.loader.view import once_for_each

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.view import FileView

FILE_TOKENS = 200_000
"""Tokens of one file, roughly; the largest of 125 packages with DLLs has 190 000."""
ALL_TOKENS = 1_500_000
"""Of all files that are parsed for one package; a dense megabyte takes three seconds and 600 MB."""
FILE_STEPS = 300_000
"""Expressions and statements that are followed in one file; loops and functions repeat them."""
ALL_STEPS = 2_000_000
"""Of all files together; looking at a syntax tree once more counts as a step for two tokens."""
KEPT_TOKENS = 200_000
"""Of files whose syntax trees are kept for the next file that imports them; about 60 MB."""
KEPT_IN_SETS = 300_000
"""The same for a set, in which several distributions import the same files of others; about 90 MB."""
ALL_BYTES = 1 << 30
"""Bytes of source that are searched for words, all searches together; torch has 56 MB of it."""
MAX_TURNS = 64
"""Turns of one loop that are followed."""
MAX_TEXT = 1 << 15
"""Characters of one string; Windows has no longer paths."""
MAX_ITEMS = 4096
"""Strings of one list."""
MAX_LINKS = 5000
"""How deep the expressions of one statement may be nested. None of 3800 files of common packages has more. CPython 3.10
dies of 100 000 with a stack of 8 MB, and threads and processes on Windows have less."""
MAX_DOTS = 100
"""Dots in the names of one import. The parser joins such a name part by part: 40 000 parts take 1.7 GB."""
_NO_MARKS = bytes(code for code in range(256) if code >= 128 or chr(code).isalnum() or chr(code) in "_ \t\r\n")
_LINKS = b".([{+-*/%@&|^~<>"
_NO_LINKS = bytes(code for code in range(256) if code not in _LINKS)
_NO_STRUCTURE = bytes(code for code in range(256) if code not in _LINKS + b")]},;\n")
_TEXTS = regex(
    rb"#[^\n]*|\\[\s\S]"
    rb"|\"\"\"[^\"\\]*(?:(?:\\[\s\S]|\"(?!\"\"))[^\"\\]*)*\"\"\"|'''[^'\\]*(?:(?:\\[\s\S]|'(?!''))[^'\\]*)*'''"
    rb"|\"[^\"\\\n]*(?:\\[\s\S][^\"\\\n]*)*\"|'[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'"
)
"""Comments, what a backslash is before, and strings without their prefixes."""
_F_STRING = regex(rb"(?i)[ft]r?\Z")
_STRUCTURE = regex(rb"[.+\-*/%@&|^~<>]+|[(\[{]|[)\]}]|[,;]")
_IMPORTED = regex(rb"(?:import|from)\b[\w., \t\f\x80-\xff]*")
_LAZY = regex(r"^([ \t]*)lazy[ \t]+(?=(?:import|from)\b)", re.MULTILINE)
NEVER, FROM_3_15, ALWAYS = range(3)
NOT_PYTHON = "it is not valid Python for the version that wheelfix runs on"
TOO_DEEP = "it is nested too deeply"
TOO_MUCH = "the package has too much code"


class OutOfBudget(Exception):
    """Reading a file would take more work than is allowed; the message says why."""


class WrongIndent(OutOfBudget):
    """A file that no Python 3 can run: its lines are not indented as they must be, in old and new syntax alike."""

    def __init__(self, found: IndentationError) -> None:
        super().__init__(NOT_PYTHON)
        self.text, self.line = found.msg, found.lineno or 0


def count_tokens(source: str) -> int:
    """Return about how many tokens a text has, without making any."""
    data = source.encode("utf-8", "replace")
    return len(data.translate(None, _NO_MARKS)) + data.count(b"\n") + data.count(b" ") // 4


def parse_code(source: str) -> ast.Module:
    """Return the syntax tree of a file of others; OutOfBudget with the reason if it cannot be had."""
    if is_too_deep(source):
        raise OutOfBudget(TOO_DEEP)
    try:
        tree, lines = _parsed(source)
    except (RecursionError, MemoryError):
        raise OutOfBudget(TOO_DEEP) from None
    except IndentationError as found:
        raise WrongIndent(found) from None
    except (SyntaxError, ValueError):
        raise OutOfBudget(NOT_PYTHON) from None
    mark_lazy_imports(tree, lines)
    return tree


def _parsed(source: str) -> tuple[ast.Module, set[int]]:
    """Return a syntax tree, and the lines with ``lazy import`` (PEP 810), which only Python 3.15 can parse."""
    try:
        return _tree(source), set()
    except SyntaxError:
        found = list(_LAZY.finditer(source))
        if not found:
            raise
        lines, number, at = set(), 1, 0
        for one in found:
            number, at = number + source.count("\n", at, one.start()), one.start()
            lines.add(number)
        return _tree(_LAZY.sub(r"\1", source)), lines


def _tree(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SystemError:  # CPython 3.11 in several threads, now and then: "AST constructor recursion depth mismatch"
        return ast.parse(source)


def mark_lazy_imports(tree: ast.Module, lines: set[int]) -> None:
    """Mark the imports of a module that are carried out when their names are used: always, or from 3.15 on."""
    named: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(getattr(one, "id", "") == "__lazy_modules__" for one in node.targets):
            items = node.value.elts if isinstance(node.value, ast.List | ast.Tuple | ast.Set) else []
            named = {one.value for one in items if isinstance(one, ast.Constant) and isinstance(one.value, str)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} if isinstance(node, ast.Import) else {node.module or ""}
            always = node.lineno in lines or bool(getattr(node, "is_lazy", 0))
            node.lazy = ALWAYS if always else FROM_3_15 if names <= named else NEVER  # type: ignore[union-attr]


def is_lazy(node: ast.AST, python: tuple[int, int] | None) -> bool | None:
    """Whether an import is carried out only when its names are used; None if that depends on the version of Python."""
    lazy = getattr(node, "lazy", NEVER)
    if lazy == FROM_3_15:
        return None if python is None else python >= (3, 15)
    return bool(lazy)


def is_too_deep(source: str) -> bool:
    """Whether a statement is nested deeper, or imports a longer name, than Python's parser should be given.

    Only what the parser reads from left to right is counted: attributes, calls, items, operators. It refuses the rest
    (``not not not …``, blocks, brackets) by itself. In doubt this is true: operators of f-strings count as nested.
    """
    data = source.encode("utf-8", "replace").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    links = _links(data)
    if links > MAX_DOTS and any(
        names.count(b".") > MAX_DOTS for names in _IMPORTED.findall(data.replace(b"\\\n", b""))
    ):
        return True
    if links <= MAX_LINKS:
        return False
    code = _TEXTS.sub(_links_of_text, data).translate(None, _NO_STRUCTURE)
    if _links(code) <= MAX_LINKS:
        return False
    statement, depth = list[bytes](), 0
    for line in filter(None, code.split(b"\n")):
        statement.append(line)
        depth += len(line.translate(None, b")]}")) - len(line.translate(None, b"([{"))
        if depth <= 0:
            if _is_deep(b"".join(statement)):
                return True
            statement, depth = [], 0
    return _is_deep(b"".join(statement))


def _links(code: bytes) -> int:
    return len(code.translate(None, _NO_LINKS))


def _links_of_text(found: re.Match[bytes]) -> bytes:
    """Return the links that an f-string stands for, and nothing for another string or a comment."""
    text = found[0]
    if text[0] in b"'\"" and _F_STRING.search(found.string, max(found.start() - 2, 0), found.start()):
        return b"." * (_links(text) + 1)
    return b""


def _is_deep(statement: bytes) -> bool:
    """Whether there are too many links since the last comma, in all open brackets together."""
    if len(statement) <= MAX_LINKS:
        return False
    outside: list[int] = []
    enclosing = links = 0
    for found in _STRUCTURE.finditer(statement):
        token = found[0]
        if token in b",;":
            links = 0
        elif token in b"([{":
            outside.append(links + 1)
            enclosing, links = enclosing + links + 1, 0
        elif token in b")]}":
            links = outside.pop() if outside else 0
            enclosing -= links
        else:
            links += len(token)
        if enclosing + links > MAX_LINKS:
            return True
    return False


@dataclass
class Kept:
    """What is kept of files for the next who asks, as long as there is room; the packages of a set share it."""

    by_path: dict[str, Any] = field(default_factory=dict)
    room: int = KEPT_TOKENS

    def add(self, path: str, what: object, size: int) -> None:
        """Keep the source or the syntax tree of a file if there is room."""
        if path not in self.by_path and size <= self.room:
            self.room -= size
            self.by_path[path] = what


@dataclass
class CodeBudget:
    """What is left to spend on the code of one package."""

    tokens: int = ALL_TOKENS
    steps: int = ALL_STEPS
    searched: int = 0
    unread: dict[str, str] = field(default_factory=dict)
    """Files that were not read, or not to the end, and why."""
    loading: set[str] = field(default_factory=set)
    """Files in which there are words of code that loads DLLs or adds folders."""
    results: dict[str, object] = field(default_factory=dict)
    """What was read from a file, so that the packages of a set do not read it again."""
    trees: Kept = field(default_factory=Kept)

    def parse(self, source: str, path: str) -> ast.Module | None:
        """Return the syntax tree of a file, which is looked at from its begin to its end; None, with a note why."""
        try:
            self.steps -= min(count_tokens(source) >> 1, self.steps)
            if not self.steps:
                raise OutOfBudget(TOO_MUCH)
            return self._parsed(source, path)
        except OutOfBudget as reason:
            self.give_up(path, str(reason))
            return None

    def parse_more(self, source: str, path: str) -> ast.Module | None:
        """Return the syntax tree of a file that is followed because another imports it; None if it cannot be parsed.

        WrongIndent is left to the caller, who knows what that does.
        """
        try:
            return self._parsed(source, path)
        except WrongIndent:
            raise
        except OutOfBudget:
            return None

    def _parsed(self, source: str, path: str) -> ast.Module:
        tree: ast.Module | None = self.trees.by_path.get(path)
        if tree is not None:
            return tree
        tokens = count_tokens(source)
        if tokens > FILE_TOKENS:
            raise OutOfBudget("it has too many tokens")
        if tokens > self.tokens:
            raise OutOfBudget(TOO_MUCH)
        self.tokens -= tokens
        tree = parse_code(source)
        self.trees.add(path, tree, tokens)
        return tree

    def give_up(self, path: str, reason: str) -> None:
        """Note that a file was not read."""
        self.unread.setdefault(path, reason)

    def search(self, path: str, size: int) -> bool:
        """Whether a file may still be searched for words; if not, that is noted."""
        if self.searched + size > ALL_BYTES:
            self.give_up(path, TOO_MUCH)
            return False
        self.searched += size
        return True


def separate_budget(view: FileView) -> CodeBudget:
    """Return a budget for one question about the package, so that others keep theirs; trees are shared."""
    room = KEPT_TOKENS if view.beside is None else KEPT_IN_SETS
    trees: Kept = view.code_notes.setdefault("trees", Kept(room=room))
    return CodeBudget(trees=trees)


budget_of = once_for_each(separate_budget)
"""The budget of the package in a view, which all readers of its code share."""


MAX_PARTS = 1 << 14
"""Parts of one value; sixteen characters or bytes count as one."""
MAX_NESTED = 20
MAX_MATCHING = 1 << 24
"""Ways to match one text that may be tried; about a tenth of a second."""
PYTHON_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
"""What Python and its library raise for values that they cannot work with; ``UnicodeError`` and ``re.error`` too."""
LINEAR_CODECS = frozenset({"utf-8", "utf8", "ascii", "latin-1", "latin1", "utf-16-le", "utf-16le", "mbcs", "cp1252"})
"""Encodings whose time is in proportion to the text; that of ``punycode`` grows with its square."""
_WIDE = regex(r"%[-+ #0]*(?:\*|\d{4}|\d*\.(?:\*|\d{4}))")


class TooLarge(Exception):
    """A value has too many parts, or they are nested too deeply."""


def parts_of(value: object) -> Iterator[object]:
    """Go through a value as Python does to print, compare or hash it; TooLarge if that takes too long."""
    work = 0
    pending: list[Iterator[object]] = [iter((value,))]
    while pending:
        for part in pending[-1]:
            work += 1 + _weight(part)
            if work > MAX_PARTS or len(pending) > MAX_NESTED:
                raise TooLarge
            yield part
            if isinstance(part, list | tuple | set | frozenset):
                pending.append(iter(part))
                break
            if isinstance(part, dict):
                pending.append(inner for pair in part.items() for inner in pair)
                break
        else:
            pending.pop()


def _weight(part: object) -> int:
    if isinstance(part, str | bytes | PurePath):
        return len(part if not isinstance(part, PurePath) else str(part)) >> 4
    return part.bit_length() >> 6 if isinstance(part, int) else 0


def is_wide_format(text: str) -> bool:
    """Whether ``text % …`` may make a text of any length: a width or precision is large, or comes from an argument."""
    return _WIDE.search(text) is not None


def matching_work(pattern: str, length: int, *, search: bool) -> int:
    """About how many ways Python may try to match a text of a length; more than MAX_MATCHING if there is no bound.

    ``search`` says that the match may begin anywhere.
    """
    bare = re.sub(r"\\.|\[[^\]]{0,100}\]", "x", pattern.replace("(?P<", "(<").replace("(?:", "("))
    if re.search(r"\)[*+{]|\(\?[=!<(]", bare) or re.search(r"\\\d", pattern):
        return MAX_MATCHING + 1
    repeats = len(re.findall(r"[*+]|\{\d{0,4},", bare))
    choices = math.prod(part.count("|") + 1 for part in bare.split("(")) << bare.count("?")
    return choices * math.prod([length + 1] * (repeats + search))
