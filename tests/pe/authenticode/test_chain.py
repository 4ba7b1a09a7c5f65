"""From the signer up to a root: what each certificate on the way may do, and who may not issue what."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.support.signing import (
    CODE_SIGNING,
    ISSUER,
    ROOT,
    TIME_STAMPING,
    UTC,
    VENDOR,
    Identity,
    Recipe,
    authority,
    identity,
    make_key,
    raw,
    resigned,
    rsa_key,
    signed,
    small_key,
    trust,
)
from wheelfix.model import Signature
from wheelfix.pe.authenticode.certificates import microsoft_roots
from wheelfix.pe.signature import read_signature
from wheelfix.streams.source import MemorySource

SERVER = ExtendedKeyUsageOID.SERVER_AUTH
ANY = ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE
OLD = {"begin": datetime.datetime(2010, 1, 1, tzinfo=UTC), "end": datetime.datetime(2015, 1, 1, tzinfo=UTC)}
LATER = {"begin": datetime.datetime(2080, 1, 1, tzinfo=UTC)}


def read(roots: Path | None, signer: Identity, **options: Any) -> Signature:
    return read_signature(MemorySource(signed(recipe=Recipe(signer, **options))), roots)


def vendor(issuer: Identity = ISSUER, **options: Any) -> Identity:
    return identity("A Vendor", issuer, **options)


def dn(**parts: str) -> x509.Name:
    known = {"country": NameOID.COUNTRY_NAME, "name": NameOID.COMMON_NAME, "mail": NameOID.EMAIL_ADDRESS}
    return x509.Name([x509.NameAttribute(known[key], value) for key, value in parts.items()])


def limited(permitted: list[x509.GeneralName] | None, excluded: list[x509.GeneralName] | None = None) -> Identity:
    return authority("Limited", ROOT, extra=((x509.NameConstraints(permitted, excluded), True),))


GERMAN = x509.DirectoryName(dn(country="DE"))
FRENCH = dn(country="FR", name="A Vendor")

GOOD = {
    "one-level": lambda: vendor(ROOT),
    "three-levels": lambda: vendor(authority("Lower", ISSUER)),
    "enough-room": lambda: vendor(authority("Lower", authority("Upper", ROOT, path_length=1))),
    "issuer-for-code": lambda: vendor(authority("For code", ROOT, usages=(CODE_SIGNING,))),
    "issuer-for-anything": lambda: vendor(authority("For anything", ROOT, usages=(ANY,))),
    "more-purposes": lambda: vendor(usages=(SERVER, CODE_SIGNING)),
    "no-key-usage": lambda: vendor(authority("Plain", ROOT, cert_sign=None)),
    "permitted-name": lambda: vendor(limited([GERMAN]), subject=dn(country="DE", name="A Vendor")),
    "not-excluded": lambda: vendor(limited(None, [GERMAN]), subject=FRENCH),
    "rsa-issuer": lambda: vendor(authority("RSA", ROOT, key=rsa_key())),
}


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in GOOD.items()])
def test_chains_that_hold(roots, make):
    signer = make()
    found = read(roots, signer)
    assert (found.status, found.signer) == ("trusted", "A Vendor"), found


BAD = {
    "expired": (lambda: vendor(**OLD), "A Vendor expired on 2015-01-01; it has no timestamp"),
    "not-yet": (lambda: vendor(**LATER), "not valid before 2080"),
    "issuer-expired": (lambda: vendor(authority("Old", ROOT, **OLD)), "certificate of Old expired"),
    "server": (lambda: vendor(usages=(SERVER,)), "not meant to sign code"),
    "clock": (lambda: vendor(usages=(TIME_STAMPING,)), "not meant to sign code"),
    "no-purpose": (lambda: vendor(usages=()), "not meant to sign code"),
    "any-purpose": (lambda: vendor(usages=(ANY,)), "not meant to sign code"),
    "issuer-for-servers": (lambda: vendor(authority("Web", ROOT, usages=(SERVER,))), "issued by Web are not meant"),
    "not-an-authority": (lambda: vendor(VENDOR), "Some Vendor is not that of a certificate authority"),
    "says-nothing": (lambda: vendor(authority("Silent", ROOT, ca=None)), "not that of a certificate authority"),
    "no-cert-sign": (lambda: vendor(authority("Weak", ROOT, cert_sign=False)), "key of Weak is not meant to sign cert"),
    "path-length": (
        lambda: vendor(authority("Lower", authority("Short", ROOT, path_length=0))),
        "allows 0 authorities below it, not 1",
    ),
    "outside-of-permitted": (lambda: vendor(limited([GERMAN]), subject=FRENCH), "may not issue certificates for"),
    "excluded": (
        lambda: vendor(limited(None, [GERMAN]), subject=dn(country="DE", name="A Vendor")),
        "may not issue certificates for",
    ),
    "excluded-further-up": (
        lambda: vendor(authority("Between", limited(None, [GERMAN])), subject=dn(country="DE", name="A Vendor")),
        "may not issue certificates for",
    ),
    "forged": (lambda: vendor(forged_by=make_key(9)), "A Vendor is not signed by Some Authority"),
    "forged-issuer": (
        lambda: vendor(authority("Forged", ROOT, forged_by=make_key(9))),
        "Forged is not signed by Some Root",
    ),
    "sha1": (
        lambda: resigned(vendor(authority("RSA", ROOT, key=rsa_key())), rsa_key(), "sha1"),
        "rests on SHA-1, and no trusted timestamp is from before 2016",
    ),
    "md5": (
        lambda: resigned(vendor(authority("RSA", ROOT, key=rsa_key())), rsa_key(), "md5"),
        "the certificate of A Vendor is signed with md5",
    ),
    "small-key": (lambda: vendor(key=small_key()), "its RSA key has 768 bits"),
}


@pytest.mark.parametrize("make, reason", [pytest.param(*case, id=name) for name, case in BAD.items()])
def test_chains_that_do_not_hold(roots, make, reason):
    signer = make()
    for trusted in (roots, None):
        found = read(trusted, signer)
        assert found.status == "invalid", found
        assert reason in found.reason


UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\0")
MAIL = x509.RFC822Name("example.org")
UNCHECKED = {
    "critical-extension": (lambda: vendor(extra=((UNKNOWN, True),)), "critical extension 1.2.3.4"),
    "of-an-issuer": (lambda: vendor(authority("Odd", ROOT, extra=((UNKNOWN, True),))), "critical extension 1.2.3.4"),
    "mail-constraint": (
        lambda: vendor(limited([MAIL]), subject=dn(name="A Vendor", mail="a@example.com")),
        "of a kind that is not checked",
    ),
    "alternative-name": (
        lambda: vendor(
            limited([MAIL]), extra=((x509.SubjectAlternativeName([x509.RFC822Name("a@example.com")]), False),)
        ),
        "of a kind that is not checked",
    ),
}


@pytest.mark.parametrize("make, reason", [pytest.param(*case, id=name) for name, case in UNCHECKED.items()])
def test_chains_of_which_nothing_is_known(roots, make, reason):
    found = read(roots, make())
    assert found.status == "not-checked", found
    assert reason in found.reason


def test_an_extension_that_is_not_critical_may_be_unknown(roots):
    assert read(roots, vendor(extra=((UNKNOWN, False),))).status == "trusted"


def test_an_invented_chain_with_names_of_others(roots):
    root = authority("DigiCert Trusted Root G4", key=make_key(70))
    issuer = authority("DigiCert Trusted G4 Code Signing RSA4096 SHA384 2021 CA1", root, key=make_key(71))
    signer = identity("NVIDIA Corporation", issuer)
    found = read(roots, signer)
    assert (found.status, found.signer) == ("untrusted-root", "NVIDIA Corporation")
    assert "root DigiCert Trusted Root G4 is not on the list" in found.reason


def test_an_issuer_with_the_name_of_a_trusted_root_is_not_that_root():
    """Names compare as they stand, so the whole name of a root of Microsoft's list is used."""
    name = x509.Name(
        [
            x509.NameAttribute(oid, value, kind)
            for oid, value, kind in (
                (NameOID.COUNTRY_NAME, "US", _ASN1Type.PrintableString),
                (NameOID.ORGANIZATION_NAME, "DigiCert Inc", _ASN1Type.PrintableString),
                (NameOID.ORGANIZATIONAL_UNIT_NAME, "www.digicert.com", _ASN1Type.PrintableString),
                (NameOID.COMMON_NAME, "DigiCert Trusted Root G4", _ASN1Type.PrintableString),
            )
        ]
    )
    assert microsoft_roots().named(name.public_bytes())
    root = authority("Fake", key=make_key(72), subject=name)
    signer = identity("NVIDIA Corporation", root)
    assert read(None, signer).status == "untrusted-root"
    found = read(None, signer, certificates=(raw(signer.certificate),))
    assert found.status == "invalid"
    assert "not signed by" in found.reason


def test_an_issuer_that_is_nowhere():
    found = read(None, VENDOR, certificates=(raw(VENDOR.certificate),))
    assert found.status == "untrusted-root"
    assert "issuer Some Authority is neither in the file nor trusted" in found.reason


def test_any_certificate_of_the_chain_can_be_trusted(tmp_path):
    only = (raw(VENDOR.certificate),)
    assert read(trust(tmp_path, ISSUER), VENDOR, certificates=only).status == "trusted"
    assert read(trust(tmp_path, ROOT), VENDOR, certificates=only).status == "untrusted-root"


def test_of_two_ways_the_one_that_holds_counts(roots):
    """The issuer has two certificates for one key: an expired one, and one from another root."""
    key = make_key(80)
    old = authority("Crossed", authority("Other Root", key=make_key(81)), key=key, **OLD)
    new = authority("Crossed", ROOT, key=key)
    signer = vendor(new)
    for order in ((old, new), (new, old)):
        chain = (raw(signer.certificate), *(raw(one.certificate) for one in order))
        assert read(roots, signer, certificates=chain).status == "trusted"


def test_a_maze_of_certificates_ends(roots):
    """Two authorities that certify each other thirty times: ways without number, none to a root."""
    left, right = make_key(90), make_key(91)
    first = [
        authority("Left", Identity(authority("Right", key=right).certificate, right), key=left, serial=n)
        for n in range(1, 31)
    ]
    second = [
        authority("Right", Identity(authority("Left", key=left).certificate, left), key=right, serial=n)
        for n in range(1, 31)
    ]
    signer = vendor(first[0])
    certificates = (raw(signer.certificate), *(raw(one.certificate) for one in first + second))
    found = read(roots, signer, certificates=certificates)
    assert found.status == "not-checked"
    assert "too many" in found.reason
