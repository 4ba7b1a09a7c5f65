"""An interrupt waits for the end of a step that must not be torn apart."""

from __future__ import annotations

import threading

import pytest

from wheelfix.shield import Shield


def test_outside_of_a_step_it_comes_at_once() -> None:
    with pytest.raises(KeyboardInterrupt):
        Shield().interrupt()


def test_within_steps_it_waits_for_the_outermost_and_comes_once() -> None:
    shield, done = Shield(), []

    def steps() -> None:
        with shield:
            with shield:
                shield.interrupt()
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        steps()
    assert done == ["inner", "outer"]
    with shield:
        done.append("later")
    assert done[-1] == "later"


def test_a_step_that_fails_is_interrupted_all_the_same() -> None:
    shield = Shield()

    def step() -> None:
        with shield:
            shield.interrupt()
            raise OSError("disk")

    with pytest.raises(KeyboardInterrupt) as caught:
        step()
    assert isinstance(caught.value.__context__, OSError)


def test_steps_of_other_threads_hold_nothing_back() -> None:
    shield, inside, leave = Shield(), threading.Event(), threading.Event()

    def step() -> None:
        with shield:
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=step)
    thread.start()
    inside.wait(10)
    with pytest.raises(KeyboardInterrupt):
        shield.interrupt()
    leave.set()
    thread.join()
