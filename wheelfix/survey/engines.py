"""Who runs the map function: the processes of this machine, or a Dask cluster. The only module that knows Dask."""

from __future__ import annotations

import contextlib
import functools
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from wheelfix.base.values import replace
from wheelfix.base.workers import in_processes, worth_processes
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.survey.sources import WheelSource
from wheelfix.survey.wheelrows import WheelRows, failed_rows, survey_wheel

if TYPE_CHECKING:
    from wheelfix.base.options import ScanOptions
    from wheelfix.base.workers import Progress, Work

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

    def work(source: WheelSource, threads: int, progress: Progress) -> WheelRows:
        return survey_wheel(source, replace(options, jobs=threads))

    yield work


def _lost(source: WheelSource, reason: str) -> WheelRows:
    return failed_rows(source, EnvironmentFailure(source.file, because=reason))


def dask_engine(options: ScanOptions, scheduler: str) -> Engine:
    """Return the engine that uses the workers of a Dask scheduler, each of which reaches the wheels itself."""
    try:
        import distributed as imported
    except ImportError as exc:
        raise UsageError(
            "the engine dask is not there", because="distributed is not installed", hint="pip install wheelfix[dask]"
        ) from exc
    distributed: Any = imported

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
