"""Random damage: flipped bits, edge numbers, copies, cuts, splices of two seeds."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

NUMBERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
WORDS = (b"\0", b"\n", b'"', b",", b"=", b"[", b"]", b"{", b"}", b"\\", b"/", b"..", b"\xff\xfe", b"PK\1\2", b"PK\5\6")
LARGEST = 1 << 16


def mutate(dice: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Return a seed with one to eight kinds of damage."""
    data = bytearray(dice.choice(corpus))
    for _ in range(dice.choice((1, 1, 2, 3, 5, 8))):
        at = dice.randrange(len(data) + 1)
        kind = dice.randrange(8)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << dice.randrange(8)
        elif kind == 1:
            form = dice.choice(("<B", "<H", "<I", ">I", "<Q"))
            limit = (1 << 8 * struct.calcsize(form)) - 1
            number = struct.pack(form, dice.choice(NUMBERS) & limit)
            data[at : at + len(number)] = number
        elif kind == 2:
            del data[at : at + dice.choice((1, 2, 8, 64, 512))]
        elif kind == 3:
            data[at:at] = dice.choice(WORDS) * dice.choice((1, 1, 2, 50))
        elif kind == 4:
            size, source = dice.choice((4, 20, 46, 200)), dice.randrange(len(data) + 1)
            data[at : at + size] = data[source : source + size]
        elif kind == 5:
            other = dice.choice(corpus)
            data[at:] = other[dice.randrange(len(other) + 1) :]
        elif kind == 6:
            data[at:at] = dice.randbytes(dice.choice((1, 4, 16)))
        else:
            del data[at:]
    return bytes(data[:LARGEST])
