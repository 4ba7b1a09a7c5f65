"""``wheelfix ci``: the last stage of a pipeline in one command: scan, repair, verify, scan again, report."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.inputfiles import begin_run
from wheelfix.base.values import field, frozen, replace
from wheelfix.cli.commands import say
from wheelfix.cli.common import expand_inputs, given_paths
from wheelfix.cli.output import Output
from wheelfix.cli.repair import repair_options
from wheelfix.cli.settings import group_inputs
from wheelfix.cli.try_ import check_trial, try_written
from wheelfix.errors import InputError, WheelfixError, failure_of
from wheelfix.exam.examination import FailedInput, Progress, each_input, lost_input
from wheelfix.exam.scan import scan_inputs
from wheelfix.plan.make import allowed_names
from wheelfix.repairs.repair import repair, targets_differ, with_jobs
from wheelfix.report.document import (
    slim,
)
from wheelfix.roots.index import open_index
from wheelfix.rules.registry import check_patterns

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator, Iterator, Mapping
    from pathlib import Path

    from wheelfix.base.options import RepairOptions
    from wheelfix.base.workers import Work
    from wheelfix.model import ScanReport
    from wheelfix.report.canvas import ProgressBar
    from wheelfix.roots.index import RootIndex


def execute(args: argparse.Namespace) -> int:
    """Take every wheel through the stage and return the worst exit code."""
    output = Output(args)
    if args.trial:
        check_trial(args)
    inputs = expand_inputs(given_paths(args.paths, "ci"), folders=False, windows_only=True)
    groups = []
    for own, paths in group_inputs(args, inputs.files):
        for option in ("in_place", "dry_run", "lock", "locked", "env", "package", "undo"):
            setattr(own, option, None)
        filters = (check_patterns(own.select, "--select"), check_patterns(own.ignore, "--ignore"))
        options = replace(repair_options(own), accept_unsure=own.fail_on in ("error", "never"))
        groups.append((options, filters, own.fail_on, paths))
        output.repeat(options.scan)
    output.fail_inputs(inputs)
    with output.progress(inputs.files, "repairing") as progress:
        for options, filters, fail_on, paths in groups:
            with contextlib.closing(_take_all(paths, options, filters, progress.part)) as results:
                for result in results:
                    _report(result, output, fail_on, progress)
                    progress.step()
    if args.trial:
        try_written(args, output)
    return output.finish()


@frozen
class _Taken:
    """One wheel after the stage."""

    path: str
    said: str = ""
    """What became of it, if it was repaired."""
    failure: WheelfixError | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    found: tuple[ScanReport | FailedInput, ...] = ()
    """What came out, verified and scanned, or the wheel as it is where it could not be repaired."""


_Filters: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The codes of ``--select`` and of ``--ignore``."""


def _take_all(
    paths: list[Path], options: RepairOptions, filters: _Filters, progress: Progress
) -> Generator[_Taken, None, None]:
    """Take wheels through the stage, several at once in processes where that is faster."""
    start, apart = functools.partial(_taking, paths, options, filters), targets_differ(paths, options)
    yield from each_input(start, paths, options.scan.jobs, progress, _lost, side_by_side=apart)


@contextlib.contextmanager
def _taking(paths: list[Path], options: RepairOptions, filters: _Filters) -> Iterator[Work[Path, _Taken]]:
    """What is done with each wheel, here or in a process of its own."""
    begin_run(paths)
    with open_index(options.scan.roots, options.scan.remote) as index:
        yield lambda path, threads, progress: _take(path, with_jobs(options, threads), filters, index, progress)


def _lost(path: Path, reason: str) -> _Taken:
    return _Taken(str(path), failure=lost_input(path, reason).error)


def _take(path: Path, options: RepairOptions, filters: _Filters, index: RootIndex, progress: Progress | None) -> _Taken:
    """Repair one wheel and scan what came out; a wheel that cannot be repaired is scanned as it is."""
    looked_at, taken = path, _Taken(str(path))
    allowed = options.allow_missing
    try:
        result = repair(path, options, index, progress=progress)
        looked_at = result.output or path
        allowed += allowed_names(result.plan)
        sources = {addition.target: addition.source.origin for addition in result.plan.additions}
        taken = replace(taken, said=f"{result.outcome}: {looked_at}", sources=sources)
    except Exception as error:  # whatever it is, it costs this wheel only
        failure = failure_of(error, path)
        taken = replace(taken, failure=failure)
        if failure.exit_code > 1:  # it could not be read, or the machine failed: a scan would say no more
            return taken
    scan = replace(options.scan, select=filters[0], ignore=filters[1], allow_missing=allowed, verify=True)
    return replace(taken, found=tuple(scan_inputs([looked_at], scan, progress, slim)))


def _report(taken: _Taken, output: Output, fail_on: str, progress: ProgressBar) -> None:
    """Report what became of one wheel."""
    if taken.said:
        progress.hide()
        say(taken.said)
    if taken.failure is not None:
        stage = "read" if isinstance(taken.failure, InputError) else "repair"
        output.fail(FailedInput(taken.path, taken.failure, stage))
    output.context = replace(output.context, sources={**output.context.sources, **taken.sources})
    for found in taken.found:
        if isinstance(found, FailedInput):
            output.fail(found)
        else:
            output.add(found, fail_on)
