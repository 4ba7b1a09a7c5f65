"""What an error code of Windows means, which code a sentence of any language belongs to, and what Wine does instead."""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import TYPE_CHECKING

from wheelfix.base.parsing import regex
from wheelfix.base.values import frozen
from wheelfix.knowledge.tables import Checker, table

if TYPE_CHECKING:
    from collections.abc import Iterable

_NOISE = r"%\w+|[\W_]+"


@frozen
class WinError:
    """An error code of Windows that a load can end with."""

    code: int
    """As unsigned number."""
    name: str
    text: str
    """The English message, with its placeholders."""
    meaning: str
    missing_file: bool
    """Whether a file is missing; so for very few codes."""
    remedies: tuple[str, ...]
    """What to try, best first."""
    source: str
    only_loads: bool = False
    """Whether many other operations end with it, so that it counts only where a text is about a load."""

    def __str__(self) -> str:
        return f"0x{self.code:08X}" if self.code > 0xFFFF else str(self.code)


@frozen
class WinErrorTable:
    """The content of ``winerrors.toml``."""

    errors: dict[int, WinError]
    sentences: tuple[tuple[int, str, str], ...]
    """Code, language and text of every message in the display languages of Windows, English first."""


@table("winerrors.toml")
def winerror_table(check: Checker) -> WinErrorTable:
    """Return everything that is known about error codes."""
    rows = check.values("error", WinError)
    sentences = [(error.code, "en", error.text) for error in rows]
    sentences += check.columns("sentence", "code", "language", "text")
    return WinErrorTable({error.code: error for error in rows}, tuple(sentences))


def squeeze(text: str) -> str:
    """Return the sentence without case, white space, punctuation and placeholders, to compare by."""
    return re.sub(_NOISE, "", unicodedata.normalize("NFC", text)).casefold()


def winerror(code: int) -> WinError | None:
    """Return what is known about a code; negative exit codes are read as the unsigned ones they stand for."""
    return winerror_table().errors.get(code & 0xFFFFFFFF)


def message_text(code: int) -> str:
    """Return the English message of a code as FormatMessage gives it, with ``%1`` where Windows leaves it."""
    error = winerror(code)
    return error.text if error else f"Windows error {code}."


@functools.cache
def _by_sentence() -> tuple[tuple[str, int, str, bool], ...]:
    """Return every known message, squeezed, with its code, its language and whether it is ambiguous, longest first."""
    rows = {(squeeze(text), code, language, is_ambiguous(code)) for code, language, text in winerror_table().sentences}
    return tuple(sorted((row for row in rows if row[0]), key=lambda row: (-len(row[0]), row)))


def code_of_sentence(text: str) -> tuple[int, str] | None:
    """Return the code and the language of the longest known message inside the text, or None.

    A message that other operations end with too has to be all of the text: "access is denied" in a longer sentence
    may be about anything.
    """
    squeezed = squeeze(text)
    for known, code, language, ambiguous in _by_sentence():
        if known in squeezed and (not ambiguous or squeezed.startswith(known)):
            return code, language
    return None


def is_ambiguous(code: int) -> bool:
    """Whether other operations than loads end with a code as well."""
    error = winerror(code)
    return error is not None and error.only_loads


NOT_FOUND = regex(r'import_dll Library (?P<dll>.{1,300}?) \(which is needed by L"(?P<by>[^"\n]{0,400})"\) not found')
"""A fault in which Wine and Windows agree (126), unless the library was found and failed for its own reasons."""


@frozen
class Deviation:
    """One way in which Wine does something else than Windows."""

    id: str
    what: str
    wine: str
    """What Wine does."""
    log: re.Pattern[str] | None = None
    """The line of Wine's log that shows it; None where no line does."""
    windows: int | None = None
    """The code that Windows gives; None where another line says more."""
    phase: str = ""
    """``map`` while files are searched and mapped, ``bind`` while imports are connected to exports."""


@table("wine_deviations.toml")
def deviations(check: Checker) -> tuple[Deviation, ...]:
    """Return the table."""
    return check.values("deviation", Deviation)


def deviation(name: str) -> Deviation:
    """Return one row."""
    return next(row for row in deviations() if row.id == name)


def shown_by(log: Iterable[str]) -> tuple[Deviation, ...]:
    """Return the deviations that the lines of a log show, in the order of the table."""
    lines = list(log)
    return tuple(row for row in deviations() if row.log is not None and any(row.log.search(line) for line in lines))
