"""``wheelfix diagnose``: from an error text to the true cause and what to do about it."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from wheelfix.base.inputfiles import will_read
from wheelfix.cli.common import (
    root_options,
    scan_options,
    style_of,
    write_reports,
    write_result,
)
from wheelfix.diagnosis.diagnose import active_environment, answer
from wheelfix.diagnosis.machine import ReportBlock, collect, describe_machine
from wheelfix.diagnosis.model import DiagnoseRequest, Diagnosis
from wheelfix.diagnosis.symptoms.recordings import how_to_record
from wheelfix.errors import Exit, InputError, UsageError
from wheelfix.loader.places import open_environment
from wheelfix.report.diagnosis import render_diagnosis
from wheelfix.report.json_ import render
from wheelfix.report.safe import legible, without_commands
from wheelfix.roots.gather import gather_roots

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


def execute(args: argparse.Namespace) -> int:
    """Diagnose, print, and return what it came to."""
    if args.record:
        write_result(how_to_record(args.package or "torch"), args.output)
        return Exit.OK
    with _question(args) as question:
        diagnosis = answer(question)
    block = _block(args, diagnosis) if args.issue_block else None
    write_reports(args, lambda kind: _rendered(kind, args, diagnosis, block))
    exits = {"no-fault-found": Exit.OK, "cause-found": Exit.FINDINGS, "could-not-tell": Exit.UNKNOWN}
    return exits[diagnosis.outcome.value]


@contextmanager
def _question(args: argparse.Namespace) -> Iterator[DiagnoseRequest]:
    """What the command line asks, with its file open."""
    common = {
        "environment": args.env,
        "wheels": tuple(args.wheel),
        "package": args.package,
        "active": active_environment(os.environ),
        "options": scan_options(args, packages=()),
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
        raise InputError(word, because=error) from error


def _rendered(kind: str, args: argparse.Namespace, diagnosis: Diagnosis, block: ReportBlock | None) -> str:
    if kind == "json":
        return render("diagnosis-1", diagnosis=diagnosis, report=block.rows if block is not None else None)
    if block is not None:
        return without_commands("".join(f"{legible(line)}\n" for line in block.lines()))
    return render_diagnosis(diagnosis, style_of(args))


def _block(args: argparse.Namespace, diagnosis: Diagnosis) -> ReportBlock:
    """The block for an issue: this machine, the environment, the error and what was made of it."""
    prefix = next((one.source for one in diagnosis.evidence if one.kind == "environment"), None)
    environment = open_environment(Path(prefix)) if prefix else None
    machine = describe_machine(environment, gather_roots(root_options(args)))
    names = [name for one in diagnosis.explained for name in (*one.cause.likely_missing, *one.chain)]
    names += [name for symptom in diagnosis.symptoms for name in (*symptom.dlls, symptom.file) if name]
    messages = [("error", symptom.excerpt) for symptom in diagnosis.symptoms]
    messages += [("cause", one.cause.summary) for one in diagnosis.explained]
    return collect(machine, names, messages)
