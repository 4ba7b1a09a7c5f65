"""Pieces of a stream by libdeflate: they can be followed by more, and refer to what was before."""

from __future__ import annotations

import random
import zlib

import pytest

from wheelfix.streams import codec

pytest.importorskip("deflate")


def some_bytes(size: int, seed: int, values: int) -> bytes:
    return bytes(random.Random(seed).choices(range(values), k=size))


@pytest.mark.parametrize("size", [1, 2, 50, 100, 5_000, 60_000, codec.PIECE])
@pytest.mark.parametrize("values", [1, 90, 200, 256])
def test_a_piece_can_be_followed_by_more(size: int, values: int) -> None:
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


def test_what_takes_several_blocks_is_no_piece() -> None:
    assert codec.pack_piece(memoryview(some_bytes(400_000, 1, 200))) is None


def test_a_piece_refers_to_what_was_before() -> None:
    before, data = some_bytes(30_000, 1, 256), some_bytes(30_000, 1, 256) + b"more"
    maker = zlib.compressobj(6, zlib.DEFLATED, -15, zdict=before)
    packed = maker.compress(data) + maker.flush(zlib.Z_SYNC_FLUSH)
    assert len(packed) < 1000
    assert codec.unpack_piece(packed, before, len(data)) == data
    other = codec.unpack_piece(packed, bytes(30_000), len(data))
    assert other is not None
    assert other != data


def test_a_piece_that_is_not_what_it_should_be() -> None:
    data = some_bytes(5000, 1, 90)
    maker = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = maker.compress(data) + maker.flush(zlib.Z_SYNC_FLUSH)
    assert codec.unpack_piece(packed, b"", 5000) == data
    assert codec.unpack_piece(packed, b"", 4999) is None
    assert codec.unpack_piece(packed, b"", 5001) is None
    assert codec.unpack_piece(packed[:-1], b"", 5000) is None
    assert codec.unpack_piece(packed + maker.flush(), b"", 5000) is None, "it ends the stream"
    assert codec.unpack_piece(b"\xff" * 90, b"", 5000) is None
