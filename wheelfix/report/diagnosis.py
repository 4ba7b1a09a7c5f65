"""A diagnosis for people and for machines: the cause first, then what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.canvas import Canvas, Span
from wheelfix.report.json_ import dump, pick, tool

if TYPE_CHECKING:
    from wheelfix.diagnosis.machine import ReportBlock
    from wheelfix.diagnosis.model import Diagnosis, Explained
    from wheelfix.diagnosis.symptoms.model import Remedy
    from wheelfix.model import Json
    from wheelfix.report.canvas import TextStyle

SCHEMA = "wheelfix.diagnosis/1"


def render_json(diagnosis: Diagnosis, block: ReportBlock | None = None) -> str:
    """Return the document; ``report`` is there only when the block was asked for."""
    causes: list[dict[str, Json]] = [
        {
            **pick(one.cause, "id summary"),
            **pick(one, "explanation chain"),
            "missing": [*one.cause.likely_missing],
            "confidence": one.cause.confidence.value,
            "proven_by": one.package,
            "line": one.symptom.line if one.symptom else None,
        }
        for one in diagnosis.explained
    ]
    first: dict[str, Json] = causes[0] if causes else {}
    symptom = "kind code path dlls module package language line count excerpt confidence details"
    document: dict[str, Json] = {
        "schema": SCHEMA,
        "tool": tool(),
        "outcome": diagnosis.outcome.value,
        "cause": first.get("summary"),
        "chain": first.get("chain", []),
        "confidence": first.get("confidence"),
        "evidence": [pick(one, "kind source told") for one in diagnosis.evidence],
        "symptoms": [pick(one, symptom) for one in diagnosis.symptoms],
        "causes": [*causes],
        "only_fault": diagnosis.only_fault,
        "other_faults": [*diagnosis.others],
        "remedies": [pick(one, "rank title command why when danger") for one in diagnosis.remedies],
        **pick(diagnosis, "harmless warnings notes"),
    }
    if block is not None:
        document["report"] = [{"label": label, "text": text} for label, text in block.rows]
    return dump(document)


# ---------------------------------------------------------------------------------------------------------- for people


_SHOWN = 5
_FROM_TEXT = 2
"""Remedies that are shown for what a text alone suggests."""
_SURENESS = {"sure": "", "likely": "most likely: ", "guess": "perhaps: "}


def render_diagnosis(diagnosis: Diagnosis, look: TextStyle, *, verbose: bool = False, quiet: bool = False) -> str:
    """Return the diagnosis; ``quiet`` leaves the causes alone, ``verbose`` shows all remedies and faults."""
    canvas = Canvas(look)
    if not quiet:
        for evidence in diagnosis.evidence:
            canvas.paragraph(f"{evidence.source}: {evidence.told}", lead=(f"{evidence.kind:<6} ", "dim"))
    _draw_verdict(canvas, diagnosis)
    for number, explained in enumerate(diagnosis.explained):
        # What comes first explains the text; the others in full would only push what to do out of sight.
        _draw_cause(canvas, explained, quiet=quiet or (number > 0 and not verbose and not explained.proven))
    if quiet:
        return canvas.text()
    _draw_others(canvas, diagnosis, verbose=verbose)
    _draw_remedies(canvas, diagnosis, verbose=verbose)
    if diagnosis.harmless:
        canvas.heading("The program went on after these: they are not what ended it")
        for line in diagnosis.harmless:
            canvas.paragraph(line, indent=2)
    canvas.labelled("warning: ", *diagnosis.warnings, style="warn")
    if diagnosis.notes:
        canvas.blank()
    canvas.labelled("note: ", *diagnosis.notes, style="note")
    return canvas.text()


def _draw_verdict(canvas: Canvas, diagnosis: Diagnosis) -> None:
    outcome = diagnosis.outcome.value
    if outcome == "no-fault-found":
        canvas.line(("No fault found.", "good"), " Everything loads in the model.")
    elif outcome == "could-not-tell" and not diagnosis.explained:
        files_only = diagnosis.notes and all(one.kind in ("wheel", "environment") for one in diagnosis.evidence)
        names = any(one.told.startswith("it names") for one in diagnosis.evidence)
        reason = "The notes say why." if files_only or names else "Nothing here points to a DLL."
        canvas.paragraph(("Could not tell.", "warn"), f" {reason}")
    elif outcome == "could-not-tell":
        canvas.paragraph(("Could not tell for sure.", "warn"), " What can be said:")


def _draw_cause(canvas: Canvas, explained: Explained, *, quiet: bool) -> None:
    cause = explained.cause
    lead: Span = ("Cause  ", "bad") if cause.confidence.value == "sure" else ("Cause  ", "warn")
    canvas.paragraph((_SURENESS[cause.confidence.value], "dim"), (cause.summary, "name"), lead=lead)
    if quiet:
        return
    if len(explained.chain) > 1 and cause.id != "two-openmp":
        canvas.line(" → ".join(explained.chain), indent=7)
    if explained.explanation and explained.explanation != cause.summary:
        canvas.paragraph(explained.explanation, indent=7)
    named = all(name in cause.summary for name in cause.likely_missing)
    if cause.likely_missing and not explained.proven and not named:
        canvas.paragraph(", ".join(cause.likely_missing), indent=7, lead=("candidates: ", "dim"))
    if explained.symptom is not None and explained.symptom.count > 1:
        canvas.line((f"the text says it {explained.symptom.count} times", "dim"), indent=7)


def _draw_others(canvas: Canvas, diagnosis: Diagnosis, *, verbose: bool) -> None:
    if diagnosis.only_fault:
        canvas.blank()
        canvas.line("It is the only fault in these files.")
    if not diagnosis.others:
        return
    others = f"It is not the only fault ({len(diagnosis.others)} more)"
    canvas.heading(others if diagnosis.explained else "The files show")
    shown = diagnosis.others if verbose else diagnosis.others[:_SHOWN]
    for other in shown:
        canvas.paragraph(other, indent=2)
    if len(shown) < len(diagnosis.others):
        canvas.line((f"… and {len(diagnosis.others) - len(shown)} more (-v shows all)", "dim"), indent=2)


def _draw_remedies(canvas: Canvas, diagnosis: Diagnosis, *, verbose: bool) -> None:
    if not diagnosis.remedies:
        return
    proven = any(one.proven for one in diagnosis.explained)
    shown = diagnosis.remedies if verbose else diagnosis.remedies[: 2 * _SHOWN if proven else _FROM_TEXT]
    more = len(diagnosis.remedies) - len(shown)
    canvas.heading("What to do, best first" + (f" (-v shows {more} more)" if more else ""))
    for remedy in shown:
        _draw_remedy(canvas, remedy)
    if any(one.cause.likely_missing for one in diagnosis.explained):
        canvas.paragraph(("Do not download DLLs from DLL download sites.", "dim"))


def _draw_remedy(canvas: Canvas, remedy: Remedy) -> None:
    canvas.paragraph(remedy.title, lead=f"{remedy.rank:>2}. ")
    if remedy.command:
        canvas.line((remedy.command, "code"), indent=6)
    canvas.paragraph((remedy.why, "dim"), indent=4)
    canvas.labelled("only if: ", remedy.when, indent=4)
    canvas.labelled("danger: ", remedy.danger, indent=4, style="bad")
