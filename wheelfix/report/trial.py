"""What ``wheelfix try`` found out: for people, as JSON and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from wheelfix.report.canvas import Canvas
from wheelfix.report.ci import add_case, add_error, junit_text
from wheelfix.report.json_ import dump, pick, tool
from wheelfix.report.safe import xml
from wheelfix.report.words import count
from wheelfix.trial.model import Agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import Json
    from wheelfix.report.canvas import TextStyle
    from wheelfix.trial.model import ModuleTrial, Trial
    from wheelfix.trial.run import TrialFailure

SCHEMA = "wheelfix.try/1"


def render_json(trials: Sequence[Trial], failures: Sequence[TrialFailure] = ()) -> str:
    """Return the ``wheelfix.try/1`` document."""
    document: dict[str, Json] = {"schema": SCHEMA, "tool": tool(), "wheels": [_trial(trial) for trial in trials]}
    if failures:
        document["failures"] = [
            {
                "path": failure.path,
                "error": failure.error.what,
                **pick(failure.error, "because hint"),
                "exit_code": failure.error.exit_code.value,
            }
            for failure in failures
        ]
    return dump(document)


def _trial(trial: Trial) -> Json:
    modules: list[Json] = []
    for one in trial.modules:
        observed = one.observed
        errors: list[Json] = [
            {"class": error.error, **pick(error, "bases message code name frames")} for error in observed.errors
        ]
        seen: dict[str, Json] = {
            "outcome": observed.outcome,
            "errors": errors,
            "traceback": observed.traceback,
            "loaded": [pick(file, "path where") for file in observed.loaded],
            "missing": [{"dll": dll, "needed_by": by} for dll, by in observed.missing],
            **pick(observed, "deviations exit_code output"),
            "seconds": round(observed.seconds, 3),
        }
        expected = pick(one.expected, "answer error code message missing named because")
        modules.append(pick(one, "module agreement why") | {"expected": expected, "observed": seen})
    return {
        **pick(trial, "path name version outcome interpreter installed"),
        "verdict": trial.report.verdict.value,
        "modules": modules,
        "notes": [*trial.notes],
    }


def render_junit(trials: Sequence[Trial], failures: Sequence[TrialFailure] = ()) -> str:
    """Return JUnit XML: a suite per wheel, a case per module; what Wine cannot tell is skipped."""
    root = ET.Element("testsuites", name="wheelfix try")
    for trial in trials:
        suite = ET.SubElement(root, "testsuite", name=xml(f"{trial.name} {trial.version}"))
        for one in trial.modules:
            _add_import(suite, one)
    for failure in failures:
        add_error(ET.SubElement(root, "testsuite", name=xml(failure.path)), "can be tried", failure.error)
    return junit_text(root, count_skipped=True)


def _add_import(suite: ET.Element, one: ModuleTrial) -> None:
    case = add_case(suite, f"import {one.module}", f"{one.observed.seconds:.3f}")
    cause = one.observed.cause
    said = f"{cause.error}: {cause.message}" if cause is not None else one.observed.output or one.observed.outcome
    if one.agreement is Agreement.CANNOT_TELL:
        ET.SubElement(case, "skipped", message=xml(one.why))
    elif one.agreement is Agreement.DIFFERS or not one.observed.works:
        kind, message = ("prediction", one.why) if one.agreement is Agreement.DIFFERS else ("import", said)
        element = ET.SubElement(case, "failure", message=xml(message), type=kind)
        element.text = xml(one.observed.traceback or said)


# ---------------------------------------------------------------------------------------------------------- for people


WORDS = {
    "imports": ("IMPORTS", "good"),
    "fails": ("IMPORT FAILS", "bad"),
    "differs": ("PREDICTION WAS WRONG", "bad"),
    "cannot-tell": ("COULD NOT TELL", "warn"),
}
RESULTS = {
    Agreement.AGREES: ("as predicted", "dim"),
    Agreement.DIFFERS: ("NOT as predicted", "bad"),
    Agreement.CANNOT_TELL: ("Wine cannot tell", "warn"),
    Agreement.NOT_PREDICTED: ("not predicted", "warn"),
}
FILES = 12
"""Loaded files of packages that are listed without ``-v``."""


def render_trial(trial: Trial, look: TextStyle, *, verbose: bool = False, quiet: bool = False) -> str:
    """Return what came of one wheel."""
    canvas = Canvas(look)
    name = trial.path.replace("\\", "/").rpartition("/")[2]
    canvas.ends((name, "name"), WORDS[trial.outcome])
    if quiet:
        return canvas.text()
    canvas.line((trial.interpreter, "dim"), indent=2)
    others = trial.installed[1:]
    if others:
        canvas.paragraph(("with " + ", ".join(others), "dim"), indent=2)
    canvas.blank()
    canvas.table([_row(one) for one in trial.modules], indent=2)
    for one in trial.modules:
        if one.agreement is not Agreement.AGREES or not one.observed.works or verbose:
            _details(canvas, one, verbose=verbose)
    _files(canvas, trial, verbose=verbose)
    if trial.notes:
        canvas.blank()
        canvas.labelled("note ", *trial.notes)
    if trial.differs:
        canvas.blank()
        canvas.paragraph(
            "This is a bug in wheelfix. Please report it with the wheel (or where to get it), the output of "
            "'wheelfix try --format json' and of 'wheelfix scan --format json' for it.",
            lead=("report ", "bad"),
        )
    return canvas.text()


def _row(one: ModuleTrial) -> Sequence[tuple[str, str]]:
    word = {"imported": "imported", "raised": "fails", "crashed": "crashes", "timeout": "does not end"}
    result, style = RESULTS[one.agreement]
    worked = "good" if one.observed.works else "bad"
    return ((f"import {one.module}", "name"), (word[one.observed.outcome], worked), (result, style))


def _details(canvas: Canvas, one: ModuleTrial, *, verbose: bool) -> None:
    canvas.blank()
    canvas.line((f"import {one.module}", "head"), indent=2)
    if one.why:
        canvas.paragraph(one.why, indent=4)
    canvas.labelled("predicted ", one.expected.message, indent=4)
    cause = one.observed.cause
    if cause is not None:
        code = f" [error {cause.code}]" if cause.code > 0 else ""
        canvas.paragraph(f"{cause.error}: {cause.message}{code}", indent=4, lead=("raised ", "dim"))
        if cause is not one.observed.errors[0]:
            last = one.observed.errors[0]
            canvas.paragraph(f"{last.error}: {last.message}", indent=4, lead=("and then ", "dim"))
    elif not one.observed.works:
        ended = f"with exit code {one.observed.exit_code:#x}"
        if one.observed.outcome == "timeout":
            ended = f"by wheelfix, after {one.observed.seconds:.0f} s (--timeout)"
        canvas.paragraph(ended, indent=4, lead=("ended ", "dim"))
        if one.observed.output:
            canvas.paragraph(one.observed.output, indent=4)
    for dll, by in one.observed.missing:
        canvas.line(("not found ", "dim"), f"{dll}, which {by} needs", indent=4)
    if verbose and one.observed.traceback:
        for line in one.observed.traceback.splitlines():
            canvas.line((line, "dim"), indent=6)


def _files(canvas: Canvas, trial: Trial, *, verbose: bool) -> None:
    loaded = {file for one in trial.modules for file in one.observed.loaded}
    own = sorted(file.path for file in loaded if file.where == "package")
    elsewhere = sorted(file.path for file in loaded if file.where == "elsewhere")
    windows = sum(file.where == "windows" for file in loaded)
    if not loaded:
        return
    canvas.blank()
    canvas.line((f"Loaded: {count(len(own), 'file')} of packages, {windows} of Windows", "head"), indent=2)
    for path in own if verbose else own[:FILES]:
        canvas.line(path, indent=4)
    if len(own) > FILES and not verbose:
        canvas.line((f"and {len(own) - FILES} more (-v)", "dim"), indent=4)
    for path in elsewhere:
        canvas.line((f"{path}, which is neither", "warn"), indent=4)
