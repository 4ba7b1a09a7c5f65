"""``wheelfix scan``: what is missing from a wheel, and what its import will do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.cli.common import (
    Inputs,
    Output,
    expand_inputs,
    given_paths,
    open_client,
    rule_choice,
    say_bytes,
    scan_options,
)
from wheelfix.cli.settings import group_inputs
from wheelfix.errors import UsageError
from wheelfix.exam.scan import scan_inputs
from wheelfix.report.document import (
    slim,
)

if TYPE_CHECKING:
    import argparse

    from wheelfix.base.options import ScanOptions
    from wheelfix.remote.client import Client


def _options(args: argparse.Namespace) -> ScanOptions:
    """Return what the command line asks for, checked."""
    return scan_options(
        args,
        **rule_choice(args),
        driver=_driver(args.driver),
        archs=args.archs or args.verbose,
        versions=args.verbose,
        signers=args.verbose,
    )


def _driver(text: str) -> str:
    """Return the version of a driver, checked."""
    if text and not re.fullmatch(r"[0-9]{3,4}(\.[0-9]{1,3})?", text):
        raise UsageError(
            f"--driver {text}",
            because="it is not a version of NVIDIA's driver for Windows",
            hint="nvidia-smi prints it: --driver 551.86",
        )
    return text


def execute(args: argparse.Namespace) -> int:
    """Scan every input, print each as it comes, and return the worst exit code."""
    output = Output(args)
    if args.lockfile is None:
        args.paths = given_paths(args.paths, "scan")
    with open_client(args) as client:
        return _scan_inputs(args, output, client)


def _scan_inputs(args: argparse.Namespace, output: Output, client: Client) -> int:
    if args.paths:
        inputs = expand_inputs(args.paths, windows_only=True, client=client)
        groups = [(_options(own), own.fail_on, paths) for own, paths in group_inputs(args, inputs.paths)]
    else:  # everything in the lock file
        inputs, groups = Inputs((), (), ()), [(_options(args), args.fail_on, [])]
    output.repeat(groups[0][0])
    output.fail_inputs(inputs)
    with output.progress(inputs.paths, "scanning") as progress:
        for options, fail_on, paths in groups:
            for report in output.take(scan_inputs(paths, options, progress.part, slim, client), progress):
                output.add(report, fail_on)
    code = output.finish()
    say_bytes(inputs.paths, args)
    return code
