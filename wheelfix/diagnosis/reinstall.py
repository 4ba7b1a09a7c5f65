"""An error text from before a repair, and the wheel that came out of it: what is installed is still the old one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.diagnosis.confirm import matching_outcome
from wheelfix.diagnosis.symptoms.causetable import Remedy
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.plan.sbom import FILE_NAME

if TYPE_CHECKING:
    from wheelfix.diagnosis.case import ScannedPackage
    from wheelfix.diagnosis.symptoms import Symptom

_LOADING = frozenset({126, 127, 182, 193})
"""What the loader says; other codes have causes that no file shows."""


def is_gone(symptom: Symptom, case: ScannedPackage) -> bool:
    """Whether a wheel no longer has the fault of a text: what the text names loads, or is not in it any more."""
    if not case.wheel or symptom.code not in _LOADING or case.exam.report.first_failure is not None:
        return False
    outcome = matching_outcome(symptom, case)
    if outcome is not None:
        return not outcome.code
    view = case.exam.subject.view
    folder = f"{SITE_PACKAGES}/{symptom.package}/"
    in_it = bool(symptom.package) and any(file.path.startswith(folder) for file in view.files)
    return in_it and bool(symptom.file) and not view.named(symptom.file)


def remark(symptom: Symptom, case: ScannedPackage) -> str:
    """Say that this wheel is not what the text is from."""
    name = symptom.file or symptom.module
    there = f"{name} loads with its files" if matching_outcome(symptom, case) is not None else f"{name} is not in it"
    if was_repaired(case):
        return (
            f"This wheel no longer has that fault: it was repaired, and {there}. The installed one has it: reinstall."
        )
    return (
        f"This wheel does not have that fault: {there}. The text is from another build of it, which is still "
        "installed there: reinstall; or from a machine that differs from what is assumed here."
    )


def was_repaired(case: ScannedPackage) -> bool:
    """Whether wheelfix has added DLLs to this wheel, as its bill of materials shows."""
    return bool(case.exam.subject.view.named(FILE_NAME))


def reinstall(case: ScannedPackage) -> Remedy:
    """Return the step that puts this wheel in the place of the installed one."""
    return Remedy(
        "Install this wheel over the one that is installed",
        f'python -m pip install --force-reinstall --no-deps "{case.wheel}"',
        "pip keeps what is installed when name and version are the same",
    )
