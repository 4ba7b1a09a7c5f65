"""What people paste: error texts of any language become symptoms with codes, paths and DLL names."""

from __future__ import annotations

from wheelfix.diagnosis.symptoms.causes import explain_symptom, explain_symptoms
from wheelfix.diagnosis.symptoms.causetable import Cause, Remedy
from wheelfix.diagnosis.symptoms.reader import read_log, read_symptoms
from wheelfix.diagnosis.symptoms.symptom import Confidence, Log, Symptom, TextLimits

__all__ = [
    "Cause",
    "Confidence",
    "Log",
    "Remedy",
    "Symptom",
    "TextLimits",
    "explain_symptom",
    "explain_symptoms",
    "read_log",
    "read_symptoms",
]
