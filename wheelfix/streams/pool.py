"""Threads and interrupts: the one pool, what an interrupt must not cut short, and how requests to stop arrive."""

from __future__ import annotations

import _thread
import contextlib
import functools
import gc
import signal
import sys
import threading
import time
import warnings
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from wheelfix.errors import was_interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType, FrameType

    _Function = TypeVar("_Function", bound=Callable[..., Any])


# -------------------------------------------------------------------------------------------------- deferred interrupts
# Functions that an interrupt must not cut short: they create or remove what would be left behind otherwise.
# A request to stop that arrives while such a function runs is delivered when it has returned, milliseconds later. The
# function is recognised by its code: it has begun as soon as its frame exists, and is over when its frame is gone.

_DEFERRING: set[CodeType] = set()


def defer_interrupts(function: _Function) -> _Function:
    """Mark a function as one that interrupts wait for; calls of it cost nothing more."""
    _DEFERRING.add(function.__code__)
    return function


def defers_interrupts(frame: FrameType | None) -> bool:
    """Whether this frame is that of a marked function, or was called by one; signal handlers ask.

    Or it is one of Python's import system: an exception between its taking the lock of all imports and the ``try``
    behind that leaves it locked for ever, and a thread that imports something never ends.
    """
    if frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        return True
    while frame is not None:
        if frame.f_code in _DEFERRING:
            return True
        frame = frame.f_back
    return False


# ----------------------------------------------------------------------------------------------------------------- pool
# The one pool of threads, for work that releases the interpreter lock: inflating, hashing, copying.


_T = TypeVar("_T")
_A = TypeVar("_A")


class Cancelled(Exception):
    """The pool was closed before the task was begun."""


class Task(Generic[_T]):
    """Work that was submitted to a pool."""

    def __init__(self, work: Callable[[], _T], pool: WorkerPool) -> None:
        self._work, self._pool = work, pool
        # It is locked until the work is done. An interrupt that falls into threading.Event, which is written in Python,
        # can leave a lock to another thread that is not its own.
        self._pending, self._is_done = threading.Lock(), False
        self._pending.acquire()
        self._value: _T | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do the work, and keep what it returns or raises."""
        try:
            self._value = self._work()
        except BaseException as error:  # raised to the caller who wants the result
            self._error = error
        self._end()

    def cancel(self) -> None:
        """End it without a result."""
        self._error = Cancelled()
        self._end()

    def _end(self) -> None:
        self._is_done = True
        self._pending.release()

    def result(self) -> _T:
        """Wait for the result and return it, or raise what the work raised."""
        if not self._is_done:
            self._pool.start_last_worker()
            with self._pending:
                pass
        if self._error is not None:
            raise self._error
        return cast("_T", self._value)


class WorkerPool:
    """So many threads, used in a ``with`` block, at whose end they are gone; they start when there is work.

    The last one starts when the caller waits: until then the caller is busy itself, and would only get less time.
    When an error leaves the block, nothing more is begun. Work must not wait for other work of the same pool.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = max(jobs, 1)
        self._threads: list[threading.Thread] = []
        # At the end there is a None for each thread to return. Unlike that of queue.Queue, the lock of this one is not
        # written in Python, so that no interrupt leaves it locked.
        self._tasks: SimpleQueue[Task[Any] | None] = SimpleQueue()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close(cancel=kind is not None)

    def close(self, *, cancel: bool = False) -> None:
        """Wait until the threads have done what is pending, or with ``cancel`` only what they have begun."""
        with contextlib.suppress(Empty):
            while cancel:
                task = self._tasks.get_nowait()
                if task is not None:
                    task.cancel()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def submit(self, work: Callable[[], _T]) -> Task[_T]:
        """Have a function called; tasks are started in the order in which they were submitted."""
        task = Task(work, self)
        self._tasks.put(task)
        if len(self._threads) < max(self._jobs - 1, 1):
            self._start_worker()
        return task

    def at_most(self, jobs: int) -> None:
        """Use no more threads than these; those that run already go on."""
        self._jobs = min(self._jobs, jobs)

    def start_last_worker(self) -> None:
        """Have one thread more, for a caller that waits."""
        if len(self._threads) < self._jobs:
            self._start_worker()

    def map(self, work: Callable[[_A], _T], over: Iterable[_A]) -> list[_T]:
        """Return the result for each, in their order."""
        tasks = [self.submit(functools.partial(work, one)) for one in over]
        return [task.result() for task in tasks]

    @defer_interrupts
    def _start_worker(self) -> None:
        thread = threading.Thread(target=self._work, name="wheelfix-worker", daemon=True)
        thread.start()
        self._threads.append(thread)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task.run()


# -------------------------------------------------------------------------------------------------------------- signals
# Interrupts: Ctrl-C, Ctrl-Break and SIGTERM leave a clean folder and give exit code 130.
# Python raises KeyboardInterrupt on Ctrl-C, so that temporary files vanish on the way out, and dies of SIGTERM where it
# stands; here both go the first way. An interrupt that falls into a destructor would be printed and lost, and one that
# falls into a step which must stay whole may not tear it apart: both are sent again a moment later.


NAMES = ("SIGINT", "SIGTERM", "SIGBREAK", "SIGHUP")
"""What a console, a service manager or a CI system sends to make a program stop."""
AGAIN = 0.02
"""Seconds until an interrupt is sent again."""


_last: int = signal.SIGINT
"""The request that came last: it is the one that is sent again, since another may be ignored."""


class Interrupts:
    """The handlers of this process; outside the main thread, where Python allows none, it does nothing."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._ours = threading.current_thread() is threading.main_thread()

    def unwind(self) -> None:
        """Let every request to stop raise KeyboardInterrupt; what was ignored before (nohup) stays ignored."""
        for number in self._numbers():
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, _interrupt)

    def ignore(self) -> None:
        """Let nothing disturb the last steps."""
        for number in self._numbers():
            signal.signal(number, signal.SIG_IGN)

    def restore(self) -> None:
        """Put back what was there."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _numbers(self) -> list[int]:
        return [getattr(signal, name) for name in NAMES if self._ours and hasattr(signal, name)]


@contextlib.contextmanager
def interruptible(*, last: bool = False) -> Iterator[Interrupts]:
    """Let every request to stop unwind the work in this block; ``last`` if nothing comes after it."""
    interrupts, hook = Interrupts(), sys.unraisablehook
    interrupts.unwind()
    sys.unraisablehook = _sending_again(hook)
    try:
        yield interrupts
    finally:
        sys.unraisablehook = hook
        if last:
            interrupts.ignore()  # the work is done, or reported as failed
        else:
            interrupts.restore()


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _last
    _last = number
    if not defers_interrupts(frame):
        raise KeyboardInterrupt
    _send_again()


def _sending_again(hook: Callable[[sys.UnraisableHookArgs], object]) -> Callable[[sys.UnraisableHookArgs], None]:
    def raised(lost: sys.UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt) or was_interrupted(lost.exc_value):
            _send_again()
        else:
            hook(lost)

    return raised


def stop_this_process() -> None:
    """Have the main thread unwind as on SIGTERM; for other threads, which Python raises no interrupt in."""
    global _last
    _last = signal.SIGTERM
    _raise_in_main_thread()


def _send_again() -> None:
    _thread.start_new_thread(_send, ())  # the interrupted thread may hold a lock that threading.Thread needs


def _send() -> None:
    time.sleep(AGAIN)
    _raise_in_main_thread()


def _raise_in_main_thread() -> None:
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        signal.raise_signal(_last)
    else:  # to the one that handles it, which may be waiting for something else
        signal.pthread_kill(main, _last)


# ---------------------------------------------------------------------------------------------------------- interpreter
# How the interpreter runs in a process that does nothing but our work.


def tune() -> None:
    """Set the interpreter up for threads that unpack, and for ten thousand values that live to the end."""
    # Ten thousand members are ten thousand tuples that live to the end: looking through them for cycles finds none.
    # In a run over many wheels those that were examined are cycles, and go.
    gc.set_threshold(200_000, 50, 5)
    # Threads that unpack need the interpreter only between two pieces, and then at once: 13 % of a scan of torch. On
    # Windows a thread waits in whole milliseconds, so that less is a loop that takes a processor.
    sys.setswitchinterval(0.001 if sys.platform == "win32" else 0.00001)
    warnings.simplefilter("ignore")  # of Python, about code that others wrote and we only read
