"""Kill repairs at random moments, many times, and hold what is left to the promise.

::

    python -m tests.faults.killing --runs 200                 # kill -9, all modes in turn
    python -m tests.faults.killing --runs 50 --signal TERM    # and every request to stop that can be caught
    python -m tests.faults.killing --runs 20 --modes large

Each run is a child forked from a process that has wheelfix loaded, so that the moments fall into the work and not into
the start of Python. POSIX only.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.workshop import digest, installed, large, leftovers, single, small, snapshot
from wheelfix.cli.main import main

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
MODES = ("fresh", "over", "in-place", "large", "libs", "env")
OLD = b"PK\5\6" + bytes(18)
"""Stands for the wheel that was in the target folder before."""


@dataclass
class Tally:
    """What was tried, and what it came to."""

    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        counted = ", ".join(f"{what} {count}" for what, count in sorted(self.outcomes.items()))
        return f"{self.runs} runs: {counted}; {len(self.faults)} broken promises"


def run_child(arguments: list[str], temporary: Path, number: int = 0, delay: float = 0.0) -> tuple[int, float, str]:
    """Run a command line in a forked child, with a signal after ``delay``; wait status, seconds, and what it said."""
    log = temporary / "log"
    log.write_bytes(b"")  # a child that is stopped at once has not even opened it
    started = time.monotonic()
    # What comes before the child is ready would unwind it through our own frames, which remove the folder.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    child = os.fork()
    if child == 0:
        os.setsid()
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        tempfile.tempdir = str(temporary / "tmp")
        for caught in STOPPING:  # a shell lets jobs in the background ignore them
            signal.signal(caught, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        code = 99
        try:
            code = main(arguments, last=True)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    if number:
        time.sleep(delay)
        # The whole group, as a terminal or a service manager does it: delvewheel runs as a child of the child.
        os.killpg(child, number) if os.getpgid(child) == child else os.kill(child, number)
    _, status = os.waitpid(child, 0)
    return status, time.monotonic() - started, log.read_text(errors="replace")


class Range:
    """One kind of repair, and the check of what is left of it."""

    def __init__(self, mode: str, folder: Path) -> None:
        self.mode = mode
        self.folder = folder
        (folder / "tmp").mkdir(parents=True)
        renamed = functools.partial(single, dll="frobnicate.dll")
        make = {"large": large, "libs": renamed}
        self.bench = make.get(mode, small)(folder)
        self.original = digest(self.bench.wheel)
        self.prefix = installed(self.bench) if mode == "env" else None
        self.journals = folder / "state" / "journals"
        os.environ["WHEELFIX_STATE_DIR"] = str(self.journals.parent)
        self.before = snapshot(self.prefix) if self.prefix else {}
        status, self.seconds, log = run_child(self.arguments(), folder)
        assert status == 0, log
        self.repaired = digest(self.target)
        self.after = snapshot(self.prefix) if self.prefix else {}
        self.reset()

    @property
    def target(self) -> Path:
        """The file that is written."""
        return self.bench.wheel if self.mode == "in-place" else self.bench.target

    def arguments(self, *more: str) -> list[str]:
        """The command line."""
        if self.mode == "env":
            assert self.prefix is not None
            return ["repair", "--env", str(self.prefix), "--package", "torch", *self.bench.root_options, *more]
        if self.mode == "in-place":
            return ["repair", str(self.bench.wheel), *self.bench.root_options, "--in-place", *more]
        return self.bench.command("--layout", "libs", *more) if self.mode == "libs" else self.bench.command(*more)

    def reset(self) -> None:
        """Put everything back to where it was before a repair."""
        shutil.rmtree(self.bench.out, ignore_errors=True)
        if self.mode == "over":
            self.bench.out.mkdir()
            self.target.write_bytes(OLD)
        if self.mode == "in-place":
            shutil.rmtree(self.bench.wheel.parent)
            small(self.folder)
        if self.mode == "env":
            self.prefix = installed(self.bench)
            shutil.rmtree(self.journals, ignore_errors=True)

    def try_once(self, number: int, delay: float, tally: Tally) -> None:
        """Interrupt one repair, check what is left, run again, and check that everything is as it should be."""
        status, _, log = run_child(self.arguments(), self.folder, number, delay)
        tally.runs += 1
        ended = os.waitstatus_to_exitcode(status)
        caught = number != signal.SIGKILL
        # A signal that comes before there is a handler ends the process as it ends any other: nothing was done yet.
        if ended not in ((0, 130) if caught and log else (0, -number)):
            tally.faults.append(f"{self.mode}: ended with {ended}: {log[-500:]}")
        if "Traceback" in log or "should not have happened" in log:
            tally.faults.append(f"{self.mode}: {log[-1500:]}")
        outcome, faults = self.judge(caught)
        tally.outcomes[outcome] += 1
        faults += self.again()
        tally.faults += [f"{self.mode} after {delay:.4f} s: {fault}" for fault in faults]
        self.reset()

    def judge(self, caught: bool) -> tuple[str, list[str]]:
        """Say how far the repair had come, and what is not as promised."""
        faults = []
        left = leftovers(self.folder)
        folders = [path.name for path in (self.folder / "tmp").iterdir()]
        if caught and (left or folders):
            faults.append(f"left behind after a request to stop: {left + folders}")
        if self.mode == "env":
            return self.judge_environment(left, faults)
        now = digest(self.target)
        old = {"over": digest_of(OLD), "in-place": self.original}.get(self.mode, "")
        if now not in (old, self.repaired):
            faults.append("the target is neither the old nor the complete new wheel")
        if self.mode != "in-place" and digest(self.bench.wheel) != self.original:
            faults.append("the input was changed")
        strangers = set(snapshot(self.bench.out)) - {self.target.name} if self.bench.out.is_dir() else set()
        if strangers - {Path(name).name for name in left}:
            faults.append(f"unrecognisable files in the target folder: {sorted(strangers)}")
        state = "new" if now == self.repaired else "old"
        return f"{state}{' with a temporary file' if left else ''}", faults

    def judge_environment(self, left: list[str], faults: list[str]) -> tuple[str, list[str]]:
        assert self.prefix is not None
        now = {path: value for path, value in snapshot(self.prefix).items() if not Path(path).match(".wheelfix-*.tmp")}
        journal = any(self.journals.glob("*.json"))
        state = "old" if now == self.before else "new" if now == self.after else "half-way"
        if state != "old" and not journal:
            faults.append("the environment was changed, and no journal tells how")
        return f"{state}{' with a temporary file' if left else ''}", faults

    def again(self) -> list[str]:
        """Repair once more, or take the repair back, undisturbed."""
        faults = []
        arguments = self.arguments()
        if self.mode == "env":
            assert self.prefix is not None
            if any(self.journals.glob("*.json")):
                status, _, log = run_child(self.arguments("--undo"), self.folder)
                if status or snapshot(self.prefix) != self.before:
                    faults.append(f"not restored by --undo: {log[-500:]}")
        status, _, log = run_child(arguments, self.folder)
        if status:
            faults.append(f"the next run failed: {log[-500:]}")
        if digest(self.target) != self.repaired:
            faults.append("the next run made another wheel")
        if self.prefix and snapshot(self.prefix) != self.after:
            faults.append("the next run made another environment")
        if left := leftovers(self.folder):
            faults.append(f"the next run left {left}")
        folders = [path.name for path in (self.folder / "tmp").iterdir()]
        if folders and self.mode == "libs":  # the others make none, and so have no reason to look there
            faults.append(f"the next run left {folders}")
        return faults


def digest_of(data: bytes) -> str:
    """The SHA-256 of bytes."""
    return hashlib.sha256(data).hexdigest()


def shoot(mode: str, runs: int, number: int, folder: Path, seed: int) -> Tally:
    """Interrupt so many repairs of one kind at moments spread over their whole length."""
    dice = random.Random(seed)
    place = Range(mode, folder / mode)
    tally = Tally()
    for _ in range(runs):
        place.try_once(number, dice.uniform(0, place.seconds * 1.05), tally)
    return tally


def run(argv: list[str] | None = None) -> int:
    """The command line of this module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="how many in all")
    parser.add_argument("--signal", default="KILL", choices=("KILL", "TERM", "INT", "HUP"))
    parser.add_argument("--modes", default=",".join(MODES), help="which kinds of repair, with commas")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    modes = args.modes.split(",")
    work = ("exam.examine", "repairs.installed", "repairs.mangled", "repairs.repair", "repairs.rewrite", "plan.make")
    for module in ("cli.repair", "report.repairs", "roots.gather", *work):
        importlib.import_module(f"wheelfix.{module}")
    broken = 0
    with tempfile.TemporaryDirectory(prefix="killing-") as folder:
        for position, mode in enumerate(modes):
            share = args.runs // len(modes) + (position < args.runs % len(modes))
            number = getattr(signal, f"SIG{args.signal}")
            tally = shoot(mode, share, number, Path(folder), args.seed)
            broken += len(tally.faults)
            print(f"SIG{args.signal} {mode:9} {tally}", flush=True)
            for fault in tally.faults[:5]:
                print(f"    {fault}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(run())
