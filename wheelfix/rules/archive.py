"""WF1xx: what is wrong with the wheel as a zip file, with its RECORD and with its names.

The facts come from ``archive/`` as faults with a kind; here they get their code, their severity and a remedy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.archive.faults import PIP, UV, ArchiveFault
from wheelfix.base.values import grouped, replace
from wheelfix.loader.view import PE_SUFFIXES
from wheelfix.model import Finding, Repairable, Severity
from wheelfix.rules.hints import reinstall
from wheelfix.rules.registry import finding, rule, rule_of
from wheelfix.rules.wording import count, listing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.rules.context import Subject


# The kinds of faults behind each code; every kind that is not listed is WF121.
_OF_RECORD = {
    "WF101": "row-missing",
    "WF102": "row-orphan row-folder row-spelling file-gone",
    "WF103": "hash-stale",
    "WF104": "size-stale",
    "WF105": "row-duplicate",
    "WF106": "record-missing",
    "WF107": "signature",
    "WF108": "row-malformed row-backslash row-unsafe self-hash size-missing hash-missing hash-weak",
}
_OF_ARCHIVE = {
    "WF110": "duplicate-member",
    "WF111": "backslash-name",
    "WF112": "too-deep",
    "WF113": "unsafe-path upward-name long-name special-file unprintable-name",
    "WF114": "case-collision file-as-folder",
    "WF115": "damaged size-lie out-of-bounds zip-bomb member-unreadable ratio",
    "WF116": "encrypted unknown-method",
    "WF117": "symlink",
    "WF118": "same-place same-program",
    "WF119": "data-scheme data-folder",
    "WF120": "data-descriptor",
    "WF121": "",
    "WF122": "dist-info-not-last",
    "WF123": "tag-mismatch",
    "WF124": "name-mismatch version-invalid name-invalid dist-info-spelling",
    "WF125": "metadata-missing wheel-file-missing wheel-version",
    "WF126": "several-dist-info",
    "WF127": "metadata-invalid entry-points-invalid requires-python metadata-line",
    "WF128": "pycache pycache-other",
    "WF129": "variant-label",
    "WF130": "stored",
    "WF131": "variant-metadata",
    "WF132": "reserved-name",
    "WF133": "path-limit long-path long-path-somewhere",
    "WF134": "file-size",
}
_CODES = {kind: code for code, kinds in (_OF_RECORD | _OF_ARCHIVE).items() for kind in kinds.split()}
_WHOLE = "archive"
"""The subject of faults that are not about one member."""

_REPAIR = "'wheelfix repair' rewrites the wheel with a correct RECORD"
_NOTE = "nothing fails because of it; any rewrite of the wheel fixes it"
_REBUILD = "build the wheel again; do not ship this file"

_HINTS = {
    "WF101": _REPAIR,
    "WF102": (
        "it was deleted after the wheel was built: 'wheelfix repair --root ORIGINAL.whl' takes a DLL from the original "
        "wheel; 'wheelfix repair --accept-missing FILE' rewrites RECORD without it"
    ),
    "WF103": f"if the change was intended, {_REPAIR}; if not, build or download the wheel again",
    "WF104": f"if the change was intended, {_REPAIR}; if not, build or download the wheel again",
    "WF105": _REPAIR,
    "WF106": _REPAIR,
    "WF107": "'wheelfix repair' drops it; installers ignore it, and PEP 815 deprecates it",
    "WF108": _REPAIR,
    "WF110": "'wheelfix repair' keeps one of the two identical members",
    "WF111": "'wheelfix repair' writes the names with '/'; zip with a tool that follows the zip specification",
    "WF112": "'wheelfix repair' moves everything up; zip the contents of the folder, not the folder",
    "WF113": _REBUILD,
    "WF114": "remove or rename one of them and build the wheel again",
    "WF115": "download or build the wheel again; the file is damaged",
    "WF116": "pack the wheel without a password and with deflate: 'wheel pack FOLDER'",
    "WF117": "replace the link with the file it points to and build the wheel again",
    "WF120": "'wheelfix repair' writes the wheel without data descriptors",
    "WF121": "'wheelfix repair' rewrites the archive",
    "WF122": _NOTE,
    "WF123": "if what WHEEL says is correct, rename the file accordingly; if not, build the wheel again",
    "WF124": "rename the file to what METADATA says, or build the wheel again",
    "WF118": "remove one of them and build the wheel again",
    "WF119": "move it to a folder of a scheme, or out of the .data folder, and build the wheel again",
    "WF125": _REBUILD,
    "WF126": "remove what belongs to another distribution and build the wheel again",
    "WF127": "correct the file and build the wheel again",
    "WF128": "leave __pycache__ out when the wheel is built",
    "WF129": "publish a wheel without a label too, for installers that do not know wheel variants",
    "WF131": "build the wheel with a backend that knows wheel variants, or rename it without the label",
    "WF132": "'wheelfix repair' leaves it out; ask who made the wheel why it is there",
    "WF133": "give folders and files shorter names, or leave out what is not needed to run, such as headers and tests",
    "WF134": "ask PyPI for a higher limit before the upload, or make the wheel smaller",
    "WF130": "'wheelfix repair --recompress' compresses them; nothing fails without it",
}

_LASTING_HINTS = {
    "duplicate-member": "decide which of the two is meant, remove the other and build the wheel again",
    "overlap": "build or download the wheel again; the file is damaged or was made to deceive",
    "file-gone": "install the distribution again",
    "ratio": "nothing is damaged, and pip and uv install it; only an upload to PyPI fails",
    "license-file-missing": "put the file into the folder licenses of the .dist-info folder, or drop it from METADATA",
}
"""Kinds that rewriting the wheel does not put right, although it does for others with the same code."""

_INFO_KINDS = frozenset(
    {
        "size-missing",
        "self-hash",
        "row-backslash",
        "utf8-flag-missing",
        "archive-comment",
        "comment",
        "pycache",
        "long-path-somewhere",
    }
)
"""Irregular, but no tool is known to fail; unless someone refuses it, see ``rejected_by``."""

_WARNING_KINDS = frozenset({"dist-info-spelling", "requires-python", "metadata-line", "upward-name", "same-program"})
"""No installer stumbles, other tools do; of two programs the second replaces the first (bonsu 3.7.5)."""

_UNREAD_KINDS = frozenset({"hash-stale", "zip-bomb"})
"""Of members that are not what they should be, or were not read: whoever refuses them, nobody knows what is in them."""

_SINGLY = 10
"""More findings than this of one code become one, so that a repacked folder does not fill the screen."""


@rule(*_OF_ARCHIVE)
def archive_faults(subject: Subject) -> list[Finding]:
    """Turn faults of the archive and of its metadata into findings."""
    return fault_findings(subject.archive_faults, (*subject.archive_faults, *subject.record_faults))


def only_on_request(item: Finding) -> bool:
    """Whether a repair fixes what a finding is about only when asked to: members without compression."""
    return item.code == _CODES["stored"]


def _code(fault: ArchiveFault) -> str:
    return _CODES.get(fault.kind, "WF121")


def lasting_faults(faults: Iterable[ArchiveFault]) -> tuple[ArchiveFault, ...]:
    """The faults of an archive that are still there when the wheel was rewritten."""
    return tuple(filter(_is_lasting, faults))


@rule(*_OF_RECORD)
def record_faults(subject: Subject) -> list[Finding]:
    """Turn faults of RECORD into findings."""
    found = fault_findings(subject.record_faults, (*subject.archive_faults, *subject.record_faults))
    again = reinstall(subject, "")
    return [replace(one, hint=again) if one.evidence["kind"] == "file-gone" else one for one in found]


def fault_findings(faults: Iterable[ArchiveFault], everything: Iterable[ArchiveFault]) -> list[Finding]:
    """Return the findings about some faults of a wheel, of ``everything`` that is wrong with it."""
    blocker = _blocker(everything)
    groups = grouped(
        ((_code(one), one.kind, one.rejected_by, str(_severity(one))), one) for one in dict.fromkeys(faults)
    )
    found = []
    for (code, *_), group in sorted(groups.items()):
        together = len(group) > _SINGLY or code == "WF120"
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
        _code(fault),
        names[0],
        f"{message} (refused by {refusers})" if refusers else message,
        hint=_hint(fault, blocker),
        evidence=evidence,
        severity=_severity(fault),
        repairable=Repairable.NEVER if _is_lasting(fault) else None,
    )


def _hint(fault: ArchiveFault, blocker: str) -> str:
    """Return what to do; a repair is named only where it rewrites the wheel and the finding is gone then."""
    hint = (_LASTING_HINTS.get(fault.kind) if _is_lasting(fault) else None) or _HINTS[_code(fault)]
    if fault.kind in ("row-folder", "row-spelling"):
        hint = _REPAIR
    if "wheelfix repair" not in hint:
        return hint
    if _severity(fault) is Severity.INFO and "'wheelfix repair'" in hint:  # without an option, notes are not a reason
        return _NOTE
    return f"repair cannot rewrite this wheel; see {blocker}" if blocker else hint


def _is_lasting(fault: ArchiveFault) -> bool:
    """Whether rewriting the wheel would not help."""
    if fault.kind == "duplicate-member":  # pip and uv install those with the same content
        return not _is_installed(fault)
    return fault.kind in _LASTING_HINTS or rule_of(_code(fault)).repairable is Repairable.NEVER


def _is_installed(fault: ArchiveFault) -> bool:
    """Whether pip and uv install a wheel that others refuse: PyPI, or installer."""
    return bool(fault.rejected_by) and not {PIP, UV}.intersection(fault.rejected_by)


def _blocker(faults: Iterable[ArchiveFault]) -> str:
    """Return the code of a fault that keeps the wheel from being repaired, or nothing."""
    for fault in faults:
        stops = _severity(fault) is Severity.ERROR or fault.kind == "upward-name"
        if stops and _is_lasting(fault) and fault.kind != "path-limit":
            return _code(fault)
    return ""


def _severity(fault: ArchiveFault) -> Severity:
    """An archive that pip or uv refuses is broken; one that only PyPI, installer or no one refuses is not.

    An image that RECORD lists belongs to the wheel: without it something that was built and tested is gone.
    """
    deleted = fault.kind == "row-orphan" and fault.subject.lower().endswith(PE_SUFFIXES)
    if deleted or fault.kind in ("file-gone", "path-limit") or {PIP, UV}.intersection(fault.rejected_by):
        return Severity.ERROR
    usual = rule_of(_code(fault)).severity
    if fault.kind in _UNREAD_KINDS:
        return usual
    if fault.kind in _WARNING_KINDS or _is_installed(fault):
        return Severity.WARNING
    return Severity.INFO if fault.kind in _INFO_KINDS else usual
