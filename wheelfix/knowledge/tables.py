"""Reads a table that lies beside this module, from a folder or a zip.

A row that has an unknown field, or not all that it must have, is refused. That tables do not contradict themselves is a
matter for the tests: nobody but us changes them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from wheelfix.base.inputfiles import own_data
from wheelfix.base.parsing import load_toml, regex
from wheelfix.errors import EnvironmentFailure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_Value = TypeVar("_Value")
Row = Mapping[str, Any]
"""One entry as TOML has it."""
Pair = tuple[int, int]
"""Major and minor of a version."""


class TableFault(EnvironmentFailure):
    """A table of ours is damaged or contradicts itself; every fault found is in ``because``."""

    def __init__(self, table: str, faults: Sequence[str]) -> None:
        super().__init__(
            f"the table {table} cannot be used",
            because=faults,
            hint="reinstall wheelfix; if that does not help, report this message",
        )
        self.faults = tuple(faults)


def read_text(table: str) -> str:
    """Return the text of a table of this package, which may be running from a zip."""
    try:
        return own_data(__package__, table).decode("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise TableFault(table, [str(exc)]) from exc


def parse_toml(table: str, text: str) -> dict[str, Any]:
    """Return the table's tree; not TOML means :class:`TableFault`."""
    try:
        return load_toml(text)
    except ValueError as exc:
        raise TableFault(table, [str(exc)]) from exc


def pair(text: str) -> Pair:
    """Return major and minor of a version such as ``11.7``."""
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def entries(text: str) -> list[str]:
    """Return the lines of a text table without its comments."""
    return [line for line in text.splitlines() if line and line[0] != "#"]


def header_field(text: str, field: str) -> str:
    """Return what the first lines of a table say behind a word: ``# date: 2026-11-17``; empty where they do not."""
    head = itertools.takewhile(lambda line: line.startswith("#"), text[:4000].splitlines())
    return next((line[len(field) + 4 :].strip() for line in head if line.startswith(f"# {field}: ")), "")


def table_date(table: str) -> str:
    """Return the day on which a table of this package was last compared with its source, as in ``2026-11-17``."""
    return header_field(read_text(table), "date")


CURRENT = ("provider_dlls.txt", "python_exports.txt", "torch_builds.toml")
"""The tables that go out of date first."""


def tables_date() -> str:
    """Return the day of the newest of these tables, as ``wheelfix --version`` prints it."""
    return max(map(table_date, CURRENT))


class NamePattern:
    """A pattern over a whole folded DLL name, compiled when a name first begins as it does.

    There are hundreds, and a run meets few of them: compiling them all took a fifth of the time of a small scan. That
    each can be compiled, and that each alternative begins with plain characters, is a matter for the tests.
    """

    __slots__ = ("_compiled", "pattern", "starts")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.starts = tuple(_START.findall(pattern))
        """Every name that matches begins with one of these."""
        self._compiled: re.Pattern[str] | None = None

    def fullmatch(self, name: str) -> re.Match[str] | None:
        """Match a whole name."""
        if not name.startswith(self.starts):
            return None
        if self._compiled is None:
            self._compiled = re.compile(self.pattern)
        return self._compiled.fullmatch(name)


_START = regex(r"(?:^|[(|]|\)\?)(?:\?:|\?P<\w+>)?((?:[a-z0-9_-](?![?*{]))+)")
"""Plain characters at the beginning of a pattern, of an alternative in it, or of what may follow a group."""


_IN_TABLES = {"first": "from", "last": "to", "distribution": "name", "every": "all", "some": "any"}
"""Fields that have another name in tables."""
_MAKERS: dict[str, Callable[[Any], Any]] = {
    "NamePattern": NamePattern,
    "tuple[NamePattern, ...]": lambda patterns: tuple(map(NamePattern, patterns)),
    "re.Pattern[str]": regex,
    "tuple[str, ...]": tuple,
    "frozenset[str]": frozenset,
    "Pair": pair,
}
"""What makes the value of a field, by its type, from one of TOML; all others stay as they are."""


class Checker:
    """Takes values from one table and collects its faults, so that all of them are reported at once."""

    def __init__(self, table: str, text: str) -> None:
        self.table, self.text = table, text
        self.tree = parse_toml(table, text) if table.endswith(".toml") else {}
        self.faults: list[str] = []

    def names(self) -> frozenset[str]:
        """Return the names of a list with one folded name per line."""
        return frozenset(entries(self.text))

    def values(self, key: str, kind: type[_Value], *, sourced: bool = True) -> tuple[_Value, ...]:
        """Return the entries under ``key`` as values of a class, whose fields say what an entry must and may have."""
        fields = vars(kind)["_values"]
        words = {_IN_TABLES.get(name, name): name for name in fields}
        required = [word for word, name in words.items() if fields[name].required]
        makers = {name: _MAKERS.get(type_.removesuffix(" | None")) for name, type_ in kind.__annotations__.items()}
        found = []
        for row in self.rows(key, required, words, sourced=sourced):
            named = [(words[word], value) for word, value in row.items() if word in words]
            found.append(kind(**{name: make(value) if (make := makers[name]) else value for name, value in named}))
        return tuple(found)

    def columns(self, key: str, *words: str) -> list[tuple[Any, ...]]:
        """Return these fields of the entries under ``key``, all of which have them and no others but a source."""
        return [tuple(row[word] for word in words) for row in self.rows(key, words)]

    def rows(
        self, key: str, required: Iterable[str], optional: Iterable[str] = (), *, sourced: bool = True
    ) -> list[Row]:
        """Return the entries under ``key`` that have a source, every required field and no unknown one."""
        needed = {*required, "source"} if sourced else set(required)
        good: list[Row] = []
        for number, row in enumerate(self.tree.get(key, ()), start=1):
            faults = [f"does not have {name}" for name in sorted(needed) if row.get(name) in (None, "")]
            faults += [f"has the unknown field {name}" for name in sorted(row.keys() - needed - {*optional})]
            where = f"[[{key}]] {number} ({next(iter(row.values()), 'empty')})"
            self.faults += [f"{where} {fault}" for fault in faults]
            good += [] if faults else [row]
        if not self.tree.get(key):
            self.faults.append(f"no entries under [[{key}]]")
        return good

    def finish(self) -> None:
        """Raise if anything was noted."""
        if self.faults:
            raise TableFault(self.table, self.faults)


class Table(Generic[_Value]):
    """A table of this package: called, it returns the table's values, which are read and checked once.

    A table is TOML, or text with an entry in a line; its first lines say where it is from.
    """

    def __init__(self, name: str, check: Callable[[Checker], _Value]) -> None:
        self._name, self._check = name, check
        self._found: list[_Value] = []

    def __call__(self) -> _Value:
        if not self._found:
            self._found.append(self.parse(read_text(self._name)))
        return self._found[0]

    def parse(self, text: str) -> _Value:
        """Return the values of a table with this text; every fault is reported at once."""
        check = Checker(self._name, text)
        found = self._check(check)
        check.finish()
        return found


def table(name: str) -> Callable[[Callable[[Checker], _Value]], Table[_Value]]:
    """Make the reader of a table from a function that takes its values from a :class:`Checker`."""
    return lambda check: Table(name, check)
