"""``wheelfix try``: import a wheel for real, and compare that with what the scan predicts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.cli.commands import say
from wheelfix.cli.common import Output, Results, expand_inputs, options_of
from wheelfix.errors import ImportFails, ImportUntold, PredictionDiffers, UsageError, WheelfixError
from wheelfix.exam.examination import FailedInput
from wheelfix.report.canvas import look_of
from wheelfix.report.json_ import render
from wheelfix.report.trial import render_junit, render_trial
from wheelfix.trial.model import Agreement, Trial, TrialOptions, silent
from wheelfix.trial.pythons import refuse_root
from wheelfix.trial.run import try_all

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
    return options_of(
        TrialOptions,
        args,
        "trial_",
        beside=tuple(args.trial_with),
        requirements=not args.trial_no_deps,
        python_home=home,
        python=python,
        note=silent if args.quiet else lambda line: say(f"wheelfix: {line}"),
    )


def execute(args: argparse.Namespace) -> int:
    """Try every wheel and return the worst exit code."""
    options = trial_options(args)
    inputs = expand_inputs(args.paths, folders=False, windows_only=True)
    results, trials = Results(args), list[Trial]()
    results.fail_inputs(inputs, "try")
    for found in results.take(try_all(inputs.files, options)):
        trials.append(found)
        if args.format == "text":
            text = render_trial(found, results.look)
            results.tell(text if len(trials) == 1 or args.quiet else f"\n{text}")
    results.write(
        lambda kind: (
            render("try-1", wheels=trials, failures=results.failures)
            if kind == "json"
            else render_junit(trials, results.failures)
        )
    )
    errors = filter(None, map(failure_of_trial, trials))
    return max([results.exit_code(), *(error.exit_code for error in errors)])


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
            look = replace(look_of(sys.stderr, colour=args.color), quiet=args.quiet)
            for line in render_trial(found, look).splitlines():
                say(line)
            error = failure_of_trial(found)
            if error is not None:
                output.fail(FailedInput(found.path, error, "try"))
    except WheelfixError as error:  # no Wine, for example; what was found before is reported all the same
        for path in pending:
            output.fail(FailedInput(path, error, "try"))


OUTCOMES: dict[str, tuple[type[WheelfixError], str]] = {
    "differs": (PredictionDiffers, "was not imported as predicted"),
    "fails": (ImportFails, "cannot be imported"),
    "cannot-tell": (ImportUntold, "was imported under Wine, which cannot tell what Windows does"),
}
"""What a trial comes to, if not everything was imported."""


def failure_of_trial(trial: Trial) -> WheelfixError | None:
    """Return the failure of a trial as an error with its exit code; None if everything was imported."""
    if trial.outcome not in OUTCOMES:
        return None
    kind, what = OUTCOMES[trial.outcome]
    reasons = []
    for one in trial.modules:
        if one.agreement is Agreement.DIFFERS or not one.observed.works:
            cause = one.observed.cause
            said = f"{cause.error}: {cause.message}" if cause is not None else one.observed.outcome
            reasons.append(f"import {one.module}: {said}" + (f" ({one.why})" if one.why else ""))
    hint = "'wheelfix try' with this wheel shows the traceback and the DLLs that were loaded"
    return kind(f"{trial.name} {trial.version} {what}", because=reasons[:5], hint=hint)
