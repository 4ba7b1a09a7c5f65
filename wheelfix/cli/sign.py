"""``wheelfix sign``: sign the PE files of wheels with a command, and write each wheel with a correct RECORD."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.cli.commands import add_flag, add_path, add_words, as_given, only_typed, say, say_failure
from wheelfix.cli.common import add_command, add_limit_options, exit_code, limits, positive, write_result
from wheelfix.cli.paths import expand_inputs, say_skipped
from wheelfix.errors import UsageError, WheelfixError, failure_of
from wheelfix.report.canvas import COLOURS, look_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from wheelfix.base.options import SignOptions
    from wheelfix.cli.commands import Parser, Subparsers
    from wheelfix.model import Json
    from wheelfix.repairs.sign import Signed

EXAMPLES = """\
  wheelfix sign wheelhouse --with "signtool sign /a /fd SHA256 {files}"
  wheelfix sign a.whl -o signed --with "osslsigncode sign -pkcs12 my.p12 -in {file} -out {out}"
  wheelfix sign a.whl --exclude "nvrtc*.dll" --dry-run --with "signtool sign /a {file}"
"""


def configure_parser(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "sign",
        "Run a signing command on every PE file of a wheel that has no valid signature, check each\n"
        "signature, and write the wheel with the signed files and a correct RECORD. The wheel is\n"
        "replaced in one step at the very end; if anything fails, it stays as it was.",
        EXAMPLES,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a wheel, a pattern, a folder of wheels")
    _add_command_options(parser)
    _add_choice_options(parser)
    add_limit_options(parser)
    _add_output_options(parser)


def _add_command_options(parser: Parser) -> None:
    group = parser.add_argument_group("the command")
    only_typed(group.add_argument(
        "--with", metavar="COMMAND", required=True,
        help="the command that signs: {file} is one file, {files} several, {out} the name of the signed copy where the "
        "program does not sign in place, {cwd} the current folder; no shell is used",
    ))  # fmt: skip
    group.add_argument(
        "--timeout", metavar="SECONDS", type=positive, default=600, help="how long one run may take (default 600)"
    )


def _add_choice_options(parser: Parser) -> None:
    group = parser.add_argument_group("what is signed, and where it goes")
    group.add_argument(
        "-o", "--output-dir", metavar="DIR", type=Path,
        help="folder for the signed wheels (default: each wheel is replaced)",
    )  # fmt: skip
    add_flag(group, "--dry-run", "show what would be signed; start and write nothing")
    add_words(group, "--include", "GLOB", "only PE files whose path or name matches", dest="sign_include")
    add_words(group, "--exclude", "GLOB", "all but these", dest="sign_exclude")
    add_flag(group, "--resign", "also sign files that have a valid signature, which replaces it")
    add_flag(group, "--require-trusted", "fail if a signature does not lead to a trusted root")
    add_path(
        group,
        "--trusted-roots",
        "FILE",
        "PEM file of root certificates to trust, besides those on Microsoft's list",
        typed=True,
    )


def _add_output_options(parser: Parser) -> None:
    """Add what is printed; ``-o`` is the folder of the wheels here."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format", metavar="KIND", choices=("text", "json"), default="text", help="text, json (default text)"
    )
    group.add_argument(
        "--color", metavar="WHEN", choices=COLOURS, default=COLOURS[0],
        help="auto, always, never (default auto: on terminals, as NO_COLOR and FORCE_COLOR say)",
    )  # fmt: skip
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument("-v", "--verbose", action="store_true", help="also show what the command prints")
    loudness.add_argument("-q", "--quiet", action="store_true", help="print one line per wheel")


def sign_options(args: argparse.Namespace) -> SignOptions:
    """Return what the command line asks for, checked."""
    from wheelfix.base.options import SignOptions

    if args.trusted_roots is not None:
        from wheelfix.pe.signature import check_trusted_roots

        check_trusted_roots(args.trusted_roots)
    return SignOptions(
        **as_given(args, "output_dir resign require_trusted trusted_roots timeout"),
        command=vars(args)["with"],
        include=tuple(args.sign_include),
        exclude=tuple(args.sign_exclude),
        limits=limits(args),
    )


def execute(args: argparse.Namespace) -> int:
    """Sign every wheel and return the worst exit code."""
    from wheelfix.repairs.sign import SignCommand, check_can_verify, sign

    options = sign_options(args)
    check_can_verify()
    SignCommand.parse(options.command)
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
    from wheelfix.repairs.sign import matches, pe_files

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
            from wheelfix.report.json_ import signed_value

            self.entries.append(signed_value(result))
            return
        from wheelfix.report.repairs import render_signed

        text = render_signed(result, look_of(sys.stdout, colour=self.args.color), quiet=self.args.quiet)
        sys.stdout.write(text)
        sys.stdout.flush()

    def finish(self) -> int:
        """Write the document, and return the worst exit code."""
        if self.args.format == "json":
            from wheelfix.report.json_ import dump, tool

            write_result(dump({"schema": "wheelfix.sign/1", "tool": tool(), "wheels": self.entries}), None)
        return exit_code(False, self.errors)
