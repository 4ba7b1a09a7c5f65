"""Far into a deflate stream, on several processors.

Only who has inflated the first half of a stream knows what the second refers back to, and how far into the file it
begins. But scouts can go ahead: one enters where a block seems to begin, and inflates twice, once as if all bytes
before it were 00 and once as if they were FF. As soon as the last 32 KB of both are equal, what was unknown is gone
from all that a block may refer to, and everything from there on is as it really is. Whoever comes from the front takes
over the scout's place when he has come to where the scout entered, and a block does begin there; if not, he goes on.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from wheelfix.archive import codec
from wheelfix.archive.blocks import SEARCH, WINDOW, begins_block, find_block
from wheelfix.errors import WheelfixError
from wheelfix.pe.packed import Checkpoints, Position

if TYPE_CHECKING:
    from wheelfix.crew import Crew
    from wheelfix.pe.packed import Packed

LEG = 8 << 20
"""Packed bytes that are worth a scout."""
PATIENCE = 32 << 20
"""Inflated bytes after which a scout to whom the past still matters gives up; torch_cpu.dll takes 15 MB at most."""


def leap(packed: Packed, target: int, crew: Crew) -> Position | None:
    """Return a place at or before ``target``, with scouts of the crew; None if it is too near for any."""
    distance = packed.csize * target // packed.usize  # a guess: no part is packed like another
    legs = min(crew.jobs, distance // LEG)
    if legs < 2:
        return None
    scouts: list[_Scout] = []
    for leg in range(legs - 1, 0, -1):
        scouts.insert(0, _Scout(packed, distance * leg // legs, scouts[0] if scouts else None))
        crew.begin_now(scouts[0].run)
    try:
        return _follow(packed, target, scouts.copy())
    finally:
        for scout in scouts:
            scout.stop()


def _follow(packed: Packed, target: int, ahead: list[_Scout]) -> Position:
    """Inflate from the front, and take over from one scout after the other."""
    place = Position(codec.inflater())
    while place.reached < target:
        if ahead and ahead[0].is_behind(place.consumed):
            ahead.pop(0).stop()
            continue
        until = ahead[0].entry if ahead else None
        if until is not None and until < place.consumed:
            continue  # it was found in this very moment, too late
        if not place.step(packed, until=until, room=target - place.reached):
            place = _take_over(place, ahead.pop(0), target)
    return place


def _take_over(place: Position, scout: _Scout, target: int) -> Position:
    """Return the scout's place, if it is known to be right and helps to come nearer."""
    scout.stop()
    if not begins_block(place.inflater):
        return place
    best = scout.nearest(target - place.reached)
    if best is None:
        return place
    best.reached += place.reached
    return best


class _Scout:
    """Inflates from somewhere in the middle up to where the next one began."""

    def __init__(self, packed: Packed, near: int, ahead: _Scout | None) -> None:
        self._packed, self._near, self._ahead = packed, near, ahead
        self.entry: int | None = None
        """Where it entered the stream, as soon as that is known."""
        self._place: Position | None = None
        """How far it is, counted from its entry, once that does not depend any more on what was before."""
        self._checkpoints: Checkpoints | None = None
        self._asked = threading.Event()
        self._running = threading.Lock()
        self._ended = False

    def stop(self) -> None:
        """Stop where it is, which takes a step at most, or do not even begin."""
        self._asked.set()
        with self._running:
            pass

    def is_behind(self, consumed: int) -> bool:
        """Whether it is of no use to who has come so far."""
        if self.entry is not None:
            return self.entry < consumed
        return self._ended or self._near + SEARCH < consumed

    def nearest(self, offset: int) -> Position | None:
        """The place that it knows nearest to ``offset``, counted from its entry; after it has stopped."""
        if self._place is None or self._checkpoints is None:
            return None
        return self._place if self._place.reached <= offset else self._checkpoints.before(offset)

    def run(self) -> None:
        """Go ahead, as far as possible: a damaged stream is told by who comes from the front."""
        with self._running, contextlib.suppress(WheelfixError):
            if not self._asked.is_set():
                self.entry = find_block(self._packed.read, self._near, self._asked.is_set)
            if self.entry is not None:
                self._enter(self.entry)
        self._ended = True

    def _enter(self, entry: int) -> None:
        """Inflate with two pasts until they do not matter, then go on; give up where they do not cease to."""
        places = [Position(codec.inflater(past * WINDOW), entry) for past in (b"\x00", b"\xff")]
        last = [b"", b""]
        while not self._asked.is_set() and places[0].reached < min(PATIENCE, self._packed.usize):
            last = [(end + place.step(self._packed))[-WINDOW:] for end, place in zip(last, places, strict=True)]
            if last[0] == last[1] and len(last[0]) == WINDOW:
                self._go_on(places[0])
                return

    def _go_on(self, place: Position) -> None:
        checkpoints = Checkpoints(place)
        self._place, self._checkpoints = place, checkpoints
        while not self._asked.is_set() and place.reached < self._packed.usize:
            until = self._ahead.entry if self._ahead is not None else None
            if until is not None and until < place.consumed:
                until = None
            if not place.step(self._packed, until=until):
                return
            checkpoints.pass_by(place)
