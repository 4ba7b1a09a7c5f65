from __future__ import annotations

import gc
import hashlib
import os
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.chance import misread
from tests.support.tables import named_cases
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.streams import source as steps
from wheelfix.streams.source import FileSource, HashingSource, InflatedSource, MemorySource, StoredSource, chunks


def deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
    return compressor.compress(data) + compressor.flush()


def inflated(packed: bytes, usize: int, **options: int) -> InflatedSource:
    return InflatedSource(lambda at, length: packed[at : at + length], len(packed), usize, **options)


def mixed(size: int, seed: int = 1) -> bytes:
    """Bytes that compress somewhat: words from a small book, with noise in between."""
    dice = random.Random(seed)
    book = [dice.randbytes(dice.randint(3, 90)) for _ in range(200)]
    data = bytearray()
    while len(data) < size:
        data += dice.choice(book)
        if dice.random() < 0.1:
            data += dice.randbytes(50)
    return bytes(data[:size])


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps so small that some hundred kilobytes see every jump."""
    monkeypatch.setattr(steps, "INPUT_STEP", 512)
    monkeypatch.setattr(steps, "OUTPUT_STEP", 2048)
    monkeypatch.setattr(steps, "FIRST", 4096)
    monkeypatch.setattr(steps, "FIRST_STEP", 256)
    monkeypatch.setattr(steps, "CHECKPOINT_STEP", 8192)
    monkeypatch.setattr(steps, "CHECKPOINTS", 8)


@pytest.mark.usefixtures("small_steps")
@named_cases("cache", {"no-cache": 0, "small-cache": 4096, "all-cached": 1 << 20})
def test_any_order_of_reads_gives_the_bytes(cache):
    data = mixed(400_000)
    source = inflated(deflate(data), len(data), cache=cache)
    dice = random.Random(7)
    for _ in range(300):
        at, length = dice.randrange(len(data) + 100), dice.randrange(5000)
        assert source.read_at(at, length) == data[at : at + length]
    assert source.size == len(data)


@pytest.mark.usefixtures("small_steps")
def test_a_jump_back_starts_at_a_checkpoint():
    data = mixed(200_000)
    packed = deflate(data)
    asked = []

    def read(at: int, length: int) -> bytes:
        asked.append(at)
        return packed[at : at + length]

    source = InflatedSource(read, len(packed), len(data), cache=0)
    source.read_at(199_000, 10)
    asked.clear()
    assert source.read_at(150_000, 10) == data[150_000:150_010]
    assert asked
    assert min(asked) > len(packed) // 2
    # And going on at the end needs nothing from the middle.
    asked.clear()
    assert source.read_at(199_990, 10) == data[199_990:]
    assert not asked or min(asked) > len(packed) * 9 // 10


@pytest.mark.usefixtures("small_steps")
def test_memory_stays_small_however_long_the_member():
    data = bytes(5 << 20)
    source = inflated(deflate(data), len(data), cache=4096)
    assert source.read_at(len(data) - 1, 1) == b"\0"
    assert sum(len(chunk) for _, chunk in source._recent) <= 4096 + steps.OUTPUT_STEP
    source.read_at(len(data) - 100_000, 1)
    assert len(source._checkpoints) <= steps.CHECKPOINTS
    assert sum(len(chunk) for _, chunk in source._recent) <= 4096 + steps.OUTPUT_STEP


@pytest.mark.usefixtures("small_steps")
def test_a_file_that_is_spoilt_between_two_reads_is_an_input_error():
    data = mixed(100_000)
    packed = bytearray(deflate(data))
    source = InflatedSource(lambda at, length: bytes(packed[at : at + length]), len(packed), len(data), cache=0)
    source.read_at(99_000, 10)
    del packed[len(packed) // 3 :]
    with pytest.raises(InputError, match="cut short"):
        source.read_at(60_000, 10)


@named_cases(
    "spoil",
    {
        "cut": lambda packed: packed[: len(packed) // 2],
        "nothing": lambda packed: b"",
        "garbage": lambda packed: packed[:40] + b"\xff" * 60 + packed[100:],
        "less-than-promised": lambda packed: deflate(b"short"),
    },
)
def test_a_damaged_stream_is_an_input_error(spoil):
    data = mixed(100_000)
    packed = spoil(deflate(data))
    source = inflated(packed, len(data))
    with pytest.raises(InputError, match="damaged after"):
        source.read_at(len(data) - 10, 10)


def test_bytes_behind_the_promised_size_are_not_looked_at():
    packed = deflate(bytes(50 << 20))
    source = inflated(packed, 1000)
    assert source.read_at(0, 1 << 30) == bytes(1000)
    assert source._frontier.reached == 1000


@pytest.mark.usefixtures("small_steps")
def test_threads_may_share_a_source():
    data = mixed(300_000)
    assert misread(inflated(deflate(data), len(data), cache=8192), data, threads=4, length=700) == []


@given(st.binary(max_size=3000), st.lists(st.tuples(st.integers(-5, 3100), st.integers(-5, 3100)), max_size=8))
def test_all_sources_agree(data, reads):
    packed = deflate(data)
    stored = StoredSource(lambda at, length: data[at : at + length], len(data))
    sources = (MemorySource(data), stored, inflated(packed, len(data)))
    for at, length in reads:
        expected = data[at : at + length] if at >= 0 and length > 0 else b""
        assert [source.read_at(at, length) for source in sources] == [expected] * 3


@named_cases("pread", {"pread": True, "seek": False})
def test_a_file_on_disk(tmp_path, monkeypatch, pread):
    if not pread:
        monkeypatch.delattr(os, "pread", raising=False)
    path = tmp_path / "a.dll"
    path.write_bytes(bytes(range(256)))
    with FileSource(path) as source:
        assert source.size == 256
        assert source.read_at(250, 100) == bytes(range(250, 256))
        assert source.read_at(256, 1) == source.read_at(-1, 1) == b""
        assert b"".join(chunks(source, 10, 30)) == bytes(range(10, 30))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(EnvironmentFailure, match=r"absent\.dll"):
        FileSource(tmp_path / "absent.dll")


@pytest.mark.filterwarnings("error")
def test_the_last_user_closes_the_file(tmp_path):
    path = tmp_path / "a.dll"
    path.write_bytes(b"abc")
    file = FileSource(path)
    handle = file._file
    del file
    gc.collect()
    assert handle.closed


@given(st.binary(max_size=300), st.lists(st.tuples(st.integers(0, 350), st.integers(0, 350)), max_size=8))
def test_bytes_are_hashed_once_and_in_order(data, reads):
    sources = [HashingSource(MemorySource(data)), HashingSource(inflated(deflate(data), len(data)))]
    for offset, length in reads:
        assert [source.read_at(offset, length) for source in sources] == [data[offset : offset + length]] * 2
    assert {source.finish(zlib.crc32(data)) for source in sources} == {hashlib.sha256(data).digest()}


@pytest.mark.parametrize(
    "packed, crc", [(deflate(b"text"), 5), (deflate(b"text") + b"x", None), (deflate(b"text more"), None)]
)
def test_what_is_not_as_the_archive_says_has_no_hash(packed, crc):
    with pytest.raises(InputError, match="not those"):
        HashingSource(inflated(packed, 4)).finish(crc)


@pytest.mark.parametrize("place", [10, 100_000, 400_000, 700_000])
def test_a_sparing_source_reads_little_more_than_it_takes(place):
    """What is read of a server should be what leads to the place, for well and badly packed data before it."""
    data = random.Random(3).randbytes(300_000) + bytes(200_000) + random.Random(4).randbytes(300_000)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(data) + packer.flush()
    read = []

    def read_packed(offset: int, length: int) -> bytes:
        read.append((offset, length))
        return packed[offset : offset + length]

    source = InflatedSource(read_packed, len(packed), len(data), sparing=True)
    assert source.read_at(place, 100) == data[place : place + 100]
    needed = place - max(0, min(place, 500_000) - 300_000)
    assert sum(length for _, length in read) <= needed + (40 << 10)
    assert len(read) < 25
