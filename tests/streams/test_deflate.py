"""Parallel deflate: one stream, the same on any number of threads."""

from __future__ import annotations

import functools
import random
import zlib

import pytest

from tests.support.chance import random_bytes
from tests.support.tables import named_cases
from wheelfix.errors import EnvironmentFailure
from wheelfix.streams import codec
from wheelfix.streams import codec as deflate
from wheelfix.streams.codec import BLOCK, DeflatedData, Deflating
from wheelfix.streams.source import MemorySource

WORDS = [b"torch", b"lib", b"kernel", b"\0\0\0\0", b"mov eax", bytes(range(200, 256))]


def some_bytes(size: int) -> bytes:
    """Return bytes that compress somewhat, always the same; they repeat from farther away than deflate looks back."""
    passage = _passage()
    return (passage * (size // len(passage) + 1))[:size]


@functools.cache
def _passage() -> bytes:
    chance = random.Random(7)
    out = bytearray()
    while len(out) < 200_003:  # no block begins with the same bytes as another one
        out += chance.choice(WORDS) + chance.randbytes(2)
    return bytes(out)


def pack(data: bytes, jobs: int = 2, name: str = "zlib", level: int | str = 6) -> tuple[DeflatedData, bytes]:
    out = []
    with Deflating(codec.Compressor.choose(name, level), jobs) as deflating:
        packed = deflating.begin(MemorySource(data), "it").write(out.append)
    return packed, b"".join(out)


def need(name: str) -> str:
    """Skip where a compressor is not installed."""
    if not codec._version(name):
        pytest.skip(f"{name} is not installed")
    return name


@pytest.mark.parametrize("name", codec.NAMES)
def test_threads_do_not_change_the_bytes(name, monkeypatch):
    monkeypatch.setattr(deflate, "BLOCK", BLOCK // 8)  # as many blocks, in less time
    data = some_bytes(BLOCK // 2 + 5) + random.Random(2).randbytes(BLOCK // 8)
    streams = {pack(data, jobs, need(name))[1] for jobs in (1, 2, 5)}
    assert len(streams) == 1


def test_blocks_cost_next_to_nothing():
    data = some_bytes(2 * BLOCK)
    whole = zlib.compressobj(6, zlib.DEFLATED, -15)
    at_once = len(whole.compress(data) + whole.flush())
    assert pack(data)[0].csize < at_once * 1.005


def test_blocks_under_way_are_few(monkeypatch):
    """However large the file, only as many blocks are in memory as threads can chew."""
    monkeypatch.setattr(deflate, "BLOCK", 1000)
    reached = written = 0
    ahead = []

    class Counting:
        size = 200_000

        def read_at(self, offset: int, length: int) -> bytes:
            nonlocal reached
            reached = offset + length
            ahead.append(reached - written)
            return b"x" * length

    def write(_: bytes) -> None:
        nonlocal written
        written += 1000

    with Deflating(codec.Compressor.choose("zlib"), 3) as deflating:
        deflating.begin(Counting(), "it").write(write)
    assert max(ahead) <= 7000


def test_a_source_that_ends_early_is_a_failure():
    class Short:
        size = 10

        def read_at(self, offset: int, length: int) -> bytes:
            return b"x"

    with Deflating(codec.Compressor.choose(), 1) as deflating, pytest.raises(EnvironmentFailure, match="shorter"):
        deflating.begin(Short(), "it").write(lambda _: None)


def dense(size: int) -> bytes:
    """Bytes of which hardly any value is absent, and in which nothing repeats."""
    return random_bytes(240, size, seed=3)


@named_cases(
    "make",
    {
        "dense throughout": lambda: dense(3 * BLOCK),
        "a last block of one byte": lambda: dense(BLOCK + 1),
        "dense, not dense, dense again": lambda: dense(600_000) + some_bytes(300_000) + dense(600_000),
        "dense at its end": lambda: some_bytes(300_000) + dense(700_000),
        "dense only where it was looked at": lambda: dense(65_536) + some_bytes(70_000),
        "noise and nothing": lambda: random.Random(4).randbytes(BLOCK + 5) + bytes(BLOCK),
        "it only looks dense": lambda: dense(100) * 9000,
    },
)
def test_what_is_dense_is_packed_otherwise_and_right(make):
    data = make()
    packed, stream = pack(data, name=need("mixed"), level=5)
    inflater = zlib.decompressobj(-15)
    assert inflater.decompress(stream) == data
    assert inflater.eof
    assert not inflater.unused_data
    assert (packed.csize, packed.crc) == (len(stream), zlib.crc32(data))
    plain = pack(data, name="zlib-ng", level=5)[0].csize
    assert packed.csize <= plain * 1.03


def test_what_is_small_is_as_small_as_can_be():
    data = some_bytes(500)
    assert pack(data, name=need("mixed"), level=5)[1] == pack(data, name="zlib-ng", level=5)[1]
