"""Where a block begins: found by its head, and known for sure only from the front."""

from __future__ import annotations

import random
import zlib

import pytest

from tests.support.binary import like_code
from wheelfix.archive import codec
from wheelfix.archive.blocks import begins_block, find_block
from wheelfix.archive.codec import Compressor

SYNC = b"\x00\x00\xff\xff"


def deflate(data: bytes, level: int = 6, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    deflater = zlib.compressobj(level, zlib.DEFLATED, -15, 8, strategy)
    return deflater.compress(data) + deflater.flush()


def come_to(packed: bytes, place: int) -> codec.Inflater:
    inflater = codec.inflater()
    inflater.decompress(packed[:place])
    return inflater


def found_in(packed: bytes, near: int) -> int | None:
    return find_block(lambda at, length: packed[at : at + length], near, lambda: False)


@pytest.mark.parametrize("level", [1, 6, 9])
def test_a_block_is_found_and_is_one(level: int) -> None:
    packed = deflate(like_code(6 << 20), level)
    place = found_in(packed, len(packed) // 3)
    assert place is not None
    assert place >= len(packed) // 3
    assert begins_block(come_to(packed, place))


def test_what_we_pack_ourselves_has_such_blocks_too() -> None:
    deflater = Compressor.choose().deflater()
    packed = deflater.compress(like_code(6 << 20)) + deflater.flush()
    place = found_in(packed, len(packed) // 3)
    assert place is not None
    assert begins_block(come_to(packed, place))


@pytest.mark.parametrize(
    "data", [bytes(1 << 20), random.Random(1).randbytes(1 << 20), b""], ids=["zeros", "noise", "-"]
)
def test_where_there_is_none_none_is_found(data: bytes) -> None:
    packed = deflate(data)
    place = found_in(packed, len(packed) // 3)
    assert place is None or not begins_block(come_to(packed, place))


def test_who_is_asked_to_stop_looks_no_further() -> None:
    packed = deflate(like_code(4 << 20))
    assert find_block(lambda at, length: packed[at : at + length], 0, lambda: True) is None


@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY])
def test_an_inflater_expects_a_block_at_the_ends_of_blocks_and_nowhere_else(strategy: int) -> None:
    """Each part is a block, and is followed by an empty one that ends at a byte."""
    dice = random.Random(strategy)
    deflater, packed, ends = zlib.compressobj(6, zlib.DEFLATED, -15, 8, strategy), b"", set()
    text = like_code(60_000)
    for _ in range(12):
        at = dice.randrange(len(text) - 3000)
        packed += deflater.compress(text[at : at + 3000]) + deflater.flush(zlib.Z_SYNC_FLUSH)
        assert packed.endswith(SYNC)
        ends.add(len(packed))
    # The empty block may begin at a byte, too: its head is one byte then.
    known = ends | {end - 5 for end in ends}
    assert all(begins_block(come_to(packed, end)) for end in ends)
    others = [place for place in range(1, len(packed)) if begins_block(come_to(packed, place))]
    assert set(others) <= known


def test_blocks_of_a_stream_within_a_stored_block_are_not_believed() -> None:
    """A DLL may hold packed files: what seems to begin there are blocks of another stream."""
    inner = deflate(like_code(6 << 20))
    packed = deflate(inner, 0)
    place = found_in(packed, len(packed) // 3)
    assert place is not None, "this would test nothing"
    assert not begins_block(come_to(packed, place))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("end", ["0", "1"])
def test_a_made_up_code_does_not_help(end: str, last: bool) -> None:
    """One in which the end of a block takes a single bit, so that our question could end it and be a block itself."""
    symbols = {"1": (0, 256), "0": (256, 257)}[end]  # of two, the lower one is 0
    bits = _head(symbols, last=last)
    bits += "0" * (-len(bits) % 8) if end == "1" else "10" * (-len(bits) % 8 // 2)  # zeros, or three bytes again
    stream = b"\x00\x01\x00\xfe\xff." + int(bits[::-1], 2).to_bytes(len(bits) // 8, "little")
    inflater = codec.inflater()
    assert inflater.decompress(stream)[0:1] == b"."
    assert not inflater.eof
    assert not begins_block(inflater)


def _head(symbols: tuple[int, int], *, last: bool) -> str:
    """The bits at the head of a block with only these symbols, of a bit each, and one distance."""
    order = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1)
    lengths = [int(symbol in symbols) for symbol in range(max(symbols) + 1)] + [1]

    def number(value: int, width: int) -> str:
        return format(value, f"0{width}b")[::-1]

    counts = number(last, 1) + number(2, 2) + number(len(lengths) - 258, 5) + number(0, 5) + number(len(order) - 4, 4)
    return counts + "".join(number(symbol < 2, 3) for symbol in order) + "".join(map(str, lengths))
