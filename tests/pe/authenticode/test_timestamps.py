"""What a timestamp proves, so that an expired certificate still counts; and which ones prove nothing."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from tests.support.signing import (
    CLOCK,
    CODE_SIGNING,
    ISSUER,
    ROOT,
    TIME_STAMPING,
    UTC,
    Identity,
    Recipe,
    attribute,
    authority,
    counter_signature,
    der,
    identity,
    make_key,
    raw,
    rsa_key,
    seq,
    signed,
    token,
    trust,
)
from tests.support.tables import named_cases
from wheelfix.model import Signature
from wheelfix.pe.authenticode.message import DerError, parse
from wheelfix.pe.authenticode.signers import read_time
from wheelfix.pe.signature import read_signature
from wheelfix.streams.source import MemorySource

THEN = datetime.datetime(2022, 5, 1, tzinfo=UTC)
EXPIRED = {"begin": datetime.datetime(2022, 1, 1, tzinfo=UTC), "end": datetime.datetime(2023, 1, 1, tzinfo=UTC)}
VENDOR = identity("Past Vendor", ISSUER, **EXPIRED)


def read(roots: Path | None, unsigned: Any, signer: Identity = VENDOR, **options: Any) -> Signature:
    certificates = tuple(map(raw, (*signer.chain, CLOCK.certificate)))
    recipe = Recipe(signer, unsigned=unsigned, **{"certificates": certificates, **options})
    return read_signature(MemorySource(signed(recipe=recipe)), roots)


def stamp(clock: Identity = CLOCK, moment: datetime.datetime = THEN, **options: Any) -> Any:
    recipe = {key: options.pop(key) for key in list(options) if key not in ("digest", "named")}
    return lambda signature: token(signature, moment, Recipe(clock, **recipe), **options)


def counter(clock: Identity = CLOCK, moment: datetime.datetime = THEN, **options: Any) -> Any:
    return lambda signature: counter_signature(signature, moment, Recipe(clock, **options))


@named_cases(
    "unsigned",
    {
        "rfc-3161": stamp(),
        "without-the-name-of-its-certificate": stamp(named=False),
        "sha1-imprint": stamp(digest="sha1"),
        "counter-signature": counter(),
        "one-of-two": lambda s: stamp(signing_key=make_key(3))(s) + counter()(s),
        "other-issuer": stamp(identity("Lone Clock", ROOT, usages=(TIME_STAMPING,))),
    },
)
def test_an_expired_certificate_counts_with_a_timestamp(roots, unsigned):
    found = read(roots, unsigned)
    assert (found.status, found.timestamp) == ("trusted", "2022-05-01T00:00:00Z"), found


def test_without_a_timestamp_it_does_not(roots):
    found = read(roots, lambda signature: b"")
    assert found.status == "invalid"
    assert "expired on 2023-01-01; it has no timestamp" in found.reason


OIDS_V2 = "signing-certificate"
STRANGE = authority("Strange Root", key=make_key(50))
BAD = {
    "foreign-key": (stamp(signing_key=make_key(3)), "not by the key"),
    "counter-foreign-key": (counter(signing_key=make_key(3)), "not by the key"),
    "another-signature": (lambda s: stamp()(b"x" + s), "for another signature"),
    "counter-another-signature": (lambda s: counter()(b"x" + s), "statement was changed"),
    "md5-imprint": (stamp(digest="md5"), "for another signature"),
    "digest-in-the-list": (stamp(listed_digest="sha512"), "do not agree"),
    "statement": (stamp(spoil=True), "statement was changed"),
    "no-attributes": (stamp(attributes=lambda found: []), "no signed attributes"),
    "no-time": (counter(attributes=lambda found: found[:2]), "has no time"),
    "two-times": (
        counter(attributes=lambda found: [*found, attribute("signing-time", der(0x17, b"200101000000Z"))]),
        "is there 2 times",
    ),
    "not-a-clock": (stamp(identity("Coder", ISSUER, usages=(CODE_SIGNING,))), "not meant to sign timestamps"),
    "the-signer-himself": (stamp(VENDOR), "not meant to sign timestamps"),
    "unknown-root": (stamp(identity("Clock", STRANGE, usages=(TIME_STAMPING,))), "Strange Root is not on the list"),
    "clock-expired": (stamp(moment=datetime.datetime(2019, 1, 1, tzinfo=UTC)), "not valid before"),
    "future": (stamp(moment=datetime.datetime(2080, 1, 1, tzinfo=UTC)), "from the future"),
    "rubbish": (lambda s: attribute("token", seq(b"\x05\0")), "elements where there should be two"),
    "another-certificate": (
        stamp(attributes=lambda found: [*found[:2], attribute(OIDS_V2, seq(seq(seq(der(4, b"h" * 32)))))]),
        "names another certificate",
    ),
    "names-nothing": (
        stamp(attributes=lambda found: [*found[:2], attribute(OIDS_V2, seq(seq()))]),
        "does not say which certificate",
    ),
}


@pytest.mark.parametrize("unsigned, reason", [pytest.param(*case, id=name) for name, case in BAD.items()])
def test_timestamps_that_prove_nothing(roots, unsigned, reason):
    found = read(roots, unsigned)
    assert (found.status, found.timestamp) == ("invalid", ""), found
    assert "its timestamp does not count" in found.reason
    assert reason in found.reason


@pytest.mark.parametrize("unsigned", [case[0] for case in BAD.values()], ids=list(BAD))
def test_nor_do_they_spoil_a_signature_that_needs_none(roots, unsigned):
    found = read(roots, unsigned, identity("Current Vendor", ISSUER))
    assert (found.status, found.timestamp) == ("trusted", "")


def test_a_signature_of_after_the_end(roots):
    found = read(roots, stamp(moment=datetime.datetime(2024, 1, 1, tzinfo=UTC)))
    assert (found.status, found.timestamp) == ("invalid", "2024-01-01T00:00:00Z")
    assert found.reason == "the certificate of Past Vendor expired on 2023-01-01"


def test_a_certificate_whose_signatures_end_with_it(roots):
    lifetime = x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.13")
    signer = identity("Past Vendor", ISSUER, usages=(CODE_SIGNING, lifetime), **EXPIRED)
    assert read(roots, stamp(), signer).status == "invalid"


@pytest.mark.parametrize("year, status", [(2014, "trusted"), (2016, "invalid")])
def test_sha1_counts_with_a_timestamp_of_its_time(tmp_path, year, status):
    long = {"begin": datetime.datetime(2010, 1, 1, tzinfo=UTC)}
    root = authority("Old Root", key=rsa_key(), **long)
    clock = identity("Old Clock", root, usages=(TIME_STAMPING,), **long)
    signer = identity("Old Vendor", root, **long)
    found = read(
        trust(tmp_path, root),
        stamp(clock, datetime.datetime(year, 6, 1, tzinfo=UTC)),
        signer,
        digest="sha1",
        certificates=tuple(map(raw, (*signer.chain, clock.certificate))),
    )
    assert found.status == status, found


@pytest.mark.parametrize(
    "element, expected",
    [
        (der(0x17, b"991231235959Z"), "1999-12-31T23:59:59+00:00"),
        (der(0x17, b"491231235959Z"), "2049-12-31T23:59:59+00:00"),
        (der(0x18, b"20230801120000.123Z"), "2023-08-01T12:00:00+00:00"),
    ],
)
def test_times(element, expected):
    assert read_time(parse(element)).isoformat() == expected


@pytest.mark.parametrize(
    "element",
    [b"\x17\x00", der(0x17, b"9912312359Z"), der(0x18, b"20231301120000Z"), der(0x18, b"20230801120000+0100"),
     der(0x18, b"2023080112000\xb2Z"), der(0x04, b"20230801120000Z"), der(0x18, b"00000101000000Z")],
)  # fmt: skip
def test_what_is_not_a_time(element):
    with pytest.raises(DerError):
        read_time(parse(element))
