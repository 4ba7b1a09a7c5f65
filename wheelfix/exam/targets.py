"""The answer for each kind of Windows that was asked about, from the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.loadcall import MOD_NOT_FOUND, PROC_NOT_FOUND
from wheelfix.loader.predict import predict
from wheelfix.model import LoadOutcome, Severity, TargetVerdict, verdict_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.knowledge.targets import TargetList
    from wheelfix.model import Finding, LoadEvent, Prediction
    from wheelfix.rules.context import Subject


def target_verdicts(
    subject: Subject, findings: Sequence[Finding], first_failure: Prediction | None
) -> tuple[TargetVerdict, ...]:
    """Return the answer for each target; ``first_failure`` is the error that comes on every Windows."""
    return tuple(_verdict(subject, target, findings, first_failure) for target in subject.targets)


def _verdict(
    subject: Subject, target: TargetList, findings: Sequence[Finding], first_failure: Prediction | None
) -> TargetVerdict:
    names = [one.name for one in subject.targets]
    own = [item for item in findings if item.evidence.get("target") == target.name]
    counted = [item for item in findings if item.evidence.get("target") not in names or item in own]
    return TargetVerdict(
        name=target.name,
        title=target.title,
        build=target.build,
        date=target.date,
        verdict=verdict_of(counted),
        absent=tuple(name for item in own if item.severity is Severity.ERROR for name in _names(item)),
        perhaps_absent=tuple(
            name
            for item in own
            if not _is_unknown(item) and item.severity is not Severity.ERROR
            for name in _names(item)
        ),
        unknown=tuple(name for item in own if _is_unknown(item) for name in _names(item)),
        first_failure=first_failure or _failure(subject, own),
    )


def _is_unknown(item: Finding) -> bool:
    """Whether nothing is known about the DLLs of a finding: then it is about all of them, and names no importer."""
    return "importer" not in item.evidence


def _names(item: Finding) -> list[str]:
    """The DLLs, or the functions, that a finding is about."""
    names, symbols = item.evidence.get("names"), item.evidence.get("symbols")
    dlls = [str(name) for name in names] if isinstance(names, list) else []
    functions = item.evidence.get("functions")
    if isinstance(functions, dict):
        found = [f"{dll}!{one}" for dll, several in functions.items() if isinstance(several, list) for one in several]
        return [dll for dll in dlls if dll not in functions] + found
    if isinstance(symbols, list):
        return [f"{dll}!{symbol if isinstance(symbol, str) else f'#{symbol}'}" for dll in dlls for symbol in symbols]
    return dlls


def _failure(subject: Subject, findings: Sequence[Finding]) -> Prediction | None:
    """The error of the first load that fails on a target: absent files are noticed before absent functions."""
    errors = [item for item in findings if item.severity is Severity.ERROR]
    order = {outcome.event.path: number for number, outcome in enumerate(subject.resolution.outcomes)}
    found: list[tuple[int, bool, LoadOutcome]] = []
    for item in errors:
        event = _event(subject, str(item.evidence.get("importer")))
        chain = item.evidence.get("chain")
        if event is not None and isinstance(chain, list):
            function = "symbols" in item.evidence
            code = PROC_NOT_FOUND if function else MOD_NOT_FOUND
            detail = ", ".join(_names(item)[:3])
            names = tuple(str(name) for name in chain)
            found.append((order[event.path], function, LoadOutcome(event, code, names, detail)))
    if not found:
        return None
    return predict(subject.view, subject.resolution, min(found, key=lambda entry: entry[:2])[2])


def _event(subject: Subject, origin: str) -> LoadEvent | None:
    """The load that maps a file, given by the path that reports show."""
    path = next((path for path in subject.loaded_through if subject.origin(path) == origin), "")
    while through := subject.loaded_through.get(path, ""):
        path = through
    events = (outcome.event for outcome in subject.resolution.outcomes)
    return next((event for event in events if event.path == path and not event.guarded), None)
