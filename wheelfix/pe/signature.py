"""Who signed a DLL, and whether its bytes are still the signed ones (Authenticode).

Checked: the digest of the file against the signed digest; the digest of that statement against the signed attributes;
the signature over the attributes with the key in the signer's certificate; and each certificate in the file against
the one that issued it (RSA, which is what vendors use; other keys are said to be unchecked). Not checked: whether the
last issuer is one that Windows trusts, whether a certificate was revoked, and the timestamp's own signature. So a
good answer means "unchanged since this certificate's owner signed it", not "Windows will trust it".
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

from wheelfix.errors import InputError
from wheelfix.model import Malformed
from wheelfix.pe.der import (
    HASHES,
    RSA_HASHES,
    Certificate,
    DerError,
    Node,
    attributes,
    parse,
    readable,
    rsa_fits,
)
from wheelfix.pe.layout import CERTIFICATES, Headers, read_headers
from wheelfix.pe.stream import chunks
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from wheelfix.model import ByteSource

PKCS7 = 2
MAX_TABLE = 256 << 10
MAX_CHAIN = 8
SIGNED_DATA = "1.2.840.113549.1.7.2"
INDIRECT_DATA = "1.3.6.1.4.1.311.2.1.4"
MESSAGE_DIGEST, SIGNING_TIME = "1.2.840.113549.1.9.4", "1.2.840.113549.1.9.5"
COUNTER_SIGNATURE, TIMESTAMP = "1.2.840.113549.1.9.6", "1.3.6.1.4.1.311.3.3.1"
UTC_TIME, GENERALIZED_TIME = 0x17, 0x18


@dataclass(frozen=True, slots=True)
class Signature:
    """What a DLL's certificate table says, and whether it holds."""

    status: str
    """``unsigned``, ``valid-digest``, ``bad-digest`` (the bytes or the statement were changed) or ``unreadable``."""
    signer: str = ""
    """The name in the signer's certificate: ``NVIDIA Corporation``."""
    issuer: str = ""
    chain: tuple[str, ...] = ()
    """Names from the signer's issuer upwards, as far as the file carries them."""
    timestamp: str = ""
    """When it was signed, as the timestamp states it: ``2023-08-01T12:00:00Z``."""
    algorithm: str = ""
    """Of the file's digest: ``sha256``."""
    digest: str = ""
    """The file's Authenticode digest, in hexadecimal."""
    unchecked: str = ""
    """What could not be checked, and why."""
    reason: str = ""
    """Why the status is not a good one."""

    def __str__(self) -> str:
        return self.signer if self.status == "valid-digest" else self.status


def read_signature(source: ByteSource) -> Signature:
    """Return who signed an image and whether it is unchanged; reads every byte. Never raises because of its bytes."""
    try:
        headers = read_headers(source)
        if isinstance(headers, Malformed):
            return Signature("unreadable", reason=headers.reason)
        at, size = headers.directory(CERTIFICATES)
        if not at or not size:
            return Signature("unsigned")
        # The algorithm is told at the end of the file. Nearly always it is SHA-256, so that is computed on the way
        # there: a deflated member is then inflated once.
        digest = authenticode_digest(source, headers)
        message = _pkcs7(source.read_at(at, min(size, MAX_TABLE)))
        statement = _Statement.read(parse(message))
        if statement.algorithm != "sha256":
            digest = authenticode_digest(source, headers, statement.algorithm)
        return statement.judge(digest)
    except DerError as exc:
        return Signature("unreadable", reason=f"the certificate table cannot be read: {exc}")
    except InputError as exc:
        return Signature("unreadable", reason=str(exc))


def authenticode_digest(source: ByteSource, headers: Headers, algorithm: str = "sha256") -> bytes:
    """Return the digest of everything but the checksum, the certificate table and the place that points to it."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    at, size = headers.directory(CERTIFICATES)
    entry = headers.directories_at + 8 * CERTIFICATES
    spans = [(0, headers.checksum_at), (headers.checksum_at + 4, entry), (entry + 8, at or source.size)]
    if at:
        spans.append((at + size, source.size))
    for begin, end in spans:
        for chunk in chunks(source, begin, end):
            digest.update(chunk)
    return digest.digest()


def _pkcs7(table: bytes) -> bytes:
    """Return the first PKCS #7 message of a certificate table."""
    at = 0
    while at + 8 <= len(table):
        length, _, kind = struct.unpack_from("<IHH", table, at)
        if kind == PKCS7:
            return table[at + 8 : at + length]
        if length < 8:
            break
        at += (length + 7) & ~7
    raise DerError("there is no PKCS #7 message in it")


@dataclass(frozen=True, slots=True)
class _Statement:
    """A signed statement about a digest, taken apart."""

    algorithm: str
    digest: bytes
    """The digest that the file should have."""
    content: bytes
    """The statement, as it goes into the digest among the attributes."""
    attributes: Node
    signer: Certificate
    signature: bytes
    signature_digest: str
    certificates: tuple[Certificate, ...]
    timestamp: str

    @classmethod
    def read(cls, message: Node) -> _Statement:
        """Take a SignedData message apart."""
        if message.child(0).oid != SIGNED_DATA:
            raise DerError("no signed data")
        signed_data = message.child(1).child(0)
        _, _, inner, *rest = signed_data.first(3) + signed_data.children()[3:]
        if inner.child(0).oid != INDIRECT_DATA:
            raise DerError("the signed content is no Authenticode statement")
        statement = inner.child(1).child(0)
        hashed = statement.child(1)
        certificates = tuple(
            Certificate.read(node)
            for group in rest
            if group.tag == 0xA0
            for node in group.children()
            if node.tag == 0x30
        )
        info = signed_data.child(-1).child(0)
        _, identity, algorithm, signed, _, signature, *more = info.first(6) + info.children()[6:]
        issuer, serial = identity.first(2)
        signer = next(
            (one for one in certificates if one.serial == serial.content and one.issuer.whole == issuer.whole), None
        )
        if signer is None or signed.tag != 0xA0:
            raise DerError("the signer's certificate or the signed attributes are not in it")
        return cls(
            algorithm=_hash_name(hashed.child(0).child(0)),
            digest=hashed.child(1).content,
            content=statement.content,
            attributes=signed,
            signer=signer,
            signature=signature.content,
            signature_digest=_hash_name(algorithm.child(0)),
            certificates=certificates,
            timestamp=_timestamp(more[0]) if more else "",
        )

    def judge(self, digest: bytes) -> Signature:
        """Hold the statement against the file's digest, and the signature against the statement."""
        chain, unchecked, forged = self._chain()
        stated = attributes(self.attributes).get(MESSAGE_DIGEST)
        content = hashlib.new(self.signature_digest, self.content, usedforsecurity=False).digest()
        # The attributes are signed as a SET, but written with a tag of their own.
        as_set = b"\x31" + self.attributes.whole[1:]
        fits = rsa_fits(self.signer.key, self.signature, self.signature_digest, as_set)
        if fits is None:
            unchecked = "the signature itself: its key is not RSA"
        reason = ""
        if digest != self.digest:
            reason = "the file was changed after it was signed"
        elif stated is None or stated.content != content:
            reason = "the signed statement was changed"
        elif fits is False:
            reason = "the signature is not by the key in the signer's certificate"
        elif forged:
            reason = forged
        return Signature(
            status="bad-digest" if reason else "valid-digest",
            signer=readable(self.signer.subject),
            issuer=readable(self.signer.issuer),
            chain=chain,
            timestamp=self.timestamp,
            algorithm=self.algorithm,
            digest=digest.hex(),
            unchecked=unchecked,
            reason=reason,
        )

    def _chain(self) -> tuple[tuple[str, ...], str, str]:
        """Follow the issuers; return their names, what could not be checked, and what is forged."""
        names: list[str] = []
        here = self.signer
        unchecked = "who the signer is: the certificate is self-signed" if here.self_issued else ""
        while len(names) < MAX_CHAIN and not here.self_issued:
            names.append(readable(here.issuer))
            above = next((one for one in self.certificates if one.subject.whole == here.issuer.whole), None)
            if above is None:
                break
            fits = rsa_fits(above.key, here.signature, RSA_HASHES.get(here.algorithm, ""), here.signed)
            if fits is False:
                return tuple(names), unchecked, f"the certificate of {readable(here.subject)} is not by {names[-1]}"
            if fits is None:
                unchecked = f"the certificate of {readable(here.subject)}: its signature is not plain RSA"
            here = above
        return tuple(names), unchecked, ""


def _hash_name(node: Node) -> str:
    try:
        return HASHES[node.oid]
    except KeyError:
        raise DerError(f"the digest algorithm {node.oid} is unknown") from None


def _timestamp(unsigned: Node) -> str:
    """Return the time that a counter-signature or an RFC 3161 token states, or nothing."""
    try:
        found = attributes(unsigned)
        if TIMESTAMP in found:
            content = found[TIMESTAMP].child(1).child(0).child(2).child(1).child(0)
            times = [node for node in parse(content.content).children() if node.tag == GENERALIZED_TIME]
        elif COUNTER_SIGNATURE in found:
            signed = next(node for node in found[COUNTER_SIGNATURE].children() if node.tag == 0xA0)
            times = [attributes(signed)[SIGNING_TIME]]
        else:
            return ""
        return _time(times[0])
    except (DerError, StopIteration, KeyError, IndexError):
        return ""


def _time(node: Node) -> str:
    digits = node.content.decode("ascii", errors="replace").split(".")[0].rstrip("Z")
    if node.tag == UTC_TIME:
        digits = ("19" if digits[:2] >= "50" else "20") + digits
    if len(digits) != 14 or not digits.isdecimal():
        raise DerError("no time")
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}T{digits[8:10]}:{digits[10:12]}:{digits[12:]}Z"
