"""How several wheels use several processors: wheels per second and memory, for so many cores and so many wheels.

python -m benchmarks.scaling --cores 1,2,4,8,16 --wheels 64
python -m benchmarks.scaling --cores 16 --wheels 10,100,1000

Makes wheels with distinct contents (``benchmarks/forgedwheels.py``; a second of processor time each) and runs ``scan``,
``verify``, ``repair`` and ``survey`` on them. Prints a table as Markdown; ``--svg FILE`` also draws it. The machine
should have nothing else to do. Columns:

- seconds: of the clock, with starting the processes; share of ideal: one core's seconds / (these seconds * cores)
- busy: time of all processors, children included; busy per wheel: must not grow with the number of wheels
- memory: of all processes together at its highest, looked at ten times a second. Pages that processes share, such as
  those of libraries, count once for each of them. Only on Linux, from /proc.

Starting takes half a second whatever there is to do, and a wheel of 8 MB a tenth of a second: few or small wheels on
many cores show the start, and not the work (``--megabytes 40`` makes larger ones).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.forgedwheels import INCLUDED, make_included, make_wheels
from benchmarks.scalingplot import draw
from tools.markdown import table

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = ("scan", "verify", "repair", "survey")
LOOK_SECONDS = 0.1


class Measured(NamedTuple):
    """One run."""

    command: str
    wheels: int
    cores: int
    seconds: float
    busy: float
    memory: int
    """Bytes; 0 where it cannot be measured."""

    @property
    def rate(self) -> float:
        """Wheels per second."""
        return self.wheels / self.seconds

    @property
    def busy_per_wheel(self) -> float:
        """Seconds of processors for each wheel."""
        return self.busy / self.wheels


class CommandFailed(Exception):
    """A command did not end with 0, so its time means nothing."""


class Bench:
    """Wheels, and a folder for what the commands write."""

    def __init__(self, folder: Path, count: int, megabytes: float) -> None:
        self.folder = folder
        self.made = make_wheels(folder / "made", count, megabytes)
        self.root = make_included(folder / "root")

    def measure(self, command: str, count: int, cores: int) -> Measured:
        """Run a command on so many wheels with so many jobs."""
        out = self.folder / "out"
        words = [sys.executable, "-m", "wheelfix", command, str(self._chosen(count)), "-j", str(cores), "-q"]
        if command == "survey":
            words += ["-o", str(out)]
        if command == "repair":
            words += ["--include", INCLUDED, "--root", str(self.root), "--no-discover", "--layout", "beside"]
            words += ["-w", str(out)]
        with (self.folder / "said").open("w+b") as said:
            before, began = os.times(), time.monotonic()
            process = subprocess.Popen(words, stdout=said, stderr=subprocess.STDOUT)
            memory = _Memory(process.pid)
            code = process.wait()
            seconds, after = time.monotonic() - began, os.times()
            said.seek(0)
            if code:
                last = said.read().decode(errors="replace").splitlines()[-5:]
                raise CommandFailed(f"{' '.join(words)} ended with {code}:\n" + "\n".join(last))
        shutil.rmtree(out, ignore_errors=True)
        busy = after.children_user + after.children_system - before.children_user - before.children_system
        return Measured(command, count, cores, seconds, busy, memory.highest())

    def _chosen(self, count: int) -> Path:
        """Return a folder with the first wheels."""
        folder = self.folder / f"chosen{count}"
        if not folder.exists():
            folder.mkdir()
            for wheel in self.made[:count]:
                os.link(wheel, folder / wheel.name)
        return folder


class _Memory:
    """Looks at the memory of a process and of all that it started, until it ends."""

    def __init__(self, process: int) -> None:
        self._process, self._highest, self._ended = process, 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            self._highest = max(self._highest, tree_memory(self._process))

    def highest(self) -> int:
        """Stop looking, and return the largest sum."""
        self._ended.set()
        self._thread.join()
        return self._highest


def tree_memory(process: int) -> int:
    """Return the resident bytes of a process and of all below it; 0 if they are gone or this is not Linux."""
    folder = Path("/proc") / str(process)
    try:
        total = int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        children = [child for task in (folder / "task").iterdir() for child in (task / "children").read_text().split()]
    except (OSError, IndexError, ValueError):
        return 0
    return total + sum(tree_memory(int(child)) for child in children)


def report(found: Sequence[Measured]) -> str:
    """Return a Markdown table."""
    heads = ["command", "wheels", "cores", "seconds", "wheels per second", "against one core", "share of ideal"]
    heads += ["busy", "busy per wheel", "memory"]
    rows = []
    for one in found:
        alone = next((other for other in found if other[:2] == one[:2] and other.cores == 1), None)
        gain = alone.seconds / one.seconds if alone else 0
        row = [one.command, str(one.wheels), str(one.cores), f"{one.seconds:.2f} s", f"{one.rate:.1f}"]
        row += [f"{gain:.2f} ×", f"{gain / one.cores:.0%}"] if alone else ["", ""]
        row += [f"{one.busy:.1f} s", f"{one.busy_per_wheel * 1000:.0f} ms"]
        rows.append([*row, f"{one.memory / 1e6:.0f} MB" if one.memory else "not measured"])
    return table(heads, rows)


def numbers(text: str) -> list[int]:
    """Return numbers above zero that commas separate."""
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise ValueError(text)
    return found


def main(argv: list[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", default=[1, 2], type=numbers)
    parser.add_argument("--wheels", default=[10, 100], type=numbers)
    parser.add_argument("--megabytes", default=8.0, type=float, help="of a wheel, packed (default: 8)")
    parser.add_argument("--commands", default=",".join(COMMANDS), help=f"of {','.join(COMMANDS)}")
    parser.add_argument("--folder", type=Path, help="where the temporary folder is made")
    parser.add_argument("--svg", type=Path)
    args = parser.parse_args(argv)
    commands = args.commands.split(",")
    if "survey" in commands and importlib.util.find_spec("pyarrow") is None:
        print("survey is left out: pyarrow is not installed", file=sys.stderr)
        commands.remove("survey")
    found = []
    with tempfile.TemporaryDirectory(prefix="wheelfix-scaling-", dir=args.folder) as folder:
        bench = Bench(Path(folder), max(args.wheels), args.megabytes)
        size = sum(path.stat().st_size for path in bench.made) / len(bench.made) / 1e6
        print(f"{len(bench.made)} wheels of {size:.1f} MB, {os.cpu_count()} processors\n", flush=True)
        try:
            for command in commands:
                for count in args.wheels:
                    for cores in args.cores:
                        found.append(bench.measure(command, count, cores))
                        print(found[-1], file=sys.stderr, flush=True)
        except CommandFailed as failed:
            print(f"scaling: {failed}", file=sys.stderr)
            return 1
    print(report(found), end="")
    if args.svg:
        args.svg.write_text(draw(found), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
