"""What the user allows to be missing: such a finding stays, as a note that fails nothing."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.model import Finding, Severity, dll_key, fold
from wheelfix.rules.themes import Theme, is_about

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ABOUT_MISSING = (
    Theme.MISSING,
    Theme.UNKNOWN,
    Theme.OUT_OF_REACH,
    Theme.FORWARDER,
    Theme.NOT_ON_TARGET,
    Theme.PARTIAL_CUDA,
)


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Whether a DLL name, however spelled, is meant by one of the globs."""
    key = dll_key(name)
    return any(fnmatch.fnmatchcase(key, fold(pattern)) or key == dll_key(pattern) for pattern in patterns)


def with_allowed(findings: Sequence[Finding], patterns: Sequence[str]) -> tuple[Finding, ...]:
    """The findings; one whose DLLs are all allowed to be missing becomes a note."""
    if not patterns:
        return tuple(findings)
    changed = [_as_note(item) if _is_allowed(item, patterns) else item for item in findings]
    order = tuple(Severity)
    return tuple(sorted(changed, key=lambda item: (order.index(item.severity), item.code, item.subject, item.message)))


def _is_allowed(item: Finding, patterns: Sequence[str]) -> bool:
    names = missing_names(item)
    return bool(names) and all(matches_any(name, patterns) for name in names)


def _as_note(item: Finding) -> Finding:
    return replace(item, severity=Severity.INFO, message=f"{item.message} (allowed to be missing)")


def missing_names(item: Finding) -> list[str]:
    """The DLLs whose absence a finding is about; one finding may be about several."""
    if not is_about(item, *_ABOUT_MISSING):
        return []
    if is_about(item, Theme.FORWARDER):
        target = item.evidence.get("target")
        return [str(target)] if target and not item.evidence.get("symbols") else []
    for key in ("names", "missing"):
        names = item.evidence.get(key)
        if isinstance(names, list) and names:
            return [_last(str(name)) for name in names]
    return [_last(item.subject)]


def _last(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
