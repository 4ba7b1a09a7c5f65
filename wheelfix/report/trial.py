"""What ``wheelfix try`` found out: for people, and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from wheelfix.report.blocks import Block, Code, Part, Span, Table, bullets, chapter, labelled, line, para
from wheelfix.report.canvas import TextStyle, render_text
from wheelfix.report.ci import add_case, add_error, junit_text
from wheelfix.report.document import count
from wheelfix.report.safe import xml
from wheelfix.rules.wording import last_part
from wheelfix.trial.model import Agreement, ModuleTrial, Trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.exam.examination import FailedInput


def render_junit(trials: Sequence[Trial], failures: Sequence[FailedInput] = ()) -> str:
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


def render_trial(trial: Trial, look: TextStyle) -> str:
    """Return what came of one wheel."""
    blocks: list[Block] = []
    if not look.quiet:
        blocks.append(line(("  " + trial.interpreter, "dim")))
        others = ", ".join(trial.installed[1:])
        blocks += [para((f"with {others}", "dim"), lead="  ")] if others else []
        table = Table(("module", "import", "prediction"), [_row(one) for one in trial.modules])
        details = [
            _details(one, verbose=look.verbose)
            for one in trial.modules
            if one.agreement is not Agreement.AGREES or not one.observed.works or look.verbose
        ]
        blocks += [para(), table, *details, *_files(trial)]
        blocks += [para(), *labelled("note ", trial.notes)] if trial.notes else []
    if trial.outcome == "differs" and not look.quiet:
        report = (
            "This is a bug in wheelfix. Please report it with the wheel (or where to get it), the output of "
            "'wheelfix try --format json' and of 'wheelfix scan --format json' for it."
        )
        blocks += [para(), para(report, lead=("report ", "bad"))]
    whole = Part(((last_part(trial.path), "name"),), blocks, 1, WORDS[trial.outcome])
    return render_text([whole], look)


def _row(one: ModuleTrial) -> list[Span]:
    word = {"imported": "imported", "raised": "fails", "crashed": "crashes", "timeout": "does not end"}
    worked = "good" if one.observed.works else "bad"
    return [(f"import {one.module}", "name"), (word[one.observed.outcome], worked), RESULTS[one.agreement]]


def _details(one: ModuleTrial, *, verbose: bool) -> Part:
    seen, cause = one.observed, one.observed.cause
    blocks: list[Block] = [para(one.why)] if one.why else []
    blocks += labelled("predicted ", [one.expected.message])
    if cause is not None:
        code = f" [error {cause.code}]" if cause.code > 0 else ""
        blocks += labelled("raised ", [f"{cause.error}: {cause.message}{code}"])
        last = seen.errors[0]
        blocks += labelled("and then ", [f"{last.error}: {last.message}"] if cause is not last else [])
    elif not seen.works:
        ended = f"with exit code {seen.exit_code:#x}"
        if seen.outcome == "timeout":
            ended = f"by wheelfix, after {seen.seconds:.0f} s (--timeout)"
        blocks += [*labelled("ended ", [ended]), *([para(seen.output)] if seen.output else [])]
    blocks += [line(("not found ", "dim"), f"{dll}, which {by} needs") for dll, by in seen.missing]
    blocks += [Code(seen.traceback.rstrip("\n"), "dim")] if verbose and seen.traceback else []
    return Part((f"import {one.module}",), blocks)


def _files(trial: Trial) -> list[Part]:
    loaded = {file for one in trial.modules for file in one.observed.loaded}
    own, elsewhere = (sorted(file.path for file in loaded if file.where == where) for where in ("package", "elsewhere"))
    windows = sum(file.where == "windows" for file in loaded)
    odd = [line((f"{path}, which is neither", "warn")) for path in elsewhere]
    title = f"Loaded: {count(len(own), 'file')} of packages, {windows} of Windows"
    return [chapter(title, bullets(own, FILES), *odd)] if loaded else []
