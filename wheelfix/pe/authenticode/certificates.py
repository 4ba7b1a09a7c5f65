"""The door to ``cryptography``: certificates as values, and the arithmetic of signatures.

This module is imported only once there is a signature to check, and nothing else imports the library.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from typing import TYPE_CHECKING, TypeVar, cast

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509.oid import ExtensionOID, NameOID

from wheelfix.base.values import dataclass
from wheelfix.pe.authenticode.der import INTEGER, SEQUENCE, DerError, parse
from wheelfix.pe.authenticode.message import Algorithm, Unusable

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping

    Extensions = Mapping[x509.ObjectIdentifier, x509.Extension[x509.ExtensionType]]
T = TypeVar("T", bound=x509.ExtensionType)

# Old certificates have serial numbers and names that the library warns about; no user of wheelfix can change them.
for kind in (CryptographyDeprecationWarning, UserWarning):
    warnings.filterwarnings("ignore", category=kind, module=r"wheelfix\.pe\.authenticode")

CODE_SIGNING, TIME_STAMPING = "1.3.6.1.5.5.7.3.3", "1.3.6.1.5.5.7.3.8"
ANY_USAGE, LIFETIME_SIGNING = "2.5.29.37.0", "1.3.6.1.4.1.311.10.3.13"
RSA, RSA_PSS = "1.2.840.113549.1.1.1", "1.2.840.113549.1.1.10"
RSA_WITH = {
    f"1.2.840.113549.1.1.{last}": name
    for last, name in ((4, "md5"), (5, "sha1"), (11, "sha256"), (12, "sha384"), (13, "sha512"))
}
EC_KEY = "1.2.840.10045.2.1"
EC_WITH = {
    "1.2.840.10045.4.1": "sha1",
    **{f"1.2.840.10045.4.3.{last}": name for last, name in ((2, "sha256"), (3, "sha384"), (4, "sha512"))},
}
MGF1 = "1.2.840.113549.1.1.8"
UNDERSTOOD = {
    ExtensionOID.BASIC_CONSTRAINTS,
    ExtensionOID.KEY_USAGE,
    ExtensionOID.EXTENDED_KEY_USAGE,
    ExtensionOID.NAME_CONSTRAINTS,
    ExtensionOID.CERTIFICATE_POLICIES,
    ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
}
"""Extensions that may be critical."""
TRAILER = bytes.fromhex("a303020101")
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


@dataclass(frozen=True, slots=True)
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
            key.verify(signature, signed, _padding(algorithm, digest), _hash(digest))
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


def _padding(algorithm: Algorithm, digest: str) -> padding.AsymmetricPadding:
    if algorithm.oid == RSA or RSA_WITH.get(algorithm.oid) == digest:
        return padding.PKCS1v15()
    if algorithm.oid != RSA_PSS:
        raise Unusable(f"the signature algorithm {algorithm.oid} with {digest} and an RSA key")
    hashed, mask, salt = "sha1", "sha1", 20
    for part in algorithm.parameters.children() if algorithm.parameters is not None else ():
        if part.tag == 0xA0:
            hashed = Algorithm.read(part.only(SEQUENCE)).hash_name
        elif part.tag == 0xA1:
            outer = Algorithm.read(part.only(SEQUENCE))
            if outer.oid != MGF1 or outer.parameters is None:
                raise Unusable("the mask of the RSA-PSS signature is not MGF1")
            mask = Algorithm.read(outer.parameters).hash_name
        elif part.tag == 0xA2:
            salt = part.only(INTEGER).number
        elif part.whole != TRAILER:
            raise Unusable("the RSA-PSS signature has unknown parameters")
    if hashed != digest or not 0 <= salt <= 512:
        raise DerError("the parameters of the RSA-PSS signature do not belong to its digest")
    return padding.PSS(padding.MGF1(_hash(mask)), salt)


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
