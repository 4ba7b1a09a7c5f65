"""The pool of threads: the caller works too, errors and interrupts reach the caller, nothing is left running."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING

import pytest

from wheelfix.streams.pool import Cancelled, WorkerPool

if TYPE_CHECKING:
    from collections.abc import Generator


def test_results_come_in_the_order_of_the_questions() -> None:
    for jobs in (1, 2, 5):
        with WorkerPool(jobs) as pool:
            assert pool.map(lambda number: number * number, range(100)) == [number * number for number in range(100)]


def test_alone_the_caller_does_everything_and_only_when_asked() -> None:
    done = []
    with WorkerPool(1) as pool:
        task = pool.submit(lambda: done.append(threading.current_thread()))
        assert not done
        task.result()
    assert done == [threading.current_thread()]


def test_no_more_are_at_work_than_there_are_jobs() -> None:
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


def test_who_waits_does_other_work_meanwhile() -> None:
    """Two pieces that wait for one another can only both end if the caller takes one of them."""
    meeting = threading.Barrier(2, timeout=60)
    with WorkerPool(2) as pool:
        first, second = pool.submit(meeting.wait), pool.submit(meeting.wait)
        assert {first.result(), second.result()} == {0, 1}


def test_work_in_steps_is_left_when_the_result_is_there() -> None:
    """The caller helps with work without end only until what it waits for has come."""
    steps: list[threading.Thread] = []
    started, helped, ended = threading.Event(), threading.Event(), threading.Event()

    def endless() -> Generator[None, None, str]:
        while not ended.is_set():
            steps.append(threading.current_thread())
            if threading.current_thread() is threading.main_thread():
                helped.set()
            yield
        return "the end"

    def wanted() -> str:
        started.set()
        assert helped.wait(60)
        return "wanted"

    with WorkerPool(2) as pool:
        task = pool.submit(wanted)
        assert started.wait(60)  # by the pool's thread, so that the caller cannot take it
        others = pool.submit_steps(endless())
        assert task.result() == "wanted"
        assert not others.done
        ended.set()
        assert others.result() == "the end"
    assert threading.main_thread() in steps


@pytest.mark.parametrize("jobs", [1, 3])
def test_an_error_is_for_whoever_wants_the_result(jobs: int) -> None:
    def fail() -> None:
        raise ValueError("no")

    with WorkerPool(jobs) as pool:
        bad, good = pool.submit(fail), pool.submit(lambda: 7)
        assert good.result() == 7
        with pytest.raises(ValueError, match="no"):
            bad.result()


def test_an_interrupt_is_for_the_thread_that_it_hits() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    later: list[int] = []

    def use() -> None:
        with WorkerPool(1) as pool:
            pool.submit(interrupted)
            pool.submit(lambda: later.append(1)).result()

    with pytest.raises(KeyboardInterrupt):
        use()
    assert not later


def set_when_threads_are_joined(event: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads wait for the moment at which the pool, being closed, waits for them."""
    join = threading.Thread.join

    def joined(thread: threading.Thread, timeout: float | None = None) -> None:
        event.set()
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", joined)


def test_when_something_goes_wrong_nothing_more_is_begun_and_no_thread_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = [], threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        assert go_on.wait(60)

    def use() -> None:
        with WorkerPool(3) as pool:
            for number in range(50):
                pool.submit(lambda number=number: work(number))  # type: ignore[misc]
            while len(begun) < 2:
                threading.Event().wait(0.001)
            set_when_threads_are_joined(go_on, monkeypatch)
            raise LookupError

    with pytest.raises(LookupError):
        use()
    assert len(begun) == 2
    assert not [thread for thread in threading.enumerate() if thread.name == "wheelfix-worker"]


def test_an_interrupt_while_a_thread_is_being_started_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt), WorkerPool(2) as pool:
        pool.submit(lambda: 1)


def test_a_worker_that_waits_runs_what_is_pending() -> None:
    """Or all of them could wait for what no thread is left to do."""
    with WorkerPool(2) as pool:
        inner = [pool.submit(lambda: pool.submit(lambda: 1).result()) for _ in range(4)]
        assert [task.result() for task in inner] == [1] * 4


def test_in_the_background_the_caller_only_waits() -> None:
    with WorkerPool(2, background=True) as pool:
        workers = set(pool.map(lambda _: threading.current_thread(), range(50)))
    assert threading.main_thread() not in workers
    assert 1 <= len(workers) <= 2


def test_what_a_closed_pool_did_not_run_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    started, go_on = threading.Event(), threading.Event()

    def hold() -> Generator[None, None, str]:
        started.set()
        assert go_on.wait(60)
        yield
        return "the end"

    pool = WorkerPool(1, background=True)
    running, pending = pool.submit_steps(hold()), pool.submit(lambda: "pending")
    assert started.wait(60)
    set_when_threads_are_joined(go_on, monkeypatch)
    pool.close(cancel=True)
    for task in (running, pending):
        with pytest.raises(Cancelled):
            task.result()
    pool.close()


def test_without_cancelling_what_is_pending_is_done() -> None:
    done: list[int] = []
    pool = WorkerPool(1, background=True)
    for number in range(20):
        pool.submit(functools.partial(done.append, number))
    pool.close()
    assert done == list(range(20))
