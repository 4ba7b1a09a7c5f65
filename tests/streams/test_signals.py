"""Requests to stop unwind the work, wherever they fall; what was ignored before stays ignored."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import pytest

from tests.support.interrupts import wait_for_interrupt
from wheelfix.cli import main as door
from wheelfix.errors import Exit
from wheelfix.streams.pool import AGAIN, defer_interrupts, interruptible

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows cannot send these to one process")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_request_to_stop_unwinds_and_the_old_handlers_come_back(number, monkeypatch, capsys):
    cleaned = []

    def work(argv):
        try:
            signal.raise_signal(number)
            wait_for_interrupt()
        finally:
            cleaned.append(argv)

    monkeypatch.setattr(door, "run", work)
    outside = signal.signal(number, signal.default_int_handler)  # under nohup these tests start with SIGHUP ignored
    try:
        assert door.main(["scan"]) == Exit.INTERRUPTED
        assert cleaned == [["scan"]]
        assert capsys.readouterr().err == "wheelfix: interrupted\n"
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, outside)


def test_what_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_an_interrupt_in_a_destructor_is_not_lost(capsys):
    class Nasty:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    def work():
        nasty = Nasty()
        del nasty
        wait_for_interrupt()

    with pytest.raises(KeyboardInterrupt), interruptible():
        work()
    assert "Traceback" not in capsys.readouterr().err


def test_an_interrupt_waits_for_the_end_of_a_step_and_then_comes_at_once():
    done = []

    @defer_interrupts
    def step():
        signal.raise_signal(signal.SIGTERM)
        time.sleep(3 * AGAIN)  # sent again a few times
        done.append("step")

    def work():
        step()
        wait_for_interrupt()
        done.append("what comes after it")

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interruptible():
        work()
    assert done == ["step"]
    assert time.monotonic() - started < 30, "the waiting thread was not woken"


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM ends a process on Windows")
def test_a_put_off_request_is_not_lost_where_sigint_is_ignored():
    """A shell starts what ends with & with SIGINT ignored: SIGTERM must be sent again as SIGTERM."""

    @defer_interrupts
    def step():
        signal.raise_signal(signal.SIGTERM)
        time.sleep(2 * AGAIN)

    def work():
        step()
        wait_for_interrupt()

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), interruptible():
            work()
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_unraisable_errors_are_still_told(capsys):
    class Nasty:
        def __del__(self):
            raise ValueError("told")

    hook, sys.unraisablehook = sys.unraisablehook, sys.__unraisablehook__
    try:
        with interruptible():
            nasty = Nasty()
            del nasty
    finally:
        sys.unraisablehook = hook
    assert "told" in capsys.readouterr().err


def test_another_thread_may_run_the_command_line(monkeypatch):
    monkeypatch.setattr(door, "run", lambda argv: Exit.OK)
    codes = []
    thread = threading.Thread(target=lambda: codes.append(door.main(["scan"])))
    thread.start()
    thread.join()
    assert codes == [Exit.OK]
