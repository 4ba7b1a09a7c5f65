"""``wheelfix try``: import a wheel for real, and compare that with what the scan predicts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wheelfix.cli.commands import only_typed, say, say_failure
from wheelfix.cli.common import CommaList, add_command, add_output_options, positive, write_result
from wheelfix.cli.paths import expand_inputs, say_skipped
from wheelfix.errors import Exit, ImportFails, ImportUntold, PredictionDiffers, UsageError
from wheelfix.report.canvas import look_of

if TYPE_CHECKING:
    import argparse

    from wheelfix.cli.commands import Parser, Subparsers
    from wheelfix.errors import WheelfixError
    from wheelfix.trial.model import Trial, TrialOptions
    from wheelfix.trial.run import TrialFailure

FORMATS = ("text", "json", "junit")
EXAMPLES = """\
  wheelfix try dist\\*.whl                           each wheel in an environment of its own
  wheelfix try a.whl --with wheelhouse              requirements from a folder of wheels
  wheelfix try a.whl --index-url https://pypi.org/simple
  wheelfix try a.whl --python-home python-3.12.8-embed-amd64.zip    under Wine
  wheelfix try a.whl --module a --format junit -o try.xml
"""


def configure_parser(subparsers: Subparsers) -> None:
    """Add the command's parser."""
    parser = add_command(
        subparsers,
        "try",
        "THIS RUNS THE CODE OF THE WHEEL. Install it with pip into a clean environment, import each\n"
        "top-level module and each extension module in a fresh process, list the DLLs that were\n"
        "loaded, and compare how each import ends with what 'wheelfix scan' predicts. On Windows in\n"
        "a virtual environment; elsewhere under Wine, without network and home folder where the\n"
        "machine allows it. Everything is removed afterwards.",
        EXAMPLES,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a wheel, a pattern, a folder of wheels")
    add_trial_options(parser)
    add_output_options(parser, FORMATS)


def add_trial_options(parser: Parser, prefix: str = "") -> None:
    """Add the options that say what is imported, with what, and where; only the command line may set them."""
    group = parser.add_argument_group("what is installed and imported" if not prefix else "the import with --try")

    def add(name: str, dest: str, **settings: Any) -> None:
        only_typed(group.add_argument(f"--{prefix}{name}", dest=f"trial_{dest}", **settings))

    add(
        "with",
        "with",
        metavar="PATH",
        action="append",
        default=[],
        type=Path,
        help="a wheel that is installed too, or a folder of wheels that requirements are taken from; repeatable",
    )
    add(
        "find-links",
        "find_links",
        metavar="DIR",
        action="append",
        default=[],
        type=Path,
        help="another folder of wheels that requirements are taken from; repeatable",
    )
    add(
        "index-url",
        "index_url",
        metavar="URL",
        default="",
        help="also take requirements from this package index (default: from no index)",
    )
    add("no-deps", "no_deps", action="store_true", help="install the wheel without its requirements")
    add(
        "module",
        "module",
        metavar="NAME",
        action=CommaList,
        default=[],
        help="import these modules only (default: top-level modules and extension modules)",
    )
    if not prefix:
        group = parser.add_argument_group("where it is imported")
    add(
        "python-home",
        "python_home",
        metavar="PATH",
        type=Path,
        help="under Wine: a Windows Python, as a folder or as the zip of the embeddable package (python.org) or of "
        "nuget.org (default: a Python 3.11 from the package index)",
    )
    add("wine", "wine", metavar="PATH", type=Path, help="the program wine (default: found automatically)")
    add("python", "python", metavar="EXE", type=Path, help="on Windows: the Python to use (default: this one)")
    add(
        "timeout",
        "timeout",
        metavar="SECONDS",
        type=positive,
        default=120,
        help="how long one import may take (default 120)",
    )
    add("allow-root", "allow_root", action="store_true", help="allow running as root outside a container")


def trial_options(args: argparse.Namespace) -> TrialOptions:
    """Return what the command line asks for, checked."""
    from wheelfix.trial.model import TrialOptions

    for folder in args.trial_find_links:
        if not folder.is_dir():
            raise UsageError(f"--find-links {folder}", because="there is no such folder")
    for path in args.trial_with:
        if not path.exists():
            raise UsageError(f"--with {path}", because="there is no such file or folder")
    given = "try-" if hasattr(args, "trial") else ""
    windows = sys.platform == "win32"
    for option, value, applies in (
        (f"--{given}python", args.trial_python, windows),
        (f"--{given}python-home", args.trial_python_home, not windows),
        (f"--{given}wine", args.trial_wine, not windows),
    ):
        if value is not None and not applies:
            raise UsageError(
                f"{option} has no effect here", because="it is for Windows" if not windows else "it is for Wine"
            )
    return TrialOptions(
        beside=tuple(args.trial_with),
        find_links=tuple(args.trial_find_links),
        index_url=args.trial_index_url,
        requirements=not args.trial_no_deps,
        modules=tuple(args.trial_module),
        python_home=args.trial_python_home,
        wine=args.trial_wine,
        python=args.trial_python,
        timeout=float(args.trial_timeout),
        allow_root=args.trial_allow_root,
    )


def execute(args: argparse.Namespace) -> int:
    """Try every wheel and return the worst exit code."""
    from wheelfix.trial.run import TrialFailure, try_all

    options = trial_options(args)
    inputs = expand_inputs(args.paths, folders=False, windows_only=True)
    say_skipped(inputs)
    results = TrialResults(args)
    for word, error in zip(inputs.words, inputs.failures, strict=True):
        results.fail(TrialFailure(word, error))
    for found in try_all(inputs.files, options, None if args.quiet else lambda line: say(f"wheelfix: {line}")):
        if isinstance(found, TrialFailure):
            results.fail(found)
        else:
            results.add(found)
    results.finish()
    return results.exit_code


def exit_of(trial: Trial) -> Exit:
    """Return the exit code of a trial."""
    codes = {"differs": Exit.DIFFERS, "fails": Exit.FINDINGS, "cannot-tell": Exit.UNKNOWN, "imports": Exit.OK}
    return codes[trial.outcome]


def failure_of_trial(trial: Trial) -> WheelfixError | None:
    """Return the failure of a trial as an error with its exit code; None if everything was imported."""
    from wheelfix.trial.model import Agreement

    kinds = {"differs": PredictionDiffers, "fails": ImportFails, "cannot-tell": ImportUntold}
    if trial.outcome not in kinds:
        return None
    wrong = [one for one in trial.modules if one.agreement is Agreement.DIFFERS or not one.observed.works]
    causes = [one.observed.cause for one in wrong]
    reasons = [
        f"import {one.module}: {f'{cause.error}: {cause.message}' if cause is not None else one.observed.outcome}"
        + (f" ({one.why})" if one.why else "")
        for one, cause in zip(wrong, causes, strict=True)
    ]
    what = {
        "differs": "was not imported as predicted",
        "fails": "cannot be imported",
        "cannot-tell": "was imported under Wine, which cannot tell what Windows does",
    }
    hint = "'wheelfix try' with this wheel shows the traceback and the DLLs that were loaded"
    return kinds[trial.outcome](f"{trial.name} {trial.version} {what[trial.outcome]}", because=reasons[:5], hint=hint)


class TrialResults:
    """Prints results as they come, or collects them for a document; remembers what went wrong."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.trials: list[Trial] = []
        self.failures: list[TrialFailure] = []
        self._texts: list[str] = []

    def fail(self, failure: TrialFailure) -> None:
        """Print an error on stderr."""
        self.failures.append(failure)
        say_failure(failure.error)

    def add(self, trial: Trial) -> None:
        """Take one result."""
        self.trials.append(trial)
        if self.args.format != "text":
            return
        from wheelfix.report.trial import render_trial

        look = look_of(sys.stdout, colour=self.args.color)
        text = render_trial(trial, look, verbose=self.args.verbose, quiet=self.args.quiet)
        text = text if len(self.trials) == 1 or self.args.quiet else f"\n{text}"
        if self.args.output is not None:
            self._texts.append(text)
            return
        sys.stdout.write(text)
        sys.stdout.flush()

    def finish(self) -> None:
        """Write the document."""
        if self.args.format == "text":
            if self.args.output is not None:
                write_result("".join(self._texts), self.args.output)
            return
        from wheelfix.report.trial import render_json, render_junit

        render = render_json if self.args.format == "json" else render_junit
        write_result(render(self.trials, self.failures), self.args.output)

    @property
    def exit_code(self) -> int:
        """The worst of all."""
        codes = [*map(exit_of, self.trials), *(failure.error.exit_code for failure in self.failures)]
        return max(codes, default=Exit.OK)
