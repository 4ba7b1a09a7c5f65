"""Says what is behind a symptom from the text and the tables alone, and what to try, best first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.diagnosis.symptoms.causetable import Cause, CauseRule, Remedy, cause_table
from wheelfix.diagnosis.symptoms.messages import message_by_id, message_of
from wheelfix.diagnosis.symptoms.symptom import Confidence
from wheelfix.diagnosis.symptoms.templates import fill, fill_remedy, is_beside_torch, words_for
from wheelfix.knowledge.cuda import TorchBuild
from wheelfix.knowledge.winerrors import winerror
from wheelfix.values import replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wheelfix.diagnosis.symptoms.messages import Message
    from wheelfix.diagnosis.symptoms.symptom import Symptom


def explain_symptom(symptom: Symptom) -> Cause | None:
    """Return what is behind a symptom, or None when the tables have nothing to say about it."""
    message = message_of(symptom) or message_by_id(symptom.details.get("cause", ""))
    if message is not None:
        return _message_cause(symptom, message)
    if "cause" in symptom.details:
        return cause_by_id(symptom.details["cause"], symptom, symptom.dlls)
    rule = next((rule for rule in cause_table().rules if rule.fits(symptom)), None)
    if rule is None:
        return None
    message = message_by_id(rule.cause)
    return _message_cause(symptom, message) if message else _cause(symptom, rule, _missing(symptom, rule))


def _message_cause(symptom: Symptom, message: Message) -> Cause:
    missing = symptom.dlls[:1] if message.missing else ()
    words = words_for(symptom, missing)
    step = fill_remedy(Remedy(message.fix, message.command, message.why, when=message.when), words)
    steps = (replace(step, rank=1),) if step else (Remedy(message.fix, "", message.why, rank=1),)
    known = fill(message.known, words)
    if message.build:
        known = f"This is an error of a build, before there is a wheel. {known}"
    return Cause(message.id, fill(message.summary, words), known, missing, Confidence.SURE, steps)


def cause_by_id(name: str, symptom: Symptom, missing: tuple[str, ...] = ()) -> Cause:
    """Return a cause that was found by other means, with the texts of the table for this symptom."""
    return _cause(symptom, CauseRule(name), missing)


def _cause(symptom: Symptom, rule: CauseRule, missing: tuple[str, ...]) -> Cause:
    template = cause_table().causes[rule.cause]
    words = words_for(symptom, missing, candidates=len(missing) > 1 and missing == rule.missing)
    order = list(Confidence)
    confidence = max(template.confidence, symptom.confidence, rule.confidence or Confidence.SURE, key=order.index)
    steps = (fill_remedy(step, words) for step in template.next_steps if _may_help(step, symptom))
    in_conda = symptom.details.get("environment") == "conda"
    # Where the environment is known to be conda's, what conda does comes first: the others do not reach its DLLs.
    kept = [step for step in steps if step is not None]
    kept.sort(key=lambda step: not (in_conda and step.command.startswith("conda install")))
    return Cause(
        template.id,
        fill(template.summary, words),
        fill(template.what_is_known, words),
        missing,
        confidence,
        tuple(replace(step, rank=rank) for rank, step in enumerate(kept, start=1)),
    )


def _may_help(step: Remedy, symptom: Symptom) -> bool:
    """Whether nothing that is known about the environment rules out a remedy."""
    kind = symptom.details.get("environment", "")
    in_bundle = bool(symptom.details.get("bundle"))
    of_vendor = symptom.kind == "torch-load" and is_beside_torch(symptom.file)
    torch = symptom.details.get("torch", "")
    contradicted = {
        "venv": kind not in ("", "venv"),
        "conda": kind not in ("", "conda"),
        "built-here": of_vendor or (bool(torch) and TorchBuild.parse(torch).is_published),
        "environment": in_bundle,
        "bundle": not in_bundle,
        "older-numpy": not _numpy_is_older(symptom.details),
        "newer-numpy": _numpy_is_older(symptom.details),
    }
    return not any(contradicted[need] for need in step.needs)


_FIRST_NUMBER = re.compile(r"(?:0x)?0*([0-9a-f]{1,16})", re.IGNORECASE)


def _numpy_is_older(details: Mapping[str, str]) -> bool:
    """Whether the installed NumPy is known to be older than the one that a module was built with.

    The text has the sizes of a type, the versions of the interface in hexadecimal, or the releases themselves.
    """
    for with_it, installed in (("header", "object"), ("built", "running")):
        numbers = [_FIRST_NUMBER.match(details.get(name, "")) for name in (with_it, installed)]
        first, second = ((len(found[1]), found[1].lower()) if found else (0, "") for found in numbers)
        if second[0] and first > second:
            return True
    return False


def explain_symptoms(symptoms: Iterable[Symptom]) -> tuple[Cause, ...]:
    """Return the causes of several symptoms in their order, guesses last; one that comes twice is reported once."""
    found: dict[tuple[str, tuple[str, ...], str], Cause] = {}
    for symptom in symptoms:
        cause = explain_symptom(symptom)
        if cause:
            found.setdefault((cause.id, cause.likely_missing, cause.summary), cause)
    return tuple(sorted(found.values(), key=lambda cause: cause.confidence is Confidence.GUESS))


_BY_NAME = frozenset({"ctypes-not-found", "load-library", "named-file-missing", "library"})
"""Kinds of symptoms whose path is what a program asked for."""


def _missing(symptom: Symptom, rule: CauseRule) -> tuple[str, ...]:
    """The missing DLLs: those the text names, else those the rule knows; none unless a file is missing at all."""
    error = winerror(symptom.code) if symptom.code is not None else None
    if error is not None and not error.missing_file:
        return ()
    if rule.cause in ("two-openmp", "python-abi-mismatch", "no-gpu-code", "numpy-abi", "driver-too-old", "cudnn-mixed"):
        return ()
    if rule.runtime:
        return rule.missing
    if symptom.dlls:
        return symptom.dlls
    # A bare name was asked for by name, so it is itself what was not found.
    if symptom.path and symptom.kind in _BY_NAME and "\\" not in symptom.path:
        return (symptom.path,)
    if symptom.kind == "named-file-missing" and symptom.path:
        return (symptom.file,)
    return rule.missing
