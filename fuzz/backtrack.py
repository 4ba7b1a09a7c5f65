"""Inputs that would make a pattern backtrack, made from its own parts, and how long it takes for them.

A pattern is slow where it can read the same characters in two ways: two repetitions side by side, one inside another,
or one that begins anywhere. So every input is a beginning that leads up to some part of the pattern, then something
that this part reads, many times, then something that makes the match fail.
"""

from __future__ import annotations

import functools
import gc
import itertools
import sys
import time
from typing import TYPE_CHECKING, Any

try:
    from re import _parser as sre_parse  # type: ignore[attr-defined]  # its name from Python 3.11 on
except ImportError:  # Python 3.10
    import sre_parse  # type: ignore[no-redef]

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fuzz.patterns import Site

_ALWAYS = (" ", "\n", "x", "0", ".", "\\", '"')
_ENDS = ("", "\x00")
_LONGEST = 80
_CHOICES = 4
_TIMES = 4
"""How many times as long the second input is. With twice, one that does not fit into a cache any more seemed slow."""
_GROWTH = 7
"""How many times as long it may take: about four times where time is in proportion, sixteen times where it is not."""
_SUSPICIOUS = 250e-9
"""Seconds for a character from which on growth is measured."""
_TOO_SLOW = 10e-6
_LONG = 0.02
_clock = time.perf_counter if sys.platform == "win32" else time.thread_time  # which is coarse on Windows
_LARGE = 3000
"""Far beyond the longest repetition that has a bound."""


class _Parts:
    """What a parsed pattern is made of, as short texts."""

    def __init__(self, choice: int) -> None:
        self._choice = choice
        """Which of the characters of a class stands for it, and which way a branch goes."""
        self.leads: dict[str, None] = {"": None}
        """Texts that bring the matcher to some place in the pattern."""
        self.pumps: dict[str, None] = dict.fromkeys(_ALWAYS)
        """Texts to repeat."""

    def sequence(self, nodes: Iterable[tuple[Any, Any]], before: str) -> str:
        """Note what a sequence reads after a text, and return the shortest text that it matches."""
        whole = ""
        last = ""
        for kind, value in nodes:
            name = str(kind).lower()
            if name in _ASSERTIONS:
                self.sequence(value[1], before + whole)
                continue
            read = self._node(name, value, before + whole)
            if name in _REPEATS:
                body = self.sequence(value[2], before + whole)
                self._lead(before + whole)
                self._pump(body, last + body, body + body + "x")
            elif last:
                self._pump(last + read)
            whole += read
            last = read or last
        self._pump(whole, whole[:-1], before + whole)
        self._lead(before + whole)
        return whole

    def _node(self, name: str, value: Any, before: str) -> str:
        if name == "literal":
            self._pump(chr(value))
            return chr(value)
        if name in ("in", "not_literal", "any", "category", "range"):
            found = "".join(_members(name, value))
            for char in found:
                self._pump(char)
            return found[self._choice % len(found)] if found else ""
        if name in _REPEATS:
            low, _, body = value
            return self.sequence(body, before) * min(low, 8)
        if name == "branch":
            texts = [self.sequence(part, before) for part in value[1]]
            return texts[self._choice % len(texts)]
        if name == "subpattern":
            return self.sequence(value[-1], before)
        if name == "atomic_group":
            return self.sequence(value, before)
        return ""

    def _lead(self, text: str) -> None:
        if len(text) <= _LONGEST:
            self.leads[text] = None

    def _pump(self, *texts: str) -> None:
        self.pumps.update(dict.fromkeys(text for text in texts if 0 < len(text) <= _LONGEST))


_REPEATS = frozenset({"max_repeat", "min_repeat", "possessive_repeat"})
_ASSERTIONS = frozenset({"assert", "assert_not"})
_SAMPLES = " x0.-_/\\\"'A\n\t:;,=|[](){}<>#%*+?!`~^&@$é²\u2028"


def _members(name: str, value: Any) -> Iterator[str]:
    """Yield a few characters that a class matches, among them one of every item that it lists."""
    if name == "any":
        yield from "x ."
    elif name == "not_literal":
        yield from itertools.islice((char for char in _SAMPLES if ord(char) != value), 3)
    elif name == "category":
        yield from _CATEGORIES.get(str(value).lower().removeprefix("category_"), "x")
    else:
        items = [(str(kind).lower(), item) for kind, item in value]
        if items[0][0] == "negate":
            barred = {char for kind, item in items[1:] for char in _listed(kind, item)}
            yield from itertools.islice((char for char in _SAMPLES if char not in barred), 6)
        else:
            for kind, item in items:
                yield from itertools.islice(_listed(kind, item), 2)


def _listed(kind: str, item: Any) -> Iterator[str]:
    if kind == "literal":
        yield chr(item)
    elif kind == "range":
        yield from (char for char in _SAMPLES if item[0] <= ord(char) <= item[1])
        yield chr(item[0])
    elif kind == "category":
        yield from _CATEGORIES.get(str(item).lower().removeprefix("category_"), "x")


_CATEGORIES = {"digit": "0", "not_digit": "x ", "space": " \n", "not_space": "x.", "word": "x0", "not_word": " ."}


@functools.cache
def _parts(site: Site, choice: int) -> _Parts:
    pattern = site.pattern.decode("latin-1") if isinstance(site.pattern, bytes) else site.pattern
    parts = _Parts(choice)
    parts.sequence(sre_parse.parse(pattern, site.flags & ~32 if isinstance(site.pattern, bytes) else site.flags), "")
    return parts


def attacks(site: Site) -> Iterator[tuple[str, str, str]]:
    """Yield beginnings, what to repeat, and ends."""
    seen: set[tuple[str, str]] = set()
    for choice in range(_CHOICES):
        parts = _parts(site, choice)
        fresh = [pair for pair in itertools.product(parts.leads, parts.pumps) if pair not in seen]
        seen.update(fresh)
        yield from ((lead, pump, end) for (lead, pump), end in itertools.product(fresh, _ENDS))


def text_of(site: Site, attack: tuple[str, str, str], size: int) -> str | bytes:
    """Return the input of about this many characters."""
    lead, pump, end = attack
    text = lead + pump * (size // len(pump)) + end
    return text.encode("latin-1", "replace") if isinstance(site.pattern, bytes) else text


def seconds(site: Site, text: str | bytes, tries: int = 1) -> float:
    """Return the time of the fastest of several tries; one is enough where it takes long."""
    best = float("inf")
    gc.disable()  # what it collects is not the pattern's doing
    for _ in range(tries):
        start = _clock()
        site.apply(text)
        best = min(best, _clock() - start)
        if best > _LONG:
            break
    gc.enable()
    return best


def growth(site: Site, attack: tuple[str, str, str], size: int, tries: int = 5) -> float:
    """Return how many times as long an input of several times the size takes."""
    once = seconds(site, text_of(site, attack, size), tries)
    return seconds(site, text_of(site, attack, _TIMES * size), tries) / once


def slow_attack(site: Site, chosen: Iterable[tuple[str, str, str]], size: int = 2000, large: int = _LARGE) -> str:
    """Return what is wrong with a pattern, for the first input that it is too slow for; empty when there is none.

    Most inputs take a few nanoseconds for each character and need no second look. Those that take more have to grow
    with the input, from ``large`` characters on, whatever the machine does meanwhile: one of three measurements
    decides.
    """
    for attack in chosen:
        text = text_of(site, attack, size)
        if seconds(site, text) <= _SUSPICIOUS * size or seconds(site, text, 5) <= _SUSPICIOUS * size:
            continue
        if all(growth(site, attack, large) > _GROWTH for _ in range(3)):
            return f"{site.where}: {site.pattern!r} ({site.mode}) takes too long for {attack}"
        if all(seconds(site, text, 5) > _TOO_SLOW * size for _ in range(3)):
            return f"{site.where}: {site.pattern!r} ({site.mode}) takes very long for {attack}"
    return ""
