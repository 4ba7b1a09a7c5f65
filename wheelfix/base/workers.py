"""Several inputs side by side in worker processes: results in the order of the inputs, bounded memory.

Threads share the interpreter's lock, for which many wheels wait; one wheel, which is mostly inflated, hardly does.
Every process works on one input at a time, so that one which dies (killed, out of memory) costs that input and no
other. What is sent to a process and comes back is pickled: top-level functions and values of ours.
"""

from __future__ import annotations

import bisect
import contextlib
import pickle
import sys
import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from wheelfix.base.programs import end_worker, start_worker
from wheelfix.errors import EnvironmentFailure
from wheelfix.streams.pool import defer_interrupts

_A = TypeVar("_A")
_R = TypeVar("_R")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import TypeAlias

    from wheelfix.base.programs import Worker

    Progress: TypeAlias = Callable[[int, int], None]
    Work: TypeAlias = Callable[[_A, int, Progress | None], _R]
    """Is called with an input, how many threads it may use, and whom to report bytes to."""
    Start: TypeAlias = Callable[[], AbstractContextManager[Work[_A, _R]]]
    """Is called once in every process; what it opens serves all inputs of that process."""

MODULE = "wheelfix.base.workerprocess"
SECONDS_PER_WHEEL = 0.04
BYTES_PER_SECOND = 40 << 20
"""What scans of wheels take, each on one processor; most of it is spent on Python code, for which threads wait."""
WORTH_SECONDS = 0.2 if sys.platform == "linux" else 1.0
"""Work from which processes pay: a copy of this one is there at once, a new one with its modules takes a while."""
MOST = 60 if sys.platform == "win32" else 1024
AHEAD = 4
"""How many inputs per process may be begun before the result of the first is given."""
GRACE = 0.8
"""Seconds that a process has to remove its temporary files when it is asked to stop."""
TICK = 0.2
"""Seconds after which a waiting starter sees an interrupt on Windows."""
FALSE_STARTS = 3


def worth_processes(sizes: Sequence[int], jobs: int) -> bool:
    """Whether several inputs of these sizes are done sooner by several processes than by the threads of this one."""
    if jobs < 2 or len(sizes) < 2 or not sys.executable or getattr(sys, "frozen", False):
        return False
    seconds = sum(sizes) / BYTES_PER_SECOND + len(sizes) * SECONDS_PER_WHEEL
    # An input as large as all others together ends last, whatever is beside it; in threads it has all processors.
    return seconds >= WORTH_SECONDS and max(sizes) <= 0.6 * sum(sizes)


def in_processes(
    start: Start[_A, _R],
    inputs: Sequence[_A],
    sizes: Sequence[int],
    *,
    jobs: int,
    lost: Callable[[_A, str], _R],
    progress: Callable[[_A, int, int], None] | None = None,
) -> Iterator[_R]:
    """Work on inputs in up to ``jobs`` processes, and give the results in the order of the inputs.

    ``lost`` makes the result of an input whose process died, from the reason. Of the inputs that may begin, the largest
    begins first. When the iterator is closed, or an interrupt leaves it, the processes are gone within a second.
    """
    run = _ProcessRun(start, inputs, sizes, min(jobs, MOST), lost, progress)
    try:
        yield from run.results()
    finally:
        run.stop()


class _Worker:
    """One process, and what it was given to do."""

    def __init__(self, process: Worker) -> None:
        self.process = process
        self.tasks: list[int] = []
        """The inputs it has, the one that it works on first."""
        self.is_ready = False
        self._listener: threading.Thread | None = None

    @defer_interrupts
    def begin(self, start: bytes, inbox: SimpleQueue[tuple[_Worker, tuple[Any, ...] | None]]) -> None:
        """Say what it is to do, and hear what it answers from now on."""
        if self._listener is None:
            self._listener = threading.Thread(target=self._listen, args=(inbox,), daemon=True)
            self._listener.start()
            self._write(start)

    def _listen(self, inbox: SimpleQueue[tuple[_Worker, tuple[Any, ...] | None]]) -> None:
        assert self.process.stdout is not None
        with contextlib.suppress(Exception):  # whatever cannot be read, the process has ended or is of no use
            while True:
                inbox.put((self, pickle.load(self.process.stdout)))
        inbox.put((self, None))

    def give(self, number: int, value: object, threads: int) -> None:
        """Have it work on an input, after those that it has."""
        self.tasks.append(number)
        self._write(pickle.dumps((number, value, threads)))

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it died: its listener says so
            self.process.stdin.write(data)
            self.process.stdin.flush()

    @defer_interrupts
    def dismiss(self, *, finished: bool) -> None:
        """Let it end: by itself if it has ``finished``, else by unwinding what it does."""
        if finished:
            self._write(pickle.dumps(None))
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()

    @defer_interrupts
    def end(self, deadline: float) -> int:
        """Wait for its end until then, kill it after that, and return its exit code."""
        code = end_worker(self.process, deadline - time.monotonic())
        if self._listener is not None and self._listener.ident is not None:
            self._listener.join(GRACE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


class _ProcessRun(Generic[_A, _R]):
    """Inputs on their way through processes."""

    def __init__(
        self,
        start: Start[_A, _R],
        inputs: Sequence[_A],
        sizes: Sequence[int],
        jobs: int,
        lost: Callable[[_A, str], _R],
        progress: Callable[[_A, int, int], None] | None,
    ) -> None:
        self._start = pickle.dumps(start)
        self._inputs, self._sizes, self._jobs = inputs, sizes, jobs
        self._lost, self._progress = lost, progress
        self._waiting = list(range(len(inputs)))
        self._next = 0
        """The input whose result is given next."""
        self._done: dict[int, _R] = {}
        self._inbox: SimpleQueue[tuple[_Worker, tuple[Any, ...] | None]] = SimpleQueue()
        self._workers: list[_Worker] = []
        self._false_starts = 0

    def results(self) -> Iterator[_R]:
        while self._next < len(self._inputs):
            self._give_work()
            if self._next in self._done:
                self._take_answers(wait=False)  # so that no process waits while the caller uses the result
                self._give_work()
                result = self._done.pop(self._next)
                self._next += 1
                yield result
            else:
                self._take_answers(wait=True)

    def _give_work(self) -> None:
        left = len(self._waiting) + sum(len(worker.tasks) for worker in self._workers)
        self._start_workers(left)
        # A second input is given before the first is done, unless others could begin it at once.
        for depth in (1, 2):
            for worker in self._workers:
                if worker.is_ready and len(worker.tasks) < depth and len(self._waiting) >= (depth - 1) * self._jobs:
                    self._give_one(worker)

    def _start_workers(self, wanted: int) -> None:
        """Start processes until there are so many: all before the first is heard, which takes a thread."""
        while len(self._workers) < min(self._jobs, wanted):
            try:
                self._workers.append(_Worker(start_worker(MODULE)))
            except OSError as error:
                self._allow_no_more(error)
        for worker in [*self._workers]:
            try:
                worker.begin(self._start, self._inbox)
            except RuntimeError as error:  # no memory for the stack of a thread, or too many of them
                self._workers.remove(worker)
                worker.end(time.monotonic())
                self._allow_no_more(error)

    def _allow_no_more(self, reason: Exception) -> None:
        """Go on with as many processes as the system allows."""
        if not self._workers:
            raise EnvironmentFailure(
                "worker processes cannot be started", because=reason, hint="-j 1 works without them"
            )
        self._jobs = len(self._workers)

    def _give_one(self, worker: _Worker) -> None:
        begun = bisect.bisect_left(self._waiting, self._next + AHEAD * self._jobs)
        if not begun:
            return
        number = max(self._waiting[:begun], key=lambda number: (self._sizes[number], -number))
        left = len(self._waiting) + sum(len(other.tasks) for other in self._workers)
        self._waiting.remove(number)
        worker.give(number, self._inputs[number], max(1, self._jobs // left))

    def _take_answers(self, *, wait: bool) -> None:
        try:
            while True:
                worker, message = self._inbox.get(timeout=TICK) if wait else self._inbox.get_nowait()
                wait = False
                self._take(worker, message)
        except Empty:
            return

    def _take(self, worker: _Worker, message: tuple[Any, ...] | None) -> None:
        if message is None:
            self._bury(worker)
        elif message[0] == "ready":
            worker.is_ready = True
        elif message[0] == "part":
            if self._progress is not None:
                self._progress(self._inputs[message[1]], message[2], message[3])
        elif message[0] == "raised":
            raise message[2] from _InWorker(message[3])
        else:
            worker.tasks.remove(message[1])
            lost = message[0] == "lost"
            self._done[message[1]] = self._lost(self._inputs[message[1]], message[2]) if lost else message[2]

    def _bury(self, worker: _Worker) -> None:
        """Take note of a process that died: its input is lost, and those that it had not begun go to others."""
        self._workers.remove(worker)
        worker.dismiss(finished=False)
        reason = _reason(worker.end(time.monotonic() + GRACE))
        if worker.tasks:
            number = worker.tasks[0]
            self._done[number] = self._lost(self._inputs[number], reason)
            for other in worker.tasks[1:]:
                bisect.insort(self._waiting, other)
        elif not worker.is_ready:
            self._false_starts += 1
            if self._false_starts >= FALSE_STARTS:
                raise EnvironmentFailure(
                    "worker processes end before they begin", because=reason, hint="-j 1 works without them"
                )

    def stop(self) -> None:
        """End all processes: at once if they have nothing to do, else after they removed their temporary files."""
        deadline = time.monotonic() + GRACE
        for worker in self._workers:
            worker.dismiss(finished=not worker.tasks)
        for worker in self._workers:
            worker.end(deadline)
        self._workers.clear()


class _InWorker(Exception):
    """Where in its process an error arose."""


def _reason(code: int) -> str:
    """Say how a process ended that should not have."""
    if code == -9:
        return "its worker process was killed (signal 9), which systems do when memory is short"
    if code < 0:
        return f"its worker process died of signal {-code}"
    return f"its worker process ended with exit code {code if code < 1 << 16 else hex(code)}"
