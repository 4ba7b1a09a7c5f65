from __future__ import annotations

import functools
import hashlib
import random
import struct
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pe.raw import patched
from tests.pe.wheels import FOLDER, WHEELS, members, wheel
from wheelfix.pe.forge import forge_dll
from wheelfix.pe.layout import Headers, read_headers
from wheelfix.pe.signature import Signature, authenticode_digest, read_signature
from wheelfix.pe.stream import MemorySource

OIDS = {
    "signed-data": "2a864886f70d010702",
    "indirect": "2b060104018237020104",
    "sha1": "2b0e03021a",
    "sha256": "608648016503040201",
    "md5": "2a864886f70d0205",
    "rsa": "2a864886f70d010101",
    "sha256-rsa": "2a864886f70d01010b",
    "elliptic": "2a8648ce3d0201",
    "message-digest": "2a864886f70d010904",
    "signing-time": "2a864886f70d010905",
    "counter-signature": "2a864886f70d010906",
    "token": "2b060104018237030301",
    "name": "550403",
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
    return der(0x06, bytes.fromhex(OIDS[name]))


def number(value: int) -> bytes:
    return der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def algorithm(name: str) -> bytes:
    return seq(oid(name), b"\x05\0")


def attribute(name: str, value: bytes) -> bytes:
    return seq(oid(name), der(0x31, value))


@dataclass(frozen=True)
class Key:
    """A small RSA key: too weak for the world, strong enough for a test."""

    modulus: int
    secret: int

    @classmethod
    @functools.cache
    def make(cls, seed: int) -> Key:
        dice = random.Random(seed)

        def prime() -> int:
            while True:
                candidate = dice.getrandbits(512) | 3 << 510 | 1
                if candidate % 65537 != 1 and all(pow(base, candidate - 1, candidate) == 1 for base in (2, 3, 5, 7)):
                    return candidate

        p, q = prime(), prime()
        return cls(p * q, pow(65537, -1, (p - 1) * (q - 1)))

    @property
    def public(self) -> bytes:
        return seq(algorithm("rsa"), der(0x03, b"\0", seq(number(self.modulus), number(65537))))

    def sign(self, data: bytes, digest: str = "sha256") -> bytes:
        info = seq(algorithm(digest), der(0x04, hashlib.new(digest, data).digest()))
        size = (self.modulus.bit_length() + 7) // 8
        block = b"\0\1" + b"\xff" * (size - len(info) - 3) + b"\0" + info
        return pow(int.from_bytes(block, "big"), self.secret, self.modulus).to_bytes(size, "big")


SIGNER, AUTHORITY, STRANGER = 1, 2, 3


def name(text: str, tag: int = 0x0C, encoding: str = "utf-8") -> bytes:
    return seq(der(0x31, seq(oid("name"), der(tag, text.encode(encoding)))))


def certificate(subject: bytes, issuer: bytes, key: bytes, by: Key, serial: int) -> bytes:
    body = seq(der(0xA0, number(2)), number(serial), algorithm("sha256-rsa"), issuer, seq(), subject, key)
    return seq(body, algorithm("sha256-rsa"), der(0x03, b"\0", by.sign(body)))


def message(
    digest: bytes,
    *,
    hashed: str = "sha256",
    spoil_statement: bool = False,
    signing_key: int = SIGNER,
    issuing_key: int = AUTHORITY,
    public: bytes | None = None,
    with_authority: bool = True,
    signer_name: bytes | None = None,
    unsigned: bytes = b"",
) -> bytes:
    """A PKCS #7 message that states a file's digest."""
    signer, authority = Key.make(SIGNER), Key.make(AUTHORITY)
    vendor, root = signer_name or name("Some Vendor"), name("Some Authority")
    statement = seq(seq(oid("indirect")), seq(algorithm(hashed), der(0x04, digest)))
    content = statement[2:]
    attributes = attribute(
        "message-digest", der(0x04, hashlib.new(hashed, content + b"x" * spoil_statement).digest())
    ) + attribute("signing-time", der(0x17, b"230801120000Z"))
    signature = Key.make(signing_key).sign(der(0x31, attributes), hashed)
    certificates = certificate(vendor, root, public or signer.public, Key.make(issuing_key), 77)
    if with_authority:
        certificates += certificate(root, root, authority.public, authority, 1)
    info = seq(
        number(1),
        seq(root, number(77)),
        algorithm(hashed),
        der(0xA0, attributes),
        algorithm("rsa"),
        der(0x04, signature),
        der(0xA1, unsigned) if unsigned else b"",
    )
    body = seq(
        number(1),
        der(0x31, algorithm(hashed)),
        seq(oid("indirect"), der(0xA0, statement)),
        der(0xA0, certificates),
        der(0x31, info),
    )
    return seq(oid("signed-data"), der(0xA0, body))


PLAIN = forge_dll("a.dll", exports=["f"], imports={"b.dll": ["g"]})


def with_table(file: bytes, table: bytes) -> bytes:
    """Append a certificate table, and point to it."""
    file += bytes(-len(file) % 8)
    found = read_headers(MemorySource(file))
    assert isinstance(found, Headers)
    return patched(file, found.directories_at + 32, "<II", len(file), len(table)) + table


def row(content: bytes, kind: int = 2) -> bytes:
    content += bytes(-len(content) % 8)
    return struct.pack("<IHH", 8 + len(content), 0x200, kind) + content


def signed(file: bytes = PLAIN, *, hashed: str = "sha256", before: bytes = b"", **options: Any) -> bytes:
    probe = with_table(file, before + row(message(bytes(hashlib.new(hashed).digest_size), hashed=hashed, **options)))
    found = read_headers(MemorySource(probe))
    assert isinstance(found, Headers)
    digest = authenticode_digest(MemorySource(probe), found, hashed)
    return with_table(file, before + row(message(digest, hashed=hashed, **options)))


def read(file: bytes) -> Signature:
    return read_signature(MemorySource(file))


@pytest.mark.parametrize("hashed", ["sha256", "sha1"])
def test_a_good_signature(hashed: str) -> None:
    found = read(signed(hashed=hashed))
    assert found.status == "valid-digest", found.reason
    assert (found.signer, found.issuer, found.algorithm) == ("Some Vendor", "Some Authority", hashed)
    assert found.chain == ("Some Authority",)
    assert found.unchecked == found.reason == ""
    assert len(bytes.fromhex(found.digest)) == hashlib.new(hashed).digest_size
    assert str(found) == "Some Vendor"


def test_unsigned() -> None:
    assert read(PLAIN) == Signature("unsigned")
    assert str(read(PLAIN)) == "unsigned"


def test_a_changed_byte_anywhere_but_in_the_checksum() -> None:
    file = signed()
    found = read_headers(MemorySource(file))
    assert isinstance(found, Headers)
    for at in (0x50, len(PLAIN) // 2, len(PLAIN) - 1):
        changed = read(patched(file, at, "<B", file[at] ^ 1))
        assert changed.status == "bad-digest"
        assert "file was changed" in changed.reason
        assert changed.signer == "Some Vendor"
    assert read(patched(file, found.checksum_at, "<I", 12345)).status == "valid-digest"


def test_bytes_behind_the_table_count() -> None:
    assert read(signed() + b"appended").status == "bad-digest"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        pytest.param({"spoil_statement": True}, "statement was changed", id="statement"),
        pytest.param({"signing_key": STRANGER}, "not by the key", id="foreign-key"),
        pytest.param({"issuing_key": STRANGER}, "certificate of Some Vendor is not by Some Authority", id="forged"),
    ],
)
def test_forgeries(options: dict[str, Any], reason: str) -> None:
    found = read(signed(**options))
    assert found.status == "bad-digest"
    assert reason in found.reason


def test_without_the_issuer_the_chain_ends_early() -> None:
    found = read(signed(with_authority=False, issuing_key=STRANGER))
    assert (found.status, found.chain) == ("valid-digest", ("Some Authority",))


def test_whoever_signs_for_himself_may_take_any_name() -> None:
    root, authority = name("Some Authority"), Key.make(AUTHORITY)
    found = read(signed(signer_name=root, public=authority.public, signing_key=AUTHORITY))
    assert (found.status, found.signer, found.chain) == ("valid-digest", "Some Authority", ())
    assert "self-signed" in found.unchecked


def test_no_flipped_byte_gives_a_valid_signature_another_name() -> None:
    file = signed()
    for at in range(len(PLAIN) + 8, len(file), 3):
        found = read(patched(file, at, "<B", file[at] ^ 0x01))
        assert found.status != "valid-digest" or found.signer == "Some Vendor"


def test_a_key_that_is_not_rsa_is_said_to_be_unchecked() -> None:
    found = read(signed(public=seq(algorithm("elliptic"), der(0x03, b"\0\x04abcd"))))
    assert found.status == "valid-digest"
    assert "not RSA" in found.unchecked


@pytest.mark.parametrize(
    ("encoded", "expected"),
    [
        pytest.param(name("Größe GmbH"), "Größe GmbH", id="utf-8"),
        pytest.param(name("Plain Inc.", 0x13, "ascii"), "Plain Inc.", id="printable"),
        pytest.param(name("Größe AG", 0x1E, "utf-16-be"), "Größe AG", id="bmp"),
        pytest.param(name("Größe KG", 0x14, "latin-1"), "Größe KG", id="teletex"),
    ],
)
def test_names_in_several_encodings(encoded: bytes, expected: str) -> None:
    assert read(signed(signer_name=encoded)).signer == expected


COUNTER = seq(number(1), seq(), algorithm("sha1"), der(0xA0, attribute("signing-time", der(0x17, b"991231235959Z"))))
TOKEN_INFO = seq(number(1), oid("rsa"), seq(), number(5), der(0x18, b"20230801120000.123Z"))
TOKEN = seq(
    oid("signed-data"),
    der(0xA0, seq(number(3), der(0x31), seq(oid("indirect"), der(0xA0, der(0x04, TOKEN_INFO))))),
)


@pytest.mark.parametrize(
    ("unsigned", "expected"),
    [
        pytest.param(attribute("counter-signature", COUNTER), "1999-12-31T23:59:59Z", id="counter-signature"),
        pytest.param(attribute("token", TOKEN), "2023-08-01T12:00:00Z", id="rfc-3161"),
        pytest.param(attribute("token", seq(oid("rsa"))), "", id="broken"),
        pytest.param(attribute("md5", seq()), "", id="something-else"),
        pytest.param(b"", "", id="none"),
    ],
)
def test_timestamps(unsigned: bytes, expected: str) -> None:
    found = read(signed(unsigned=unsigned))
    assert (found.status, found.timestamp) == ("valid-digest", expected)


def test_the_first_pkcs7_row_counts() -> None:
    assert read(signed(before=row(b"x509 rubbish", kind=1))).status == "valid-digest"


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(b"\0" * 64, id="zeros"),
        pytest.param(b"\xff" * 64, id="ones"),
        pytest.param(row(b""), id="empty-row"),
        pytest.param(row(b"x" * 100, kind=1), id="no-pkcs7"),
        pytest.param(row(seq(oid("rsa"), der(0xA0))), id="no-signed-data"),
        pytest.param(row(seq(oid("signed-data"), der(0xA0, seq()))), id="empty-signed-data"),
        pytest.param(row(b"\x30\x80" + bytes(20)), id="indefinite-length"),
        pytest.param(row(b"\x30\x84\xff\xff\xff\xff"), id="absurd-length"),
        pytest.param(
            row(message(b"d" * 16, hashed="sha256").replace(oid("sha256"), oid("md5") + b"\x05")), id="odd-digest"
        ),
    ],
)
def test_unreadable_tables(table: bytes) -> None:
    found = read(with_table(PLAIN, table))
    assert found.status == "unreadable"
    assert found.reason


def test_no_image_at_all() -> None:
    assert read(b"").status == read(b"MZ").status == "unreadable"


def test_a_table_outside_the_file() -> None:
    found = read_headers(MemorySource(PLAIN))
    assert isinstance(found, Headers)
    assert read(patched(PLAIN, found.directories_at + 32, "<II", 0x7FFFFFF0, 0xFFFFFFF0)).status == "unreadable"


MESSAGE = message(b"d" * 32)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(MESSAGE) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_flipped_bytes_never_raise(flips: list[tuple[int, int]]) -> None:
    spoiled = bytearray(MESSAGE)
    for at, value in flips:
        spoiled[at] = value
    assert read(with_table(PLAIN, row(bytes(spoiled)))).status in ("bad-digest", "unreadable")


def test_cut_anywhere_never_raises() -> None:
    for length in range(0, len(MESSAGE), 3):
        read(with_table(PLAIN, row(MESSAGE[:length])))


@pytest.mark.real
@pytest.mark.skipif(not WHEELS, reason=f"no wheels in {FOLDER}")
@pytest.mark.parametrize(
    ("which", "signer"),
    [
        ("intel_openmp", "Intel Corporation"),
        ("tbb", "Intel Corporation"),
        ("msvc_runtime", "Microsoft Windows Software Compatibility Publisher"),
        ("onnxruntime", "Microsoft Corporation"),
        ("PyQt5_Qt5", "The Qt Company Oy"),
        ("nvidia_cudnn_cu12", "NVIDIA Corporation"),
        ("nvidia_cuda_runtime_cu11", ""),
        ("torchvision", "Anaconda, Inc."),
    ],
)
def test_lief_says_the_same(which: str, signer: str) -> None:
    """Vendors' real signatures hold; LIEF agrees on the digest and the signer's name."""
    lief = pytest.importorskip("lief")
    lief.logging.disable()
    signers = set()
    for member, source in members(wheel(which)):
        if source.size > 64 << 20:
            continue
        found = read_signature(source)
        theirs = lief.PE.parse(source.read_at(0, source.size))
        headers = read_headers(source)
        assert isinstance(headers, Headers)
        assert authenticode_digest(source, headers) == bytes(theirs.authentihash_sha256), member
        assert (found.status == "unsigned") == (not theirs.has_signatures), member
        if theirs.has_signatures:
            assert found.status == "valid-digest", (member, found.reason)
            assert found.timestamp
            flags = theirs.verify_signature(lief.PE.Signature.VERIFICATION_CHECKS.HASH_ONLY)
            assert flags == lief.PE.Signature.VERIFICATION_FLAGS.OK, member
            assert f"CN={found.signer}".replace(",", "") in str(theirs.signatures[0].signers[0].cert.subject).replace(
                "\\", ""
            ).replace(",", ""), member
        signers.add(found.signer)
    assert signer in signers
