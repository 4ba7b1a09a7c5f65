"""DER elements: tag, length, content. What is inside a certificate is read by ``cryptography``, not here.

A PKCS #7 message of Authenticode has the exact bytes of some of its parts hashed, and holds sets that real signers do
not sort, so it is walked element by element. Lengths must be definite and minimal: a message in BER could be read in
two ways, so it is refused as a whole. What does not parse raises :class:`DerError`, which never leaves this package.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

INTEGER, OCTETS, NULL, OID, UTC_TIME, GENERALIZED_TIME = 0x02, 0x04, 0x05, 0x06, 0x17, 0x18
SEQUENCE, SET = 0x30, 0x31
MAX_CHILDREN = 10_000
"""Microsoft's list of roots has about 600 entries; no signature comes near."""
MAX_INTEGER = 2048
"""Bytes; RSA keys of 16 384 bits are the largest that OpenSSL takes."""


class DerError(Exception):
    """The bytes are not what they should be."""


class NotDer(DerError):
    """The bytes may be BER, which Windows reads and wheelfix does not."""


@dataclass(frozen=True, slots=True)
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
