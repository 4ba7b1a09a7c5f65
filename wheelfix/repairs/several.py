"""Repair several wheels: in processes where that is faster, each wheel succeeds or fails by itself."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import begin_run
from wheelfix.base.values import replace
from wheelfix.errors import EnvironmentFailure, failure_of
from wheelfix.exam.inputs import Shares, file_size
from wheelfix.repairs.outcome import FailedRepair, Repaired
from wheelfix.repairs.repair import repair
from wheelfix.roots.lazy import lazy_index

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    from wheelfix.base.options import RepairOptions
    from wheelfix.base.workers import Work
    from wheelfix.exam.examination import Progress
    from wheelfix.roots.lazy import LazyIndex


def repair_all(
    paths: Sequence[Path], options: RepairOptions, *, dry_run: bool = False, progress: Progress | None = None
) -> Generator[Repaired | FailedRepair, None, None]:
    """Repair wheels and give the results in their order; the reports before and after are left out."""
    with lazy_index(options.scan.roots, options.scan.remote) as index:
        if len(paths) > 1 and targets_differ(paths, options):
            from wheelfix.base.workers import in_processes, worth_processes

            sizes, jobs = [file_size(path) for path in paths], options.scan.jobs
            if worth_processes(sizes, jobs):
                start, report = functools.partial(_repairing, paths, options, dry_run), Shares(progress).report
                yield from in_processes(start, paths, sizes, jobs=jobs, lost=lost_repair, progress=report)
                return
        for path in paths:
            yield _result(path, options, index, dry_run, progress)


def targets_differ(paths: Sequence[Path], options: RepairOptions) -> bool:
    """Whether no two wheels are written to one file, where the later one has to come last."""
    return options.wheel_dir is None or max(Counter(path.name.lower() for path in paths).values(), default=0) < 2


def lost_repair(path: Path, reason: str) -> FailedRepair:
    """Return the failure of a wheel whose worker process died."""
    return FailedRepair(str(path), EnvironmentFailure(str(path), because=reason, hint="try it alone, with -j 1"))


@contextlib.contextmanager
def _repairing(
    paths: Sequence[Path], options: RepairOptions, dry_run: bool
) -> Iterator[Work[Path, Repaired | FailedRepair]]:
    """What a worker process does with each wheel."""
    begin_run(paths)
    with lazy_index(options.scan.roots, options.scan.remote) as index:

        def work(path: Path, threads: int, progress: Progress) -> Repaired | FailedRepair:
            return _result(path, with_jobs(options, threads), index, dry_run, progress)

        yield work


def with_jobs(options: RepairOptions, jobs: int) -> RepairOptions:
    """Return the options of a repair that uses so many threads."""
    return replace(options, scan=replace(options.scan, jobs=jobs))


def _result(
    path: Path, options: RepairOptions, index: LazyIndex, dry_run: bool, progress: Progress | None
) -> Repaired | FailedRepair:
    try:
        result = repair(path, options, index, dry_run=dry_run, progress=progress)
    except Exception as error:  # whatever it is, it costs this wheel only
        return FailedRepair(str(path), failure_of(error, path))
    return replace(result, before=None, after=None)
