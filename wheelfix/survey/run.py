"""A survey from its sources to its tables, and the engines that run it: processes, or a Dask cluster."""

from __future__ import annotations

import contextlib
import functools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from wheelfix.base.values import dataclass, field, replace
from wheelfix.base.workers import in_processes, worth_processes
from wheelfix.errors import EnvironmentFailure, import_extra
from wheelfix.survey.wheelrows import WheelRows, WheelSource, failed_rows, named, survey_wheel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.base.options import ScanOptions
    from wheelfix.base.workers import Progress, Work
    from wheelfix.survey.tables import SurveyFolder


# -------------------------------------------------------------------------------------------------------------- engines
# Who runs the map function: the processes of this machine, or a Dask cluster. The only module that knows Dask.

Engine: TypeAlias = Callable[[Sequence[WheelSource]], Iterator[WheelRows]]
"""Gives the rows of every wheel once, in any order; one whose process died is a failure that may pass."""
PATIENCE = 60.0
"""Seconds to wait for a scheduler, and for a worker where none is left."""
WAITING = 4
"""Processes for each processor where most of the time is spent waiting for a server."""
AHEAD = 3
"""Wheels for each thread of the cluster that are submitted at a time."""


def local_engine(options: ScanOptions, jobs: int) -> Engine:
    """Return the engine that uses so many processors of this machine."""

    def run(sources: Sequence[WheelSource]) -> Iterator[WheelRows]:
        sizes = [source.size or 1 << 20 for source in sources]
        waiting = WAITING if any(source.in_parts for source in sources) else 1
        if worth_processes(sizes, jobs * waiting):
            start = functools.partial(_surveying, replace(options, jobs=1))
            yield from in_processes(start, sources, sizes, jobs=jobs * waiting, lost=_lost)
            return
        for source in sources:
            yield survey_wheel(source, replace(options, jobs=jobs))

    return run


@contextlib.contextmanager
def _surveying(options: ScanOptions) -> Iterator[Work[WheelSource, WheelRows]]:
    """What a worker process does with each wheel."""

    def work(source: WheelSource, threads: int, progress: Progress | None) -> WheelRows:
        return survey_wheel(source, replace(options, jobs=threads))

    yield work


def _lost(source: WheelSource, reason: str) -> WheelRows:
    return failed_rows(source, EnvironmentFailure(source.file, because=reason))


def dask_engine(options: ScanOptions, scheduler: str) -> Engine:
    """Return the engine that uses the workers of a Dask scheduler, each of which reaches the wheels itself."""
    distributed = import_extra("distributed", "no Dask scheduler can be used", "dask")

    def run(sources: Sequence[WheelSource]) -> Iterator[WheelRows]:
        try:
            client = distributed.Client(scheduler, timeout=PATIENCE)
        except (OSError, ValueError) as exc:
            raise EnvironmentFailure(
                f"no Dask scheduler answers at {scheduler}", because=str(exc), hint="start one: dask scheduler"
            ) from exc
        with client:
            yield from _on_cluster(distributed, client, sources, replace(options, jobs=1))

    return run


def _on_cluster(
    distributed: Any, client: Any, sources: Sequence[WheelSource], options: ScanOptions
) -> Iterator[WheelRows]:
    waiting, running = deque(sources), dict[Any, WheelSource]()
    last = time.monotonic()
    while waiting or running:
        threads = sum(client.nthreads().values())
        while waiting and len(running) < max(AHEAD * threads, 1):
            source = waiting.popleft()
            running[client.submit(survey_wheel, source, options, pure=False)] = source
        try:
            finished = distributed.wait(list(running), timeout=1.0, return_when="FIRST_COMPLETED").done
            last = time.monotonic()
        except TimeoutError:
            if threads:
                last = time.monotonic()
            elif time.monotonic() - last > PATIENCE:
                raise EnvironmentFailure(
                    "the Dask scheduler has no worker left",
                    hint="start one: dask worker ADDRESS; what is written is whole, the same command goes on",
                ) from None
            continue
        for future in finished:
            yield _result(future, running.pop(future))


def _result(future: Any, source: WheelSource) -> WheelRows:
    """Return what a task gave; one whose workers died again and again is a failure."""
    try:
        rows: WheelRows = future.result()
    except Exception as error:  # KilledWorker, or what a worker with another version of wheelfix raises
        because = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        return failed_rows(source, EnvironmentFailure(source.file, because=because))
    return rows


# ------------------------------------------------------------------------------------------------------------------ run
# A survey from its sources to its tables: what is done is skipped, what failed temporarily is tried again.


PART_WHEELS, PART_ROWS, PART_SECONDS = 200, 300_000, 20.0
"""A part is written when it has so many wheels or rows, or is so old: what a kill costs."""
PAUSE = 10.0
"""Seconds between two lines about progress."""


def run_survey(
    sources: Iterable[WheelSource],
    folder: SurveyFolder,
    engine: Engine,
    say: Callable[[str], None],
    unlisted: Iterable[WheelRows] = (),
) -> SurveyRun:
    """Bring a survey to its end, from wherever it is; ``unlisted`` are rows of names that have no wheel."""
    listed = list(sources)
    done = folder.done()
    known = {(row["source"], row["size"], row["modified"]) for row in done}
    known |= {(row["source"], 0, row["modified"]) for row in done}  # an index may not say how large its files are
    todo = [source for source in listed if (named(source.place), source.size, source.modified) not in known]
    skipped = len(listed) - len(todo)
    run = SurveyRun(folder, len(todo), skipped, {str(row["sha256"]) for row in done if row["status"] == "scanned"}, say)
    say(f"survey: {len(todo)} wheels to read, {skipped} done before")
    try:
        run.add_unlisted(rows for rows in unlisted if (rows.wheel["source"], 0, "") not in known)
        again = run.take(todo, engine, last=False)
        lost = run.take(again, engine, last=True) if again else []
        run.flush()
    except KeyboardInterrupt:
        run.flush()
        raise
    folder.replace_retries(run.retries)
    run.passing = len(lost) or len(run.retries)
    return run


@dataclass
class SurveyRun:
    """Rows on their way into the tables, and what was done."""

    folder: SurveyFolder
    total: int
    skipped: int
    """Wheels that were done before."""
    known: set[str]
    """Wheels whose rows are in the tables, by their hash."""
    say: Callable[[str], None]
    scanned: int = 0
    failed: int = 0
    """Wheels that could not be read, those included that the next run tries again."""
    passing: int = 0
    """Of these: how many the next run tries again."""
    retries: list[WheelRows] = field(default_factory=list)
    """Failures that may pass, also in a second try."""
    _pending: list[WheelRows] = field(default_factory=list)
    _rows: int = 0
    _unlisted: int = 0
    _began: float = field(default_factory=time.monotonic)
    _flushed: float = field(default_factory=time.monotonic)
    _said: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    @property
    def rate(self) -> float:
        """Wheels per second."""
        return (self.scanned + self.failed - self._unlisted) / max(self.seconds, 0.001)

    def take(self, sources: Sequence[WheelSource], engine: Engine, *, last: bool) -> list[WheelSource]:
        """Read wheels; return those that failed for a reason that may pass, of which the ``last`` try keeps rows."""
        by_place = {named(source.place): source for source in sources}
        again = []
        for rows in engine(sources):
            if rows.failed_in_passing:
                again.append(by_place[str(rows.wheel["source"])])
            if last or not rows.failed_in_passing:
                self._add(rows)
            self._report(len(again))
        return again

    def add_unlisted(self, unlisted: Iterable[WheelRows]) -> None:
        """Take rows of names for which there is nothing to read."""
        for rows in unlisted:
            self._unlisted += 1
            self._add(rows)

    def _add(self, rows: WheelRows) -> None:
        if rows.wheel["status"] == "failed":
            self.failed += 1
        else:
            self.scanned += 1
        if rows.failed_in_passing:
            self.retries.append(rows)
            return
        sha256 = str(rows.wheel["sha256"])
        if rows.tables and sha256 in self.known:
            rows = type(rows)(rows.wheel)  # a copy: the rows of the first stand for both
        elif rows.tables:
            self.known.add(sha256)
        self._pending.append(rows)
        self._rows += sum(map(len, rows.tables.values()))
        old = time.monotonic() - self._flushed > PART_SECONDS
        if old or len(self._pending) >= PART_WHEELS or self._rows >= PART_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what was read since the last part."""
        if self._pending:
            self.folder.add_part(self._pending)
        self._pending, self._rows, self._flushed = [], 0, time.monotonic()

    def _report(self, again: int) -> None:
        now = time.monotonic()
        if now - self._said < PAUSE:
            return
        self._said = now
        done = self.scanned + self.failed - self._unlisted
        left = f", about {(self.total - done) / self.rate / 60:.0f} min left" if done else ""
        failed = f", {self.failed} failed" if self.failed else ""
        failed += f", {again} to try again" if again else ""
        self.say(f"survey: {done} of {self.total} wheels, {self.rate:.1f} per second{failed}{left}")
