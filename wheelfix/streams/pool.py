"""The one pool of threads, for work that releases the interpreter lock: inflating, hashing, copying.

By default the caller is one of the workers: while it waits for a result it runs what is pending, so there are never
more busy threads than processors. Work can be given as a generator that yields between steps, and then a caller that
runs it while it waits can leave between two steps when its own result is there.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import deque
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from wheelfix.streams.interrupts import defer_interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from types import TracebackType

_T = TypeVar("_T")
_A = TypeVar("_A")


class Cancelled(Exception):
    """The pool was closed before the task was run to its end."""


class Task(Generic[_T]):
    """Work that was submitted to a pool."""

    def __init__(self, steps: Generator[None, None, _T], pool: WorkerPool) -> None:
        self._steps = steps
        self._pool = pool
        self._done = threading.Event()
        self._value: _T | None = None
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        """Whether it has ended, with a result or with an error."""
        return self._done.is_set()

    def result(self) -> _T:
        """Return the result, or raise what the work raised; until then, run what is pending in the pool."""
        while not self.done and self._pool.run_pending():
            pass
        self._done.wait()
        if self._error is not None:
            raise self._error
        return cast("_T", self._value)

    def advance(self) -> None:
        """Run the next step in this thread; an interrupt is also raised here, where it arrived."""
        try:
            next(self._steps)
        except StopIteration as end:
            self._value = end.value
            self._done.set()
        except BaseException as error:
            self._error = error
            self._done.set()
            if not isinstance(error, Exception):
                raise

    def cancel(self) -> None:
        """End it without a result."""
        self._error = Cancelled()
        self._done.set()


class WorkerPool:
    """So many workers, used in a ``with`` block, at whose end the threads are gone.

    ``jobs`` counts the caller; with ``background`` it does not: then all work is done by threads of the pool, and a
    caller that waits only waits. When an error leaves the block, nothing more is started.
    """

    def __init__(self, jobs: int, *, background: bool = False) -> None:
        self.jobs = max(jobs, 1)
        """How many may work at once."""
        self._background = background
        self._most = self.jobs if background else self.jobs - 1
        self._threads: list[threading.Thread] = []
        self._tasks: deque[Task[Any]] = deque()
        self._closed = False
        # A ticket for each pending task, and at the end one for each thread to return. Neither the queue nor the deque
        # has a lock written in Python, which an interrupt could leave locked.
        self._tickets: SimpleQueue[bool] = SimpleQueue()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close(cancel=kind is not None)

    def close(self, *, cancel: bool = False) -> None:
        """Wait until the threads have done what is pending, or with ``cancel`` only their current steps."""
        if cancel:
            self._closed = True
            while self._tasks:
                self._tasks.popleft().cancel()
        for _ in self._threads:
            self._tickets.put(False)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def submit(self, work: Callable[[], _T]) -> Task[_T]:
        """Have a function called; tasks are started in the order in which they were submitted."""
        return self.submit_steps(_one_step(work))

    def submit_steps(self, steps: Generator[None, None, _T]) -> Task[_T]:
        """Have a generator run that yields between its steps and returns the result."""
        task = Task(steps, self)
        self._tasks.append(task)
        self._tickets.put(True)
        if len(self._threads) < self._most:
            self._start_worker()
        return task

    def map(self, work: Callable[[_A], _T], over: Iterable[_A]) -> list[_T]:
        """Return the result for each, in their order."""
        tasks = [self.submit(functools.partial(work, one)) for one in over]
        return [task.result() for task in tasks]

    def run_pending(self) -> bool:
        """Run one step of what is pending, in this thread; False if nothing is, or this is not the caller's work."""
        if self._background:
            return False
        try:
            self._tickets.get_nowait()
        except Empty:
            return False
        self._run_next()
        return True

    @defer_interrupts
    def _start_worker(self) -> None:
        thread = threading.Thread(target=self._work, name="wheelfix-worker", daemon=True)
        thread.start()
        self._threads.append(thread)

    def _work(self) -> None:
        while self._tickets.get():
            with contextlib.suppress(
                BaseException
            ):  # the task keeps it, and raises it to the caller who wants the result
                self._run_next()

    def _run_next(self) -> None:
        try:
            task = self._tasks.popleft()
        except IndexError:  # cancelled
            return
        task.advance()
        if task.done:
            return
        if self._closed:
            task.cancel()
        else:
            self._tasks.appendleft(task)
            self._tickets.put(True)


def _one_step(work: Callable[[], _T]) -> Generator[None, None, _T]:
    return work()
    yield
