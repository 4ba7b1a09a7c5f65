"""``wheelfix verify``: RECORD against the bytes, and the archive against what PyPI, pip and uv accept."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from wheelfix.cli.common import (
    add_command,
    add_filter_options,
    add_jobs_option,
    add_limit_options,
    add_output_options,
    limits,
)
from wheelfix.cli.output import Output, add_report_option
from wheelfix.cli.paths import expand_inputs
from wheelfix.exam.examination import ScanFailure
from wheelfix.report.document import FailedInput
from wheelfix.report.formats import SCAN_KINDS

if TYPE_CHECKING:
    import argparse

    from wheelfix.cli.commands import Subparsers

EXAMPLES = """\
  wheelfix verify wheelhouse\\*.whl
  wheelfix verify torch.whl --format json -o verify.json
"""


def configure_parser(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "verify",
        "Hash every member and compare it with RECORD, compare local headers with the directory,\n"
        "and apply the rules by which PyPI, pip and uv refuse archives. DLLs are not looked into.",
        EXAMPLES,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a wheel, a pattern, a folder of wheels")
    add_jobs_option(parser)
    add_limit_options(parser)
    # Whatever RECORD disagrees about is what this command is for, and most of it does no harm to an import.
    add_filter_options(parser, fail_on="warning")
    add_report_option(add_output_options(parser, SCAN_KINDS))


def execute(args: argparse.Namespace) -> int:
    """Verify every wheel and return the worst exit code."""
    from wheelfix.base.options import ScanOptions, all_cores
    from wheelfix.exam.verify import verify_all
    from wheelfix.rules.registry import check_patterns

    output = Output.from_args(args)
    options = ScanOptions(
        select=check_patterns(args.select, "--select"),
        ignore=check_patterns(args.ignore, "--ignore"),
        verify=True,
        jobs=args.jobs or all_cores(),
        limits=limits(args),
    )
    inputs = expand_inputs(args.paths, folders=False)
    output.fail_inputs(inputs)
    with (
        output.progress(inputs.files, "verifying") as progress,
        contextlib.closing(verify_all(inputs.files, options, progress.part)) as results,
    ):
        for result in results:
            if isinstance(result, ScanFailure):
                output.fail(FailedInput(result.path, result.error))
            else:
                output.add(result)
            progress.step()
    output.finish()
    return output.exit_code
