"""How names compare: files and DLLs as on Windows, distributions as in PEP 503; and two aliases that all rooms use."""

from __future__ import annotations

import functools
import re
from typing import TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
Symbol: TypeAlias = str | int
"""An imported or exported name, or an ordinal."""


def fold(name: str) -> str:
    """Return the form in which names of files compare on Windows: without case, letter by letter.

    NTFS and the loader use one table that pairs letters of 16 bits; "ß" is not "ss" there, and "é" in one letter is not
    "é" in two. ``tests/test_model.py`` compares this with the table that Wine ships for Windows' functions.
    """
    return name.lower() if name.isascii() else "".join(map(_lower, name))


_SINCE_UNICODE_14 = {"\u2c2f": "\u2c5f", "\ua7c0": "\ua7c1", "\ua7d0": "\ua7d1", "\ua7d6": "\ua7d7", "\ua7d8": "\ua7d9"}
"""Pairs of the table that Python 3.10 does not know."""


@functools.lru_cache(maxsize=4096)
def _lower(letter: str) -> str:
    """Return the small letter of a capital one, where each of the two is the other's only partner."""
    if letter in _SINCE_UNICODE_14:
        return _SINCE_UNICODE_14[letter]
    small = letter.lower()
    capital = small.upper() if len(small.upper()) == 1 else small.title()
    return small if letter == capital <= "\uffff" and len(small) == 1 else letter


@functools.lru_cache(maxsize=1 << 14)
def dll_key(name: str) -> str:
    """Return the form in which DLL names compare: folded, with the ``.dll`` that the loader appends itself."""
    key = fold(name)
    return key if "." in key else key + ".dll"


def canonical(name: str) -> str:
    """Return a distribution's name, or a pattern of such names, in the form in which names compare (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
