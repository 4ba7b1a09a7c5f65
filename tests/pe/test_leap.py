"""Leaps give the place that a walk would come to, whatever the scouts met with."""

from __future__ import annotations

import base64
import random
import zlib
from typing import TYPE_CHECKING

import pytest

from tests.support.binary import like_code
from wheelfix.archive import blocks
from wheelfix.crew import Crew
from wheelfix.errors import InputError
from wheelfix.pe import leap as leaps
from wheelfix.pe import packed as steps
from wheelfix.pe import stream
from wheelfix.pe.leap import leap
from wheelfix.pe.packed import Packed, Position
from wheelfix.pe.stream import InflatedSource

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 6 << 20


class AtOnce(Crew):
    """Lets each scout go as far as it can before anybody else does anything."""

    def begin_now(self, work: Callable[[], object]) -> None:  # type: ignore[override]
        work()


class Never(Crew):
    """Has no time for scouts."""

    def begin_now(self, work: Callable[[], object]) -> None:  # type: ignore[override]
        pass


@pytest.fixture(autouse=True)
def short_legs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few megabytes be as good as hundreds."""
    monkeypatch.setattr(leaps, "LEG", 256 << 10)
    monkeypatch.setattr(stream, "FAR", 512 << 10)
    monkeypatch.setattr(steps, "FIRST", 128 << 10)
    monkeypatch.setattr(steps, "FIRST_STEP", 16 << 10)
    monkeypatch.setattr(steps, "FIRST_OUTPUT", 64 << 10)
    monkeypatch.setattr(steps, "INPUT_STEP", 64 << 10)
    monkeypatch.setattr(steps, "OUTPUT_STEP", 128 << 10)
    monkeypatch.setattr(steps, "CHECKPOINT_STEP", 128 << 10)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each meeting with a scout brought whoever came from the front further."""
    taken: list[bool] = []
    take_over = leaps._take_over

    def watched(place: Position, scout: leaps._Scout, target: int) -> Position:
        found = take_over(place, scout, target)
        taken.append(found is not place)
        return found

    monkeypatch.setattr(leaps, "_take_over", watched)
    return taken


def deflate(data: bytes, level: int = 6) -> bytes:
    deflater = zlib.compressobj(level, zlib.DEFLATED, -15)
    return deflater.compress(data) + deflater.flush()


def packed(data: bytes, level: int = 6) -> Packed:
    bytes_ = deflate(data, level)
    return Packed(lambda at, length: bytes_[at : at + length], len(bytes_), len(data))


def follows(place: Position, data: bytes, stream: Packed, length: int = 200_000) -> None:
    """What comes out at a place is what stands there in the data."""
    out, start = b"", place.reached
    while len(out) < min(length, len(data) - start):
        out += place.step(stream)
    assert out == data[start : start + len(out)]


@pytest.mark.parametrize("level", [6, 9])
@pytest.mark.parametrize("jobs", [2, 3, 5])
def test_scouts_bring_us_there(jobs: int, level: int, taken: list[bool]) -> None:
    data = like_code(SIZE)
    stream, target = packed(data, level), SIZE * 9 // 10
    with AtOnce(jobs) as crew:
        place = leap(stream, target, crew)
    assert place is not None
    assert SIZE // 2 < place.reached <= target
    assert any(taken)
    follows(place, data, stream)


@pytest.mark.parametrize("seed", range(8))
def test_anywhere_with_scouts_that_race(seed: int) -> None:
    dice = random.Random(seed)
    data = like_code(2 << 20, seed) + bytes(dice.randrange(500_000)) + dice.randbytes(200_000) + like_code(2 << 20)
    stream = packed(data, dice.choice((1, 4, 6, 9)))
    with Crew(dice.choice((2, 3, 4))) as crew:
        for _ in range(4):
            target = dice.randrange(1 << 20, len(data))
            place = leap(stream, target, crew)
            if place is not None:
                assert place.reached <= target
                follows(place, data, stream)


def test_who_has_passed_the_target_goes_back_to_a_checkpoint(taken: list[bool]) -> None:
    """The second half is packed so much better that the guess where the target lies is far off."""
    data = like_code(SIZE // 2) + like_code(40_000) * 75
    stream = packed(data)
    with AtOnce(2) as crew:
        for target in (SIZE * 45 // 100, SIZE * 55 // 100, SIZE * 7 // 10):
            place = leap(stream, target, crew)
            assert place is not None
            assert place.reached <= target
            follows(place, data, stream)
    assert taken


def test_what_never_forgets_its_past_is_of_no_use_and_does_no_harm(taken: list[bool]) -> None:
    """Every byte is a copy of the one 30 000 before it, so that what was unknown stays unknown."""
    start, rest = like_code(30_000), bytearray()
    dice = random.Random(3)
    for number in range(150):
        rest += start
        rest[-10 - number : -10] = dice.randbytes(number)
    data = bytes(start + rest)
    stream = Packed(lambda at, length: bytes_[at : at + length], len(bytes_ := deflate(data, 9)), len(data))
    with AtOnce(2) as crew:
        place = leap(stream, len(data) * 9 // 10, crew)
    if place is not None:
        follows(place, data, stream)


def test_who_cannot_get_rid_of_his_past_soon_gives_up(taken: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaps, "PATIENCE", 1)
    went_on: list[Position] = []
    monkeypatch.setattr(leaps._Scout, "_go_on", lambda self, place: went_on.append(place))
    data = like_code(SIZE)
    stream = packed(data)
    with AtOnce(2) as crew:
        place = leap(stream, SIZE * 9 // 10, crew)
    assert place is not None
    assert not went_on
    assert taken == [False]
    follows(place, data, stream)


def test_blocks_of_a_stream_within_the_stream_are_not_entered(taken: list[bool]) -> None:
    data = deflate(like_code(SIZE))
    stream = packed(data, 0)
    with AtOnce(3) as crew:
        place = leap(stream, len(data) * 9 // 10, crew)
    assert place is not None
    assert taken, "nobody was fooled, so this tests nothing"
    assert not any(taken)
    follows(place, data, stream)


def test_without_the_question_it_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that hardly refer back seem to be right before the stored block around them ends."""
    dice = random.Random(1)
    text = bytearray(base64.b64encode(dice.randbytes(3 << 20)))
    for at in range(40_000, len(text), 300):
        length, back = dice.randrange(3, 60), dice.randrange(100, 32_000)
        text[at : at + length] = text[at - back : at - back + length]
    data = deflate(bytes(text))
    stream, target = packed(data, 0), len(data) * 9 // 10
    with AtOnce(2) as crew:
        place = leap(stream, target, crew)
        assert place is not None
        follows(place, data, stream)
        monkeypatch.setattr(leaps, "begins_block", lambda inflater: True)
        with pytest.raises(InputError):
            leap(stream, target, crew)


def test_scouts_that_never_set_out_are_not_waited_for() -> None:
    data = like_code(SIZE)
    stream = packed(data)
    with Never(4) as crew:
        place = leap(stream, SIZE // 2, crew)
    assert place is not None
    assert place.reached == SIZE // 2
    follows(place, data, stream)


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_near_needs_no_scouts(jobs: int) -> None:
    with Crew(jobs) as crew:
        assert leap(packed(like_code(1 << 20)), 200_000 if jobs > 1 else 1 << 20, crew) is None


@pytest.mark.parametrize("crew", [AtOnce, Crew, Never])
def test_a_source_with_a_crew_reads_what_one_without_reads(crew: type[Crew]) -> None:
    data = like_code(SIZE)
    stream = packed(data)
    with crew(3) as helpers:
        source = InflatedSource(stream.read, stream.csize, stream.usize, cache=256 << 10, crew=helpers)
        assert source.read_at(0, 4096) == data[:4096]
        for offset in (SIZE - 900_000, SIZE - 1_100_000, SIZE - 300_000, 5000, SIZE // 2, SIZE - 10):
            assert source.read_at(offset, 70_000) == data[offset : offset + 70_000]


@pytest.mark.parametrize("crew", [AtOnce, Crew, Never])
@pytest.mark.parametrize("where", [0.1, 0.45, 0.6, 0.8, 0.93])
@pytest.mark.parametrize("how", ["cut", "spoilt", "shorter"])
def test_of_a_damaged_stream_the_same_is_said_as_ever(how: str, where: float, crew: type[Crew]) -> None:
    bytes_ = bytearray(deflate(like_code(SIZE)))
    size, at = SIZE, int(len(bytes_) * where)
    if how == "cut":
        del bytes_[at:]
    elif how == "spoilt":
        bytes_[at : at + 40] = b"\xff" * 40
    else:
        bytes_ = bytearray(deflate(like_code(SIZE)[: int(SIZE * where)]))

    def read(helpers: Crew | None) -> str | bytes:
        source = InflatedSource(
            lambda at, length: bytes(bytes_[at : at + length]), len(bytes_), size, cache=1024, crew=helpers
        )
        source.read_at(0, 100)
        try:
            return source.read_at(SIZE - 10, 10)  # not all that is spoilt is seen
        except InputError as exc:
            return f"{exc} {exc.because}"

    with crew(3) as helpers:
        assert read(helpers) == read(None)


def test_a_source_that_is_tapped_goes_step_by_step() -> None:
    data, passed = like_code(SIZE), bytearray()
    stream = packed(data)
    with AtOnce(3) as crew:
        source = InflatedSource(stream.read, stream.csize, stream.usize, tap=passed.extend, crew=crew)
        source.read_at(SIZE - 10, 10)
    assert passed == data


def test_the_search_ends_with_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "SEARCH", 64 << 20)
    stream = packed(random.Random(1).randbytes(SIZE))
    with AtOnce(2) as crew:
        place = leap(stream, SIZE * 9 // 10, crew)
    assert place is not None
    assert place.reached == SIZE * 9 // 10
