"""What ``wheelfix try`` found out, for machines: JSON and JUnit."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from wheelfix.report.json_ import dump, tool
from wheelfix.report.safe import without_commands, xml
from wheelfix.trial.model import Agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import Json
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
