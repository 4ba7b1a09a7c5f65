"""What worker processes are asked to do in tests; they import it from here."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from wheelfix.streams.output import WorkFolder


@contextlib.contextmanager
def working() -> Iterator[Callable[[str, int, Callable[[int, int], None]], object]]:
    """Do what an input says."""
    yield do


def do(word: str, threads: int, progress: Callable[[int, int], None]) -> object:
    """Return an answer, fail, die or wait."""
    kind, _, rest = word.partition(" ")
    if kind == "die":
        os.kill(os.getpid(), 9)
    if kind == "exit":
        os._exit(int(rest))
    if kind == "raise":
        raise LookupError(rest)
    if kind == "memory":
        raise MemoryError
    if kind == "large":
        return _Large()
    if kind == "wait":
        with WorkFolder() as folder:
            Path(rest).write_text(f"{os.getpid()} {folder}")
            time.sleep(60)
    if kind == "part":
        progress(1, 2)
    if kind == "odd":
        return _Odd()
    if kind == "threads":
        return threads
    if kind == "program":
        return Path(sys.argv[0]).name
    return word.upper()


class _Odd:
    """An answer that cannot be sent."""

    def __reduce__(self) -> str:
        raise TypeError("an odd answer")


class _Large:
    """An answer for which there is not enough memory when it is sent."""

    def __reduce__(self) -> str:
        raise MemoryError


@contextlib.contextmanager
def never_working() -> Iterator[None]:
    """End before the first input."""
    os._exit(7)
    yield
