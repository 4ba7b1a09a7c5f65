"""Bytes by chance, always the same and made fast."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

from wheelfix.model import ByteSource


def random_bytes(values: int, size: int, *, seed: int) -> bytes:
    """Return ``size`` bytes that are evenly distributed over the first ``values`` values."""
    chance, gone = random.Random(seed), bytes(range(values, 256))
    out = b""
    while len(out) < size:
        out += chance.randbytes((size - len(out)) * 256 // values + 64).translate(None, gone)
    return out[:size]


def misread(source: ByteSource, data: bytes, *, threads: int, length: int) -> list[int]:
    """Read parts of a source at places by chance, from several threads, and return where the bytes were not these."""

    def read(seed: int) -> list[int]:
        chance = random.Random(seed)
        places = [chance.randrange(len(data)) for _ in range(15)]
        return [at for at in places if source.read_at(at, length) != data[at : at + length]]

    with ThreadPoolExecutor(threads) as pool:
        return [at for wrong in pool.map(read, range(threads * 4)) for at in wrong]
