"""DLLs signed here, by authorities made up here: every part of a signature can be made wrong on purpose."""

from __future__ import annotations

import datetime
import functools
import hashlib
import random
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.pe.raw import patched
from tests.support.wheels import library
from wheelfix.pe.image import Headers, read_headers
from wheelfix.pe.signature import authenticode_digest
from wheelfix.streams.source import MemorySource

UTC = datetime.timezone.utc
CODE_SIGNING, TIME_STAMPING = ExtendedKeyUsageOID.CODE_SIGNING, ExtendedKeyUsageOID.TIME_STAMPING
OIDS = {
    "signed-data": "1.2.840.113549.1.7.2",
    "data": "1.2.840.113549.1.7.1",
    "indirect": "1.3.6.1.4.1.311.2.1.4",
    "pe-image": "1.3.6.1.4.1.311.2.1.15",
    "sha1": "1.3.14.3.2.26",
    "sha256": "2.16.840.1.101.3.4.2.1",
    "sha384": "2.16.840.1.101.3.4.2.2",
    "sha512": "2.16.840.1.101.3.4.2.3",
    "md5": "1.2.840.113549.2.5",
    "rsa": "1.2.840.113549.1.1.1",
    "ec": "1.2.840.10045.2.1",
    "ed25519": "1.3.101.112",
    "content-type": "1.2.840.113549.1.9.3",
    "message-digest": "1.2.840.113549.1.9.4",
    "signing-time": "1.2.840.113549.1.9.5",
    "counter-signature": "1.2.840.113549.1.9.6",
    "token": "1.3.6.1.4.1.311.3.3.1",
    "nested": "1.3.6.1.4.1.311.2.4.1",
    "time-info": "1.2.840.113549.1.9.16.1.4",
    "signing-certificate": "1.2.840.113549.1.9.16.2.47",
}


def der(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    if len(body) < 0x80:
        return bytes([tag, len(body)]) + body
    length = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + body


def seq(*parts: bytes) -> bytes:
    return der(0x30, *parts)


def oid(name: str) -> bytes:
    first, second, *rest = map(int, OIDS.get(name, name).split("."))
    body = bytes([40 * first + second])
    for number in rest:
        digits = [number & 0x7F]
        while number := number >> 7:
            digits.append(0x80 | number & 0x7F)
        body += bytes(reversed(digits))
    return der(0x06, body)


def number(value: int) -> bytes:
    return der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def algorithm(name: str, parameters: bytes = b"\x05\0") -> bytes:
    return seq(oid(name), parameters)


def attribute(name: str, *values: bytes) -> bytes:
    return seq(oid(name), der(0x31, *values))


def utc_time(moment: datetime.datetime) -> bytes:
    return der(0x17, moment.strftime("%y%m%d%H%M%SZ").encode())


Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@functools.cache
def make_key(seed: int) -> ec.EllipticCurvePrivateKey:
    """A key that is the same each time."""
    return ec.derive_private_key(seed + 1000, ec.SECP256R1())


@functools.cache
def rsa_key(bits: int = 1024) -> rsa.RSAPrivateKey:
    """The smallest that counts: making one of 2048 bits takes half a second."""
    return rsa.generate_private_key(65537, bits)


@functools.cache
def small_key() -> rsa.RSAPrivateKey:
    """A key of 768 bits, which the library reads but does not make."""
    dice = random.Random(1)

    def prime() -> int:
        while True:
            candidate = dice.getrandbits(384) | 3 << 382 | 1
            if candidate % 65537 != 1 and all(pow(base, candidate - 1, candidate) == 1 for base in (2, 3, 5, 7)):
                return candidate

    p, q = prime(), prime()
    d = pow(65537, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(65537, p * q)
    return rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), rsa.rsa_crt_iqmp(p, q), public).private_key()


BEGIN = datetime.datetime(2020, 1, 1, tzinfo=UTC)
END = datetime.datetime(2090, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Identity:
    """A key with its certificate, and those above it."""

    certificate: x509.Certificate
    key: Key
    above: tuple[x509.Certificate, ...] = ()

    @property
    def chain(self) -> tuple[x509.Certificate, ...]:
        return (self.certificate, *self.above)


def distinguished(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


@functools.cache
def identity(
    name: str,
    issuer: Identity | None = None,
    *,
    ca: bool | None = False,
    path_length: int | None = None,
    usages: tuple[x509.ObjectIdentifier, ...] = (CODE_SIGNING,),
    cert_sign: bool | None = None,
    begin: datetime.datetime = BEGIN,
    end: datetime.datetime = END,
    key: Key | None = None,
    serial: int = 77,
    extra: tuple[tuple[x509.ExtensionType, bool], ...] = (),
    subject: x509.Name | None = None,
    forged_by: Key | None = None,
) -> Identity:
    """A certificate, self-signed without an issuer. ``forged_by`` signs it instead of the issuer's key."""
    own = key or make_key(sum(name.encode()))
    signer = forged_by or (issuer.key if issuer else own)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject or distinguished(name))
        .issuer_name(issuer.certificate.subject if issuer else subject or distinguished(name))
        .public_key(own.public_key())
        .serial_number(serial)
        .not_valid_before(begin)
        .not_valid_after(end)
    )
    if ca is not None:
        builder = builder.add_extension(x509.BasicConstraints(ca, path_length if ca else None), critical=True)
    if cert_sign is not None:
        flags = dict.fromkeys(
            ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign"), False
        )
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=cert_sign, encipher_only=False, decipher_only=False, **flags
        )
        builder = builder.add_extension(usage, critical=True)
    if usages:
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
    for extension, critical in extra:
        builder = builder.add_extension(extension, critical=critical)
    deterministic = True if isinstance(signer, ec.EllipticCurvePrivateKey) else None
    certificate = builder.sign(signer, hashes.SHA256(), ecdsa_deterministic=deterministic)
    return Identity(certificate, own, issuer.chain if issuer else ())


def resigned(made: Identity, key: rsa.RSAPrivateKey, digest: str) -> Identity:
    """The same with a signature of SHA-1 or MD5, which the library does not make any more."""
    good, weak = (der(6, bytes.fromhex("2a864886f70d0101") + last) for last in (b"\x0b", WEAK[digest]))
    body = made.certificate.tbs_certificate_bytes.replace(good, weak)
    chosen = hashes.SHA1() if digest == "sha1" else hashes.SHA256()  # nobody looks at a signature of MD5
    signature = key.sign(body, padding.PKCS1v15(), chosen)
    whole = seq(body, seq(weak, b"\x05\0"), der(3, b"\0" + signature))
    return replace(made, certificate=x509.load_der_x509_certificate(whole))


WEAK = {"sha1": b"\x05", "md5": b"\x04"}


def authority(name: str = "Some Root", issuer: Identity | None = None, **options: object) -> Identity:
    """A certificate authority for every purpose."""
    return identity(name, issuer, **{"ca": True, "usages": (), "cert_sign": True, "serial": 1, **options})  # type: ignore[arg-type]


ROOT = authority()
ISSUER = authority("Some Authority", ROOT, serial=2)
VENDOR = identity("Some Vendor", ISSUER)
CLOCK = identity("Some Clock", ISSUER, usages=(TIME_STAMPING,), serial=78)


def raw(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.DER)


def trust(folder: Path, *roots: Identity) -> Path:
    """Write a file for ``--trusted-roots``."""
    file = folder / "roots.pem"
    file.write_bytes(b"".join(one.certificate.public_bytes(serialization.Encoding.PEM) for one in roots or (ROOT,)))
    return file


def make_signature(key: Key, data: bytes, digest: str) -> bytes:
    chosen = getattr(hashes, digest.upper())()
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(data, ec.ECDSA(chosen, deterministic_signing=True))
    return key.sign(data, padding.PKCS1v15(), chosen)


@dataclass(frozen=True)
class Recipe:
    """How to make a signature; each field can be made wrong."""

    signer: Identity = VENDOR
    digest: str = "sha256"
    """Of the statement, of the attributes and in the list of digests, unless these say otherwise."""
    signer_digest: str = ""
    listed_digest: str = ""
    content_type: str = "indirect"
    stated_type: str = "indirect"
    image_type: str = "pe-image"
    spoil: bool = False
    """State another digest of the content."""
    attributes: Callable[[list[bytes]], list[bytes]] = field(default=lambda found: found)
    signing_key: Key | None = None
    algorithm: bytes = b""
    certificates: tuple[bytes, ...] | None = None
    signers: int = 1
    unsigned: Callable[[bytes], bytes] = field(default=lambda signature: b"")
    """Unsigned attributes, made from the signature's bytes."""


def signer_info(recipe: Recipe, content: bytes, *, extra: Iterable[bytes] = ()) -> bytes:
    digest, signer = recipe.signer_digest or recipe.digest, recipe.signer
    stated = hashlib.new(digest, content + b"x" * recipe.spoil).digest()
    found = [attribute("content-type", oid(recipe.stated_type)), attribute("message-digest", der(4, stated)), *extra]
    attributes = b"".join(recipe.attributes(found))
    key = recipe.signing_key or signer.key
    signed = der(0x31, attributes) if attributes else content
    signature = make_signature(key, signed, "sha256" if digest == "md5" else digest)
    unsigned = recipe.unsigned(signature)
    return seq(
        number(1),
        seq(signer.certificate.issuer.public_bytes(), number(signer.certificate.serial_number)),
        algorithm(digest),
        der(0xA0, attributes) if attributes else b"",
        recipe.algorithm or (algorithm("ec", b"") if isinstance(key, ec.EllipticCurvePrivateKey) else algorithm("rsa")),
        der(4, signature),
        der(0xA1, unsigned) if unsigned else b"",
    )


def signed_data(recipe: Recipe, content: bytes, inner: bytes, *, extra: Iterable[bytes] = ()) -> bytes:
    certificates = recipe.certificates
    if certificates is None:
        certificates = tuple(raw(one) for one in recipe.signer.chain)
    info = signer_info(recipe, inner, extra=extra)
    body = seq(
        number(1),
        der(0x31, algorithm(recipe.listed_digest or recipe.signer_digest or recipe.digest)),
        seq(oid(recipe.content_type), der(0xA0, content)),
        der(0xA0, *certificates),
        der(0x31, *[info] * recipe.signers),
    )
    return seq(oid("signed-data"), der(0xA0, body))


USUAL = Recipe()
"""What tests sign with unless they say otherwise."""


def message(digest: bytes, recipe: Recipe = USUAL) -> bytes:
    """A PKCS #7 message that states a file's digest."""
    inner = seq(oid(recipe.image_type), seq(der(3, b"\0"))) + seq(algorithm(recipe.digest), der(4, digest))
    return signed_data(recipe, seq(inner), inner)


def token(
    signature: bytes, moment: datetime.datetime, recipe: Recipe, *, digest: str = "sha256", named: bool = True
) -> bytes:
    """An RFC 3161 timestamp on a signature, as an unsigned attribute."""
    imprint = seq(algorithm(digest), der(4, hashlib.new(digest, signature).digest()))
    text = der(0x18, moment.strftime("%Y%m%d%H%M%SZ").encode())
    info = seq(number(1), oid("1.2.3"), imprint, number(5), text)
    recipe = replace(recipe, content_type="time-info", stated_type="time-info")
    own = hashlib.sha256(raw(recipe.signer.certificate)).digest()
    extra = [attribute("signing-certificate", seq(seq(seq(der(4, own)))))] if named else []
    return attribute("token", signed_data(recipe, der(4, info), info, extra=extra))


def counter_signature(signature: bytes, moment: datetime.datetime, recipe: Recipe) -> bytes:
    """A PKCS #9 timestamp on a signature, as an unsigned attribute."""
    recipe = replace(recipe, stated_type="data")
    return attribute(
        "counter-signature", signer_info(recipe, signature, extra=[attribute("signing-time", utc_time(moment))])
    )


PLAIN = library("a.dll", "b.dll:g")


def with_table(file: bytes, table: bytes) -> bytes:
    """Append a certificate table, and point to it."""
    file += bytes(-len(file) % 8)
    return patched(file, headers(file).directories_at + 32, "<II", len(file), len(table)) + table


def headers(file: bytes) -> Headers:
    return read_headers(MemorySource(file))


def row(content: bytes, kind: int = 2, revision: int = 0x200) -> bytes:
    content += bytes(-len(content) % 8)
    return struct.pack("<IHH", 8 + len(content), revision, kind) + content


def file_digest(file: bytes, digest: str = "sha256") -> bytes:
    """The Authenticode digest that a file has once a table is appended."""
    probe = with_table(file, row(b"x"))
    return authenticode_digest(MemorySource(probe), headers(probe), digest)


def signed(file: bytes = PLAIN, recipe: Recipe = USUAL) -> bytes:
    """The file with a signature."""
    return with_table(file, row(message(file_digest(file, recipe.digest), recipe)))
