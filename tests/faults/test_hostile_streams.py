"""Deflate streams made by attackers: the answer is the same however many threads read the wheel."""

from __future__ import annotations

import functools
import random
import zlib
from collections.abc import Callable

import pytest

from tests.archive.byhand import Entry, build_zip, deflate, wheel_entries
from tests.support.tables import named_cases
from tests.support.wheels import extension
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.exam.scan import scan
from wheelfix.report.json_ import scan_value

NAME = "pkg-1.0-cp311-cp311-win_amd64.whl"
EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"
"""A stored block that holds nothing."""


@functools.cache
def megabyte() -> bytes:
    """Bytes that deflate to about a third, in blocks that describe their own codes."""
    dice = random.Random(1)
    words = [dice.randbytes(length) for length in (1, 2, 3, 4, 6, 9, 15, 40) for _ in range(75)]
    return b"".join(dice.choices(words, [1 / (1 + rank) for rank in range(len(words))], k=500_000))[: 1 << 20]


def stored(data: bytes) -> bytes:
    """``data`` as one stored block that is not the last."""
    assert len(data) < 1 << 16
    return b"\x00" + len(data).to_bytes(2, "little") + (len(data) ^ 0xFFFF).to_bytes(2, "little") + data


def packed(data: bytes, *, last: bool = False, before: bytes = b"") -> bytes:
    """``data`` as blocks that end at a byte; they may refer to ``before``, which is not part of them."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15, zdict=before) if before else zlib.compressobj(6, 8, -15)
    return packer.compress(data) + packer.flush(zlib.Z_FINISH if last else zlib.Z_FULL_FLUSH)


def dll(far: int = 0) -> bytes:
    """A DLL that imports one missing DLL; its tables come after ``far`` times :func:`megabyte`."""
    image = bytearray(extension("absent.dll", name="x"))
    if far:
        header = image.index(b".rdata\0\0")
        size, start = (int.from_bytes(image[header + at : header + at + 4], "little") for at in (16, 20))
        tables = image[start : start + size]
        image[header + 20 : header + 24] = (len(image) + (far << 20)).to_bytes(4, "little")
        image += megabyte() * far + tables
    return bytes(image)


def before_its_start() -> tuple[bytes, bytes]:
    data = dll() + megabyte()
    return data, stored(dll()) + packed(megabyte(), last=True, before=megabyte()[:30_000])


def of(change: Callable[[bytes], bytes]) -> Callable[[], tuple[bytes, bytes]]:
    """A stream that was sound before the change."""

    def make() -> tuple[bytes, bytes]:
        data = dll(2)
        return data, change(deflate(data))

    return make


STREAMS = {
    "before-its-start": before_its_start,
    "sound": of(lambda stream: stream),
    "cut": of(lambda stream: stream[: len(stream) // 2]),
    "without-its-end": of(lambda stream: stream[:-1]),
    "bytes-behind": of(lambda stream: stream + b"more"),
    "a-bad-bit": of(lambda stream: stream[:400_000] + bytes([stream[400_000] ^ 0x10]) + stream[400_001:]),
    "unknown-block": of(lambda stream: b"\x07" + stream),
    "wrong-stored-length": of(lambda stream: b"\x00\x05\x00\x00\x00" + stream),
    "only-empty-blocks": of(lambda stream: EMPTY_BLOCK * 200_000),
    "nothing": of(lambda stream: b""),
    "longer": of(lambda stream: packed(bytes(1 << 20)) + stream),
    "shorter": of(lambda stream: packed(dll(1), last=True)),
}


@pytest.mark.slow
@named_cases("verify", {"believed": False, "verified": True})
@pytest.mark.parametrize("name", STREAMS)
def test_the_number_of_threads_does_not_matter(tmp_path, name, verify):
    data, stream = STREAMS[name]()
    path = tmp_path / NAME
    path.write_bytes(build_zip(wheel_entries([Entry("pkg/x.pyd", data, packed=stream)])))
    answers = {
        jobs: scan_value(scan(path, ScanOptions(jobs=jobs, verify=verify, roots=RootOptions(discover=False))))
        for jobs in (1, 2, 3, 8)
    }
    assert answers[2] == answers[1]
    assert answers[3] == answers[1]
    assert answers[8] == answers[1]
    if name == "sound":
        assert "absent.dll" in str(answers[1])
