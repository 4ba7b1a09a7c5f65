"""Limits of time in tests, in seconds of a quiet machine: a busy one, and what measures coverage, take longer."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")

_TRACED = 4
_MOST = 4
"""How many times as long a limit becomes at most: beyond that it is not the machine."""
_NOMINAL = 0.005
"""Processor seconds of :func:`_reference` on the machine that the limits were chosen for, with nothing else to do."""


class _Limit(float):
    """Seconds that become more only where something took longer, because it takes time to find out how many more."""

    longer: Callable[[float], float]

    def __gt__(self, other: float) -> bool:
        return float(self) > other or self.longer(float(self)) > other


def patience(seconds: float) -> float:
    """Return a limit of processor time, longer where the processor is slow just now, or where every line is traced.

    It is meant for the right side of ``<``.
    """
    limit = _Limit(seconds)
    limit.longer = _on_this_processor
    return limit


def wall_patience(seconds: float) -> float:
    """Return a limit of time on the clock: longer also where more processes want to run than there are processors."""
    limit = _Limit(seconds)
    limit.longer = _on_this_machine
    return limit


def _on_this_processor(seconds: float) -> float:
    if sys.gettrace() is not None:
        return seconds * _TRACED
    return seconds * min(max(_reference() / _NOMINAL, 1.0), _MOST)


def _on_this_machine(seconds: float) -> float:
    began, used = time.perf_counter(), time.thread_time()
    limit = _on_this_processor(seconds)
    waiting = (time.perf_counter() - began) / max(time.thread_time() - used, 1e-9)
    if hasattr(os, "getloadavg"):  # of the last minute, so that it does not know of what has just begun
        waiting = max(waiting, os.getloadavg()[0] / (os.cpu_count() or 1))
    return limit * min(max(waiting, 1.0), _MOST)


def on_fresh_stack(work: Callable[[], _T]) -> _T:
    """Do something in a thread of its own, below which no frames lie.

    Python 3.11 and later keep frames in pieces of memory. Where one piece is full just below a function that is called
    again and again, each call takes a new piece from the system and gives it back: that took three times as long.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def _reference() -> float:
    """Return the processor time of a little ordinary Python, the second-best of several."""
    times = []
    for _ in range(5):
        start = time.thread_time()
        seen = {}
        for number in range(25_000):
            seen[str(number & 1023)] = number
        times.append(time.thread_time() - start)
    return sorted(times)[1]
