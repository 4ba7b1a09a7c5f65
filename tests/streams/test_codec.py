"""The door to deflate: which compressor is taken, and that both speak the same format."""

from __future__ import annotations

import random
import zlib

import pytest

from wheelfix.errors import UsageError
from wheelfix.streams import codec

DATA = b"some text that repeats, some text that repeats\n" * 500


@pytest.fixture(params=codec.NAMES)
def name(request: pytest.FixtureRequest) -> str:
    """Each compressor that is installed."""
    if not codec._version(request.param):
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


@pytest.mark.parametrize("level", range(10))
def test_zlib_inflates_what_each_compressor_makes(name, level):
    deflater = codec.Compressor.choose(name, level).deflater()
    packed = deflater.compress(DATA) + deflater.flush()
    assert zlib.decompress(packed, -15) == DATA


def test_names_versions_and_methods(name):
    compressor = codec.Compressor.choose(name, "store")
    assert (compressor.name, compressor.level, compressor.method) == (name, -1, codec.STORED)
    assert compressor.version[0].isdigit()
    assert codec.Compressor.choose(name, "7").level == 7
    assert codec.Compressor.choose(name).method == codec.DEFLATED
    assert codec.Compressor.choose(name, "auto").level == {"mixed": 5, "zlib-ng": 5, "zlib": 6}[name]


def test_the_best_one_at_hand_is_taken(monkeypatch):
    pytest.importorskip("zlib_ng")
    monkeypatch.setattr(codec, "libdeflate_version", lambda: "1.2")
    assert codec.Compressor.choose().name == "mixed"
    assert codec.Compressor.choose().version.endswith("+deflate1.2")
    assert codec.Compressor.choose(level=9).name == "zlib-ng", "it does not keep to a level"
    monkeypatch.setattr(codec, "libdeflate_version", lambda: "")
    assert codec.Compressor.choose().name == "zlib-ng"
    with pytest.raises(UsageError, match="is not installed") as caught:
        codec.Compressor.choose("mixed")
    assert caught.value.hint == "pip install zlib-ng deflate"
    monkeypatch.setattr(codec, "_zlib_ng", lambda: None)
    assert codec.Compressor.choose().name == "zlib"
    with pytest.raises(UsageError, match="is not installed"):
        codec.Compressor.choose("zlib-ng")


@pytest.mark.parametrize(
    "name, level",
    [("auto", 10), ("auto", -2), ("auto", "best"), ("auto", ""), ("auto", "\u0665"), ("auto", "06"), ("gzip", 6)],
)
def test_nonsense_is_refused(name, level):
    with pytest.raises(UsageError) as caught:
        codec.Compressor.choose(name, level)
    assert caught.value.hint


@pytest.mark.parametrize(
    "data, size, expected",
    [
        (zlib.compress(DATA, 6)[2:-4], len(DATA), DATA),
        (zlib.compress(DATA, 6)[2:-4], len(DATA) - 1, None),
        (zlib.compress(DATA, 6)[2:-4], len(DATA) + 1, None),
        (zlib.compress(DATA, 6)[2:-5], len(DATA), None),
        (zlib.compress(DATA, 6)[2:-4] + b"x", len(DATA), None),
        (zlib.compress(b"")[2:-4], 0, b""),
        (b"\xff" * 9, 5, None),
        (b"", 0, None),
    ],
)
def test_inflating_at_once(data, size, expected):
    assert codec.inflate_whole(data, size) == expected


def test_a_stream_that_is_too_long_and_then_damaged():
    """The damage lies behind as many bytes as are asked for, so that it comes to light only in a second step."""
    literal, match, distance = f"{0x30 + ord('a'):08b}", "0000001", "11101"
    bits = "110" + literal * 11 + match + distance + "0" * 13 + "0000000"  # a fixed block; 24 577 bytes back is nothing
    stream = bytes(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))
    assert codec.inflate_whole(stream, 10) is None


def test_crc():
    assert codec.crc32(DATA[100:], codec.crc32(DATA[:100])) == zlib.crc32(DATA)


# ----------------------------------------------------------------------------------------------------------- libdeflate
# Pieces of a stream by libdeflate: they can be followed by more.


pytest.importorskip("deflate")


def some_bytes(size: int, seed: int, values: int) -> bytes:
    return random.Random(seed).randbytes(size).translate(bytes(number % values for number in range(256)))


@pytest.mark.parametrize("size", [1, 2, 50, 100, 5_000, 60_000, codec.PIECE])
@pytest.mark.parametrize("values", [1, 90, 200, 256])
def test_a_piece_can_be_followed_by_more(size, values):
    """Wherever the last bit lies: the sizes of the blocks differ from seed to seed."""
    for seed in range(12):
        data = some_bytes(size, seed, values)
        packed = codec.pack_piece(memoryview(data))
        assert packed is not None
        inflater = zlib.decompressobj(-15)
        assert inflater.decompress(packed) == data
        assert not inflater.eof
        assert inflater.decompress(packed + codec.LAST) == data
        assert inflater.eof
        assert not inflater.unused_data


def test_what_takes_several_blocks_is_no_piece():
    assert codec.pack_piece(memoryview(some_bytes(400_000, 1, 200))) is None
