"""Causes of several symptoms, for tests that look at texts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.diagnosis.symptoms.causes import explain_symptom
from wheelfix.diagnosis.symptoms.model import Cause, Confidence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.diagnosis.symptoms.model import Symptom


def explain_symptoms(symptoms: Iterable[Symptom]) -> tuple[Cause, ...]:
    """Return the causes of several symptoms in their order, guesses last; one that comes twice is reported once."""
    found: dict[tuple[str, tuple[str, ...], str], Cause] = {}
    for symptom in symptoms:
        cause = explain_symptom(symptom)
        if cause:
            found.setdefault((cause.id, cause.likely_missing, cause.summary), cause)
    return tuple(sorted(found.values(), key=lambda cause: cause.confidence is Confidence.GUESS))
