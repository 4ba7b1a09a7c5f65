"""Whether an import ended as predicted, and whether Wine is able to tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.system import classify, runtime_file
from wheelfix.knowledge.winerrors import deviation
from wheelfix.model import Machine, dll_key
from wheelfix.trial.model import Agreement, ImportAnswer
from wheelfix.trial.observe import base

if TYPE_CHECKING:
    from wheelfix.trial.model import Expected, Observed, RaisedError

MISSING = 126
WINSOCK = range(10000, 12000)
"""Codes of the network, which is switched off; the loader gives none of them."""
PASSED_OVER = ("foreign-dependency-32",)
"""Faults of mapping with which a load still succeeds under Wine."""


def compare(expected: Expected, observed: Observed, *, wine: bool, machine: Machine) -> tuple[Agreement, str]:
    """Return how an expectation and an observation compare, and why in one sentence."""
    if wine:
        reason = wine_cannot_tell(expected, observed, machine)
        if reason:
            return Agreement.CANNOT_TELL, reason
    refused = wine and windows_codes(observed) - {0}
    if observed.outcome in ("crashed", "timeout") and not refused:
        return Agreement.NOT_PREDICTED, "the process ended without an answer, which wheelfix does not predict"
    codes = windows_codes(observed) if wine else {_code(observed)}
    works = observed.works and codes <= {0}
    if expected.answer is ImportAnswer.UNSURE:
        return Agreement.NOT_PREDICTED, f"wheelfix could not tell beforehand: {expected.because}"
    if expected.answer is ImportAnswer.WORKS:
        if works or (observed.works and codes - {0} <= expected.caught):
            return Agreement.AGREES, ""
        if not any(codes):
            return Agreement.NOT_PREDICTED, "no DLL is involved in this error, and wheelfix predicts no others"
        return Agreement.DIFFERS, f"predicted to work, it fails with {_codes(codes)}"
    if works:
        return Agreement.DIFFERS, f"predicted to fail ({expected.message}), it works"
    return _compare_failures(expected, observed, codes)


def _compare_failures(expected: Expected, observed: Observed, codes: set[int]) -> tuple[Agreement, str]:
    if not observed.errors and not expected.code:  # the package would catch what Wine passes over
        return Agreement.CANNOT_TELL, f"Wine loads what Windows refuses with {_codes(codes)}"
    if not observed.errors:  # Wine only logs what makes Windows refuse the load
        same = expected.code in codes
        return (Agreement.AGREES if same else Agreement.DIFFERS), (
            "Wine loads it and logs the fault for which Windows refuses it"
            if same
            else f"predicted {expected.code}, Windows would give {_codes(codes)}"
        )
    if expected.code and expected.code not in codes:
        return Agreement.DIFFERS, f"predicted {expected.code}, it fails with {_codes(codes)}"
    matching = [error for error in observed.errors if _is_class(error, expected.error)]
    if expected.error and not matching:
        raised = observed.errors[0].error if observed.errors else "nothing"
        return Agreement.DIFFERS, f"predicted {expected.error}, it raises {raised}"
    if expected.code and not _names_same(expected, observed):
        cause = observed.cause
        return Agreement.DIFFERS, f"predicted for {expected.named}, it is about {cause.message if cause else '?'}"
    missing = {dll_key(name) for name, _ in observed.missing}
    if expected.code == MISSING and missing and dll_key(expected.missing) not in missing:
        names = ", ".join(dict.fromkeys(name for name, _ in observed.missing))
        return Agreement.DIFFERS, f"predicted that {expected.missing} is missing, it is {names}"
    return Agreement.AGREES, ""


def _is_class(error: RaisedError, name: str) -> bool:
    if name == "ModuleNotFoundError" and error.error == "ImportError":
        return "cannot import name" in error.message  # what "from . import module" says for "import pkg.module"
    return not name or name == error.error or name in error.bases


def _names_same(expected: Expected, observed: Observed) -> bool:
    """Whether the error is about the same module or file; only messages that name one are compared."""
    wanted = base(expected.named).lower()
    stem = wanted.split(".")[0]
    for error in observed.errors:
        if "DLL load failed while importing " in error.message:
            said = error.message.partition("while importing ")[2].partition(":")[0].strip().lower()
            return said == stem or stem == "__init__" if wanted.endswith(".pyd") else True
        if "Could not find module '" in error.message:
            path = error.message.partition("Could not find module '")[2].partition("'")[0]
            return base(path).lower() == wanted
    return True


def _code(observed: Observed) -> int:
    cause = observed.cause
    return cause.code if cause is not None and cause.code not in WINSOCK else 0


def _codes(codes: set[int]) -> str:
    words = [f"error {code}" if code > 0 else "an error of the loader" for code in sorted(codes) if code]
    return " or ".join(words) or "an error of Python"


def windows_codes(observed: Observed) -> set[int]:
    """The codes that Windows gives for what Wine's log shows: it maps everything before it binds anything."""
    rows = [deviation(name) for name in observed.deviations]
    mapping = {row.windows for row in rows if row.phase == "map" and row.windows}
    binding = {row.windows for row in rows if row.phase == "bind" and row.windows}
    code = _code(observed)
    if not observed.works and code:
        return {one for one in mapping if one} | ({code} if code != MISSING or not mapping else set())
    if observed.works:
        # A load that failed under Wine too was caught by the package; what Wine passes over or binds to a stub was not.
        mapping = {row.windows for row in rows if row.id in PASSED_OVER and row.windows}
    return {one for one in mapping or binding if one} or {code}


def wine_cannot_tell(expected: Expected, observed: Observed, machine: Machine) -> str:
    """Return why Wine's answer says nothing about Windows here; empty if it does."""
    if observed.outcome in ("crashed", "timeout"):
        if observed.outcome == "crashed" and windows_codes(observed) - {0}:
            return ""  # Windows would have refused the load before
        name = "unimplemented-function" if "unimplemented-function" in observed.deviations else "crash"
        return _sentence(name)
    if not observed.works and "unimplemented-function" in observed.deviations and _code(observed) <= 0:
        return _sentence("unimplemented-function")
    if expected.answer is ImportAnswer.FAILS and dll_key(expected.missing) in _answered_by_wine(observed):
        return _sentence("builtin-dll", expected.missing)
    if not observed.works and _code(observed) == MISSING and not _is_missing(expected, observed):
        absent = [name for name, _ in observed.missing if _of_windows(name, machine)]
        if absent:
            return _sentence("absent-system-dll", absent[0])
    return ""


def _answered_by_wine(observed: Observed) -> set[str]:
    """The DLLs that Wine has itself; it takes its own C++ runtime also where the package has a file of that name."""
    names = [base(file.path) for file in observed.loaded]
    own = {dll_key(base(file.path)) for file in observed.loaded if file.where == "windows"}
    return own | {dll_key(name) for name in names if runtime_file(name) is not None}


def _is_missing(expected: Expected, observed: Observed) -> bool:
    """Whether the DLL is missing that was expected to be."""
    wanted = dll_key(expected.missing)
    return expected.answer is ImportAnswer.FAILS and wanted in {dll_key(name) for name, _ in observed.missing}


def _of_windows(name: str, machine: Machine) -> bool:
    """Whether Windows has a DLL, or the Visual C++ runtime, which is assumed to be installed."""
    return classify(name, machine).kind in ("system", "ucrt", "api-set") or runtime_file(name) is not None


def _sentence(name: str, about: str = "") -> str:
    row = deviation(name)
    return f"Wine cannot tell ({row.id}{f', {about}' if about else ''}): {row.what}; Wine {row.wine}"
