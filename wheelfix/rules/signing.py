"""WF605 to WF608: whether the signatures of a wheel's DLLs are valid; only when the user asks for signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.model import Finding, Json, Repairable, Severity, Signature
from wheelfix.rules.context import Subject, base
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import count, listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def _with_status(subject: Subject, status: str) -> Iterator[tuple[str, Signature]]:
    for path in subject.images if subject.judges_signatures else ():
        signature = subject.signature(path)
        if signature is not None and signature.status == status:
            yield path, signature


def _grouped(subject: Subject, status: str) -> Iterator[tuple[Signature, list[str]]]:
    """The files of a status, together where signer and reason are the same."""
    groups: dict[tuple[str, str], tuple[Signature, list[str]]] = {}
    for path, signature in _with_status(subject, status):
        groups.setdefault((signature.signer, signature.reason), (signature, []))[1].append(path)
    yield from groups.values()


def _paths(subject: Subject, paths: Iterable[str]) -> dict[str, Json]:
    return {"paths": [subject.origin(path) for path in paths]}


def _names(paths: list[str]) -> str:
    return f"{count(len(paths), 'file')}: {listing([base(path) for path in paths])}"


@rule("WF605", "unsigned", Severity.INFO, Repairable.NEVER, "DLLs in the wheel carry no Authenticode signature.")
def unsigned(subject: Subject) -> Iterator[Finding]:
    """List the DLLs without a signature."""
    bare = [path for path, _ in _with_status(subject, "unsigned")]
    if bare:
        yield finding(
            "WF605",
            subject.origin(bare[0]),
            f"{count(len(bare), 'file')} without a signature: {listing([base(path) for path in bare])}; machines that "
            "allow signed code only will not load them",
            hint="sign them with 'signtool sign /fd sha256 /tr URL /td sha256 FILE' before packing",
            evidence=_paths(subject, bare),
        )


@rule("WF606", "signature-invalid", Severity.WARNING, Repairable.NEVER, "The signature of a DLL is not valid.")
def signature_invalid(subject: Subject) -> Iterator[Finding]:
    """Find signatures that are not valid: changed bytes, forged or expired certificates."""
    for signature, paths in _grouped(subject, "invalid"):
        name = f" in the name of {signature.signer!r}" if signature.signer else ""
        yield finding(
            "WF606",
            subject.origin(paths[0]),
            f"the signature{name} is invalid ({_names(paths)}): {signature.reason}",
            hint="take the file from its vendor again, and do not change it after it was signed",
            evidence=_paths(subject, paths),
        )


@rule(
    "WF607",
    "signature-untrusted",
    Severity.INFO,
    Repairable.NEVER,
    "The signature of a DLL leads to no trusted root.",
)
def signature_untrusted(subject: Subject) -> Iterator[Finding]:
    """Find signatures that anybody could have made in that name."""
    for signature, paths in _grouped(subject, "untrusted-root"):
        yield finding(
            "WF607",
            subject.origin(paths[0]),
            f"signed in the name of {signature.signer!r}, which no trusted root confirms ({_names(paths)}): "
            f"{signature.reason}",
            hint="if you know the issuer, name a PEM file with its certificate: --trusted-roots FILE",
            evidence=_paths(subject, paths),
        )


@rule("WF608", "signature-not-checked", Severity.INFO, Repairable.NEVER, "The signature of a DLL was not checked.")
def signature_not_checked(subject: Subject) -> Iterator[Finding]:
    """Find signatures about which nothing is known."""
    for signature, paths in _grouped(subject, "not-checked"):
        yield finding(
            "WF608",
            subject.origin(paths[0]),
            f"the signature was not checked ({_names(paths)}): {signature.reason}",
            evidence=_paths(subject, paths),
        )
