"""``wheelfix ci``: the last stage of a pipeline in one command: scan, repair, verify, scan again, report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.cli.common import (
    add_command,
    add_filter_options,
    add_jobs_option,
    add_limit_options,
    add_output_options,
    add_root_options,
    add_target_options,
)
from wheelfix.cli.output import Output, add_baseline_options, add_report_option
from wheelfix.cli.paths import expand_inputs
from wheelfix.cli.repair import add_policy_options, add_writing_options, repair_options
from wheelfix.cli.say import say
from wheelfix.cli.settings import group_inputs
from wheelfix.errors import InputError
from wheelfix.failures import failure_of
from wheelfix.report.document import FailedInput
from wheelfix.report.formats import SCAN_KINDS
from wheelfix.values import replace

if TYPE_CHECKING:
    import argparse

    from wheelfix.cli.commands import Subparsers
    from wheelfix.options import RepairOptions
    from wheelfix.plan.model import Plan
    from wheelfix.report.progress import Progress
    from wheelfix.roots.lazy import LazyIndex

EXAMPLES = """\
  wheelfix ci dist\\*.whl -w wheelhouse
  wheelfix ci dist\\*.whl --format github --report sarif=wheelfix.sarif --report html=wheelfix.html
  wheelfix ci dist\\*.whl --baseline wheelfix-baseline.json --fail-on warning
"""


def configure_parser(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "ci",
        "the whole last stage of CI: scan, repair, verify, scan again, report",
        "Repair every wheel into the target folder, then verify and scan what came out. The exit\n"
        "code is 0 only when every wheel that comes out is clean; the reports are about those\n"
        "wheels, or about the wheel that went in where it could not be repaired.",
        EXAMPLES,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a wheel, a pattern, a folder of wheels")
    parser.add_argument(
        "-w", "--wheel-dir", metavar="DIR", type=Path, help="folder for the repaired wheels (default: wheelhouse)"
    )
    add_policy_options(parser)
    add_writing_options(parser)
    add_jobs_option(parser)
    add_target_options(parser)
    add_root_options(parser)
    add_limit_options(parser)
    add_baseline_options(add_filter_options(parser))
    add_report_option(add_output_options(parser, SCAN_KINDS))


def execute(args: argparse.Namespace) -> int:
    """Take every wheel through the stage and return the worst exit code."""
    from wheelfix.roots.lazy import lazy_index
    from wheelfix.rules.registry import check_patterns

    output = Output.from_args(args)
    inputs = expand_inputs(args.paths, folders=False, windows_only=True)
    groups = []
    for own, paths in group_inputs(args, inputs.paths):
        for option in ("in_place", "dry_run", "lock", "locked", "env", "package", "undo"):
            setattr(own, option, None)
        filters = (check_patterns(own.select, "--select"), check_patterns(own.ignore, "--ignore"))
        groups.append((repair_options(own), filters, own.fail_on, paths))
    output.fail_inputs(inputs)
    with output.progress(inputs.paths, "repairing") as progress:
        for options, filters, fail_on, paths in groups:
            with lazy_index(options.scan.roots) as index:
                for path in paths:
                    _take(path, options, filters, index, output, fail_on, progress)
                    progress.step()
    output.finish()
    return output.exit_code


def _take(
    path: Path,
    options: RepairOptions,
    filters: tuple[tuple[str, ...], tuple[str, ...]],
    index: LazyIndex,
    output: Output,
    fail_on: str,
    progress: Progress,
) -> None:
    """Repair one wheel and report on what came out; a wheel that cannot be repaired is reported as it is."""
    from wheelfix.exam.examination import ScanFailure
    from wheelfix.exam.scan import scan_all
    from wheelfix.plan.make import allowed_names
    from wheelfix.repairs.repair import repair

    looked_at = path
    sources: dict[str, str] = {}
    allowed = options.allow_missing
    try:
        result = repair(path, options, index, progress=progress.part)
        progress.hide()
        looked_at = result.output or path
        sources = _sources(result.plan)
        allowed += allowed_names(result.plan)
        say(f"{result.outcome}: {looked_at}")
    except Exception as error:  # whatever it is, it costs this wheel only
        failure = failure_of(error, path)
        output.fail(FailedInput(str(path), failure, "read" if isinstance(failure, InputError) else "repair"))
        if failure.exit_code > 1:  # it could not be read, or the machine failed: a scan would say no more
            return
    output.context = replace(output.context, sources={**output.context.sources, **sources})
    scan = replace(options.scan, select=filters[0], ignore=filters[1], allow_missing=allowed, verify=True)
    for found in scan_all([looked_at], scan, progress.part):
        if isinstance(found, ScanFailure):
            output.fail(FailedInput(found.path, found.error))
        else:
            output.add(found, fail_on)


def _sources(plan: Plan) -> dict[str, str]:
    """Where each vendored member came from."""
    return {addition.target: addition.source.origin for addition in plan.additions}
