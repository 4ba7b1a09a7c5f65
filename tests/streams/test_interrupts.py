"""Interrupts wait from the moment a marked function's frame exists until it is gone, with all that it calls."""

from __future__ import annotations

import sys
import threading

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
