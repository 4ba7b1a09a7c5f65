"""A crew: threads for work that lets go of the interpreter lock, in which whoever waits for a result works too.

So there are never more threads at work than processors, and what was begun first, usually the longest piece of all, is
not pushed aside by the rest. Work in steps is given out of hand after each of them: who was only helping can go when
the result that it waits for is there.
"""

from __future__ import annotations

import functools
import threading
from collections import deque
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from wheelfix.shield import undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from types import TracebackType

_T = TypeVar("_T")
_A = TypeVar("_A")


class Task(Generic[_T]):
    """A piece of work that somebody of the crew does at some time."""

    def __init__(self, steps: Generator[None, None, _T], crew: Crew) -> None:
        self._steps = steps
        self._crew = crew
        self._done = threading.Event()
        self._value: _T | None = None
        self._error: BaseException | None = None

    @property
    def done(self) -> bool:
        """Whether it came to an end, good or bad."""
        return self._done.is_set()

    def result(self) -> _T:
        """Return what came of it, or raise what it raised; until then, do what else there is to do."""
        while not self.done and self._crew.help():
            pass
        self._done.wait()
        if self._error is not None:
            raise self._error
        return cast("_T", self._value)

    def advance(self) -> None:
        """Do the next step here and now; an interrupt is for whoever does it, and for nobody else."""
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


class Crew:
    """So many workers, the caller among them; used in a ``with`` block, at whose end the threads are gone.

    When something goes wrong in the block, nothing more is begun.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = max(jobs, 1)
        """How many may work at once."""
        self._threads: list[threading.Thread] = []
        self._tasks: deque[Task[Any]] = deque()
        # A ticket for each task that waits, and the last ones to send the threads home. Neither the queue nor the deque
        # has a lock of Python's, which an interrupt could leave locked.
        self._tickets: SimpleQueue[bool] = SimpleQueue()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if kind is not None:
            self._tasks.clear()
        for _ in self._threads:
            self._tickets.put(False)
        for thread in self._threads:
            thread.join()

    def begin(self, work: Callable[[], _T]) -> Task[_T]:
        """Have a piece of work done; the first to be begun is the first to be done."""
        return self.begin_steps(_in_one_step(work))

    def begin_steps(self, steps: Generator[None, None, _T]) -> Task[_T]:
        """Have work done that yields between its steps, and returns its result."""
        task = Task(steps, self)
        self._tasks.append(task)
        self._tickets.put(True)
        if len(self._threads) < self.jobs - 1:
            self._hire()
        return task

    @undisturbed
    def _hire(self) -> None:
        thread = threading.Thread(target=self._serve, name="wheelfix-crew", daemon=True)
        thread.start()
        self._threads.append(thread)

    def each(self, work: Callable[[_A], _T], over: Iterable[_A]) -> list[_T]:
        """Return what comes of each, in their order."""
        tasks = [self.begin(functools.partial(work, one)) for one in over]
        return [task.result() for task in tasks]

    def help(self) -> bool:
        """Do one step of what waits to be done, in this thread; False if nothing waits."""
        try:
            self._tickets.get_nowait()
        except Empty:
            return False
        self._do_next()
        return True

    def _serve(self) -> None:
        while self._tickets.get():
            self._do_next()

    def _do_next(self) -> None:
        try:
            task = self._tasks.popleft()
        except IndexError:  # cleared, because something went wrong
            return
        task.advance()
        if not task.done:
            self._tasks.appendleft(task)
            self._tickets.put(True)


def _in_one_step(work: Callable[[], _T]) -> Generator[None, None, _T]:
    return work()
    yield
