"""Bytes by chance, always the same and made fast."""

from __future__ import annotations

import random


def random_bytes(values: int, size: int, *, seed: int) -> bytes:
    """Return ``size`` bytes that are evenly distributed over the first ``values`` values."""
    chance, gone = random.Random(seed), bytes(range(values, 256))
    out = b""
    while len(out) < size:
        out += chance.randbytes((size - len(out)) * 256 // values + 64).translate(None, gone)
    return out[:size]
