"""Signatures as messages: DER as a tree, and what a PKCS #7 message in a PE file says."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from wheelfix.base.values import frozen, replace
from wheelfix.errors import install_extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wheelfix.model import Signature


# ------------------------------------------------------------------------------------------------------------------ DER
# DER elements: tag, length, content. What is inside a certificate is read by ``cryptography``, not here.
# A PKCS #7 message of Authenticode has the exact bytes of some of its parts hashed, and holds sets that real signers do
# not sort, so it is walked element by element. Lengths must be definite and minimal: a message in BER could be read in
# two ways, so it is refused as a whole. What does not parse raises :class:`DerError`, which never leaves this package.

INTEGER, OCTETS, NULL, OID, UTC_TIME, GENERALIZED_TIME = 0x02, 0x04, 0x05, 0x06, 0x17, 0x18
SEQUENCE, SET = 0x30, 0x31
INSTALL = install_extra("signatures")
"""What checks more than the digests of a message."""
MAX_CHILDREN = 10_000
"""Microsoft's list of roots has about 600 entries; no signature comes near."""
MAX_INTEGER = 2048
"""Bytes; RSA keys of 16 384 bits are the largest that OpenSSL takes."""


class SignatureFault(Exception):
    """Why a signature does not count: the status that it has, and what precedes the reason."""

    status = "invalid"
    before = ""

    def answer(self, known: Signature) -> Signature:
        """Complete what is known about a signature."""
        return replace(known, status=self.status, reason=f"{self.before}{self}")


class DerError(SignatureFault):
    """The bytes are not what they should be."""

    before = "the signature cannot be read: "


class NotDer(DerError):
    """The bytes may be BER, which Windows reads and wheelfix does not."""

    status = "not-checked"
    before = "the signature is not in DER, and other forms are not read: "


class Unusable(SignatureFault):
    """Readable, but of a kind that is not checked; the text says which."""

    status = "not-checked"


class Forged(SignatureFault):
    """A signature that is not by whom it says, or not over what it says."""


@frozen
class DerNode:
    """One element: its tag, its content, and itself as it stands."""

    tag: int
    content: bytes
    whole: bytes

    def children(self) -> list[DerNode]:
        """The elements within."""
        if not self.tag & 0x20:
            raise DerError(f"an element with tag {self.tag:#x} has no elements within")
        nodes = list(itertools.islice(_nodes(self.content), MAX_CHILDREN + 1))
        if len(nodes) > MAX_CHILDREN:
            raise DerError(f"more than {MAX_CHILDREN} elements in one")
        return nodes

    def only(self, tag: int) -> DerNode:
        """The one element within, which must have this tag."""
        nodes = self.children()
        if len(nodes) != 1:
            raise DerError(f"{len(nodes)} elements where there should be one")
        return nodes[0].expect(tag)

    def expect(self, tag: int) -> DerNode:
        """Itself, if it has this tag."""
        if self.tag != tag:
            raise DerError(f"an element has tag {self.tag:#x}, not {tag:#x}")
        return self

    @property
    def oid(self) -> str:
        """The dotted form of an object identifier."""
        content = self.expect(OID).content
        if not content or len(content) > 64 or content[-1] & 0x80:
            raise DerError("an object identifier is empty, too long or cut off")
        parts, value = [], 0
        for byte in content:
            if value == 0 and byte == 0x80:
                raise DerError("an object identifier has a number with a leading zero")
            value = value << 7 | byte & 0x7F
            if not byte & 0x80:
                parts.append(value)
                value = 0
        first = min(parts[0] // 40, 2)
        return ".".join(map(str, (first, parts[0] - 40 * first, *parts[1:])))

    @property
    def number(self) -> int:
        """The value of an integer."""
        content = self.expect(INTEGER).content
        if not content or len(content) > MAX_INTEGER:
            raise DerError("an integer has no bytes, or too many")
        return int.from_bytes(content, "big", signed=True)


def parse(data: bytes) -> DerNode:
    """Return the element that these bytes are; DerError if something follows it."""
    node, rest = split(data)
    if rest:
        raise DerError(f"{len(rest)} bytes follow the element")
    return node


def split(data: bytes) -> tuple[DerNode, bytes]:
    """Return the first element of the bytes, and what follows it."""
    for node in _nodes(data):
        return node, data[len(node.whole) :]
    raise DerError("there are no bytes")


def _nodes(data: bytes) -> Iterator[DerNode]:
    at = 0
    while at < len(data):
        tag, begin = data[at], at + 2
        if begin > len(data) or tag & 0x1F == 0x1F:
            raise DerError("an element is cut off, or has a long tag")
        length = data[at + 1]
        if length == 0x80:
            raise NotDer("an element has an indefinite length")
        if length & 0x80:
            width = length & 0x7F
            length = int.from_bytes(data[begin : begin + width], "big")
            begin += width
            if length < 0x80 or width > 4 or length >> 8 * (width - 1) == 0:
                raise NotDer("the length of an element is not in its shortest form")
        end = begin + length
        if end > len(data):
            raise DerError("an element reaches beyond the bytes")
        yield DerNode(tag, data[begin:end], data[at:end])
        at = end


# -------------------------------------------------------------------------------------------------------------- message
# PKCS #7 messages taken apart: signed data, its one signer, attributes, the statement about a file.
# Only what Authenticode and RFC 3161 allow is read; everything else raises :class:`Unusable` or
# :class:`~wheelfix.pe.authenticode.message.DerError`. Nothing is verified here, and no library is needed.


SIGNED_DATA, DATA = "1.2.840.113549.1.7.2", "1.2.840.113549.1.7.1"
INDIRECT_DATA, PE_IMAGE = "1.3.6.1.4.1.311.2.1.4", "1.3.6.1.4.1.311.2.1.15"
CONTENT_TYPE, MESSAGE_DIGEST = "1.2.840.113549.1.9.3", "1.2.840.113549.1.9.4"
NESTED = "1.3.6.1.4.1.311.2.4.1"
HASHES = {
    "1.2.840.113549.2.2": "md2",
    "1.2.840.113549.2.5": "md5",
    "1.3.14.3.2.26": "sha1",
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
}
"""Digest algorithms by object identifier."""
MAX_CERTIFICATES = 64
MAX_VALUES = 3
"""Values of one unsigned attribute, such as timestamps."""


@frozen
class Algorithm:
    """An algorithm with its parameters."""

    oid: str
    parameters: DerNode | None

    @classmethod
    def read(cls, node: DerNode) -> Algorithm:
        """Take an AlgorithmIdentifier apart."""
        parts = node.expect(SEQUENCE).children()
        if not 1 <= len(parts) <= 2:
            raise DerError("an algorithm has no name, or too many parameters")
        return cls(parts[0].oid, parts[1] if len(parts) == 2 else None)

    @property
    def hash_name(self) -> str:
        """The name of a digest algorithm; Unusable if it is not known."""
        if self.oid not in HASHES:
            raise Unusable(f"the digest algorithm {self.oid} is not known")
        if self.parameters is not None and self.parameters.whole != bytes([NULL, 0]):
            raise DerError("a digest algorithm has parameters")
        return HASHES[self.oid]


@frozen
class Signer:
    """What one signer says of himself and of the content."""

    issuer: bytes
    """Name of the issuer of his certificate, as DER."""
    serial: int
    digest: Algorithm
    signed: DerNode | None
    """The signed attributes, as they stand."""
    algorithm: Algorithm
    signature: bytes
    unsigned: DerNode | None

    @classmethod
    def read(cls, node: DerNode) -> Signer:
        """Take a SignerInfo apart."""
        parts = node.expect(SEQUENCE).children()
        if len(parts) < 5:
            raise DerError("a signer is incomplete")
        version, identity, digest, *rest = parts
        version.expect(INTEGER)
        if identity.tag != SEQUENCE:
            raise Unusable("the signer is identified by a key, not by the issuer and serial number of a certificate")
        signed = rest.pop(0) if rest[0].tag == 0xA0 else None
        unsigned = rest.pop() if rest[-1].tag == 0xA1 else None
        if len(rest) != 2:
            raise DerError("a signer has too few or too many parts")
        names = identity.children()
        if len(names) != 2:
            raise DerError("a signer is not identified by an issuer and a serial number")
        return cls(
            issuer=names[0].expect(SEQUENCE).whole,
            serial=names[1].number,
            digest=Algorithm.read(digest),
            signed=signed,
            algorithm=Algorithm.read(rest[0]),
            signature=rest[1].expect(OCTETS).content,
            unsigned=unsigned,
        )

    @property
    def signed_bytes(self) -> bytes:
        """What the signature is over: the attributes as a SET, although they are written with a tag of their own."""
        if self.signed is None:
            raise DerError("there are no signed attributes")
        return bytes([SET]) + self.signed.whole[1:]

    def signed_value(self, oid: str) -> DerNode | None:
        """The value of a signed attribute; DerError if there are several."""
        values = _values(self.signed, oid)
        if len(values) > 1:
            raise DerError(f"the signed attribute {oid} is there {len(values)} times")
        return values[0] if values else None

    def unsigned_values(self, oid: str) -> Sequence[DerNode]:
        """All values of an unsigned attribute, up to a limit."""
        return _values(self.unsigned, oid)[:MAX_VALUES]


@frozen
class SignedMessage:
    """Signed data with one signer."""

    digests: tuple[Algorithm, ...]
    content_type: str
    content: DerNode
    certificates: tuple[bytes, ...]
    """As DER; nothing is known about them yet."""
    signer: Signer

    @classmethod
    def read(cls, node: DerNode) -> SignedMessage:
        """Take a message apart."""
        kind, wrapped = _pair(node.expect(SEQUENCE))
        if kind.oid != SIGNED_DATA:
            raise DerError("the message is not signed data")
        parts = wrapped.expect(0xA0).only(SEQUENCE).children()
        if len(parts) < 4:
            raise DerError("the signed data is incomplete")
        version, digests, content, *groups, signers = parts
        version.expect(INTEGER)
        if [group.tag for group in groups] not in ([], [0xA0], [0xA1], [0xA0, 0xA1]):
            raise DerError("the signed data has parts that do not belong there")
        infos = signers.expect(SET).children()
        if len(infos) != 1:
            raise Unusable(f"it has {len(infos)} signers; Authenticode has one")
        content_type, explicit = _pair(content.expect(SEQUENCE))
        inner = explicit.expect(0xA0).children()
        if len(inner) != 1:
            raise DerError("the signed content is not one element")
        certificates = [one for group in groups if group.tag == 0xA0 for one in group.children()]
        if len(certificates) > MAX_CERTIFICATES:
            raise Unusable(f"it has {len(certificates)} certificates; more than {MAX_CERTIFICATES} are not looked at")
        return cls(
            digests=tuple(Algorithm.read(one) for one in digests.expect(SET).children()),
            content_type=content_type.oid,
            content=inner[0],
            certificates=tuple(one.whole for one in certificates if one.tag == SEQUENCE),
            signer=Signer.read(infos[0]),
        )


@frozen
class Statement:
    """What an Authenticode message says about a file: the digest of its bytes."""

    algorithm: str
    digest: bytes

    @classmethod
    def read(cls, message: SignedMessage) -> Statement:
        """Return the statement of a message; DerError if it is about something else than a PE file."""
        if message.content_type != INDIRECT_DATA:
            raise DerError("the signed content is not an Authenticode statement")
        data, hashed = _pair(message.content.expect(SEQUENCE))
        kind = data.expect(SEQUENCE).children()
        if not kind or kind[0].oid != PE_IMAGE:
            raise DerError("the signed statement is not about a PE file")
        algorithm, digest = _pair(hashed.expect(SEQUENCE))
        return cls(Algorithm.read(algorithm).hash_name, digest.expect(OCTETS).content)


def _pair(node: DerNode) -> tuple[DerNode, DerNode]:
    parts = node.children()
    if len(parts) != 2:
        raise DerError(f"{len(parts)} elements where there should be two")
    return parts[0], parts[1]


def _values(attributes: DerNode | None, oid: str) -> list[DerNode]:
    """All values of an attribute, of each of its occurrences."""
    found: list[DerNode] = []
    for attribute in attributes.children() if attributes is not None else ():
        kind, values = _pair(attribute.expect(SEQUENCE))
        if kind.oid == oid:
            found += values.expect(SET).children()
    return found
