"""``wheelfix survey``: many wheels as tables, and questions to these tables."""

from __future__ import annotations

import csv
import io
import json
import sys
from typing import TYPE_CHECKING

from wheelfix.base.options import all_cores
from wheelfix.base.values import replace
from wheelfix.cli.commands import say
from wheelfix.cli.common import (
    remote_options,
    scan_options,
    write_result,
)
from wheelfix.errors import Exit, InputError, UsageError
from wheelfix.report.blocks import Table, line
from wheelfix.report.canvas import TextStyle, cells, render_text
from wheelfix.report.safe import csv_cell, legible, without_commands
from wheelfix.survey.run import Engine, SurveyRun, dask_engine, local_engine, run_survey
from wheelfix.survey.tables import QueryResult, SurveyFolder, ask, questions
from wheelfix.survey.wheelrows import (
    LARGEST_LIST,
    OPTIONS,
    Listed,
    WheelRows,
    WheelSource,
    list_index,
    read_list,
    read_names,
    wheel_sources,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from wheelfix.base.options import ScanOptions


WIDEST = 60
"""Columns of a cell; the other formats have all of it."""


def execute(args: argparse.Namespace) -> int:
    """Make a survey or answer a question."""
    if args.words[:1] == ["query"]:
        return _query(args)
    if not args.words and args.names is None:
        raise UsageError("wheelfix survey needs a SOURCE", hint="name a folder, a URL, -, or --names FILE")
    if args.engine is not None and (args.engine == "dask") != bool(args.scheduler):
        raise UsageError("--engine dask and --scheduler belong together", hint="--scheduler tcp://host:8786")
    options = _options(args)
    folder = SurveyFolder(args.survey_folder)
    folder.open({"assume": sorted(args.assume), "no_assume": sorted(args.no_assume)})
    engine = _engine(args, options)
    progress = (lambda text: None) if args.quiet else _say
    with folder.locked():
        sources, unlisted = _sources(args, progress)
        summary = run_survey(sources, folder, engine, progress, unlisted)
    _say(_described(summary))
    return Exit.OK


def _say(text: str) -> None:
    say(f"wheelfix: {text}")


def _options(args: argparse.Namespace) -> ScanOptions:
    options = scan_options(args, versions=True, roots=OPTIONS.roots)
    return options if args.cache_dir is not None else replace(options, remote=replace(options.remote, cache=False))


def _engine(args: argparse.Namespace, options: ScanOptions) -> Engine:
    if args.scheduler:
        return dask_engine(options, args.scheduler)
    return local_engine(options, args.jobs or all_cores())


def _sources(args: argparse.Namespace, progress: Callable[[str], None]) -> tuple[list[WheelSource], list[WheelRows]]:
    """Return the wheels to read, and rows of names and lines that stand for none."""
    listed: Listed = [*wheel_sources(word for word in args.words if word != "-")]
    listed += read_list(_typed_lines()) if "-" in args.words else []
    listed += list_index(read_names(args.names), remote_options(args), progress) if args.names is not None else []
    unlisted = [one for one in listed if isinstance(one, WheelRows)]
    found = list({one.place: one for one in listed if isinstance(one, WheelSource)}.values())
    if not found and not unlisted:
        raise UsageError(
            "no Windows wheel in the sources", hint="wheels for Windows have a platform tag such as win_amd64"
        )
    return found, unlisted


def _typed_lines() -> list[str]:
    """Return the lines of the standard input; InputError if there is no end to it."""
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("there is no standard input", hint="name a folder, a wheel or a URL instead of -")
    try:
        text = sys.stdin.read(LARGEST_LIST + 1)
    except ValueError as error:
        raise InputError("the list on the standard input cannot be read", because=error) from error
    if len(text) > LARGEST_LIST:
        because = f"it is larger than {LARGEST_LIST >> 20} MiB"
        raise InputError("the list on the standard input is not read", because=because, hint="make several lists of it")
    return text.splitlines()


def _described(summary: SurveyRun) -> str:
    text = f"survey: {summary.scanned} wheels read, {summary.skipped} done before, {summary.failed} failed"
    if summary.passing:
        text += f" ({summary.passing} of them are tried again by the next run)"
    return f"{text}; {summary.seconds:.1f} s, {summary.rate:.1f} per second"


def _query(args: argparse.Namespace) -> int:
    if len(args.words) == 1:
        for question in questions().values():
            words = " ".join([question.name, *(word.upper() for word in question.parameters)])
            write_result(f"{words:<24} {question.title}\n", None)
        return Exit.OK
    answer = ask(args.survey_folder, args.words[1], args.words[2:])
    write_result(_rendered(answer, args.format), None)
    return Exit.OK


def _rendered(answer: QueryResult, kind: str) -> str:
    if kind == "json":
        rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
        return json.dumps(rows, indent=1, default=str) + "\n"
    if kind == "csv":
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows([csv_cell(value) for value in row] for row in (answer.columns, *answer.rows))
        return without_commands(stream.getvalue())
    head, *shown = [[_cell(value) for value in row] for row in (answer.columns, *answer.rows)]
    ruler = ["-" * max(map(cells, column)) for column in zip(head, *shown, strict=True)]
    return render_text([Table((), [head, ruler, *shown]), line(f"{len(shown)} rows")], TextStyle(unicode=True))


def _cell(value: object) -> str:
    text = legible("" if value is None else str(value))
    return text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."
