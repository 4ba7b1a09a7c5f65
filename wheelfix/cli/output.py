"""Where the reports of a command go: told as they come, or gathered into documents."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.cli.common import check_output, exit_code, write_result
from wheelfix.cli.parser import did_you_mean
from wheelfix.report.formats import DEFAULT, SCAN_KINDS, Context, Failure, render, slim
from wheelfix.report.look import Look, look_of
from wheelfix.report.progress import Progress

if TYPE_CHECKING:
    from wheelfix.model import ScanReport


def report_request(text: str) -> tuple[str, Path]:
    """Return ``sarif=out.sarif`` as a kind and a file."""
    kind, equals, name = text.partition("=")
    if kind not in SCAN_KINDS:
        meant = did_you_mean(kind, SCAN_KINDS)
        raise argparse.ArgumentTypeError(
            f"{kind!r} is no kind of report; " + (meant or f"known are {', '.join(SCAN_KINDS)}")
        )
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} lacks a file; write it as {kind}=FILE")
    return kind, Path(name)


def add_report_option(group: argparse._ArgumentGroup) -> None:
    """Add ``--report KIND=FILE`` to the options of output."""
    group.add_argument(
        "--report", metavar="KIND=FILE", action="append", default=[], type=report_request,
        help=f"also write this kind of report to a file; repeatable: {', '.join(SCAN_KINDS)}",
    )  # fmt: skip


@dataclass
class Output:
    """Takes reports and failures in their order; :meth:`finish` writes what needs all of them."""

    kind: str = "text"
    file: Path | None = None
    requests: tuple[tuple[str, Path], ...] = ()
    verbose: bool = False
    quiet: bool = False
    look: Look = field(default_factory=Look)
    context: Context = DEFAULT
    reports: list[ScanReport] = field(default_factory=list)
    """Without symbol tables, so that a folder of wheels fits into memory."""
    failures: list[Failure] = field(default_factory=list)
    _bar: Progress | None = None
    _told: list[str] = field(default_factory=list)

    @classmethod
    def from_args(cls, args: argparse.Namespace) -> Output:
        """Return the output that a command line asks for."""
        for file in (args.output, *(file for _, file in args.report)):
            if file is not None and str(file) != "-":
                check_output(file)
        look = look_of(sys.stdout) if args.output is None else Look(unicode=True)
        return cls(args.format, args.output, tuple(args.report), args.verbose, args.quiet, look, Context(args.fail_on))

    @property
    def failed(self) -> bool:
        """Whether some finding counts against the build."""
        return any(self.context.fails(report, finding) for report in self.reports for finding in report.findings)

    @property
    def exit_code(self) -> int:
        """The worst of all inputs."""
        return exit_code(self.failed, [failure.error for failure in self.failures])

    def progress(self, total: int) -> Progress:
        """Return a progress line on stderr that makes room for what is printed here."""
        self._bar = Progress(sys.stderr, total, enabled=False if self.quiet else None)
        return self._bar

    def add(self, report: ScanReport) -> None:
        """Take a report; a text is told at once."""
        self.reports.append(slim(report))
        if self.kind == "text":
            from wheelfix.report.text import render_scan

            text = render_scan(report, self.look, verbose=self.verbose, quiet=self.quiet)
            self._tell(text if self.quiet or len(self.reports) == 1 else "\n" + text)

    def fail(self, failure: Failure) -> None:
        """Take an input that could not be looked at, and say so on stderr."""
        from wheelfix.cli.main import say_error

        self.failures.append(failure)
        if self._bar is not None:
            self._bar.hide()
        sys.stdout.flush()
        say_error(failure.error.what, failure.error.because, failure.error.hint)

    def finish(self) -> None:
        """Write the summary of many, the document, and the reports to files."""
        if self.kind != "text":
            write_result(render(self.kind, self.reports, self.failures, self.context), self.file)
        else:
            if not self.quiet and len(self.reports) > 1:
                from wheelfix.report.text import render_summary

                self._tell("\n" + render_summary(self.reports, len(self.failures), self.look))
            if self.file is not None:
                write_result("".join(self._told), self.file)
        if self.kind == "github":
            self._summarise()
        for kind, file in self.requests:
            write_result(render(kind, self.reports, self.failures, self.context), file)

    def _summarise(self) -> None:
        """Add a Markdown summary to the page of a GitHub job, where there is one."""
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            with Path(summary).open("a", encoding="utf-8", errors="replace", newline="\n") as file:
                file.write(render("markdown", self.reports, self.failures, self.context))

    def _tell(self, text: str) -> None:
        if self.file is not None:
            self._told.append(text)
            return
        if self._bar is not None:
            self._bar.hide()
        sys.stdout.write(text)
        sys.stdout.flush()
