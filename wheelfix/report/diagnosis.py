"""A diagnosis for machines: the ``wheelfix.diagnosis/1`` document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.report.json_ import dump, tool

if TYPE_CHECKING:
    from wheelfix.diagnosis.answer import Diagnosis, Explained
    from wheelfix.diagnosis.symptoms.causetable import Remedy
    from wheelfix.diagnosis.symptoms.report_block import ReportBlock
    from wheelfix.diagnosis.symptoms.symptom import Symptom
    from wheelfix.model import Json

SCHEMA = "wheelfix.diagnosis/1"


def render_json(diagnosis: Diagnosis, block: ReportBlock | None = None) -> str:
    """Return the document; ``report`` is there only when the block was asked for."""
    causes = [cause_value(one) for one in diagnosis.explained]
    first: dict[str, Json] = causes[0] if causes else {}
    document: dict[str, Json] = {
        "schema": SCHEMA,
        "tool": tool(),
        "outcome": diagnosis.outcome.value,
        "cause": first.get("summary"),
        "chain": first.get("chain", []),
        "confidence": first.get("confidence"),
        "evidence": [{"kind": one.kind, "source": one.source, "told": one.told} for one in diagnosis.evidence],
        "symptoms": [symptom_value(one) for one in diagnosis.symptoms],
        "causes": [*causes],
        "only_fault": diagnosis.only_fault,
        "other_faults": [*diagnosis.others],
        "remedies": [remedy_value(one) for one in diagnosis.remedies],
        "warnings": [*diagnosis.warnings],
        "notes": [*diagnosis.notes],
    }
    if block is not None:
        document["report"] = [{"label": label, "text": text} for label, text in block.rows]
    return dump(document)


def symptom_value(symptom: Symptom) -> dict[str, Json]:
    """Return what the text says about one error; what it does not say is null or empty."""
    return {
        "kind": symptom.kind,
        "code": symptom.code,
        "path": symptom.path,
        "dlls": [*symptom.dlls],
        "module": symptom.module,
        "package": symptom.package,
        "language": symptom.language,
        "line": symptom.line,
        "count": symptom.count,
        "excerpt": symptom.excerpt,
        "confidence": symptom.confidence.value,
        "details": dict(symptom.details),
    }


def cause_value(explained: Explained) -> dict[str, Json]:
    """Return a cause with the chain that leads to it."""
    cause = explained.cause
    return {
        "id": cause.id,
        "summary": cause.summary,
        "explanation": explained.explanation,
        "chain": [*explained.chain],
        "missing": [*cause.likely_missing],
        "confidence": cause.confidence.value,
        "proven_by": explained.package,
        "line": explained.symptom.line if explained.symptom else None,
    }


def remedy_value(remedy: Remedy) -> dict[str, Json]:
    """Return one thing to try."""
    return {
        "rank": remedy.rank,
        "title": remedy.title,
        "command": remedy.command,
        "why": remedy.why,
        "when": remedy.when,
        "danger": remedy.danger,
    }
