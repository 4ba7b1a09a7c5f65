"""How much work a value of a package's code is for Python; this is asked before Python is given the value.

Python prints, compares and hashes a value by going through all its parts, and through a shared part as often as it
occurs: ``t = (t, t)`` a hundred times makes 2**100 parts of a few kilobytes. Formats, regular expressions and codecs
turn a short text into a long time or a long text. Whatever is too much here counts as unknown.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PARTS = 1 << 14
"""Parts of one value; sixteen characters or bytes count as one."""
MAX_NESTED = 20
MAX_MATCHING = 1 << 24
"""Ways to match one text that may be tried; about a tenth of a second."""
PYTHON_ERRORS = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
"""What Python and its library raise for values that they cannot work with; ``UnicodeError`` and ``re.error`` too."""
LINEAR_CODECS = frozenset({"utf-8", "utf8", "ascii", "latin-1", "latin1", "utf-16-le", "utf-16le", "mbcs", "cp1252"})
"""Encodings whose time is in proportion to the text; that of ``punycode`` grows with its square."""
_WIDE = re.compile(r"%[-+ #0]*(?:\*|\d{4}|\d*\.(?:\*|\d{4}))")


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
    if isinstance(part, str | bytes):
        return len(part) >> 4
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
