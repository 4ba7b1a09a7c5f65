"""Bytes that pack as those of a DLL do: to less than half, in blocks with codes of their own."""

from __future__ import annotations

import functools
import random

_WORDS = 600
_LENGTHS = (1, 2, 3, 4, 6, 9, 15, 40)


@functools.cache
def like_code(size: int, seed: int = 1) -> bytes:
    """Words that repeat for a while, until others come up, and noise between them."""
    dice = random.Random(seed)
    words = [dice.randbytes(dice.choice(_LENGTHS)) for _ in range(_WORDS)]
    weights = [1 / (1 + number) for number in range(_WORDS)]
    data = bytearray()
    while len(data) < size:
        for _ in range(_WORDS // 10):
            words[dice.randrange(_WORDS)] = dice.randbytes(dice.choice(_LENGTHS))
        parts = dice.choices(words, weights, k=2000)
        parts[::5] = [dice.randbytes(2) for _ in parts[::5]]
        data += b"".join(parts)
    return bytes(data[:size])
