"""The answer about one certificate table: trusted, untrusted root, invalid, or not checked and why.

What can be seen without a library is seen first: a file that was changed is invalid even where ``cryptography`` is not
installed. Everything else is "not checked" there, which never counts as signed.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.errors import EnvironmentFailure
from wheelfix.model import TRUSTED, Signature
from wheelfix.pe.authenticode.message import (
    INSTALL,
    NESTED,
    SignatureFault,
    SignedMessage,
    Statement,
    split,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Digest = Callable[[str], bytes]

BROKEN = {"md2", "md5"}
UNSIGNED_BYTES = (
    "bytes that nothing signs follow the signature in the certificate table "
    "(Windows refuses them where EnableCertPaddingCheck is set)"
)


def verify(data: bytes, digest_of: Digest, trusted_roots: Path | None) -> Signature:
    """Return what a PKCS #7 message, and padding to a multiple of eight, says about a file with these digests."""
    try:
        node, padding = split(data)
        if len(padding) >= 8 or any(padding):
            return Signature("invalid", reason=UNSIGNED_BYTES)
        message = SignedMessage.read(node)
    except SignatureFault as fault:
        return fault.answer(Signature("invalid"))
    first = _answer(message, digest_of, trusted_roots)
    if first.status == TRUSTED or (first.status == "invalid" and not first.signer):
        return first
    # Files that are signed for old and new Windows have a second signature in the first. It counts as long as the
    # first one is by its signer and over this file, and only its certificates are too old or not trusted.
    others = (_answer(nested, digest_of, trusted_roots) for nested in _nested(message))
    return next((other for other in others if other.status == TRUSTED), first)


def _nested(message: SignedMessage) -> list[SignedMessage]:
    """Return the messages within a message that can be read."""
    found = []
    with contextlib.suppress(SignatureFault):
        for node in message.signer.unsigned_values(NESTED):
            with contextlib.suppress(SignatureFault):
                found.append(SignedMessage.read(node))
    return found


def _answer(message: SignedMessage, digest_of: Digest, trusted_roots: Path | None) -> Signature:
    """Return the answer about one message, nested ones left aside."""
    answer = Signature("invalid")
    try:
        statement = Statement.read(message)
        answer = replace(answer, algorithm=statement.algorithm)
        if statement.algorithm in BROKEN:
            return replace(answer, reason=f"the digest of the file is made with {statement.algorithm}")
        digest = digest_of(statement.algorithm)
        answer = replace(answer, digest=digest.hex())
        if digest != statement.digest:
            return replace(answer, reason="the file was changed after it was signed")
        if {statement.algorithm} != {message.signer.digest.hash_name, *(one.hash_name for one in message.digests)}:
            return replace(answer, reason="the digest algorithms of its parts do not agree")
        return _with_library(message, answer, trusted_roots)
    except SignatureFault as fault:
        return fault.answer(answer)


def _with_library(message: SignedMessage, answer: Signature, trusted_roots: Path | None) -> Signature:
    try:
        from wheelfix.pe.authenticode.signers import judge
    except ImportError as exc:
        return replace(answer, status="not-checked", reason=f"cryptography is missing ({exc}): {INSTALL}")
    return judge(message, answer, trusted_roots)


def check_trusted_roots(path: Path) -> None:
    """UsageError or EnvironmentFailure if a file of trusted roots cannot be used."""
    try:
        from wheelfix.pe.authenticode.certificates import user_roots
    except ImportError as exc:
        raise EnvironmentFailure(
            f"{path} cannot be used as --trusted-roots", because=f"cryptography is missing ({exc})", hint=INSTALL
        ) from exc
    user_roots(path)
