"""WF207: Python code of the package that was not read, so that what it loads is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import Finding, Repairable, Severity
from wheelfix.pycode.budget import NOT_PYTHON, budget_of
from wheelfix.rules.context import Subject, base
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import count

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN = 20
"""Files in the evidence; the others are counted."""


@rule(
    "WF207",
    "package-code-unread",
    Severity.WARNING,
    Repairable.NEVER,
    "Python code of the package was not read to the end, so that the DLLs it loads are not all known.",
)
def package_code_unread(subject: Subject) -> Iterator[Finding]:
    """Find code that took more work than it is worth, or that is not Python; one finding for each reason."""
    budget = budget_of(subject.view)
    grouped: dict[tuple[str, bool], list[str]] = {}
    for path, reason in sorted(budget.unread.items()):
        loads = path in budget.loading
        if loads or reason != NOT_PYTHON:
            grouped.setdefault((reason, loads), []).append(path)
    for (reason, loads), paths in sorted(grouped.items()):
        more = f" and {count(len(paths) - 1, 'other file')}" if len(paths) > 1 else ""
        unknown = (
            "which folders it adds to the DLL search and which DLLs it loads is not known"
            if loads
            else "what it imports is not known"
        )
        yield finding(
            "WF207",
            subject.origin(paths[0]),
            f"the code of {base(paths[0])}{more} was not read: {reason}; {unknown}",
            hint="look at the file: code that loads DLLs is short; or test the import on a clean Windows machine",
            evidence={
                "files": [subject.origin(path) for path in paths[:_SHOWN]],
                "count": len(paths),
                "reason": reason,
            },
            severity=(Severity.UNSURE if reason == NOT_PYTHON else Severity.WARNING) if loads else Severity.INFO,
        )
