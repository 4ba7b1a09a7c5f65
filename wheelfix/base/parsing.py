"""Numbers, JSON, TOML, versions and requirements of strangers: bounded, and never another error than ValueError."""

from __future__ import annotations

import importlib
import math
import re
from typing import TYPE_CHECKING, Any

from wheelfix.base.inputfiles import read_file
from wheelfix.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from packaging.markers import Marker
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

# ------------------------------------------------------------------------------------------------------------- patterns
if TYPE_CHECKING:
    regex = re.compile
else:

    class regex:  # noqa: N801  # it stands for a function
        """A regular expression that is compiled when it is first used: a run uses few of all that there are."""

        def __init__(self, text: str | bytes, flags: int = 0) -> None:
            self._said = text, flags

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            found = self.__dict__[name] = getattr(re.compile(*self._said), name)
            return found


# ----------------------------------------------------------------------------------------------------- numbers and JSON
# Numbers and JSON from untrusted files: bounded, ASCII, finite, and never another error than ValueError.
# ``int`` takes digits of every script and underscores, refuses more than 4300 digits, and is slow below that;
# ``str.isdigit`` says yes to ``²``; JSON may hold NaN, 1e999 and a thousand brackets. Nothing of that is meant.

DIGITS = 9
"""Digits of a number in a version, a name or an ordinal; nothing real has more."""
MAX_JSON = 32 << 20
"""Bytes of a JSON file; in memory it can become twenty times as large."""
_JSON_DIGITS = 19
TOO_DEEP = "it is nested too deeply"


def whole_number(text: str, digits: int = DIGITS) -> int | None:
    """Return a number written in up to so many ASCII digits; None for any other text."""
    if 0 < len(text) <= digits and text.isascii() and text.isdigit():
        return int(text)
    return None


def number_pair(major: str, minor: str) -> tuple[int, int] | None:
    """Return two numbers; None if one of them is not a number that a version can have."""
    first, second = whole_number(major), whole_number(minor)
    return None if first is None or second is None else (first, second)


def dotted_numbers(version: str) -> tuple[int, ...]:
    """Return the leading dotted numbers of a version, so that versions compare: ``v12.4.1-rc1`` gives 12, 4, 1."""
    found: list[int] = []
    for part in version.strip().lower().removeprefix("v").split(".", 32)[:32]:
        digits = re.match("[0-9]*", part)
        number = whole_number(digits[0]) if digits else None
        if number is None:
            break
        found.append(number)
        if digits and digits.end() < len(part):
            break
    return tuple(found)


def parse_json(text: str | bytes) -> Any:
    """Return what a JSON text holds; ValueError, with the reason, for what is not JSON, too deep or not finite."""
    import json

    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite, parse_int=_integer)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error


def read_json(path: Path, limit: int = MAX_JSON) -> Any:
    """Return what a regular JSON file holds; ValueError as above or if it is too large, OSError if it is not read."""
    return parse_json(read_file(path, limit).decode("utf-8-sig"))


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number in JSON")


def _finite(text: str) -> float:
    number = float(text) if len(text) <= 64 else math.inf
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:32]} is too large")
    return number


def _integer(text: str) -> int:
    if len(text) > _JSON_DIGITS + 1:
        raise ValueError(f"the number {text[:32]}... has too many digits")
    return int(text)


# ----------------------------------------------------------------------------------------------------------------- toml
# The only module that reads TOML; its parser is imported when the first text is read.


def load_toml(text: str) -> dict[str, Any]:
    """Return the tree of a TOML document; ValueError if it is none."""
    try:  # it is compiled, and so three times as fast as the same code in the standard library
        reader = importlib.import_module("tomli")
    except ImportError:
        reader = importlib.import_module("tomllib")
    try:
        tree: dict[str, Any] = reader.loads(text)
    except RecursionError as error:
        raise ValueError(TOO_DEEP) from error
    return tree


def close_words(word: str, known: Iterable[str], most: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return the known words that look most like one, the closest first: for a hint after a slip."""
    import difflib  # takes some milliseconds, which only a slip should cost

    return difflib.get_close_matches(word, list(known), n=most, cutoff=cutoff)


# -------------------------------------------------------------------------------------------- versions and requirements


def as_version(text: str) -> Version:
    """Return a version: ``2.7.1+cu128``."""
    from packaging.version import Version

    return Version(text)


def as_specifiers(text: str) -> SpecifierSet:
    """Return what versions must fulfil: ``>=1.21,<3``."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(text)


def as_requirement(text: str) -> Requirement:
    """Return a requirement: ``numpy>=1.21; extra == 'test'``."""
    from packaging.requirements import Requirement

    try:
        return Requirement(text)
    except RecursionError as error:  # parentheses within parentheses
        raise ValueError(TOO_DEEP) from error


def fault_of(parse: Callable[[str], object], text: str) -> str:
    """Return why a text is not a version, a specifier or a requirement, as ``parse`` reads them; empty if it is one."""
    try:
        parse(text)
    except ValueError as error:  # that of packaging, or for a number with more digits than Python reads
        return str(error).partition("\n")[0]
    return ""


def as_marker(text: str) -> Marker:
    """Return a condition: ``python_version < '3.11'``."""
    from packaging.markers import Marker

    return Marker(text)


def human_size(size: int) -> str:
    """Return a size as people say it: ``850 kB``, ``252.0 MB``."""
    if size < 1000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1000:.0f} kB"
    if size < 1_000_000_000:
        return f"{size / 1_000_000:.1f} MB"
    return f"{size / 1_000_000_000:.2f} GB"


def size_in_bytes(text: str) -> int | None:
    """Return the number of bytes that ``512M``, ``2 GiB`` or plain digits mean; None for another text."""
    found = re.fullmatch(r"([0-9]{1,15})\s*(?:([KMGT])(?:i?B)?|B)?", text.strip(), re.IGNORECASE)
    return int(found[1]) << (10 * " KMGT".index((found[2] or " ").upper())) if found is not None else None


def with_schema(document: Any, schema: str, what: str, hint: str = "") -> dict[str, Any]:
    """Return a document of ours; InputError if ``what`` was read is not an object with that schema."""
    if not isinstance(document, dict) or document.get("schema") != schema:
        raise InputError(what, because=f"its schema is not {schema}", hint=hint)
    return document
