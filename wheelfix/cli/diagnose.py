"""``wheelfix diagnose``: from an error text to the true cause and what to do about it."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from wheelfix.base.inputfiles import will_read
from wheelfix.cli.commands import add_flag, add_path, as_given
from wheelfix.cli.common import (
    add_command,
    add_jobs_option,
    add_output_options,
    add_root_options,
    add_target_options,
    refuse_contradiction,
    root_options,
    style_of,
    write_result,
)
from wheelfix.cli.output import add_typed_report_option, write_reports
from wheelfix.errors import Exit, InputError, UsageError
from wheelfix.loader.profile import assumptions
from wheelfix.report.safe import legible, without_commands

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from wheelfix.cli.commands import Subparsers
    from wheelfix.diagnosis.machine import ReportBlock
    from wheelfix.diagnosis.model import DiagnoseRequest, Diagnosis

EXAMPLES = """\
  wheelfix diagnose error.txt                    a traceback or a whole log, in any language
  python app.py 2>&1 | wheelfix diagnose -       from a pipe
  wheelfix diagnose --text "OSError: [WinError 126] ..."
  wheelfix diagnose                              the active environment, without a text
  wheelfix diagnose error.txt --env C:\\envs\\ml   with the files: the true cause
  wheelfix diagnose --record                     how to record the loads of a failing import
  wheelfix diagnose loads.txt --env C:\\envs\\ml   with a recording of dlltracer, loader snaps, ...
  wheelfix diagnose error.txt --wheel torch.whl --wheel torchvision.whl    are they compatible?
  wheelfix diagnose --wheel dist\\torch.whl --issue    the block to paste into an issue
"""
KINDS = ("text", "json")


def configure_parser(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "diagnose",
        "Read an error text or a log in any display language, compare it with an environment or a\n"
        "wheel if there is one, and print the cause, the chain that leads to it, and what to do.\n"
        "Exits with 1 when a cause was found, 0 when there is no fault, 5 when it could not tell.",
        EXAMPLES,
    )
    parser.add_argument(
        "file", metavar="FILE", nargs="?",
        help="the error text, a log, or recorded loads (see --record); - reads the standard input",
    )  # fmt: skip
    group = parser.add_argument_group("what to diagnose")
    group.add_argument("--text", metavar="TEXT", help="the error text itself")
    add_path(group, "--env", "PREFIX", "an environment, or a copy of one on any system")
    add_path(
        group,
        "--wheel",
        "W",
        "the wheel in question, or a folder of wheels; may be repeated: several are one installation",
        many=True,
    )
    group.add_argument("--package", metavar="NAME", default="", help="in an environment: look at this distribution")
    add_flag(group, "--record", "print the commands that record the loads of a failing import on Windows, and stop")
    add_jobs_option(parser)
    add_target_options(parser)
    add_root_options(parser)
    group = add_output_options(parser, KINDS)
    add_flag(group, "--issue", "print the block to paste into an issue; user names are masked", dest="issue_block")
    add_typed_report_option(group, KINDS)


def current_spelling(argv: list[str]) -> list[str]:
    """Return a command line with ``--issue`` where it has ``--report`` without ``KIND=FILE``, its name until 0.1."""
    return [
        "--issue" if word == "--report" and not re.match(r"\w+=", "".join(argv[number : number + 1])) else word
        for number, word in enumerate(argv, 1)
    ]


def execute(args: argparse.Namespace) -> int:
    """Diagnose, print, and return what it came to."""
    if args.record:
        from wheelfix.diagnosis.symptoms.recordings import how_to_record

        write_result(how_to_record(args.package or "torch"), args.output)
        return Exit.OK
    from wheelfix.diagnosis.diagnose import answer

    if args.file is not None and args.text is not None:
        raise UsageError("both a file and --text are given", hint="give one of them")
    with _question(args) as question:
        diagnosis = answer(question)
    block = _block(args, diagnosis) if args.issue_block else None
    write_reports(args, lambda kind: _rendered(kind, args, diagnosis, block))
    exits = {"no-fault-found": Exit.OK, "cause-found": Exit.FINDINGS, "could-not-tell": Exit.UNKNOWN}
    return exits[diagnosis.outcome.value]


@contextmanager
def _question(args: argparse.Namespace) -> Iterator[DiagnoseRequest]:
    """What the command line asks, with its file open."""
    from wheelfix.base.options import ScanOptions, all_cores
    from wheelfix.diagnosis.diagnose import active_environment
    from wheelfix.diagnosis.model import DiagnoseRequest

    refuse_contradiction(args.assume, args.no_assume)
    assumptions(tuple(args.assume), tuple(args.no_assume))
    options = ScanOptions(
        **as_given(args, "assume no_assume python"),
        jobs=args.jobs or all_cores(),
        roots=root_options(args),
    )
    common = {
        "environment": args.env,
        "wheels": tuple(args.wheel),
        "package": args.package,
        "active": active_environment(os.environ),
        "options": options,
    }
    if args.file is None:
        yield DiagnoseRequest(text=args.text, text_source="--text", **common)
    elif args.file == "-":
        yield DiagnoseRequest(text=_stdin(), text_source="standard input", **common)
    else:
        with _opened(args.file) as file:
            yield DiagnoseRequest(text=file, text_source=args.file, **common)


def _stdin() -> IO[bytes]:
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("there is no standard input", hint="give a file or --text")
    return sys.stdin.buffer


def _opened(word: str) -> IO[bytes]:
    """Open the text; for a folder or a wheel the error names the option that it belongs to."""
    path = Path(word)
    if path.is_dir():
        raise UsageError(f"{word} is a folder", hint=f'for an environment: wheelfix diagnose --env "{word}"')
    if word.lower().endswith(".whl"):
        raise UsageError(f"{word} is a wheel", hint=f'wheelfix diagnose --wheel "{word}"')
    will_read([path])
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        hint = "give an error text itself with --text" if " " in word else "- reads the standard input"
        raise InputError(word, because="the file does not exist", hint=hint) from error
    except OSError as error:
        raise InputError(word, because=error.strerror or str(error)) from error


def _rendered(kind: str, args: argparse.Namespace, diagnosis: Diagnosis, block: ReportBlock | None) -> str:
    if kind == "json":
        from wheelfix.report.diagnosis import render_json

        return render_json(diagnosis, block)
    if block is not None:
        return without_commands("".join(f"{legible(line)}\n" for line in block.lines()))
    from wheelfix.report.diagnosis import render_diagnosis

    look = style_of(args)
    return render_diagnosis(diagnosis, look, verbose=args.verbose, quiet=args.quiet)


def _block(args: argparse.Namespace, diagnosis: Diagnosis) -> ReportBlock:
    """The block for an issue: this machine, the environment, the error and what was made of it."""
    from wheelfix.diagnosis.machine import collect, describe_machine
    from wheelfix.loader.places import open_environment
    from wheelfix.roots.gather import gather_roots
    from wheelfix.roots.host import this_machine

    prefix = next((one.source for one in diagnosis.evidence if one.kind == "environment"), None)
    environment = open_environment(Path(prefix)) if prefix else None
    machine = describe_machine(environment, gather_roots(root_options(args), this_machine()))
    names = [name for one in diagnosis.explained for name in (*one.cause.likely_missing, *one.chain)]
    names += [name for symptom in diagnosis.symptoms for name in (*symptom.dlls, symptom.file) if name]
    messages = [("error", symptom.excerpt) for symptom in diagnosis.symptoms]
    messages += [("cause", one.cause.summary) for one in diagnosis.explained]
    return collect(machine, names, messages)
