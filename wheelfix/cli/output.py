"""Where the reports of a command go, written as they come or gathered into documents, and how they were made."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from wheelfix.base.inputfiles import check_target
from wheelfix.base.options import ScanOptions, repeated
from wheelfix.base.parsing import regex, whole_number
from wheelfix.base.values import replace
from wheelfix.cli.commands import give_up_stdout, say, say_failure
from wheelfix.cli.common import Inputs, say_skipped, style_of, write_result
from wheelfix.errors import HIDDEN, EnvironmentFailure, Exit, UsageError, failure_of, shown_url
from wheelfix.exam.examination import FailedInput
from wheelfix.report.canvas import ProgressBar
from wheelfix.report.document import (
    Context,
    Document,
    render,
    slim,
)
from wheelfix.report.scans import Hints, render_scan, render_statistics, render_steps, render_summary
from wheelfix.report.words import count
from wheelfix.streams.source import file_sha256

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from wheelfix.cli.baseline import Baseline
    from wheelfix.model import Json, ScanReport
    from wheelfix.remote.ranges import WheelPath


def write_reports(args: argparse.Namespace, render_kind: Callable[[str], str]) -> None:
    """Write the result in the format that was asked for, and the files of ``--report``."""
    write_result(render_kind(args.format), args.output)
    for kind, file in args.report:
        write_result(render_kind(kind), file)


def made_by(args: argparse.Namespace) -> Context:
    """Return when and how a page is made."""

    return Context(date=now(), command=command_line(args.argv) if getattr(args, "argv", ()) else "")


_Found = TypeVar("_Found")


class Results:
    """What became of each input of a command: texts as they come, or in a file; entries for JSON; what went wrong."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.file: Path | None = getattr(args, "output", None)
        self.look = style_of(args)
        self.failures: list[FailedInput] = []
        self.entries: list[Json] = []
        self._bar: ProgressBar | None = None
        self._texts: list[str] = []
        self._unheard: OSError | None = None
        """Why nothing more can be printed. The work goes on: wheels and reports in files do not depend on it."""

    def progress(self, paths: Sequence[WheelPath], verb: str) -> ProgressBar:
        """Return a progress line on stderr that makes room for what is printed here."""
        self._bar = ProgressBar(sys.stderr, paths, verb, enabled=False if self.args.quiet else None)
        return self._bar

    def take(self, found: Iterator[_Found | FailedInput], bar: ProgressBar | None = None) -> Iterator[_Found]:
        """Give what was found; inputs that failed are taken here, and ``bar`` is told of each that is done."""
        try:
            for result in found:
                if isinstance(result, FailedInput):
                    self.fail(result)
                else:
                    yield result
                if bar is not None:
                    bar.step(getattr(result, "path", ""))
        finally:
            if isinstance(found, Generator):  # which may have started processes
                found.close()

    def fail(self, failure: FailedInput) -> None:
        """Take an input that could not be looked at, and say so on stderr."""
        self.failures.append(failure)
        if self._bar is not None:
            self._bar.hide()
        path, error = failure.path, failure.error
        say_failure(error)
        self.entries.append({"path": path, "outcome": "failed", "error": str(error), "hint": error.hint})

    def fail_inputs(self, inputs: Inputs, stage: str = "read") -> None:
        """Take what was typed and stands for nothing, and the wheels that are not looked at."""
        say_skipped(inputs)
        for failure in inputs.failures:
            self.fail(replace(failure, stage=stage))

    def tell(self, text: str) -> None:
        """Print a text at once, or keep it for the file."""
        if self.file is not None:
            self._texts.append(text)
            return
        if self._bar is not None:
            self._bar.hide()
        if self._unheard is not None:
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError as error:  # no wheel is to blame for it: it ends the command, after all inputs
            self._unheard = error
            give_up_stdout()

    def write(self, render_kind: Callable[[str], str]) -> None:
        """Write the document that was asked for, if the texts are not it; then the files of ``--report``."""
        if self.args.format != "text":
            write_result(render_kind(self.args.format), self.file)
        elif self.file is not None:
            write_result("".join(self._texts), self.file)
        for kind, file in getattr(self.args, "report", ()):
            write_result(render_kind(kind), file)

    def exit_code(self, *, failed: bool = False) -> int:
        """Return the worst of all: 1 for a finding that counts, and the code of each input that could not be read."""
        if self._unheard is not None:
            raise self._unheard
        return max([Exit.FINDINGS if failed else Exit.OK, *(failure.error.exit_code for failure in self.failures)])


class Output(Results):
    """Takes reports and failures in their order; :meth:`finish` writes what needs all of them."""

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        # Who asks about something wants the answer, also where it is good.
        asked = any(getattr(args, name, None) for name in ("select", "gpu", "driver", "signatures", "archs"))
        self.context = Context(args.fail_on, infos=asked)
        self.reports: list[ScanReport] = []
        """Without symbol tables, so that a folder of wheels fits into memory; text that is written needs no images."""
        self.baseline: Baseline | None = None
        self.write_baseline: Path | None = None
        """Where to write what is found, as known from now on."""
        self._hints = Hints()
        self._several: bool | None = None
        """Whether the last report took more than one line; None before the first."""
        self._take_baseline(getattr(args, "baseline", None), getattr(args, "write_baseline", False))

    def _take_baseline(self, file: Path | None, write: bool) -> None:
        if write and file is None:
            raise UsageError("--write-baseline needs --baseline FILE", hint="it says where to write")
        if file is None:
            return
        from wheelfix.cli.baseline import Baseline  # which imports json

        if write:
            self.write_baseline, self.baseline = file, Baseline()
            return
        self.baseline = Baseline.read(file)
        self.context = replace(self.context, known=self.baseline.knows)

    @property
    def failed(self) -> bool:
        """Whether some finding counts against the build."""
        return any(self.context.fails(report, finding) for report in self.reports for finding in report.findings)

    def repeat(self, options: ScanOptions) -> None:
        """Have the commands that reports propose repeat what was said about roots."""
        self.context = replace(self.context, repeated=repeated(options))

    def add(self, report: ScanReport, fail_on: str = "") -> None:
        """Take a report; a text is written at once. ``fail_on`` is given where it differs from the run's."""
        self.reports.append(slim(report))
        if fail_on and fail_on != self.context.fail_on:
            levels = {**self.context.fail_on_of, report.path: fail_on}
            self.context = replace(self.context, fail_on_of=levels)
        if self.args.format == "text":
            try:
                text = render_scan(report, self.look, context=self.context, hints=self._hints)
            except Exception as error:  # a report that cannot be drawn costs itself only
                self.reports.pop()
                self.fail(FailedInput(report.path, failure_of(error, report.path), "report"))
                return
            self.tell(text if self.args.quiet or not self._needs_blank(text) else "\n" + text)
            if not self.args.report:
                self.reports[-1] = report.without_images()

    def _needs_blank(self, text: str) -> bool:
        """Whether an empty line belongs between the report before and this one: not between two single lines."""
        several, self._several = self._several, text.count("\n") > 1
        return several is not None and (several or self._several)

    def fail_inputs(self, inputs: Inputs, stage: str = "read") -> None:
        """Take what was typed and stands for nothing, and the wheels that are not looked at."""
        self.context = replace(self.context, skipped=tuple(map(str, inputs.skipped)))
        super().fail_inputs(inputs, stage)

    def finish(self) -> int:
        """Write the summary of many, the document, and the reports to files; return the worst exit code."""
        text, quiet = self.args.format == "text", self.args.quiet
        document = Document(self.reports, self.failures, self.context)
        if text:
            alone = {failure.path for failure in self.failures} - {report.path for report in self.reports}
            summarised = not quiet and len(self.reports) + len(alone) + len(self.context.skipped) > 1
            if summarised and self.reports:
                self.tell("\n" + render_summary(document, self.look))
            if not self.reports and not self.failures:
                say("wheelfix: nothing was scanned: no distribution there has a DLL or an extension module")
            if self.args.statistics and not summarised:  # the summary has it
                self.tell("\n" + render_statistics(document, self.look))
            if not quiet and (steps := render_steps(document, self.look)):
                self.tell("\n" + steps)
        self.write(self._render)
        if self.args.statistics and not text:
            for line in render_statistics(document, self.look).splitlines():
                say(line)
        if self.args.format == "github":
            self._summarise()
        self._finish_baseline()
        return self.exit_code(failed=self.failed and self.write_baseline is None)

    def _render(self, kind: str) -> str:
        context = self.context
        if kind == "html":  # with what people want to know about a page that they are sent
            made = made_by(self.args)
            context = replace(context, date=made.date, command=made.command, sha256=hashes(self.reports))
        return render(kind, self.reports, self.failures, context, self.fail)

    def _finish_baseline(self) -> None:
        """Write the baseline, or say which of its entries no longer hold."""
        if self.baseline is None:
            return
        if self.write_baseline is not None:
            made = self.baseline.of(self.reports)
            write_result(made.render(), self.write_baseline)
            say(f"wheelfix: {count(len(made.entries), 'finding')} written to {self.write_baseline}")
        for entry in self.baseline.stale(self.reports):
            about = entry.subject or ", ".join(entry.paths)
            say(f"wheelfix: the baseline still has {entry.code} for {entry.distribution}, {about}: no longer found")

    def _summarise(self) -> None:
        """Add a Markdown summary to the page of a GitHub job, where there is one."""
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary:
            check_target(Path(summary))
            with Path(summary).open("a", encoding="utf-8", errors="replace", newline="\n") as file:
                file.write(self._render("markdown"))


_SECRET_NAMES = ("token", "secret", "passw", "passphrase", "apikey", "api-key", "credential", "auth")
_TOKEN = regex(r"\b(?:gh[a-z]_|github_pat_|glpat-|pypi-|sk-|AKIA|xox[a-z]-)[\w-]{8,}")


def command_line(argv: Sequence[str], home: str = "") -> str:
    """Return a command line as a report may show it: what looks like a secret is hidden, the home folder is ``~``."""
    home = home or str(Path("~").expanduser())
    words = []
    named = False
    for word in argv:
        words.append(HIDDEN if named else _without_secrets(word, home))
        named = word.startswith("--") and "=" not in word and _names_a_secret(word)
    return " ".join(word if word == HIDDEN else _quoted(word) for word in ("wheelfix", *words))


def _quoted(word: str) -> str:
    """Quote a word only where a shell would part it; backslashes of Windows paths stay as they are."""
    if re.fullmatch(r"[\w@%+=:,./~*\\-]+", word):
        return word
    return f'"{word}"' if "'" in word or "\\" in word else shlex.quote(word)


def _without_secrets(word: str, home: str) -> str:
    word = _TOKEN.sub(HIDDEN, _without_value(shown_url(word)))
    return word.replace(home, "~") if len(home) > 3 else word


def _without_value(word: str) -> str:
    """Hide what follows the name of a secret and ``=`` or ``:``."""
    start = 0
    for at, sign in enumerate(word):
        if sign in "=:":
            if _names_a_secret(word[start:at]):
                return word[: at + 1] + HIDDEN
            start = at + 1
    return word


def _names_a_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_NAMES)


def now() -> str:
    """Return the time in UTC, or that of ``SOURCE_DATE_EPOCH``, for reports that are to be the same again."""
    epoch = whole_number(os.environ.get("SOURCE_DATE_EPOCH", ""), 11)
    seconds = time.time() if epoch is None else epoch
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def hashes(reports: Iterable[ScanReport]) -> dict[str, str]:
    """Return the SHA-256 of every wheel that was reported, by its path; a file that is gone has none."""
    found = {}
    for path in {report.path for report in reports}:
        if path.lower().endswith(".whl"):
            try:
                found[path] = file_sha256(Path(path))
            except EnvironmentFailure:
                continue
    return found
