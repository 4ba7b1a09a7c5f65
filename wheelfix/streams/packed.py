"""A deflate stream that is inflated step by step, and places in it from which that can go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.errors import InputError
from wheelfix.streams import codec

if TYPE_CHECKING:
    from collections.abc import Callable

INPUT_STEP, FIRST_STEP = 512 << 10, 128 << 10
"""Compressed bytes fed at once. The first steps are smaller, because many a DLL is not read any further."""
OUTPUT_STEP = 512 << 10
"""Most bytes that one step may inflate to. Larger pieces leave the processor's cache, and the system has to give
memory for each of them again: steps of 4 MiB took a fifth longer."""
FIRST = 2 << 20
"""Inflated bytes that come in first steps."""
LEAST_STEP, MOST_STEP = 8 << 10, 4 << 20
"""Compressed bytes fed at once where each of them costs: as many as are expected to lead to the place that is read."""
SHORT = 128 << 10
"""Compressed bytes of a stream that is fed at once: its tables are usually near its end."""
LEAST_SHARE = 64
"""Of a long stream at least this part is fed at once, so that there are not too many steps."""
CHECKPOINT_STEP = 4 << 20
"""First distance between checkpoints; it doubles whenever there are more than CHECKPOINTS."""
CHECKPOINTS = 64


@dataclass(frozen=True, slots=True)
class Packed:
    """The packed bytes of a member, in the portions in which they are inflated."""

    read: Callable[[int, int], bytes]
    csize: int
    usize: int
    sparing: bool = False
    """Whether no more should be read than is needed, because it comes from a server."""

    def portion(self, consumed: int, reached: int, wanted: int = 0) -> bytes:
        """The next packed bytes after so many, to reach the place ``wanted``; none when there are no more."""
        step = FIRST_STEP if reached < FIRST else INPUT_STEP
        if self.sparing and wanted > reached:
            # less than the share of the distance, since a step more costs less than bytes that nobody reads
            packed, unpacked = self.csize, max(self.usize, 1)
            if reached > FIRST_STEP and consumed * unpacked < packed * reached:
                packed, unpacked = consumed, reached
            expected = (wanted - reached) * packed * 7 // (unpacked * 10)
            step = max(LEAST_STEP, self.csize // LEAST_SHARE, min(expected, MOST_STEP))
            if self.csize <= SHORT:
                step = self.csize
        return self.read(consumed, min(step, self.csize - consumed)) if consumed < self.csize else b""

    def room(self, reached: int) -> int:
        """How many bytes may come out at once after so many."""
        return min(OUTPUT_STEP, self.usize - reached)

    def damaged(self, reached: int, why: str) -> InputError:
        """The error for a stream that cannot be inflated further."""
        return InputError(
            f"a compressed member is damaged after {reached} of {self.usize} bytes",
            because=why,
            hint="download or build the wheel again",
        )


@dataclass(slots=True)
class Position:
    """A place in the stream from which inflating can go on."""

    inflater: codec.Inflater
    consumed: int = 0
    """Compressed bytes handed to the inflater."""
    reached: int = 0
    """Inflated bytes that came out of it."""

    def fork(self) -> Position:
        """The same place, for another reader to continue from."""
        return Position(self.inflater.copy(), self.consumed, self.reached)

    def step(self, packed: Packed) -> bytes:
        """Inflate the next chunk; InputError when the stream is damaged."""
        room = packed.room(self.reached)
        while True:
            data = self.inflater.unconsumed_tail
            if not data:
                data = packed.portion(self.consumed, self.reached)
                self.consumed += len(data)
            try:
                chunk = self.inflater.decompress(data, room)
            except codec.inflate_error() as exc:
                raise packed.damaged(self.reached, str(exc)) from exc
            self.reached += len(chunk)
            if chunk:
                return chunk
            if not data or self.inflater.eof:
                raise packed.damaged(self.reached, "the compressed data ends too early")


class Checkpoints:
    """Places that were left behind on the way, not too many of them."""

    def __init__(self, first: Position) -> None:
        self._spacing = CHECKPOINT_STEP
        self._places = [first.fork()]

    def pass_by(self, place: Position) -> None:
        """Keep a copy of this place if the last one is far behind."""
        if place.reached - self._places[-1].reached < self._spacing:
            return
        self._places.append(place.fork())
        if len(self._places) > CHECKPOINTS:
            del self._places[1::2]
            self._spacing *= 2

    def before(self, offset: int) -> Position:
        """The last of them from which ``offset`` can be reached; the first is the start of the stream."""
        return next(place for place in reversed(self._places) if place.reached <= offset)

    def __len__(self) -> int:
        return len(self._places)
