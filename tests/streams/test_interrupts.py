"""Interrupts wait from the moment a marked function's frame exists until it is gone, with all that it calls."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading

import pytest

from wheelfix.streams.pool import defer_interrupts, defers_interrupts


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
        leave.wait(60)

    thread = threading.Thread(target=waiting)
    thread.start()
    assert inside.wait(60)
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
import _imp, importlib, os, sys
from wheelfix.streams.pool import defers_interrupts

heeded = sys.argv[1] == "heeded"
sys.path[:] = [os.path.dirname(os.__file__)]

def import_and_interrupt_at(point):
    steps = 0

    def trace(frame, event, argument):
        nonlocal steps
        steps += 1
        if steps == point and not (heeded and defers_interrupts(frame)):
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        for name in ("colorsys", "nothing_of_this_name"):
            sys.modules.pop(name, None)
            try:
                importlib.import_module(name)
            except ImportError:
                pass
    except KeyboardInterrupt:
        return True, True
    finally:
        sys.settrace(None)
    return steps >= point, False

point = interrupted = left_locked = 0
further = True
while further:
    point += 1
    further, raised = import_and_interrupt_at(point)
    interrupted += raised
    left_locked += _imp.lock_held()
    while _imp.lock_held():
        _imp.release_lock()
print(interrupted, left_locked)
"""


@pytest.mark.parametrize("interrupts", ["heeded", "ignored"])
def test_interrupted_imports_leave_no_lock(interrupts: str) -> None:
    """The lock of all imports was left locked, and a thread that imported something waited for ever.

    An interrupt is raised at each line of the import system and of the modules in turn. Without the question whether
    it has to wait, the lock stays locked after some of them; so the test would notice.
    """
    done = subprocess.run([sys.executable, "-c", IMPORTING, interrupts], capture_output=True, text=True, check=True)
    interrupted, left_locked = map(int, done.stdout.split())
    assert interrupted >= 20, "those in the modules themselves at least"
    assert bool(left_locked) is (interrupts == "ignored")
