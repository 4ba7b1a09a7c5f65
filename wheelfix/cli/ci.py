"""``wheelfix ci``: the last stage of a pipeline in one command: scan, repair, verify, scan again, report."""

from __future__ import annotations

import itertools
from operator import itemgetter
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.cli.commands import say
from wheelfix.cli.common import Output, expand_inputs, given_paths, rule_choice
from wheelfix.cli.repair import repair_options
from wheelfix.cli.settings import group_inputs
from wheelfix.cli.try_ import check_trial, try_written
from wheelfix.errors import InputError
from wheelfix.exam.examination import FailedInput
from wheelfix.exam.scan import scan_inputs
from wheelfix.plan.make import allowed_names
from wheelfix.repairs.repair import repair_all
from wheelfix.report.document import slim

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from wheelfix.base.options import RepairOptions
    from wheelfix.report.canvas import ProgressBar


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
        options = replace(repair_options(own), accept_unsure=own.fail_on in ("error", "never"))
        scan = replace(options.scan, **rule_choice(own), verify=True)
        groups.append((options, scan, own.fail_on, paths))
        output.repeat(options.scan)
    output.fail_inputs(inputs)
    with output.progress(inputs.files, "repairing") as progress:
        repaired = [[*_repaired(paths, options, output, progress)] for options, _, _, paths in groups]
    with output.progress([path for found in repaired for path, _ in found], "verifying") as progress:
        for (_, scan, fail_on, _), found in zip(groups, repaired, strict=True):
            for allowed, wheels in itertools.groupby(found, itemgetter(1)):
                again = replace(scan, allow_missing=allowed)
                reports = scan_inputs([path for path, _ in wheels], again, progress.part, slim)
                for report in output.take(reports, progress):
                    output.add(report, fail_on)
    if args.trial:
        try_written(args, output)
    return output.finish()


def _repaired(
    paths: list[Path], options: RepairOptions, output: Output, progress: ProgressBar
) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Repair wheels, and give what came out, or the wheel as it is, with the names of DLLs that may be missing."""
    for path, result in zip(paths, repair_all(paths, options, progress=progress.part), strict=True):
        progress.step()
        progress.hide()
        if isinstance(result, FailedInput):
            stage = "read" if isinstance(result.error, InputError) else "repair"
            output.fail(replace(result, stage=stage))
            if result.error.exit_code == 1:  # else it could not be read, or the machine failed: a scan says no more
                yield path, options.allow_missing
            continue
        written = result.output or path
        say(f"{result.outcome}: {written}")
        sources = {addition.target: addition.source.origin for addition in result.plan.additions}
        output.context = replace(output.context, sources={**output.context.sources, **sources})
        yield written, options.allow_missing + allowed_names(result.plan)
