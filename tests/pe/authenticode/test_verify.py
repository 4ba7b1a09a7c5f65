"""Messages that are not what they seem: none of them is trusted, and none gives a signer that did not sign."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519

from tests.support.signing import (
    CLOCK,
    ISSUER,
    PLAIN,
    ROOT,
    UTC,
    VENDOR,
    Identity,
    Recipe,
    algorithm,
    attribute,
    der,
    file_digest,
    identity,
    make_key,
    message,
    oid,
    raw,
    row,
    rsa_key,
    seq,
    signed,
    token,
    trust,
    with_table,
)
from tests.support.tables import named_cases
from wheelfix.model import Signature
from wheelfix.pe.signature import read_signature
from wheelfix.streams.source import MemorySource

STRANGER = make_key(999)
RSA_VENDOR = identity("Some Vendor", ISSUER, key=rsa_key())


def read(roots: Path | None, recipe: Recipe) -> Signature:
    return read_signature(MemorySource(signed(recipe=recipe)), roots)


@named_cases(
    "recipe",
    {
        "elliptic-curve": Recipe(),
        "rsa": Recipe(RSA_VENDOR),
        "rsa-with-sha256": Recipe(RSA_VENDOR, algorithm=algorithm("1.2.840.113549.1.1.11")),
        "any-order": Recipe(certificates=tuple(raw(one) for one in reversed(VENDOR.chain))),
        "more": Recipe(certificates=(*map(raw, VENDOR.chain), raw(CLOCK.certificate), seq(b"")[:2])),
        "without-the-root": Recipe(certificates=tuple(map(raw, VENDOR.chain[:2]))),
    },
)
def test_what_is_trusted(roots, recipe):
    found = read(roots, recipe)
    assert (found.status, found.signer) == ("trusted", "Some Vendor"), found


def without(index: int) -> Any:
    return lambda found: found[:index] + found[index + 1 :]


@named_cases(
    "recipe, reason",
    {
        "statement": (Recipe(spoil=True), "statement was changed"),
        "foreign-key": (Recipe(signing_key=STRANGER), "not by the key"),
        "foreign-rsa-key": (Recipe(RSA_VENDOR, signing_key=rsa_key(1152)), "not by the key"),
        "no-attributes": (Recipe(attributes=lambda found: []), "no signed attributes"),
        "no-content-type": (Recipe(attributes=without(0)), "another kind of content"),
        "no-message-digest": (Recipe(attributes=without(1)), "statement was changed"),
        "attribute-twice": (Recipe(attributes=lambda found: [*found, found[1]]), "is there 2 times"),
        "two-values": (
            Recipe(attributes=lambda found: [found[0], attribute("message-digest", der(4, b"x"), der(4, b"y"))]),
            "is there 2 times",
        ),
        "states-another-type": (Recipe(stated_type="data"), "another kind of content"),
        "is-of-another-type": (Recipe(content_type="data"), "not an Authenticode statement"),
        "about-a-script": (Recipe(image_type="1.3.6.1.4.1.311.2.1.30"), "not about a PE file"),
        "digest-of-the-signer": (Recipe(signer_digest="sha384"), "do not agree"),
        "digest-in-the-list": (Recipe(listed_digest="sha1"), "do not agree"),
        "md5": (Recipe(digest="md5"), "made with md5"),
        "sha1": (Recipe(digest="sha1"), "rests on SHA-1"),
        "no-certificates": (Recipe(certificates=()), "certificate is not in it"),
        "not-a-certificate": (
            Recipe(certificates=(seq(raw(VENDOR.certificate)), raw(ROOT.certificate))),
            "cannot be read",
        ),
    },
)
def test_forgeries(roots, recipe, reason):
    for trusted in (roots, None):
        found = read(trusted, recipe)
        assert found.status == "invalid", found
        assert reason in found.reason


@named_cases(
    "recipe, reason",
    {
        "two-signers": (Recipe(signers=2), "2 signers"),
        "no-signer": (Recipe(signers=0), "0 signers"),
        "certificates": (Recipe(certificates=(raw(VENDOR.certificate),) * 65), "65 certificates"),
        "other-algorithm": (Recipe(algorithm=algorithm("ed25519", b"")), "algorithm 1.3.101.112"),
        "algorithm-mismatch": (Recipe(RSA_VENDOR, algorithm=algorithm("1.2.840.113549.1.1.12")), "with sha256"),
        "pss": (Recipe(RSA_VENDOR, algorithm=algorithm("1.2.840.113549.1.1.10", seq(b""))), "1.10 with"),
    },
)
def test_what_is_not_checked(roots, recipe, reason):
    found = read(roots, recipe)
    assert found.status == "not-checked", found
    assert reason in found.reason


def test_random_bytes_as_the_signature_of_an_elliptic_curve_key():
    """These used to be shown as NVIDIA's, because only RSA was checked."""
    vendor = identity("NVIDIA Corporation", ISSUER)
    content = message(file_digest(PLAIN), Recipe(vendor, unsigned=lambda signature: signature))
    assert len(content) > 1000
    signature = content[content.rindex(b"\x04\x47") :] if b"\x04\x47" in content[-200:] else content[-80:]
    spoiled = content[: -len(signature) + 4] + bytes(byte ^ 0x55 for byte in signature[4:])
    found = read_signature(MemorySource(with_table(PLAIN, row(spoiled))))
    assert found.status == "invalid"
    assert found.signer == ""


def test_a_certificate_with_the_same_issuer_and_serial_takes_no_place(roots):
    twin = identity("NVIDIA Corporation", ISSUER, key=make_key(5), forged_by=STRANGER)
    assert twin.certificate.serial_number == VENDOR.certificate.serial_number
    chain = tuple(map(raw, VENDOR.chain))
    for certificates in ((raw(twin.certificate), *chain), (*chain, raw(twin.certificate))):
        found = read(roots, Recipe(certificates=certificates))
        assert (found.status, found.signer) == ("trusted", "Some Vendor")
        found = read(roots, Recipe(twin, certificates=certificates))
        assert (found.status, found.signer) == ("invalid", "NVIDIA Corporation")
        assert "not signed by Some Authority" in found.reason
    found = read(roots, Recipe(certificates=(raw(twin.certificate), *chain[1:])))
    assert (found.status, found.reason) == ("invalid", "the signature is not by the key in the signer's certificate")


def test_a_key_of_a_kind_that_is_not_checked(roots):
    odd = identity("Odd Vendor", ISSUER, key=ed25519.Ed25519PrivateKey.from_private_bytes(b"k" * 32))  # type: ignore[arg-type]
    found = read(roots, Recipe(odd, signing_key=STRANGER))
    assert (found.status, found.signer) == ("not-checked", "")
    assert "neither RSA nor an elliptic curve" in found.reason


def self_made(name: str, **options: Any) -> Identity:
    return identity(name, **options)


def test_who_signs_for_himself_may_take_any_name(tmp_path):
    own = self_made("NVIDIA Corporation")
    found = read(None, Recipe(own))
    assert (found.status, found.signer) == ("untrusted-root", "NVIDIA Corporation")
    assert read(trust(tmp_path, own), Recipe(own)).status == "trusted"


def test_expired_in_1991():
    years = {"begin": datetime.datetime(1990, 1, 1, tzinfo=UTC), "end": datetime.datetime(1991, 1, 1, tzinfo=UTC)}
    found = read(None, Recipe(self_made("NVIDIA Corporation", **years)))
    assert found.status == "invalid"
    assert "expired on 1991-01-01; it has no timestamp" in found.reason


def nested(*inner: bytes) -> Any:
    return lambda signature: attribute("nested", *inner)


def inner(recipe: Recipe) -> bytes:
    return message(file_digest(PLAIN, recipe.digest), recipe)


def test_a_second_signature_counts_where_the_first_one_is_old(roots):
    first = Recipe(digest="sha1", unsigned=nested(inner(Recipe(RSA_VENDOR))))
    assert read(roots, first).status == "trusted"
    stranger = replace(first, signer=self_made("Stranger"), digest="sha256")
    found = read(roots, stranger)
    assert (found.status, found.signer) == ("trusted", "Some Vendor")


@named_cases(
    "first",
    {
        "statement": Recipe(spoil=True),
        "foreign-key": Recipe(signing_key=STRANGER),
        "no-attributes": Recipe(attributes=lambda found: []),
    },
)
def test_a_second_signature_does_not_make_a_forged_one_good(roots, first):
    assert read(roots, replace(first, unsigned=nested(inner(Recipe())))).status == "invalid"


@named_cases(
    "second",
    {
        "statement": inner(Recipe(spoil=True)),
        "another-file": message(b"d" * 32),
        "rubbish": seq(oid("signed-data")),
        "twice-nested": inner(Recipe(digest="sha1", unsigned=nested(inner(Recipe())))),
    },
)
def test_second_signatures_are_checked_as_well(roots, second):
    found = read(roots, Recipe(digest="sha1", unsigned=nested(second)))
    assert found.status == "invalid"
    assert "SHA-1" in found.reason


def test_attributes_that_cannot_be_read_behind_a_signature_that_is_not_checked(roots):
    """Found by the fuzzer: what the first answer left unread was read for a second signature, and raised."""
    odd = replace(Recipe(), algorithm=algorithm("ed25519", b""), unsigned=lambda signature: b"\x30\x20x")
    assert read(roots, odd).status == "not-checked"


def test_a_statement_of_another_file(roots):
    other = with_table(PLAIN, row(message(b"d" * 32)))
    found = read_signature(MemorySource(other), roots)
    assert (found.status, found.reason) == ("invalid", "the file was changed after it was signed")


def test_attributes_of_a_timestamp_are_no_signature(roots):
    """A timestamp is signed data too; put in the place of a signature it must not pass for one."""
    stamp = token(b"anything", datetime.datetime(2022, 1, 1, tzinfo=UTC), Recipe(CLOCK))
    content = stamp[stamp.index(b"\x31") + 4 :]
    found = read_signature(MemorySource(with_table(PLAIN, row(content))), roots)
    assert found.status == "invalid"
