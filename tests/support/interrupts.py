"""Requests to stop at every moment at which Python looks for one: when a function begins or ends."""

from __future__ import annotations

import itertools
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from wheelfix.archive import writer
from wheelfix.archive.reader import Archive
from wheelfix.streams import pool
from wheelfix.streams.output import AtomicFile


def wait_for_interrupt() -> None:
    """Wait for a minute at most.

    In short steps: a signal that comes just before a call of the system does not end that call, and Python would see
    the signal only afterwards.
    """
    for _ in range(6000):
        time.sleep(0.01)


def interrupted_everywhere(job: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Run ``job`` again and again, each time stopped a moment later; yields the number of that moment after each."""
    monkeypatch.setattr(pool, "AGAIN", 0.0005)
    job()  # what is done once only, such as imports and patterns, would be missing from the later runs
    for moment in itertools.count(1):
        run = _Run(moment)
        if not run.is_stopped(job):
            assert run.passed < moment, "the request to stop was lost"
            return
        yield moment


class _Run:
    """One run, which is asked to stop at the given moment."""

    def __init__(self, moment: int) -> None:
        self.moment = moment
        self.passed = 0

    def is_stopped(self, job: Callable[[], object]) -> bool:
        with pool.interruptible():
            try:
                self._do(job)
            except KeyboardInterrupt:
                return True
        return False

    def _do(self, job: Callable[[], object]) -> None:
        sys.setprofile(self._count)
        try:
            job()
        finally:
            sys.setprofile(None)
        if self.passed >= self.moment:
            wait_for_interrupt()  # one that was put off comes now

    def _count(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event == "c_call":  # Python does not look between this and the call itself
            return
        self.passed += 1
        if self.passed == self.moment:
            signal.raise_signal(signal.SIGINT)


# -------------------------------------------------------------------------------------------------------------- closing
# A watch on archives that are replaced in place: Windows refuses to replace a file that is open.


def watch_replacing(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> list[Archive]:
    """Assert that every archive of a wheel is closed when the wheel is replaced; return the archives as they open."""
    opened = []
    load, commit = Archive._load, AtomicFile.commit

    def watch(self: Archive) -> None:
        opened.append(self)
        load(self)

    def replace(self: AtomicFile) -> None:
        if self.target == wheel:
            assert all(archive._source._file.closed for archive in opened if archive.path == wheel)
        commit(self)

    monkeypatch.setattr(writer, "_CLOSE_FIRST", True)
    monkeypatch.setattr(Archive, "_load", watch)
    monkeypatch.setattr(AtomicFile, "commit", replace)
    return opened
