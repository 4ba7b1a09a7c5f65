"""A step is undisturbed from the moment its frame is there to the moment it is gone, with all that it calls."""

from __future__ import annotations

import sys
import threading

from wheelfix.shield import is_undisturbed, undisturbed


def asked() -> bool:
    return is_undisturbed(sys._getframe())


@undisturbed
def step() -> bool:
    return asked()


def test_what_a_step_calls_belongs_to_it() -> None:
    assert step()
    assert not asked()
    assert not is_undisturbed(None)


def test_a_step_that_fails_is_over() -> None:
    @undisturbed
    def failing() -> None:
        raise OSError("disk")

    try:
        failing()
    except OSError:
        assert not asked()


def test_steps_of_other_threads_hold_nothing_back() -> None:
    inside, leave = threading.Event(), threading.Event()

    @undisturbed
    def waiting() -> None:
        inside.set()
        leave.wait(10)

    thread = threading.Thread(target=waiting)
    thread.start()
    inside.wait(10)
    assert not asked()
    leave.set()
    thread.join()
