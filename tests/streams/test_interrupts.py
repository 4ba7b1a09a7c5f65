"""Interrupts wait from the moment a marked function's frame exists until it is gone, with all that it calls."""

from __future__ import annotations

import importlib
import signal
import subprocess
import sys
import threading

import pytest

from wheelfix.streams.interrupts import defer_interrupts, defers_interrupts


def asked() -> bool:
    return defers_interrupts(sys._getframe())


@defer_interrupts
def step() -> bool:
    return asked()


def test_what_a_step_calls_belongs_to_it() -> None:
    assert step()
    assert not asked()
    assert not defers_interrupts(None)


def test_a_step_that_fails_is_over() -> None:
    @defer_interrupts
    def failing() -> None:
        raise OSError("disk")

    try:
        failing()
    except OSError:
        assert not asked()


def test_steps_of_other_threads_hold_nothing_back() -> None:
    inside, leave = threading.Event(), threading.Event()

    @defer_interrupts
    def waiting() -> None:
        inside.set()
        leave.wait(10)

    thread = threading.Thread(target=waiting)
    thread.start()
    inside.wait(10)
    assert not asked()
    leave.set()
    thread.join()


def test_the_import_system_is_not_interrupted_but_modules_are(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []

    class Finder:
        """Is asked by the import system, in a frame of it."""

        @staticmethod
        def find_spec(name: str, path: object, target: object = None) -> None:
            found.append(defers_interrupts(sys._getframe(1)))

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(ImportError):
        importlib.import_module("nothing_of_this_name")
    assert found == [True]
    assert not asked()


IMPORTING = """
import _imp, importlib, random, signal, sys
from wheelfix.streams.interrupts import defers_interrupts

def interrupt(number, frame):
    if not defers_interrupts(frame):
        raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
chance, interrupted = random.Random(1), 0
for _ in range(1500):
    try:
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0002, 0.001))
        while signal.getitimer(signal.ITIMER_REAL)[0]:
            for name in ("colorsys", "nothing_of_this_name"):
                sys.modules.pop(name, None)
                try:
                    importlib.import_module(name)
                except ImportError:
                    pass
    except KeyboardInterrupt:
        interrupted += 1
    if _imp.lock_held():
        sys.exit("the lock of all imports was left locked: a thread that imports something waits for ever")
print(interrupted)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="interrupts are timed with POSIX' means")
def test_interrupted_imports_leave_no_lock() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20
