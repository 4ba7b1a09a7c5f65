"""``wheelfix verify``: RECORD against the bytes, and the archive against what PyPI, pip and uv accept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.options import ScanOptions
from wheelfix.cli.common import (
    Output,
    expand_inputs,
    limits,
    options_of,
    rule_choice,
)
from wheelfix.exam.verify import verify_all

if TYPE_CHECKING:
    import argparse


def execute(args: argparse.Namespace) -> int:
    """Verify every wheel and return the worst exit code."""
    output = Output(args)
    options = options_of(
        ScanOptions,
        args,
        **rule_choice(args),
        verify=True,
        limits=limits(args),
    )
    inputs = expand_inputs(args.paths, folders=False)
    output.fail_inputs(inputs)
    with output.progress(inputs.files, "verifying") as progress:
        for report in output.take(verify_all(inputs.files, options, progress.part), progress):
            output.add(report)
    return output.finish()
