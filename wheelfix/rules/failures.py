"""WF309, and which findings explain which failed loads: no failure is predicted that no error stands for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.model import Finding, LoadOutcome, Repairable, Severity, dll_key
from wheelfix.rules.context import Subject, base
from wheelfix.rules.registry import finding, rule, run
from wheelfix.rules.wording import arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_EXPLAINING = ("WF201", "WF202", "WF203", "WF204", "WF205", "WF301", "WF305", "WF307", "WF310", "WF311")
"""Findings about what makes a load fail."""


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
    names = explained_names(run(subject, _EXPLAINING))
    for outcome in failed:
        if not _causes(outcome) & names:
            yield finding(
                "WF309",
                subject.origin(outcome.event.path),
                f"loading {base(outcome.event.path)} fails with error {outcome.code} ({arrow(outcome.chain)})"
                + (f": {outcome.detail}" if outcome.detail else ""),
                hint="'wheelfix diagnose --wheel WHEEL' tells more; if the package works, please report it",
                evidence={"code": outcome.code, "chain": [*outcome.chain], "detail": outcome.detail},
            )


def explained_names(findings: Iterable[Finding], severity: Severity | None = None) -> frozenset[str]:
    """The folded names of the files that findings about failed loads are about."""
    return frozenset(
        dll_key(re.split(r"[\\/]", item.subject)[-1])
        for item in findings
        if item.code in (*_EXPLAINING, "WF309") and (severity is None or item.severity is severity)
    )


def stands_for(findings: Iterable[Finding]) -> Callable[[LoadOutcome], bool]:
    """Whether an error among the findings stands for a failed load.

    A failure whose finding is only a warning, is filtered out or was allowed is not predicted: prediction, findings and
    verdict say the same.
    """
    names = explained_names(findings, Severity.ERROR)
    return lambda outcome: bool(_causes(outcome) & names)


def _causes(outcome: LoadOutcome) -> frozenset[str]:
    """The file at which a load fails, and the one that asks for it: a finding is about one of the two."""
    return frozenset(dll_key(name) for name in outcome.chain[-2:])
