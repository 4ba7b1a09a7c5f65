"""WF1xx: what is wrong with the wheel as a zip file, with its RECORD and with its names.

The facts come from ``archive/`` as faults with a kind; here they get their code, their severity and a remedy.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from wheelfix.archive.faults import PIP, UV, ArchiveFault
from wheelfix.base.inputfiles import own_data
from wheelfix.base.parsing import load_toml
from wheelfix.base.values import grouped, replace
from wheelfix.loader.view import PE_SUFFIXES
from wheelfix.model import Finding, Repairable, Severity
from wheelfix.rules.hints import reinstall
from wheelfix.rules.registry import finding, rule, rule_of
from wheelfix.rules.wording import count, listing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.rules.context import Subject


_WHOLE = "archive"
"""The subject of faults that are not about one member."""
_REPAIR = "'wheelfix repair' rewrites the wheel with a correct RECORD"
_NOTE = "nothing fails because of it; any rewrite of the wheel fixes it"
_SINGLY = 10
"""More findings than this of one code become one, so that a repacked folder does not fill the screen."""


@functools.cache
def kinds() -> dict[str, dict[str, Any]]:
    """What the table says about each kind of fault, with its code; of a kind that it does not have, ``any-other``."""
    table = load_toml(own_data("wheelfix.rules", "faults.toml").decode("utf-8"))
    return {
        kind: {"code": code, "hint": row.get("hint", _REPAIR), **own}
        for code, row in table.items()
        for kind, own in row.items()
        if kind != "hint"
    }


def _row(fault: ArchiveFault) -> dict[str, Any]:
    return kinds().get(fault.kind) or kinds()["any-other"]


@rule(*(f"WF{number}" for number in range(110, 135)))
def archive_faults(subject: Subject) -> list[Finding]:
    """Turn faults of the archive and of its metadata into findings."""
    return _faults_in(subject, subject.facts.faults)


def only_on_request(item: Finding) -> bool:
    """Whether a repair fixes what a finding is about only when asked to: members without compression."""
    return item.evidence.get("kind") == "stored"


def lasting_faults(faults: Iterable[ArchiveFault]) -> tuple[ArchiveFault, ...]:
    """The faults of an archive that are still there when the wheel was rewritten."""
    return tuple(filter(_is_lasting, faults))


@rule(*(f"WF{number}" for number in range(101, 109)))
def record_faults(subject: Subject) -> list[Finding]:
    """Turn faults of RECORD into findings."""
    found = _faults_in(subject, subject.facts.record_faults)
    again = reinstall(subject, "")
    return [replace(one, hint=again) if one.evidence["kind"] == "file-gone" else one for one in found]


def _faults_in(subject: Subject, faults: Iterable[ArchiveFault]) -> list[Finding]:
    return fault_findings(faults, (*subject.facts.faults, *subject.facts.record_faults))


def fault_findings(faults: Iterable[ArchiveFault], everything: Iterable[ArchiveFault]) -> list[Finding]:
    """Return the findings about some faults of a wheel, of ``everything`` that is wrong with it."""
    blocker = _blocker(everything)
    groups = grouped(
        ((_row(one)["code"], one.kind, one.rejected_by, str(_severity(one))), one) for one in dict.fromkeys(faults)
    )
    found = []
    for _, group in sorted(groups.items()):
        together = len(group) > _SINGLY or "together" in _row(group[0])
        found += [_finding(members, blocker) for members in ([group] if together else ([one] for one in group))]
    return found


def _finding(group: list[ArchiveFault], blocker: str) -> Finding:
    fault, names = group[0], sorted(fault.subject or _WHOLE for fault in group)
    refusers = listing(["PyPI" if name == "pypi" else name for name in fault.rejected_by])
    evidence: dict[str, object] = {"kind": fault.kind, "rejected_by": fault.rejected_by}
    message = fault.message
    if len(group) > 1:
        message = f"{count(len(group), 'member')} ({listing(names)}): {message}"
        evidence |= {"count": len(group), "paths": names}
    elif fault.expected or fault.found:
        evidence |= {"expected": fault.expected, "found": fault.found}
    return finding(
        _row(fault)["code"],
        names[0],
        f"{message} (refused by {refusers})" if refusers else message,
        hint=_hint(fault, blocker),
        evidence=evidence,
        severity=_severity(fault),
        repairable=Repairable.NEVER if _is_lasting(fault) else None,
    )


def _hint(fault: ArchiveFault, blocker: str) -> str:
    """Return what to do; a repair is named only where it rewrites the wheel and the finding is gone then."""
    row = _row(fault)
    hint: str = row.get("lasting", row["hint"]) if _is_lasting(fault) else row["hint"]
    if "wheelfix repair" not in hint:
        return hint
    if _severity(fault) is Severity.INFO and "'wheelfix repair'" in hint:  # without an option, notes are not a reason
        return _NOTE
    return f"repair cannot rewrite this wheel; see {blocker}" if blocker else hint


def _is_lasting(fault: ArchiveFault) -> bool:
    """Whether rewriting the wheel would not help."""
    if fault.kind == "duplicate-member":  # pip and uv install those with the same content
        return not _is_installed(fault)
    return "lasting" in _row(fault) or rule_of(_row(fault)["code"]).repairable is Repairable.NEVER


def _is_installed(fault: ArchiveFault) -> bool:
    """Whether pip and uv install a wheel that others refuse: PyPI, or installer."""
    return bool(fault.rejected_by) and not {PIP, UV}.intersection(fault.rejected_by)


def _blocker(faults: Iterable[ArchiveFault]) -> str:
    """Return the code of a fault that keeps the wheel from being repaired, or nothing."""
    for fault in faults:
        stops = _severity(fault) is Severity.ERROR or fault.kind == "upward-name"
        if stops and _is_lasting(fault) and fault.kind != "path-limit":
            return str(_row(fault)["code"])
    return ""


def _severity(fault: ArchiveFault) -> Severity:
    """An archive that pip or uv refuses is broken; one that only PyPI, installer or no one refuses is not.

    An image that RECORD lists belongs to the wheel: without it something that was built and tested is gone.
    """
    deleted = fault.kind == "row-orphan" and fault.subject.lower().endswith(PE_SUFFIXES)
    if deleted or fault.kind in ("file-gone", "path-limit") or {PIP, UV}.intersection(fault.rejected_by):
        return Severity.ERROR
    row = _row(fault)
    if _is_installed(fault) and "unread" not in row:
        return Severity.WARNING
    return Severity(row["severity"]) if "severity" in row else rule_of(row["code"]).severity
