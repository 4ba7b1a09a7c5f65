"""What several commands share: their options, from what was typed to the things to look at, and where reports go."""

from __future__ import annotations

import glob
import os
import re
import shlex
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wheelfix.archive.names import other_system
from wheelfix.base.inputfiles import check_target, check_text_target, will_read
from wheelfix.base.options import Limits, RemoteOptions, RootOptions, ScanOptions, repeated, shell_line
from wheelfix.base.parsing import regex, whole_number
from wheelfix.base.values import frozen, replace
from wheelfix.cli.commands import give_up_stdout, say, say_failure
from wheelfix.errors import (
    HIDDEN,
    EnvironmentFailure,
    Exit,
    InputError,
    NetworkFailure,
    UsageError,
    failure_of,
    shown_url,
)
from wheelfix.exam.examination import FailedInput, wheels_in
from wheelfix.knowledge.targets import chosen_targets
from wheelfix.loader.profile import assumptions
from wheelfix.remote.addresses import is_remote, is_url
from wheelfix.remote.client import Client
from wheelfix.report.canvas import ProgressBar, TextStyle, look_of
from wheelfix.report.document import DEFAULT, Context, Document, count, human_size, render
from wheelfix.report.scans import Hints, render_scan, render_statistics, render_steps, render_summary
from wheelfix.roots.host import card_arch
from wheelfix.rules.registry import check_patterns
from wheelfix.streams.output import AtomicFile
from wheelfix.streams.source import file_sha256

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from wheelfix.cli.baseline import Baseline
    from wheelfix.model import Json, ScanReport
    from wheelfix.remote.ranges import WheelPath


ENTRY = 640
"""Bytes of a directory entry with a long name; who allows more members allows a larger directory."""


def style_of(args: argparse.Namespace) -> TextStyle:
    """Return how a text looks: as the terminal shows it, or in a file."""
    look = look_of(sys.stdout, getattr(args, "color", "auto"))
    said = {name: getattr(args, name, False) for name in ("verbose", "quiet")}
    look = replace(look, **said)
    return look.in_file if getattr(args, "output", None) is not None else look


_Options = TypeVar("_Options")


def options_of(kind: type[_Options], args: argparse.Namespace, prefix: str = "", **known: Any) -> _Options:
    """Return options of a kind: each is what was given for the argument of its name (``roots``, or ``root``).

    What was not given has its default, ``--no-cache`` sets ``cache`` to False, and ``known`` counts before all that.
    """
    found, given = dict[str, Any](), vars(args)
    for name in kind.__annotations__:
        for option in (name, name.removesuffix("s")):
            value = given.get(prefix + option)
            if value is not None and value != []:
                found[name] = tuple(value) if isinstance(value, list) else value
        if given.get(f"{prefix}no_{name}") is True:
            found[name] = False
    return kind(**{**found, **known})


def scan_options(args: argparse.Namespace, **known: Any) -> ScanOptions:
    """Return how to look at wheels, as the command line says; a mistake is reported once, not for every wheel."""
    there, absent = ({word.partition("=")[0] for word in words} for words in (args.assume, args.no_assume))
    if both := sorted(there & absent):
        raise UsageError(f"{both[0]} is both assumed and not assumed", hint="drop one of --assume and --no-assume")
    assumptions(tuple(args.assume), tuple(args.no_assume))
    chosen_targets(getattr(args, "target", ()))
    if getattr(args, "gpu", None) is not None:
        card_arch(args.gpu)
    python, remote = environment_of(getattr(args, "python", None)), remote_options(args)
    parts = options_of(ScanOptions, args, python=python, roots=root_options(args), limits=limits(args), remote=remote)
    return replace(parts, **known)


def rule_choice(args: argparse.Namespace) -> dict[str, Any]:
    """Return which findings are wanted, checked."""
    return {name: check_patterns(getattr(args, name), f"--{name}") for name in ("select", "ignore")}


def limits(args: argparse.Namespace) -> Limits:
    """Return how much an archive may ask of us, as the command line says."""
    given = {f"max_{name}": number for name, number in getattr(args, "limit", ())}
    size = given.pop("max_size", getattr(args, "max_size", None))
    found = options_of(Limits, args, **given, **({"max_member_size": size} if size else {}))
    return replace(found, max_directory=max(found.max_directory, found.max_members * ENTRY))


def root_options(args: argparse.Namespace) -> RootOptions:
    """Return where DLLs may come from, as the command line says."""
    if getattr(args, "trusted_roots", None) is not None:
        from wheelfix.pe.authenticode.verify import check_trusted_roots  # cryptography is behind it

        check_trusted_roots(args.trusted_roots)
    return options_of(RootOptions, args, limits=limits(args))


def environment_of(python: Path | None) -> Path | None:
    """Return the folder that ``--python`` names, by itself or by the python.exe in it or in its Scripts."""
    if python is not None and python.is_file() and python.name.lower() == "python.exe":
        return python.parent.parent if python.parent.name.lower() == "scripts" else python.parent
    check_folder(python, "--python")
    return python


def check_folder(folder: Path | None, option: str) -> None:
    """Refuse a folder that is not there, by the name of the option that gave it."""
    if folder is not None and not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "the folder does not exist"
        raise UsageError(f"{option} {folder}", because=what, hint="check the path for a misspelling")


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse files that cannot or may not be written, before the work is done; those that options name are read."""
    given = vars(args)
    written = [given.get("output"), given.get("lock"), given.get("baseline") if given.get("write_baseline") else None]
    written += [file for _, file in given.get("report", ())]
    outputs = [file for file in written if file is not None and str(file) != "-"]
    for file in outputs:
        check_output(file)
    named = [one for value in given.values() for one in (value if isinstance(value, list | tuple) else [value])]
    will_read(path for path in named if isinstance(path, Path) and path not in outputs)


def check_output(output: Path) -> None:
    """Refuse a file that cannot be written, or that is an input or a package."""
    if output.is_dir():
        raise UsageError(f"{output} is a folder", hint="name the file to write")
    if not output.parent.is_dir():
        raise EnvironmentFailure(f"cannot write {output}", because=f"there is no folder {output.parent}")
    check_text_target(output)


_SAYS_UTF8 = ("<?xml", "<!doctype html")
"""How documents begin that say themselves that they are UTF-8."""


def write_result(text: str, output: Path | None) -> None:
    """Print a result, or put it whole into a file: a reader never meets half of it."""
    if output is None or str(output) == "-":
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None and text[:20].lower().startswith(_SAYS_UTF8):
            reconfigure(encoding="utf-8", errors="replace")  # into a file, Windows writes the encoding of the system
        sys.stdout.write(text)
        return
    check_output(output)
    if output.exists() and not output.is_file():
        output.write_text(text, encoding="utf-8", errors="replace")  # a device or a pipe cannot be replaced
        return
    with AtomicFile(output) as file:  # under a name that the next run knows, should this one be killed
        file.write(text.encode("utf-8", "replace"))
        file.commit()


# ---------------------------------------------------------------------- from what was typed to the things to look at


_NAME = "[A-Za-z0-9][A-Za-z0-9_-]*"
"""What may be the name of a project; with a dot it is more likely a file."""


@frozen
class Inputs:
    """The inputs of a command."""

    paths: tuple[WheelPath, ...]
    """Wheels, and folders that are not folders of wheels (an environment, a package)."""
    failures: tuple[FailedInput, ...]
    """What was typed and stands for nothing, or cannot be reached; the other inputs are used."""
    skipped: tuple[WheelPath, ...] = ()
    """Wheels for other systems, where the command is about Windows wheels."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Those that are on this disk."""
        return tuple(path for path in self.paths if isinstance(path, Path))


def expand_inputs(
    words: Iterable[str], *, folders: bool = True, windows_only: bool = False, client: Client | None = None
) -> Inputs:
    """Expand patterns (cmd.exe and PowerShell pass them through) and folders of wheels.

    With a ``client`` a word may also be the URL of a wheel, or a requirement such as ``torch==2.7.1``.

    ``folders`` says whether a folder without wheels makes sense to the command, as an environment or a package;
    ``windows_only`` leaves wheels for other systems out, and refuses a run in which nothing else is left.
    """
    paths: dict[str, WheelPath] = {}
    failures: list[FailedInput] = []
    for word in words:
        try:
            there = os.path.lexists(word)
            if not there and is_remote(word):
                found: list[WheelPath] = [_remote(word, client)]
            elif not there and client is not None and re.fullmatch(_NAME, word):
                found = [_newest(word, client)]
            else:
                found = [*_expand(word, folders=folders)]
            for path in found:
                paths.setdefault(_identity(path), path)
        except (InputError, NetworkFailure) as error:
            failures.append(FailedInput(shown_url(word), error))
        except OSError as error:  # no permission, a name too long, a share that is gone
            what = EnvironmentFailure(f"cannot access {shown_url(word)}", because=error)
            failures.append(FailedInput(shown_url(word), what))
    if not paths and not failures:
        raise UsageError("no input was given", hint="name a wheel, a folder, or a pattern such as dist/*.whl")
    will_read(path for path in paths.values() if isinstance(path, Path))
    skipped = tuple(path for path in paths.values() if windows_only and other_system(path.name))
    kept = tuple(path for path in paths.values() if path not in skipped)
    if skipped and not kept and not failures:
        raise UsageError(
            f"no Windows wheel among the inputs: {', '.join(path.name for path in skipped[:3])}"
            + (f" and {len(skipped) - 3} more" if len(skipped) > 3 else ""),
            hint="wheels for Windows have a platform tag such as win_amd64",
        )
    return Inputs(kept, tuple(failures), skipped)


def given_paths(paths: list[str], what: str) -> list[str]:
    """Return what was typed, or ``dist`` where nothing was and there is such a folder."""
    if paths:
        return paths
    if not Path("dist").is_dir():
        hint = "name a wheel, or a folder of wheels; dist is used if it exists"
        raise UsageError(f"wheelfix {what} needs a PATH", hint=hint)
    say("wheelfix: no PATH was given: dist is used")
    return ["dist"]


def _remote(word: str, client: Client | None) -> WheelPath:
    if client is None:
        download = shell_line(["python", "-m", "pip", "download", "--no-deps", "--platform", "win_amd64", word])
        raise InputError(
            f"{shown_url(word)} is not on this disk",
            because="this command works on files",
            hint="download the wheel first" + ("" if is_url(word) else f": {download}"),
        )
    return client.find(word)


def _newest(word: str, client: Client) -> WheelPath:
    """Return the newest wheel of a project on the package index; a slip in the name of a file is one, too."""
    try:
        return client.find(word)
    except (InputError, EnvironmentFailure) as error:
        raise (InputError if isinstance(error, InputError) else NetworkFailure)(
            f"{word} is neither a file or folder here nor a project on the package index",
            because=[reason for reason in (_nearest(Path(word)), str(error)) if reason],
            hint=error.hint,
        ) from error


def _expand(word: str, *, folders: bool) -> list[Path]:
    if not word:
        raise InputError("an empty path was given", hint="check the variable that should hold it")
    path = Path(word)
    if "://" in word and not os.path.lexists(path):
        because = "an address has to begin with http:// or https://"
        raise InputError(f"{shown_url(word)} is neither a file nor a wheel on a server", because=because)
    if path.is_dir():
        return _open_folder(path, folders=folders)
    if path.exists() or not glob.has_magic(word):
        if not os.path.lexists(path):
            raise InputError(f"{word} does not exist", hint=_nearest(path))
        return [path]
    # Path.glob takes no absolute pattern. sorted() makes the order ours: the file system's differs from disk to disk.
    matches = sorted(Path(match) for match in glob.glob(word, recursive=True))  # noqa: PTH207
    if not matches:
        raise InputError(
            f"the pattern {word} matches nothing",
            because=_nearest(Path(word)),
            hint="was the wheel built, and is this the right folder?",
        )
    found: list[Path] = []
    for match in matches:
        found += _open_folder(match, folders=folders) if match.is_dir() else [match]
    return found


def _open_folder(folder: Path, *, folders: bool) -> list[Path]:
    # scipy 1.17.1 installs an empty file with the name of its wheel, so a folder of installed files may have one.
    if wheels := wheels_in(folder):
        return wheels
    if folders and any(folder.iterdir()):
        return [folder]
    raise InputError(f"the folder {folder} holds no wheel", hint="name the wheel itself, or the folder that holds it")


def _nearest(path: Path) -> str:
    """Say how much of the path exists, which shows where the mistake is."""
    for parent in path.parents:
        if glob.has_magic(str(parent)):
            continue
        if parent.is_dir():
            wheels = sum(1 for item in parent.iterdir() if item.suffix.lower() == ".whl")
            where = "this folder" if str(parent) == "." else str(parent)
            return f"{where} holds {wheels or 'no'} wheel{'' if wheels == 1 else 's'}"
        if str(parent) not in (".", parent.anchor):
            return f"there is no folder {parent}"
    return ""


def _identity(path: WheelPath) -> str:
    """Two spellings of one file are one input."""
    if not isinstance(path, Path):
        return path.url
    return os.path.normcase(os.path.realpath(path))


def remote_options(args: argparse.Namespace) -> RemoteOptions:
    """Return how to reach wheels on servers, as the command line says."""
    options = options_of(RemoteOptions, args, trusted=tuple(getattr(args, "trust_distribution", ())))
    _ = options.target  # a slip is said once, before anything is asked
    return options


def open_client(args: argparse.Namespace) -> Client:
    """Return what reads wheels from servers; nothing is asked before there is something to read."""
    return Client(remote_options(args), say=lambda text: say(f"wheelfix: {text}"))


def say_bytes(paths: Iterable[WheelPath], args: argparse.Namespace) -> None:
    """Say how many bytes were read of wheels on servers."""
    for path in paths:
        if not isinstance(path, Path) and path.size and not args.quiet:
            share = 100 * path.fetched / path.size
            of = f"{human_size(path.fetched)} of {human_size(path.size)} ({share:.1f} %)"
            say(f"wheelfix: {path.name}: read {of} from the server")


def say_skipped(inputs: Inputs) -> None:
    """Say which wheels are not looked at."""
    for path in inputs.skipped:
        say(f"wheelfix: skipped: {path.name} is not a Windows wheel")


def write_reports(args: argparse.Namespace, render_kind: Callable[[str], str]) -> None:
    """Write the result in the format that was asked for, and the files of ``--report``."""
    write_result(render_kind(args.format), args.output)
    for kind, file in args.report:
        write_result(render_kind(kind), file)


def made_by(args: argparse.Namespace, context: Context = DEFAULT) -> Context:
    """Return a context with when and how a page is made."""
    return replace(context, date=now(), command=command_line(args.argv) if getattr(args, "argv", ()) else "")


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
        """As small as the command makes them (``slim``); text that is written needs no images."""
        self.baseline: Baseline | None = None
        self.write_baseline: Path | None = None
        """Where to write what is found, as known from now on."""
        self._hints = Hints()
        self._several: bool | None = None
        """Whether the last report took more than one line; None before the first."""
        self._take_baseline(getattr(args, "baseline", None), getattr(args, "write_baseline", False))

    def _take_baseline(self, file: Path | None, write: bool) -> None:
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
        self.reports.append(report)
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
            context = replace(made_by(self.args, context), sha256=hashes(self.reports))
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


_SECRET = regex("(?i)token|secret|passw|passphrase|api-?key|credential|auth")
"""What names of secrets have in them."""
_TOKEN = regex(r"\b(?:gh[a-z]_|github_pat_|glpat-|pypi-|sk-|AKIA|xox[a-z]-)[\w-]{8,}")


def command_line(argv: Sequence[str], home: str = "") -> str:
    """Return a command line as a report may show it: what looks like a secret is hidden, the home folder is ``~``."""
    home, words = home or str(Path("~").expanduser()), ["wheelfix"]
    for before, word in zip(("", *argv), argv, strict=False):
        named = before.startswith("--") and "=" not in before and _SECRET.search(before)
        shown = _TOKEN.sub(HIDDEN, _without_value(shown_url(word)))
        words.append(HIDDEN if named else _quoted(shown.replace(home, "~") if len(home) > 3 else shown))
    return " ".join(words)


def _without_value(word: str) -> str:
    """Hide what follows the name of a secret and ``=`` or ``:``."""
    parts = re.split("([=:])", word)
    at = next((at for at in range(0, len(parts) - 1, 2) if _SECRET.search(parts[at])), None)
    return word if at is None else "".join(parts[: at + 2]) + HIDDEN


def _quoted(word: str) -> str:
    """Quote a word only where a shell would part it; backslashes of Windows paths stay as they are."""
    if re.fullmatch(r"[\w@%+=:,./~*\\-]+", word):
        return word
    return f'"{word}"' if "'" in word or "\\" in word else shlex.quote(word)


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
