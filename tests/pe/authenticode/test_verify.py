"""Messages that are not what they seem: none of them is trusted, and none gives a signer that did not sign."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
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
from wheelfix.model import Signature
from wheelfix.pe.signature import read_signature
from wheelfix.streams.source import MemorySource

STRANGER = make_key(999)
RSA_VENDOR = identity("Some Vendor", ISSUER, key=rsa_key())


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trust(tmp_path_factory.mktemp("roots"))


def read(roots: Path | None, recipe: Recipe) -> Signature:
    return read_signature(MemorySource(signed(recipe=recipe)), roots)


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(Recipe(), id="elliptic-curve"),
        pytest.param(Recipe(RSA_VENDOR), id="rsa"),
        pytest.param(Recipe(RSA_VENDOR, algorithm=algorithm("1.2.840.113549.1.1.11")), id="rsa-with-sha256"),
        pytest.param(Recipe(certificates=tuple(raw(one) for one in reversed(VENDOR.chain))), id="any-order"),
        pytest.param(Recipe(certificates=(*map(raw, VENDOR.chain), raw(CLOCK.certificate), seq(b"")[:2])), id="more"),
        pytest.param(Recipe(certificates=tuple(map(raw, VENDOR.chain[:2]))), id="without-the-root"),
    ],
)
def test_what_is_trusted(roots, recipe):
    found = read(roots, recipe)
    assert (found.status, found.signer) == ("trusted", "Some Vendor"), found


def without(index: int) -> Any:
    return lambda found: found[:index] + found[index + 1 :]


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        pytest.param(Recipe(spoil=True), "statement was changed", id="statement"),
        pytest.param(Recipe(signing_key=STRANGER), "not by the key", id="foreign-key"),
        pytest.param(Recipe(RSA_VENDOR, signing_key=rsa_key(1152)), "not by the key", id="foreign-rsa-key"),
        pytest.param(Recipe(attributes=lambda found: []), "no signed attributes", id="no-attributes"),
        pytest.param(Recipe(attributes=without(0)), "another kind of content", id="no-content-type"),
        pytest.param(Recipe(attributes=without(1)), "statement was changed", id="no-message-digest"),
        pytest.param(Recipe(attributes=lambda found: [*found, found[1]]), "is there 2 times", id="attribute-twice"),
        pytest.param(
            Recipe(attributes=lambda found: [found[0], attribute("message-digest", der(4, b"x"), der(4, b"y"))]),
            "is there 2 times",
            id="two-values",
        ),
        pytest.param(Recipe(stated_type="data"), "another kind of content", id="states-another-type"),
        pytest.param(Recipe(content_type="data"), "not an Authenticode statement", id="is-of-another-type"),
        pytest.param(Recipe(image_type="1.3.6.1.4.1.311.2.1.30"), "not about a PE file", id="about-a-script"),
        pytest.param(Recipe(signer_digest="sha384"), "do not agree", id="digest-of-the-signer"),
        pytest.param(Recipe(listed_digest="sha1"), "do not agree", id="digest-in-the-list"),
        pytest.param(Recipe(digest="md5"), "made with md5", id="md5"),
        pytest.param(Recipe(digest="sha1"), "rests on SHA-1", id="sha1"),
        pytest.param(Recipe(certificates=()), "certificate is not in it", id="no-certificates"),
        pytest.param(
            Recipe(certificates=(seq(raw(VENDOR.certificate)), raw(ROOT.certificate))),
            "cannot be read",
            id="not-a-certificate",
        ),
    ],
)
def test_forgeries(roots, recipe, reason):
    for trusted in (roots, None):
        found = read(trusted, recipe)
        assert found.status == "invalid", found
        assert reason in found.reason


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        pytest.param(Recipe(signers=2), "2 signers", id="two-signers"),
        pytest.param(Recipe(signers=0), "0 signers", id="no-signer"),
        pytest.param(Recipe(certificates=(raw(VENDOR.certificate),) * 65), "65 certificates", id="certificates"),
        pytest.param(Recipe(algorithm=algorithm("ed25519", b"")), "algorithm 1.3.101.112", id="other-algorithm"),
        pytest.param(
            Recipe(RSA_VENDOR, algorithm=algorithm("1.2.840.113549.1.1.12")), "with sha256", id="algorithm-mismatch"
        ),
        pytest.param(Recipe(RSA_VENDOR, algorithm=algorithm("1.2.840.113549.1.1.10", seq(b""))), "1.10 with", id="pss"),
    ],
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


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(Recipe(spoil=True), id="statement"),
        pytest.param(Recipe(signing_key=STRANGER), id="foreign-key"),
        pytest.param(Recipe(attributes=lambda found: []), id="no-attributes"),
    ],
)
def test_a_second_signature_does_not_make_a_forged_one_good(roots, first):
    assert read(roots, replace(first, unsigned=nested(inner(Recipe())))).status == "invalid"


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(inner(Recipe(spoil=True)), id="statement"),
        pytest.param(message(b"d" * 32), id="another-file"),
        pytest.param(seq(oid("signed-data")), id="rubbish"),
        pytest.param(inner(Recipe(digest="sha1", unsigned=nested(inner(Recipe())))), id="twice-nested"),
    ],
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
