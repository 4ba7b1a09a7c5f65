"""WF309, and which findings explain which failed loads: a failure is predicted only where an error explains it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.loader.loadcall import BAD_EXE_FORMAT, INVALID_ORDINAL, MOD_NOT_FOUND, PROC_NOT_FOUND
from wheelfix.model import EdgeKind, Finding, InView, LoadOutcome, Repairable, Severity, dll_key
from wheelfix.rules.abi import python_abi, unimportable
from wheelfix.rules.codeloads import missing_code_folders, missing_code_loads, raised_by_code
from wheelfix.rules.context import Subject, base
from wheelfix.rules.dependencies import missing_imports
from wheelfix.rules.otherdistributions import owner_not_reachable
from wheelfix.rules.pe import debug_crt, unreadable_images, wrong_machine
from wheelfix.rules.registry import finding, found_by, rule, run_checks
from wheelfix.rules.symbols import broken_forwarders, unexported
from wheelfix.rules.wording import arrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NO_IMAGE = (unreadable_images, wrong_machine)
_OTHER_SYMBOLS = (unexported, broken_forwarders)
_EXPLAINING = (
    *_NO_IMAGE,
    *_OTHER_SYMBOLS,
    debug_crt,
    missing_imports,
    owner_not_reachable,
    missing_code_loads,
    missing_code_folders,
    raised_by_code,
    unimportable,
    python_abi,
)
"""Rules about what makes a load fail."""


@rule(
    "WF309",
    "load-fails",
    Severity.ERROR,
    Repairable.NEVER,
    "A load that the package performs fails, and no other finding says why.",
)
def load_fails(subject: Subject) -> Iterator[Finding]:
    """Find failed loads that no other rule has an explanation for."""
    failed = [outcome for outcome in subject.failures if outcome.chain and not outcome.event.guarded]
    if not failed:
        return
    names = explained_names(run_checks(subject, *_EXPLAINING))
    for outcome in failed:
        if not _causes(outcome) & names:
            yield finding(
                "WF309",
                subject.origin(outcome.event.path),
                f"loading {base(outcome.event.path)} fails with error {outcome.code} ({arrow(outcome.chain)})"
                + (f": {outcome.detail}" if outcome.detail else ""),
                hint="'wheelfix scan -v' shows who loads what; if the package works, please report it",
                evidence={"code": outcome.code, "chain": [*outcome.chain], "detail": outcome.detail},
            )


def explained_names(findings: Iterable[Finding]) -> frozenset[str]:
    """The folded names of the files that findings about failed loads are about."""
    return frozenset(dll_key(_last(path)) for item in findings for path in (item.subject, *_paths(item)))


def _paths(item: Finding) -> list[str]:
    """All files of a finding that is about several, as a distribution for another Python is."""
    paths = item.evidence.get("paths")
    return [str(path) for path in paths] if isinstance(paths, list) else []


def visible_failure(subject: Subject, findings: Iterable[Finding]) -> LoadOutcome | None:
    """The first failed load that an error among the findings stands for; None if there is no such error.

    A load may have several faults. Where the finding about the first is only a warning, is filtered out or was allowed,
    the load fails because of the next one: prediction, findings and verdict say the same.
    """
    rules = (*_EXPLAINING, load_fails)
    errors = [item for item in findings if item.severity is Severity.ERROR and found_by(item, *rules)]
    names = explained_names(errors)
    for outcome in subject.failures if errors else ():
        if outcome.event.guarded:
            continue
        if _causes(outcome) & names:
            return outcome
        other = _other_cause(subject, outcome, errors)
        if other is not None:
            return other
    return None


def _other_cause(subject: Subject, outcome: LoadOutcome, errors: list[Finding]) -> LoadOutcome | None:
    """The same load with another of its faults as the cause: missing files before missing symbols."""
    through = _ways(subject, outcome.event.path)
    found = []
    for item in errors:
        for origin in _importers(item):
            way = through.get(origin) or _part_of(outcome.chain, origin)
            if way:
                chain = way if found_by(item, broken_forwarders) else (*way, _name(item))
                found.append(LoadOutcome(outcome.event, _code(item), chain, item.message))
    return min(found, key=lambda other: other.code in (127, 182), default=None)


def _part_of(chain: tuple[str, ...], origin: str) -> tuple[str, ...]:
    """The beginning of a chain up to a file, or nothing: one process may get further than another."""
    keys, key = [dll_key(name) for name in chain], dll_key(_last(origin))
    return chain[: keys.index(key) + 1] if key in keys else ()


def _ways(subject: Subject, start: str) -> dict[str, tuple[str, ...]]:
    """For each file that a load maps, by the path that reports show: the chain that leads to it, as base names."""
    ways: dict[str, tuple[str, ...]] = {start: (base(start),)}
    pending = [start]
    for importer in pending:  # grows while it is walked
        for edge in subject.edges_from.get(importer, ()):
            target = edge.provider.path if isinstance(edge.provider, InView) else ""
            if target and target not in ways and edge.kind in (EdgeKind.IMPORT, EdgeKind.FORWARDER):
                ways[target] = (*ways[importer], base(target))
                pending.append(target)
    return {subject.origin(path): way for path, way in ways.items()}


def _importers(item: Finding) -> list[str]:
    """The files whose load fails because of what a finding says."""
    if found_by(item, debug_crt, broken_forwarders):
        return [item.subject]
    importer, needed_by = item.evidence.get("importer"), item.evidence.get("needed_by")
    return [str(importer)] if importer else [str(one) for one in needed_by] if isinstance(needed_by, list) else []


def _code(item: Finding) -> int:
    if found_by(item, *_OTHER_SYMBOLS):
        symbols = item.evidence.get("symbols")
        return (
            INVALID_ORDINAL if isinstance(symbols, list) and symbols and isinstance(symbols[0], int) else PROC_NOT_FOUND
        )
    return BAD_EXE_FORMAT if found_by(item, *_NO_IMAGE) else MOD_NOT_FOUND


def _name(item: Finding) -> str:
    return _last(item.subject)


def _last(path: str) -> str:
    """The last part of a path, whichever way its folders are separated."""
    return re.split(r"[\\/]", path)[-1]


def _causes(outcome: LoadOutcome) -> frozenset[str]:
    """The file at which a load fails, and the one that asks for it: a finding is about one of the two."""
    return frozenset(dll_key(name) for name in outcome.chain[-2:])
