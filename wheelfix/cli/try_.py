"""``wheelfix try``: import a wheel for real, and compare that with what the scan predicts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.cli.commands import say
from wheelfix.cli.common import (
    expand_inputs,
)
from wheelfix.cli.output import Output, Results
from wheelfix.errors import Exit, ImportFails, ImportUntold, PredictionDiffers, UsageError, WheelfixError
from wheelfix.exam.examination import FailedInput
from wheelfix.report.canvas import look_of
from wheelfix.report.trial import render_json, render_junit, render_trial
from wheelfix.trial.model import Agreement, Trial, TrialOptions, silent
from wheelfix.trial.run import try_all
from wheelfix.trial.wine import refuse_root, wine_to_download

if TYPE_CHECKING:
    import argparse


def trial_options(args: argparse.Namespace) -> TrialOptions:
    """Return what the command line asks for, checked."""
    for folder in args.trial_find_links:
        if not folder.is_dir():
            raise UsageError(f"--find-links {folder}", because="there is no such folder")
    for path in args.trial_with:
        if not path.exists():
            raise UsageError(f"--with {path}", because="there is no such file or folder")
    windows = sys.platform == "win32"
    python, home = args.trial_python, args.trial_python_home
    if not windows and python is not None:
        python, home = None, python
    for option, value in (("python-home", home), ("wine", args.trial_wine)):
        if value is not None and windows:
            raise UsageError(f"--{option} has no effect here", because="it is for Wine")
    if python is not None and python.is_dir():
        python = next(
            (exe for exe in (python / "python.exe", python / "Scripts" / "python.exe") if exe.exists()), python
        )
    return TrialOptions(
        beside=tuple(args.trial_with),
        find_links=tuple(args.trial_find_links),
        index_url=args.trial_index_url,
        requirements=not args.trial_no_deps,
        modules=tuple(args.trial_module),
        python_home=home,
        wine=args.trial_wine,
        python=python,
        timeout=float(args.trial_timeout),
        allow_root=args.trial_allow_root,
        note=silent if args.quiet else lambda line: say(f"wheelfix: {line}"),
    )


def execute(args: argparse.Namespace) -> int:
    """Try every wheel and return the worst exit code."""
    options = trial_options(args)
    inputs = expand_inputs(args.paths, folders=False, windows_only=True)
    results, trials = Results(args), list[Trial]()
    results.fail_inputs(inputs, "try")
    if inputs.files and not args.yes:
        _ask(wine_to_download(options.wine))
    for found in try_all(inputs.files, options):
        if isinstance(found, FailedInput):
            results.fail(found)
            continue
        trials.append(found)
        if args.format == "text":
            text = render_trial(found, results.look, verbose=args.verbose, quiet=args.quiet)
            results.tell(text if len(trials) == 1 or args.quiet else f"\n{text}")
    render = render_json if args.format == "json" else render_junit
    results.write(lambda kind: render(trials, results.failures))
    return max([*map(exit_of, trials), *(failure.error.exit_code for failure in results.failures)], default=Exit.OK)


def _ask(what: str) -> None:
    """Go on only with the user's consent, if something large has to be downloaded first."""
    if not what:
        return
    if sys.stdin.isatty() and sys.stderr.isatty():
        say(f"wheelfix: this sets up {what}. Continue? [y/N]")
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
        raise UsageError("nothing was tried", because="the download was declined")
    raise UsageError("a download is needed first", because=f"this sets up {what}", hint="--yes agrees to it")


def check_trial(args: argparse.Namespace) -> None:
    """For ``ci``: refuse what makes no sense before anything is written."""
    refuse_root(trial_options(args).allow_root)


def try_written(args: argparse.Namespace, output: Output) -> None:
    """For ``ci``: import the wheels that came out, show each on stderr; what fails is in the reports, too."""
    wheels = list(dict.fromkeys(Path(report.path) for report in output.reports))
    pending = dict.fromkeys(map(str, wheels))
    try:
        for found in try_all(wheels, trial_options(args)):
            pending.pop(found.path, None)
            if isinstance(found, FailedInput):
                output.fail(found)
                continue
            for line in render_trial(found, look_of(sys.stderr, colour=args.color), quiet=args.quiet).splitlines():
                say(line)
            error = failure_of_trial(found)
            if error is not None:
                output.fail(FailedInput(found.path, error, "try"))
    except WheelfixError as error:  # no Wine, for example; what was found before is reported all the same
        for path in pending:
            output.fail(FailedInput(path, error, "try"))


def exit_of(trial: Trial) -> Exit:
    """Return the exit code of a trial."""
    codes = {"differs": Exit.DIFFERS, "fails": Exit.FINDINGS, "cannot-tell": Exit.UNKNOWN, "imports": Exit.OK}
    return codes[trial.outcome]


def failure_of_trial(trial: Trial) -> WheelfixError | None:
    """Return the failure of a trial as an error with its exit code; None if everything was imported."""
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
