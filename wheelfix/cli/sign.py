"""``wheelfix sign``: sign the PE files of wheels with a command, and write each wheel with a correct RECORD."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.options import SignOptions
from wheelfix.cli.commands import as_given, say, say_failure
from wheelfix.cli.common import (
    exit_code,
    expand_inputs,
    limits,
    say_skipped,
    write_result,
)
from wheelfix.errors import UsageError, WheelfixError, failure_of
from wheelfix.pe.authenticode.verify import check_trusted_roots
from wheelfix.repairs.sign import SignCommand, check_can_verify, matches, pe_files, sign
from wheelfix.report.canvas import look_of
from wheelfix.report.json_ import dump, signed_value, tool
from wheelfix.report.repairs import render_signed

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from wheelfix.model import Json
    from wheelfix.repairs.sign import Signed


def sign_options(args: argparse.Namespace) -> SignOptions:
    """Return what the command line asks for, checked."""
    if args.trusted_roots is not None:
        check_trusted_roots(args.trusted_roots)
    if args.in_place and args.output_dir is not None:
        raise UsageError("--in-place and --wheel-dir contradict each other", because="one says where the wheel goes")
    return SignOptions(
        **as_given(args, "resign require_trusted trusted_roots timeout"),
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
    say_skipped(inputs)
    results = _Results(args)
    for word, error in zip(inputs.words, inputs.failures, strict=True):
        results.fail(word, error)
    _check_include(inputs.files, options)
    for path in inputs.files:
        try:
            said = (lambda line: say(f"wheelfix: {line}")) if args.verbose else None
            results.add(sign(path, options, dry_run=args.dry_run, said=said))
        except Exception as error:  # whatever it is, it costs this wheel only
            results.fail(str(path), failure_of(error, path))
    return results.finish()


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


class _Results:
    """Prints results as they come, or collects them for JSON; remembers what went wrong."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.errors: list[WheelfixError] = []
        self.entries: list[Json] = []

    def fail(self, path: str, error: WheelfixError) -> None:
        """Say on stderr what stopped us."""
        self.errors.append(error)
        say_failure(error)
        self.entries.append({"path": path, "outcome": "failed", "error": str(error), "hint": error.hint})

    def add(self, result: Signed) -> None:
        """Take one result."""
        if self.args.format == "json":
            self.entries.append(signed_value(result))
            return
        text = render_signed(result, look_of(sys.stdout, colour=self.args.color), quiet=self.args.quiet)
        sys.stdout.write(text)
        sys.stdout.flush()

    def finish(self) -> int:
        """Write the document, and return the worst exit code."""
        if self.args.format == "json":
            write_result(dump({"schema": "wheelfix.sign/1", "tool": tool(), "wheels": self.entries}), None)
        return exit_code(False, self.errors)
