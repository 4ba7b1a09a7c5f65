"""Whether a survey that was killed, or lost a worker, has the same tables as one that ran to its end.

python -m tools.survey_kills FOLDER -- --names names.txt --cache-dir FOLDER/cache -j 2
python -m tools.survey_kills FOLDER --dask -- ~/mirror
python -m tools.survey_kills FOLDER --compare-only

What follows ``--`` are words of ``wheelfix survey``. They are run twice: into ``FOLDER/killed``, where the process gets
``kill -9`` as often as ``--kills`` says (default: 2), at equal distances, and the same command resumes; and into
``FOLDER/whole``. With ``--dask`` the first run is on a scheduler and two worker processes of this machine, of which one
gets ``kill -9`` in the middle. Then all tables are compared row by row. Exit code 1: they differ.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from wheelfix.survey.tables import MANIFEST, TABLES, SurveyFolder, ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SHOWN = 5
"""Rows of each table that are shown when they differ."""
LOOK_SECONDS = 1.0


class Difference(NamedTuple):
    """Rows of a table that only one of two surveys has."""

    table: str
    rows: int
    """Of the first survey."""
    first: Sequence[str]
    second: Sequence[str]


def compare(first: Path, second: Path) -> list[Difference]:
    """Return the rows that differ, for every table; rows that occur twice have to occur twice in both."""
    found = []
    for table in TABLES:
        one, other = (Counter(map(repr, ask(folder, f"SELECT * FROM {table.name}").rows)) for folder in (first, second))
        rows = sum(one.values())
        found.append(Difference(table.name, rows, sorted((one - other).elements()), sorted((other - one).elements())))
    return found


def run_killed(words: Sequence[str], folder: Path, kills: int, total: int) -> list[int]:
    """Run a survey of so many wheels and kill it at equal distances; return how many wheels were done each time."""
    done = []
    for number in range(1, kills + 1):
        process = _start(words, folder)
        if not _wait(process, folder, total * number // (kills + 1)):
            raise SystemExit(f"the survey ended before it could be killed, with {process.returncode}")
        process.kill()
        process.wait()
        done.append(_wheels(folder))
        print(f"killed with {done[-1]} wheels in the tables", flush=True)
    _finish(_start(words, folder))
    return done


def run_with_lost_worker(words: Sequence[str], folder: Path, total: int) -> None:
    """Run a survey on a cluster and kill one of its two workers in the middle."""
    with cluster(folder.parent) as (address, workers):
        process = _start([*words, "--engine", "dask", "--scheduler", address], folder)
        if not _wait(process, folder, total // 2):
            raise SystemExit(f"the survey ended before a worker could be killed, with {process.returncode}")
        workers[0].kill()
        print(f"killed a worker with {_wheels(folder)} wheels in the tables", flush=True)
        _finish(process)


def _start(words: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "wheelfix", "survey", *words, "-o", str(folder)])


def _finish(process: subprocess.Popen[bytes]) -> None:
    if process.wait():
        raise SystemExit(f"the survey ended with {process.returncode}")


def _wait(process: subprocess.Popen[bytes], folder: Path, wheels: int) -> bool:
    """Wait until so many wheels are in the tables; False if the process ends before."""
    while process.poll() is None:
        if _wheels(folder) >= wheels:
            return True
        time.sleep(LOOK_SECONDS)
    return False


def _wheels(folder: Path) -> int:
    return len(SurveyFolder(folder).done()) if (folder / MANIFEST).exists() else 0


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Give the address of a Dask scheduler with two worker processes, and the workers; all are gone afterwards."""
    file = folder / "scheduler.json"

    def start(module: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--no-dashboard", "--host", "127.0.0.1"]
        command += ["--scheduler-file", str(file), *words]
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    started = [start("dask_scheduler", "--port", "0")]
    try:
        _wait_for(lambda: file.exists() and '"address"' in file.read_text())
        started += [start("dask_worker", "--nthreads", "1", "--no-nanny") for _ in range(2)]
        found = re.search(r'"address": "(tcp://[^"]{1,99})"', file.read_text())
        assert found is not None
        yield found[1], started[1:]
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()


def _wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit("the Dask scheduler did not start")
        time.sleep(0.02)


def report(found: Sequence[Difference]) -> str:
    """Say for each table how many rows there are and which differ."""
    lines = []
    for one in found:
        differ = len(one.first) + len(one.second)
        lines.append(f"{one.table:<10} {one.rows:>9} rows, {differ} differ")
        lines += [f"  only in the first:  {row}" for row in one.first[:SHOWN]]
        lines += [f"  only in the second: {row}" for row in one.second[:SHOWN]]
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Run a survey with kills and without, and compare."""
    here, _, words = (
        (argv, "", []) if "--" not in argv else (argv[: argv.index("--")], "", argv[argv.index("--") + 1 :])
    )
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--dask", action="store_true", help="on a cluster of this machine, and kill one of its workers")
    parser.add_argument(
        "--total", type=int, help="about how many wheels there are (default: the whole survey is made first)"
    )
    parser.add_argument("--compare-only", action="store_true", help="the surveys are there")
    args = parser.parse_args(here)
    killed, whole = args.folder / "killed", args.folder / "whole"
    args.folder.mkdir(parents=True, exist_ok=True)
    if not args.compare_only:
        if args.total is None:
            _timed("without kills", lambda: _finish(_start(words, whole)))
        total = args.total or _wheels(whole)
        if args.dask:
            _timed("with a killed worker", lambda: run_with_lost_worker(words, killed, total))
        else:
            _timed("with kills", lambda: run_killed(words, killed, args.kills, total))
        if args.total is not None:
            _timed("without kills", lambda: _finish(_start(words, whole)))
    found = compare(killed, whole)
    print(report(found))
    return 1 if any(one.first or one.second for one in found) else 0


def _timed(what: str, run: Callable[[], object]) -> None:
    began = time.monotonic()
    run()
    print(f"the survey {what} took {(time.monotonic() - began) / 60:.1f} minutes", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
