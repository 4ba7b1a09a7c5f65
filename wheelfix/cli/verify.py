"""``wheelfix verify``: RECORD against the bytes, and the archive against what PyPI, pip and uv accept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.options import ScanOptions
from wheelfix.cli.common import (
    Output,
    expand_inputs,
    limits,
    options_of,
)
from wheelfix.exam.verify import verify_all
from wheelfix.rules.registry import check_patterns

if TYPE_CHECKING:
    import argparse


def execute(args: argparse.Namespace) -> int:
    """Verify every wheel and return the worst exit code."""
    output = Output(args)
    options = options_of(
        ScanOptions,
        args,
        select=check_patterns(args.select, "--select"),
        ignore=check_patterns(args.ignore, "--ignore"),
        verify=True,
        limits=limits(args),
    )
    inputs = expand_inputs(args.paths, folders=False)
    output.fail_inputs(inputs)
    with output.progress(inputs.files, "verifying") as progress:
        for report in output.take(verify_all(inputs.files, options, progress.part), progress):
            output.add(report)
    return output.finish()
