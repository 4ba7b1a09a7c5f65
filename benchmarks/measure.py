"""Run a command as a child and say what it cost: seconds, processor seconds, and memory at its peak.

The command is started by a Python of its own that has nothing else in memory, because the system counts the memory
of the process that starts a child as that of the child.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Cost(NamedTuple):
    """What one run took; children of the command are counted with it."""

    seconds: float
    cpu: float
    memory_mb: float
    """Never less than the 10 MB of the Python that starts the command."""
    packed: int = 0
    """Bytes that it made of what it was to pack; 0 where that is not measured."""

    def best(self, other: Cost) -> Cost:
        """Return the smaller of each: noise only ever adds."""
        seconds, cpu, memory = map(min, self[:3], other[:3])
        return Cost(seconds, cpu, memory, min(self.packed, other.packed))


class CommandFailed(Exception):
    """A command ended with a status that it should not have."""


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str], accepted: tuple[int, ...]) -> Cost:
    """Run a command in a folder and return its cost; CommandFailed with the end of its output if it failed."""
    starter = [sys.executable, "-I", "-S", __file__, "output.txt", *command]
    done = subprocess.run(starter, cwd=folder, env=dict(environment), stdout=subprocess.PIPE, check=True)
    code, *cost = json.loads(done.stdout)
    if code not in accepted:
        last = (folder / "output.txt").read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
        raise CommandFailed(f"{command[0]} ended with {code}: {' | '.join(last)}")
    return Cost(*cost)


def _start(log: str, *command: str) -> None:
    """Run the command with its output in a file, and print exit status, seconds, processor seconds and megabytes."""
    out = os.open(log, os.O_WRONLY | os.O_CREAT, 0o666)
    actions = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, out, 2)]
    started = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - started
    code = os.waitstatus_to_exitcode(status)
    print(json.dumps([code, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))


if __name__ == "__main__":
    _start(*sys.argv[1:])
