"""Native libraries that packages load by name and do not contain: how a text names them, and where they come from."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.diagnosis.symptoms.messages import Words, parse_words
from wheelfix.diagnosis.symptoms.symptom import Symptom
from wheelfix.knowledge.tables import Checker, parse_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = "libraries.toml"
KIND = "library"
_EXCERPT = 400
_SUFFIX = re.compile(r"\.dll$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NamedLibrary:
    """A native library and how to get it on Windows."""

    name: str
    """The DLL, as it is usually called."""
    file: re.Pattern[str]
    """The names under which it is asked for, without the suffix, in lower case."""
    fix: str
    why: str
    source: str
    command: str = ""
    words: Words | None = None
    """The words of messages that name no file."""
    windows: bool = False
    """Whether these words come from other systems as often, so that the text has to show that it is from Windows."""


def parse_libraries(table: str, text: str) -> tuple[NamedLibrary, ...]:
    """Turn the table's text into values; every fault is reported at once."""
    check = Checker(table)
    rows = check.rows(parse_toml(table, text), "library", ("name", "file", "fix", "why"), ("any", "windows", "command"))
    check.unique("library", (row["name"] for row in rows))
    found = []
    for row in rows:
        words = parse_words(row, row["name"], check) if "any" in row else None
        pattern = check.pattern(row["file"])
        given = {name: row[name] for name in ("fix", "why", "source", "command", "windows") if name in row}
        found.append(NamedLibrary(row["name"], pattern, words=words, **given))
    check.finish()
    return tuple(found)


@lru_cache(maxsize=1)
def libraries() -> tuple[NamedLibrary, ...]:
    """Return every library of the table."""
    return parse_libraries(TABLE, resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def library_triggers() -> tuple[str, ...]:
    """Return words of which one is in every line that names a library of the table."""
    return tuple(sorted({word for one in libraries() if one.words for word in one.words.triggers}))


def read_libraries(line: str) -> Iterator[Symptom]:
    """Yield the library that a line says was not found."""
    lowered = line.lower()
    for one in libraries():
        if one.words is not None and one.words.match(lowered):
            details = {"only": "windows"} if one.windows else {}
            yield Symptom(KIND, 126, one.name, excerpt=" ".join(line.split())[:_EXCERPT], details=details)
            return


def library_of(name: str) -> NamedLibrary | None:
    """Return the library that a file name stands for, or None."""
    stem = _SUFFIX.sub("", name).lower()
    return next((one for one in libraries() if one.file.fullmatch(stem)), None) if stem else None
