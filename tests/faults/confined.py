"""Runs of wheelfix that are watched: how long, how much memory, what was said. POSIX only.

A helper process has wheelfix loaded and forks for each run, so that hundreds of attacks take seconds, and so that the
memory measured is that of the run.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.faults.workshop import REPOSITORY, Run, assert_no_traceback, environment

SECONDS = 60
"""Processor time after which the system ends a run: a bound against endless loops, far above what any attack needs."""
ROOM = 6 << 30
"""Address space of a run; what counts is the memory that it really uses."""


@dataclass(frozen=True)
class Watched(Run):
    """What came of a watched run."""

    seconds: float
    """Processor time, which does not depend on what else the machine does."""
    megabytes: float
    """The most memory it had at once."""


class Helper:
    """The process that forks; used in a ``with`` block."""

    def __enter__(self) -> Helper:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.confined"],
            cwd=REPOSITORY,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._process.stdin.close()
        self._process.wait(timeout=SECONDS)

    def run(self, *arguments: str, cwd: Path) -> Watched:
        """Run a command line in a folder; no traceback may come out of it."""
        self._process.stdin.write(json.dumps([str(cwd), *arguments]) + "\n")
        self._process.stdin.flush()
        watched = Watched(**json.loads(self._process.stdout.readline()))
        assert_no_traceback(watched)
        assert watched.code >= 0, f"ended by signal {-watched.code} after {watched.seconds} s: {watched.err[-500:]}"
        return watched


def _child(folder: str, arguments: list[str], out: int, err: int) -> None:
    from wheelfix.cli.main import main

    os.chdir(folder)
    os.dup2(out, 1)
    os.dup2(err, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    code = 99
    try:
        code = main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _serve() -> None:
    for module in ("cli.scan", "cli.repair", "cli.verify", "exam.scan", "exam.verify", "repairs.repair"):
        importlib.import_module(f"wheelfix.{module}")
    for line in sys.stdin:
        folder, *arguments = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = os.fork()
            if child == 0:
                _child(folder, arguments, out.fileno(), err.fileno())
            _, status, used = os.wait4(child, 0)
            out.seek(0)
            err.seek(0)
            answer = {
                "code": os.waitstatus_to_exitcode(status),
                "out": out.read(1 << 20).decode("utf-8", "replace"),
                "err": err.read(1 << 20).decode("utf-8", "replace"),
                "seconds": used.ru_utime + used.ru_stime,
                "megabytes": used.ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20),
            }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    time.tzset()
    _serve()
