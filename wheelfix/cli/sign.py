"""``wheelfix sign``: sign the PE files of wheels with a command, and write each wheel with a correct RECORD."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.names import matches
from wheelfix.base.options import SignOptions
from wheelfix.cli.commands import say
from wheelfix.cli.common import (
    Results,
    expand_inputs,
    limits,
    options_of,
)
from wheelfix.errors import UsageError, WheelfixError, failure_of
from wheelfix.exam.examination import FailedInput
from wheelfix.pe.authenticode.verify import check_trusted_roots
from wheelfix.repairs.sign import SignCommand, check_can_verify, pe_files, sign
from wheelfix.report.json_ import dump, tool
from wheelfix.report.repairs import render_signed
from wheelfix.schemas import written

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def sign_options(args: argparse.Namespace) -> SignOptions:
    """Return what the command line asks for, checked."""
    if args.trusted_roots is not None:
        check_trusted_roots(args.trusted_roots)
    return options_of(
        SignOptions,
        args,
        command=vars(args)["with"],
        output_dir=None if args.in_place else args.output_dir or Path("signed"),
        include=tuple(args.sign_include),
        exclude=tuple(args.sign_exclude),
        limits=limits(args),
    )


def execute(args: argparse.Namespace) -> int:
    """Sign every wheel and return the worst exit code."""
    options = sign_options(args)
    check_can_verify()
    SignCommand.parse(options.command, started=not args.dry_run)
    inputs = expand_inputs(args.paths, folders=False, windows_only=True)
    results = Results(args)
    results.fail_inputs(inputs)
    _check_include(inputs.files, options)
    for path in inputs.files:
        try:
            said = (lambda line: say(f"wheelfix: {line}")) if args.verbose else None
            signed = sign(path, options, dry_run=args.dry_run, said=said)
        except Exception as error:  # whatever it is, it costs this wheel only
            results.fail(FailedInput(str(path), failure_of(error, path)))
            continue
        if args.format == "json":
            results.entries.append(written(signed, "sign-1", "wheel"))
        else:
            results.tell(render_signed(signed, results.look))
    results.write(lambda kind: dump({"schema": "wheelfix.sign/1", "tool": tool(), "wheels": results.entries}))
    return results.exit_code()


def _check_include(paths: Sequence[Path], options: SignOptions) -> None:
    """UsageError if a pattern of ``--include`` matches nothing: what was asked for would stay unsigned."""
    if not options.include:
        return
    names: list[str] = []
    for path in paths:
        try:
            names += pe_files(path, options)
        except WheelfixError:
            return  # said for that wheel below
    for pattern in options.include:
        if not any(matches(name, [pattern]) for name in names):
            raise UsageError(
                f"--include {pattern} matches no PE file of the wheels",
                hint="'wheelfix scan -v' lists them; a pattern is compared with the path in the wheel and the name",
            )
