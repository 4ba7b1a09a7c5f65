"""Blocks of a deflate stream: where one begins in the middle of it, and how to be sure of that.

A stream is a chain of blocks without an index, and a block may begin at any bit. Yet one that describes its own codes
has a head so regular that it can be found, and one in eight begins at a byte. Whether a block really begins there only
an inflater can tell that has come there from the front.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from wheelfix.archive import codec

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW = 32 << 10
"""Bytes that a block may refer back to."""
SEARCH = 4 << 20
"""Packed bytes in which a block is looked for; in torch_cpu.dll one begins at a byte every quarter of a megabyte."""
_TRIAL, _MOST = 64 << 10, 1 << 20
"""Packed bytes that are inflated to see whether they can be, and how many may come out."""
_PORTION = 1 << 20
_TRIALS = 64
_QUESTIONS = 8

# Not the last block, with codes of its own, and with nearly all lengths and distances in use, as in any large file.
_LENGTHS = bytes(0b100 | lengths << 3 for lengths in range(20, 30))
_DISTANCES = bytes(distances | more << 5 for distances in (28, 29) for more in range(8))
_HEAD = re.compile(b"[" + re.escape(_LENGTHS) + b"](?=[" + re.escape(_DISTANCES) + b"])")


def find_block(read: Callable[[int, int], bytes], near: int, asked_to_stop: Callable[[], bool]) -> int | None:
    """Return where a block seems to begin at a byte, at ``near`` or not far behind it."""
    trials = 0
    for start in range(near, near + SEARCH, _PORTION):
        data = read(start, _PORTION + _TRIAL)
        for head in _HEAD.finditer(data, 0, _PORTION):
            if not _has_full_code(data, head.start()):
                continue
            trials += 1
            if trials > _TRIALS or asked_to_stop():
                return None
            if _inflates(data[head.start() : head.start() + _TRIAL]):
                return start + head.start()
    return None


def _has_full_code(data: bytes, head: int) -> bool:
    """Whether the code in which a block describes its codes leaves no room, and is not too long either."""
    bits = int.from_bytes(data[head : head + 10], "little") >> 13
    room, count = 128, (bits & 15) + 4
    for shift in range(4, 4 + 3 * count, 3):
        length = bits >> shift & 7
        if length:
            room -= 128 >> length
    return room == 0


def _inflates(data: bytes) -> bool:
    trial = codec.inflater(bytes(WINDOW))
    try:
        return bool(trial.decompress(data, _MOST)) and not trial.eof
    except codec.inflate_error():
        return False


def begins_block(inflater: codec.Inflater) -> bool:
    """Whether an inflater that has got all bytes before this place, and given out all it can, expects a block here.

    It is given a last, stored block of noise, in a copy, and has to give out just the noise and be at its end. Within
    a block, the head of ours would be read as symbols, and what comes out would be the noise only by chance, whatever
    codes were made up before: the noise is made up now. Several questions leave no chance. Where the head ends one
    block early and begins another, that one is not the last.
    """
    for question in range(_QUESTIONS):
        noise = os.urandom(16 + question)
        size = len(noise).to_bytes(2, "little")
        answer = inflater.copy()
        try:
            out = answer.decompress(b"\x01" + size + bytes(0xFF ^ byte for byte in size) + noise, 1 << 10)
        except codec.inflate_error():
            return False
        if out != noise or not answer.eof or answer.unused_data:
            return False
    return True
