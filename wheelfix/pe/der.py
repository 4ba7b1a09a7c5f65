"""As much of DER and X.509 as a signature in a DLL takes: nodes, object identifiers, names, RSA keys.

Own code instead of a library: so little is needed that a dependency, or an optional extra that is then missing when
somebody asks who signed a file, would cost more than it saves. Everything is length-checked; what does not
parse raises :class:`DerError`, which never leaves this room.
"""

from __future__ import annotations

import hashlib
import itertools
from typing import TYPE_CHECKING

from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

INTEGER, BIT_STRING, OCTETS, NULL, OID, SEQUENCE, SET = 0x02, 0x03, 0x04, 0x05, 0x06, 0x30, 0x31
COMMON_NAME, ORGANISATION, UNIT = "2.5.4.3", "2.5.4.10", "2.5.4.11"
RSA = "1.2.840.113549.1.1.1"
HASHES = {
    "1.3.14.3.2.26": "sha1",
    "2.16.840.1.101.3.4.2.1": "sha256",
    "2.16.840.1.101.3.4.2.2": "sha384",
    "2.16.840.1.101.3.4.2.3": "sha512",
}
"""Digest algorithms by object identifier."""
RSA_HASHES = {
    f"1.2.840.113549.1.1.{last}": name for last, name in ((5, "sha1"), (11, "sha256"), (12, "sha384"), (13, "sha512"))
}
"""The digest within a signature algorithm."""
ENCODINGS = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1E: "utf-16-be"}
MAX_CHILDREN = 1000
MAX_BITS = 16384
"""Keys beyond this would make checking them the attack."""


class DerError(Exception):
    """The bytes are not what they should be."""


@dataclass(frozen=True, slots=True)
class Node:
    """One element: its tag, its content, and itself as it stands."""

    tag: int
    content: bytes
    whole: bytes

    def children(self) -> list[Node]:
        """The elements within."""
        nodes = list(itertools.islice(_nodes(self.content), MAX_CHILDREN + 1))
        if len(nodes) > MAX_CHILDREN:
            raise DerError(f"more than {MAX_CHILDREN} elements in one")
        return nodes

    def child(self, index: int, tag: int = -1) -> Node:
        """The element at a place, of a tag if one is named."""
        nodes = self.children()
        if not -len(nodes) <= index < len(nodes) or tag not in (-1, nodes[index].tag):
            raise DerError(f"no element {index} with tag {tag:#x}")
        return nodes[index]

    def first(self, count: int) -> list[Node]:
        """The first so many elements."""
        nodes = self.children()[:count]
        if len(nodes) < count:
            raise DerError(f"fewer than {count} elements")
        return nodes

    @property
    def oid(self) -> str:
        """The dotted form of an object identifier."""
        if self.tag != OID or not self.content or len(self.content) > 64:
            raise DerError("no object identifier")
        first = self.content[0]
        parts, value = [min(first // 40, 2), first - 40 * min(first // 40, 2)], 0
        for byte in self.content[1:]:
            value = value << 7 | byte & 0x7F
            if not byte & 0x80:
                parts.append(value)
                value = 0
        return ".".join(map(str, parts))

    @property
    def number(self) -> int:
        """The value of an integer."""
        if self.tag != INTEGER or len(self.content) > MAX_BITS // 8 + 1:
            raise DerError("no integer of a sane size")
        return int.from_bytes(self.content, "big")


def parse(data: bytes) -> Node:
    """Return the first element of the bytes; what follows it is not looked at."""
    for node in _nodes(data):
        return node
    raise DerError("no bytes")


def _nodes(data: bytes) -> Iterator[Node]:
    at = 0
    while at < len(data):
        tag, begin = data[at], at + 2
        if begin > len(data) or tag & 0x1F == 0x1F:
            raise DerError("an element is cut off, or has a long tag")
        length = data[at + 1]
        if length & 0x80:
            width = length & 0x7F
            if not 1 <= width <= 4:
                raise DerError("an element of indefinite or absurd length")
            length = int.from_bytes(data[begin : begin + width], "big")
            begin += width
        end = begin + length
        if end > len(data):
            raise DerError("an element reaches beyond the bytes")
        yield Node(tag, data[begin:end], data[at:end])
        at = end


def attributes(node: Node) -> dict[str, Node]:
    """Return the first value of each attribute in a set of them, by object identifier."""
    found: dict[str, Node] = {}
    for attribute in node.children():
        parts = attribute.children()
        if len(parts) == 2 and parts[1].tag == SET and parts[1].content:
            found.setdefault(parts[0].oid, parts[1].child(0))
    return found


def readable(name: Node) -> str:
    """Return the most telling part of a distinguished name."""
    parts: dict[str, str] = {}
    for row in name.children():
        for pair in row.children():
            key, value = pair.child(0), pair.child(1)
            parts[key.oid] = value.content.decode(ENCODINGS.get(value.tag, "utf-8"), errors="replace")
    return next((parts[key] for key in (COMMON_NAME, ORGANISATION, UNIT) if key in parts), "")


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a signature needs of an X.509 certificate."""

    serial: bytes
    issuer: Node
    subject: Node
    key: Node
    signed: bytes
    """The part that the issuer signed."""
    algorithm: str
    signature: bytes

    @classmethod
    def read(cls, node: Node) -> Certificate:
        """Return the facts of a certificate."""
        body, algorithm, signature = node.first(3)
        fields = body.children()
        if fields and fields[0].tag == 0xA0:
            del fields[0]
        if len(fields) < 6 or signature.tag != BIT_STRING:
            raise DerError("no certificate")
        serial, _, issuer, _, subject, key = fields[:6]
        return cls(serial.content, issuer, subject, key, body.whole, algorithm.child(0).oid, signature.content[1:])

    @property
    def self_issued(self) -> bool:
        """Whether issuer and subject are one."""
        return self.issuer.whole == self.subject.whole


def rsa_fits(key: Node, signature: bytes, digest_name: str, signed: bytes) -> bool | None:
    """Whether an RSA signature (PKCS #1 v1.5) over ``signed`` is by that key; None if it is another kind of key."""
    if key.child(0).child(0).oid != RSA or digest_name not in HASHES.values():
        return None
    numbers = parse(key.child(1, BIT_STRING).content[1:])
    modulus, exponent = numbers.child(0).number, numbers.child(1).number
    size = (modulus.bit_length() + 7) // 8
    if not 512 <= modulus.bit_length() <= MAX_BITS or exponent.bit_length() > 64 or len(signature) != size:
        return False
    opened = pow(int.from_bytes(signature, "big"), exponent, modulus).to_bytes(size, "big")
    digest = hashlib.new(digest_name, signed, usedforsecurity=False).digest()
    info = _digest_info(digest_name, digest)
    return opened == b"\0\1" + b"\xff" * (size - len(info) - 3) + b"\0" + info


def _digest_info(name: str, digest: bytes) -> bytes:
    oid = {"sha1": "2b0e03021a"}.get(name) or "6086480165030402" + {"sha256": "01", "sha384": "02", "sha512": "03"}[
        name
    ]
    algorithm = bytes.fromhex(oid)
    inner = bytes([OID, len(algorithm)]) + algorithm + bytes([NULL, 0])
    body = bytes([SEQUENCE, len(inner)]) + inner + bytes([OCTETS, len(digest)]) + digest
    return bytes([SEQUENCE, len(body)]) + body
