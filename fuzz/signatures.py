"""Signatures: DLLs that are signed here, damaged, and messages put behind a DLL that they are about.

An input begins with a byte: 0 for a whole file, 1 for a PKCS #7 message. Whatever comes out as trusted must still be
the file that was signed, by one of those who signed it; LIEF is asked about its digest.
"""

from __future__ import annotations

import datetime
import functools
from typing import TYPE_CHECKING

from fuzz.oracles import COMPARED, Disagreement
from fuzz.wheels import scratch
from tests.support.signing import (
    CLOCK,
    ISSUER,
    PLAIN,
    UTC,
    VENDOR,
    Recipe,
    attribute,
    counter_signature,
    file_digest,
    headers,
    identity,
    message,
    raw,
    row,
    signed,
    token,
    trust,
    with_table,
)
from wheelfix.pe.image import CERTIFICATES
from wheelfix.pe.signature import Signature, read_signature
from wheelfix.streams.source import MemorySource

if TYPE_CHECKING:
    from pathlib import Path

WHOLE, MESSAGE = b"\0", b"\1"
STATUSES = {"unsigned", "trusted", "untrusted-root", "invalid", "not-checked"}
STRANGER = identity("Stranger")
PAST = identity(
    "Past Vendor",
    ISSUER,
    begin=datetime.datetime(2022, 1, 1, tzinfo=UTC),
    end=datetime.datetime(2023, 1, 1, tzinfo=UTC),
)
SIGNERS = {"Some Vendor", "Past Vendor"}


def _recipes() -> list[Recipe]:
    then = datetime.datetime(2022, 5, 1, tzinfo=UTC)
    with_clock = tuple(map(raw, (*PAST.chain, CLOCK.certificate)))
    nested = message(file_digest(PLAIN), Recipe())
    return [
        Recipe(),
        Recipe(digest="sha384"),
        Recipe(STRANGER),
        Recipe(certificates=tuple(map(raw, (*VENDOR.chain, *CLOCK.chain)))),
        Recipe(PAST, unsigned=lambda signature: token(signature, then, Recipe(CLOCK))),
        Recipe(PAST, unsigned=lambda s: counter_signature(s, then, Recipe(CLOCK)), certificates=with_clock),
        Recipe(STRANGER, unsigned=lambda signature: attribute("nested", nested)),
    ]


@functools.cache
def signature_seeds() -> list[bytes]:
    """Whole files and messages, more of the latter: these are where the reading is."""
    recipes = _recipes()
    messages = [MESSAGE + message(file_digest(PLAIN, recipe.digest), recipe) for recipe in recipes]
    return [*(WHOLE + signed(PLAIN, recipe) for recipe in recipes[:4]), *messages, *messages]


@functools.cache
def _roots() -> Path:
    folder = scratch() / "roots"
    folder.mkdir(exist_ok=True)
    return trust(folder)


def signatures(data: bytes) -> None:
    """The reader of signatures: nothing that was not signed is trusted, and nothing makes it fail."""
    file = data[1:] if data[:1] != MESSAGE else with_table(PLAIN, row(data[1:]))
    answer = read_signature(MemorySource(file), _roots())
    if answer.status not in STATUSES or (answer.status not in ("trusted", "unsigned")) != bool(answer.reason):
        raise AssertionError(f"an answer without a reason: {answer}")
    if answer.status == "trusted":
        _check(file, answer)


def _check(file: bytes, answer: Signature) -> None:
    if answer.signer not in SIGNERS:
        raise Disagreement(f"trusted as {answer.signer}, who signed nothing")
    if _covered(file) != _covered(with_table(PLAIN, row(b"x"))):
        raise Disagreement("trusted, although signed bytes were changed")
    import lief

    lief.logging.disable()
    parsed = lief.PE.parse(file)
    if parsed is not None and parsed.has_signatures and answer.algorithm == "sha256":
        COMPARED["LIEF (signatures)"] += 1
        if bytes(parsed.authentihash_sha256).hex() != answer.digest:
            raise Disagreement("LIEF computes another digest")


def _covered(file: bytes) -> bytes:
    found = headers(file)
    entry, (at, _) = found.directories_at + 8 * CERTIFICATES, found.directory(CERTIFICATES)
    return file[: found.checksum_at] + file[found.checksum_at + 4 : entry] + file[entry + 8 : at]
