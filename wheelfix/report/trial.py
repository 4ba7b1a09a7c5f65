"""What ``wheelfix try`` found out: for people, as JSON and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from wheelfix.report.canvas import Canvas
from wheelfix.report.json_ import dump, tool
from wheelfix.report.safe import without_commands, xml
from wheelfix.report.words import count
from wheelfix.trial.model import Agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import Json
    from wheelfix.report.canvas import TextStyle
    from wheelfix.trial.model import Expected, ModuleTrial, Observed, RaisedError, Trial
    from wheelfix.trial.run import TrialFailure

SCHEMA = "wheelfix.try/1"


def render_json(trials: Sequence[Trial], failures: Sequence[TrialFailure] = ()) -> str:
    """Return the ``wheelfix.try/1`` document."""
    document: dict[str, Json] = {"schema": SCHEMA, "tool": tool(), "wheels": [trial_value(trial) for trial in trials]}
    if failures:
        document["failures"] = [
            {
                "path": failure.path,
                "error": failure.error.what,
                "because": failure.error.because,
                "hint": failure.error.hint,
                "exit_code": failure.error.exit_code.value,
            }
            for failure in failures
        ]
    return dump(document)


def trial_value(trial: Trial) -> Json:
    """Return one wheel's trial as plain values."""
    return {
        "path": trial.path,
        "name": trial.name,
        "version": trial.version,
        "outcome": trial.outcome,
        "interpreter": trial.interpreter,
        "installed": [*trial.installed],
        "verdict": trial.report.verdict.value,
        "modules": [_module(one) for one in trial.modules],
        "notes": [*trial.notes],
    }


def _module(one: ModuleTrial) -> Json:
    return {
        "module": one.module,
        "agreement": one.agreement.value,
        "why": one.why,
        "expected": _expected(one.expected),
        "observed": _observed(one.observed),
    }


def _expected(expected: Expected) -> Json:
    return {
        "answer": expected.answer.value,
        "error": expected.error,
        "code": expected.code,
        "message": expected.message,
        "missing": expected.missing,
        "named": expected.named,
        "because": expected.because,
    }


def _observed(observed: Observed) -> Json:
    return {
        "outcome": observed.outcome,
        "errors": [_error(error) for error in observed.errors],
        "traceback": observed.traceback,
        "loaded": [{"path": file.path, "where": file.where} for file in observed.loaded],
        "missing": [{"dll": dll, "needed_by": by} for dll, by in observed.missing],
        "deviations": [*observed.deviations],
        "exit_code": observed.exit_code,
        "output": observed.output,
        "seconds": round(observed.seconds, 3),
    }


def _error(error: RaisedError) -> Json:
    return {
        "class": error.error,
        "bases": [*error.bases],
        "message": error.message,
        "code": error.code,
        "name": error.name,
        "frames": [*error.frames],
    }


def render_junit(trials: Sequence[Trial], failures: Sequence[TrialFailure] = ()) -> str:
    """Return JUnit XML: a suite per wheel, a case per module; what Wine cannot tell is skipped."""
    root = ET.Element("testsuites", name="wheelfix try")
    for trial in trials:
        name = xml(f"{trial.name} {trial.version}")
        suite = ET.SubElement(root, "testsuite", name=name)
        for one in trial.modules:
            _case(suite, name, one)
        _count(suite)
    for failure in failures:
        suite = ET.SubElement(root, "testsuite", name=xml(failure.path))
        case = ET.SubElement(suite, "testcase", classname=xml(failure.path), name="can be tried", time="0")
        error = ET.SubElement(case, "error", message=xml(failure.error.what), type=type(failure.error).__name__)
        error.text = "\n".join(xml(part) for part in (failure.error.because, failure.error.hint) if part)
        _count(suite)
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return without_commands(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _case(suite: ET.Element, name: str, one: ModuleTrial) -> None:
    time = f"{one.observed.seconds:.3f}"
    case = ET.SubElement(suite, "testcase", classname=name, name=xml(f"import {one.module}"), time=time)
    cause = one.observed.cause
    said = f"{cause.error}: {cause.message}" if cause is not None else one.observed.output or one.observed.outcome
    if one.agreement is Agreement.CANNOT_TELL:
        ET.SubElement(case, "skipped", message=xml(one.why))
    elif one.agreement is Agreement.DIFFERS or not one.observed.works:
        kind = "prediction" if one.agreement is Agreement.DIFFERS else "import"
        message = one.why if one.agreement is Agreement.DIFFERS else said
        element = ET.SubElement(case, "failure", message=xml(message), type=kind)
        element.text = xml(one.observed.traceback or said)


def _count(suite: ET.Element) -> None:
    suite.set("tests", str(len(suite)))
    for word, total in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(total, str(len(suite.findall(f"testcase/{word}"))))


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
        for note in trial.notes:
            canvas.paragraph(note, lead=("note ", "dim"))
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
    if one.expected.message:
        canvas.paragraph(one.expected.message, indent=4, lead=("predicted ", "dim"))
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
