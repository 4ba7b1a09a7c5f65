"""Who signed a DLL, and whether the signature is valid (Authenticode).

Here is what concerns the file: where the certificate table may lie, and the digest of everything else. Windows wants
the table at the end, so that no byte of a section can hide in it; so do we. What the signature itself is worth is
decided in :mod:`wheelfix.pe.authenticode`, which is not imported for a file without one.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from wheelfix.errors import InputError
from wheelfix.model import ByteSource, Signature
from wheelfix.pe.image import CERTIFICATES, Headers, read_headers
from wheelfix.streams.codec import hasher
from wheelfix.streams.source import chunks

if TYPE_CHECKING:
    from pathlib import Path


REVISION, PKCS7 = 0x0200, 2
HEAD = 64 << 10
"""Bytes at the beginning that hold the headers of every real image."""
MAX_TABLE = 16 << 20
"""Vendors' tables have 10 to 20 KB; one with the digest of every page has 1 % of the file."""


def read_signature(source: ByteSource, trusted_roots: Path | None = None) -> Signature:
    """Return what an image's signature is worth; reads every byte of a signed one. Never raises because of its bytes.

    ``trusted_roots`` is a file of PEM certificates that are trusted besides Microsoft's list.
    """
    try:
        source = _SameHead(source)
        headers = read_headers(source)
        at, size = headers.directory(CERTIFICATES)
        if not size:
            return Signature("unsigned")
        fault = table_fault(headers, source.size)
        if fault:
            return Signature("invalid", reason=fault)
        # The algorithm stands at the end of the file. Nearly always it is SHA-256, so that is computed on the way
        # there: a deflated member is then inflated once.
        digests = {"sha256": authenticode_digest(source, headers)}

        def digest_of(algorithm: str) -> bytes:
            if algorithm not in digests:
                digests[algorithm] = authenticode_digest(source, headers, algorithm)
            return digests[algorithm]

        message = _message(source.read_at(at, source.size - at))
        if isinstance(message, Signature):
            return message
        from wheelfix.pe.authenticode.verify import verify

        return verify(message, digest_of, trusted_roots)
    except InputError as exc:
        return Signature("not-checked", reason=str(exc))


class _SameHead:
    """A source whose beginning is read once.

    The headers are looked at before they are hashed. If the file was changed in between, other bytes would be
    signed than those that the caller, who hashes what it reads for the first time, takes for the file.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._head = source.read_at(0, HEAD)

    @property
    def size(self) -> int:
        return self._source.size

    def read_at(self, offset: int, length: int) -> bytes:
        known = self._head[offset : offset + length] if offset >= 0 else b""
        if len(known) >= length:
            return known
        return known + self._source.read_at(offset + len(known), length - len(known))


def table_fault(headers: Headers, file_size: int) -> str:
    """Why Windows would not accept a certificate table in this place, or nothing."""
    at, size = headers.directory(CERTIFICATES)
    if at % 8 or not at:
        return f"the certificate table begins at byte {at}, which is not a multiple of 8"
    if at + size != file_size:
        return f"the certificate table ends at byte {at + size}, not at the end of the file ({file_size})"
    if size < 8 or size > MAX_TABLE:
        return f"the certificate table has {size} bytes"
    ends = [section.offset + section.size for section in headers.sections if section.size and section.offset]
    if at < max([headers.header_size, headers.directories_at + 8 * len(headers.directories), *ends]):
        return "the certificate table covers headers or sections, which nothing would sign then"
    return ""


def authenticode_digest(source: ByteSource, headers: Headers, algorithm: str = "sha256") -> bytes:
    """Return the digest of everything but the checksum, the certificate table and the place that points to it.

    Bytes between and behind sections count too. The table must lie at the end: see :func:`table_fault`. What signs a
    file pads it to a multiple of 8 bytes, which is where a table begins.
    """
    digest = hasher(algorithm)
    at, _ = headers.directory(CERTIFICATES)
    entry, end = headers.directories_at + 8 * CERTIFICATES, at or source.size
    for begin, until in ((0, headers.checksum_at), (headers.checksum_at + 4, entry), (entry + 8, end)):
        for chunk in chunks(source, begin, until):
            digest.update(chunk)
    digest.update(b"\0" * (-end % 8))
    return digest.digest()


def _message(table: bytes) -> bytes | Signature:
    """Return the PKCS #7 message of a certificate table with the padding behind it, or why there is none to be used."""
    length, revision, kind = struct.unpack_from("<IHH", table)
    if kind != PKCS7 or revision != REVISION:
        return Signature("not-checked", reason=f"the certificate table has type {kind}, revision {revision:#x}")
    if not 8 < length <= len(table):
        return Signature("invalid", reason=f"the entry in the certificate table has {length} bytes")
    if len(table) - length >= 8:
        return Signature("not-checked", reason="the certificate table has more than one entry")
    return table[8:]
