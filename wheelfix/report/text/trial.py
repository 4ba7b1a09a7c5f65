"""What ``wheelfix try`` found out about a wheel, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.text.canvas import Canvas
from wheelfix.report.words import count
from wheelfix.trial.model import Agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.report.textstyle import TextStyle
    from wheelfix.trial.model import ModuleTrial, Trial

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
