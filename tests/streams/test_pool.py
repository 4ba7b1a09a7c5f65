"""The pool of threads: errors reach the caller, nothing is left running."""

from __future__ import annotations

import functools
import importlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tests.support.interrupts import wait_for_interrupt
from wheelfix.cli import main as door
from wheelfix.errors import Exit, failure_of
from wheelfix.streams.pool import (
    AGAIN,
    Cancelled,
    WorkerPool,
    defer_interrupts,
    defers_interrupts,
    interruptible,
    tune,
)


def test_results_come_in_the_order_of_the_questions():
    for jobs in (1, 2, 5):
        with WorkerPool(jobs) as pool:
            assert pool.map(lambda number: number * number, range(100)) == [number * number for number in range(100)]


def test_no_more_are_at_work_than_there_are_jobs():
    lock, most, now = threading.Lock(), 0, 0
    meeting = threading.Barrier(3, timeout=60)

    def work(_: int) -> None:
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        meeting.wait()
        with lock:
            now -= 1

    with WorkerPool(3) as pool:
        pool.map(work, range(60))
    assert most == 3


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_error_is_for_whoever_wants_the_result(jobs):
    def fail() -> None:
        raise ValueError("no")

    with WorkerPool(jobs) as pool:
        bad, good = pool.submit(fail), pool.submit(lambda: 7)
        assert good.result() == 7
        with pytest.raises(ValueError, match="no"):
            bad.result()


def set_when_threads_are_joined(event: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads wait for the moment at which the pool, being closed, waits for them."""
    join = threading.Thread.join

    def joined(thread: threading.Thread, timeout: float | None = None) -> None:
        event.set()
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", joined)


def test_when_something_goes_wrong_nothing_more_is_begun_and_no_thread_is_left(monkeypatch):
    begun, go_on = [], threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        assert go_on.wait(60)

    def use() -> None:
        with WorkerPool(3) as pool:
            for number in range(50):
                pool.submit(lambda number=number: work(number))  # type: ignore[misc]
            while len(begun) < 2:  # the third thread starts when somebody waits
                threading.Event().wait(0.001)
            set_when_threads_are_joined(go_on, monkeypatch)
            raise LookupError

    with pytest.raises(LookupError):
        use()
    assert len(begun) == 2
    assert not [thread for thread in threading.enumerate() if thread.name == "wheelfix-worker"]


def test_an_interrupt_while_a_thread_is_being_started_is_an_interrupt(monkeypatch):
    def start(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt), WorkerPool(2) as pool:
        pool.submit(lambda: 1)


def test_the_caller_only_waits():
    with WorkerPool(2) as pool:
        workers = set(pool.map(lambda _: threading.current_thread(), range(50)))
    assert threading.main_thread() not in workers
    assert 1 <= len(workers) <= 2


def test_what_a_closed_pool_did_not_run_is_cancelled(monkeypatch):
    started, go_on = threading.Event(), threading.Event()

    def hold() -> str:
        started.set()
        assert go_on.wait(60)
        return "the end"

    pool = WorkerPool(1)
    running, pending = pool.submit(hold), pool.submit(lambda: "pending")
    assert started.wait(60)
    set_when_threads_are_joined(go_on, monkeypatch)
    pool.close(cancel=True)
    assert running.result() == "the end"
    with pytest.raises(Cancelled):
        pending.result()
    pool.close()


def test_without_cancelling_what_is_pending_is_done():
    done = []
    pool = WorkerPool(1)
    for number in range(20):
        pool.submit(functools.partial(done.append, number))
    pool.close()
    assert done == list(range(20))


@pytest.mark.parametrize("platform, seconds", [("win32", 0.001), ("linux", 0.00001)])
def test_threads_switch_as_fast_as_the_system_can_wait(platform, seconds, monkeypatch):
    """Windows waits in whole milliseconds: with less, a thread that waits for another takes a processor."""
    asked = []
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(sys, "setswitchinterval", asked.append)
    monkeypatch.setattr("gc.set_threshold", lambda *_: None)
    monkeypatch.setattr("warnings.simplefilter", lambda _: None)
    tune()
    assert asked == [seconds]


# ----------------------------------------------------------------------------------------------------------- interrupts
# Interrupts wait from the moment a marked function's frame exists until it is gone, with all that it calls.


def asked() -> bool:
    return defers_interrupts(sys._getframe())


@defer_interrupts
def step() -> bool:
    return asked()


def test_what_a_step_calls_belongs_to_it():
    assert step()
    assert not asked()
    assert not defers_interrupts(None)


def test_a_step_that_fails_is_over():
    @defer_interrupts
    def failing() -> None:
        raise OSError("disk")

    try:
        failing()
    except OSError:
        assert not asked()


def test_steps_of_other_threads_hold_nothing_back():
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


def test_the_import_system_is_not_interrupted_but_modules_are(monkeypatch):
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
def test_interrupted_imports_leave_no_lock(interrupts):
    """The lock of all imports was left locked, and a thread that imported something waited for ever.

    An interrupt is raised at each line of the import system and of the modules in turn. Without the question whether
    it has to wait, the lock stays locked after some of them; so the test would notice.
    """
    done = subprocess.run([sys.executable, "-c", IMPORTING, interrupts], capture_output=True, text=True, check=True)
    interrupted, left_locked = map(int, done.stdout.split())
    assert interrupted >= 20, "those in the modules themselves at least"
    assert bool(left_locked) is (interrupts == "ignored")


# -------------------------------------------------------------------------------------------------------------- signals
# Requests to stop unwind the work, wherever they fall; what was ignored before stays ignored.


SENDS_SIGNALS = pytest.mark.skipif(os.name != "posix", reason="Windows cannot send these to one process")


@SENDS_SIGNALS
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


@SENDS_SIGNALS
def test_what_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


@SENDS_SIGNALS
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


@SENDS_SIGNALS
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


@SENDS_SIGNALS
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


@SENDS_SIGNALS
def error_of_a_lock(monkeypatch: pytest.MonkeyPatch) -> RuntimeError:
    """What an interrupt becomes that falls between two lines of Condition.wait."""
    condition = threading.Condition(threading.Lock())

    def interrupted() -> None:
        condition.release()
        raise KeyboardInterrupt

    monkeypatch.setattr(condition, "_release_save", interrupted)
    with (
        pytest.raises(RuntimeError, match="release un") as caught,
        condition,
    ):
        condition.wait()
    return caught.value


def test_an_interrupt_that_a_lock_hides_is_one(monkeypatch, capsys):
    error = error_of_a_lock(monkeypatch)
    assert door.report_error(error) == Exit.INTERRUPTED
    assert capsys.readouterr().err == "wheelfix: interrupted\n"
    with pytest.raises(KeyboardInterrupt):
        failure_of(error, "x.whl")
    assert "should not have happened" in str(failure_of(RuntimeError("release unlocked lock"), "x.whl"))


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


@SENDS_SIGNALS
def test_another_thread_may_run_the_command_line(monkeypatch):
    monkeypatch.setattr(door, "run", lambda argv: Exit.OK)
    codes = []
    thread = threading.Thread(target=lambda: codes.append(door.main(["scan"])))
    thread.start()
    thread.join()
    assert codes == [Exit.OK]


WAITING = """
import os, random, signal, threading, time
from wheelfix.streams.pool import WorkerPool

def interrupt(*_):
    raise KeyboardInterrupt

faults, interrupts, end = [], 0, time.monotonic() + 1
threading.excepthook = faults.append
signal.signal(signal.SIGALRM, interrupt)
pool = WorkerPool(2)
pool.submit(int).result()
pool.start_last_worker()  # the threads are there: their start is a step of its own, into which no request to stop falls
while time.monotonic() < end:
    tasks = [pool.submit(int) for _ in range(2)]
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.00001, 0.0002))
        for task in tasks:
            task.result()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupts += 1
print(faults, interrupts > 10, flush=True)
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a timer that interrupts is POSIX")
def test_an_interrupt_while_waiting_leaves_no_lock_of_another_thread():
    """Story: after Ctrl-C a thread printed "release unlocked lock", once in some hundred runs."""
    done = subprocess.run([sys.executable, "-c", WAITING], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("[] True\n", "")
