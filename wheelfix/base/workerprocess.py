"""What a worker process does: takes inputs from its stdin, works on them, and answers on its stdout.

:mod:`wheelfix.base.workers` starts such processes and has the other end. When stdin ends although nobody said that
the work is done, the starter has died or was interrupted: the work is unwound, so that no temporary file stays.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import threading
import time
import traceback
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from wheelfix.streams.pool import interruptible, stop_this_process, tune

if TYPE_CHECKING:
    from collections.abc import Callable

PAUSE = 0.1
"""Seconds between two messages about progress."""
OUT_OF_MEMORY = "it took more memory than there is"


def serve() -> None:
    """Work until there is nothing more to do, and end the process."""
    tune()
    with interruptible(last=True), contextlib.suppress(KeyboardInterrupt, OSError):
        answers = _private_stdout()
        with open(0, "rb", closefd=False) as requests:  # not sys.stdin, of which the starter may have read
            _work(requests, _Answers(answers))
    atexit._run_exitfuncs()  # temporary folders are removed there
    os._exit(0)


def _private_stdout() -> IO[bytes]:
    """Return stdout for answers alone: what anything else prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _work(requests: IO[bytes], answers: _Answers) -> None:
    try:
        start = pickle.load(requests)
    except EOFError:  # the starter ended before it said what to do
        return
    tasks: SimpleQueue[tuple[int, Any, int] | None] = SimpleQueue()
    threading.Thread(target=_receive, args=(requests, tasks), daemon=True).start()
    try:
        with start() as work:
            answers.send(("ready",))
            while (task := tasks.get()) is not None:
                number, value, threads = task
                answers.send(_answer(work, number, value, threads, answers))
    except Exception as error:  # setting it up failed
        answers.send(("raised", -1, error, traceback.format_exc()))


def _answer(work: Callable[..., Any], number: int, value: Any, threads: int, answers: _Answers) -> tuple[Any, ...]:
    last = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= PAUSE:
            last = now
            answers.send(("part", number, done, total))

    try:
        return ("done", number, work(value, threads, progress))
    except MemoryError:
        return ("lost", number, OUT_OF_MEMORY)
    except Exception as error:  # the starter raises it
        return ("raised", number, error, traceback.format_exc())


def _receive(requests: IO[bytes], tasks: SimpleQueue[tuple[int, Any, int] | None]) -> None:
    """Pass on what is to be done; if the other end is gone, stop what is running."""
    try:
        while (task := pickle.load(requests)) is not None:
            tasks.put(task)
        tasks.put(None)
    except (EOFError, OSError, pickle.UnpicklingError):
        tasks.put(None)
        stop_this_process()


class _Answers:
    """Sends messages whole, from several threads; one that cannot be pickled becomes an error that can."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, message: tuple[Any, ...]) -> None:
        try:
            data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        except MemoryError:
            data = pickle.dumps(("lost", message[1], OUT_OF_MEMORY))
        except Exception as error:
            text = traceback.format_exc()
            data = pickle.dumps(("raised", message[1], RuntimeError(f"{type(error).__name__}: {error}"), text))
        with self._lock:
            self._stream.write(data)
            self._stream.flush()


if __name__ == "__main__":
    serve()
