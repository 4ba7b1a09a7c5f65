"""Threads are started by the one pool; the few modules that start one by themselves have a reason that stands here."""

from __future__ import annotations

import ast
from pathlib import Path

import wheelfix

PACKAGE = Path(wheelfix.__file__).parent
STARTERS = {
    "streams/pool.py": "the pool, and what sends an interrupt again: the interrupted thread may hold its lock",
    "base/workers.py": "one for each worker process, waiting at its pipe as long as it lives",
    "base/workerprocess.py": "waits at stdin, whose end asks the process to stop, while the main thread works",
    "base/programs.py": "waits at the pipe of a program, which may never write and is given up at a time limit",
    "remote/transport.py": "waits for a server, which may never answer and is given up at a deadline",
    "report/progress.py": "draws the clock of the progress bar while every worker of the pool is busy",
}
"""A task of the pool has to end by itself, because leaving the pool waits for it; none of these does."""
STARTING = {"Thread", "Timer", "ThreadPoolExecutor", "ThreadPool", "start_new_thread", "to_thread", "run_in_executor"}


def starts_threads(source: str) -> bool:
    """Whether a module calls something that starts a thread."""
    if not any(name in source for name in STARTING):  # parsing every module takes two seconds
        return False
    calls = (node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return any(
        (isinstance(called, ast.Name) and called.id in STARTING)
        or (isinstance(called, ast.Attribute) and called.attr in STARTING)
        for called in calls
    )


def test_only_these_modules_start_threads_and_each_has_its_reason() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if starts_threads(path.read_text(encoding="utf-8"))
    }
    assert found == set(STARTERS), "use wheelfix.streams.pool, or say here why that is not possible"


def test_starts_are_found() -> None:
    assert starts_threads("import threading\nthreading.Thread(target=print).start()")
    assert starts_threads("from concurrent.futures import ThreadPoolExecutor as _\nx.ThreadPoolExecutor(4)")
    assert not starts_threads("pool.submit(work)")
