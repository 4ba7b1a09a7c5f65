"""Reading back: what was written wrongly is seen."""

from __future__ import annotations

import random
import zlib
from typing import TYPE_CHECKING

import pytest

from tests.archive.byhand import DIST_INFO, Entry, build_zip, wheel_entries, write_wheel_by_hand
from wheelfix.archive.changes import NewMember, WheelChanges
from wheelfix.archive.conformance import read_back
from wheelfix.archive.reader import Archive
from wheelfix.archive.writer import write_wheel
from wheelfix.streams import codec
from wheelfix.streams.deflate import BLOCK

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.archive.writer import Draft


def test_a_right_wheel(tmp_path: Path) -> None:
    path = write_wheel_by_hand(tmp_path, [Entry("x.dll", b"x" * 100)])
    result = read_back(path, ["x.dll"])
    assert (result.archive, result.record, result.damaged, result.problems) == ((), (), (), ())


def test_everything_that_can_be_wrong(tmp_path: Path) -> None:
    entries = wheel_entries([Entry("x.dll", b"x" * 100), Entry("y.dll", b"y" * 100), Entry("z.dll", b"z" * 100)])
    entries[0].data = b"w" * 100
    entries[1].both = {"crc": 1}
    entries[2].local = {"crc": 2}
    entries.append(Entry("orphan.dll", b""))
    path = tmp_path / "pkg-1.0-py3-none-any.whl"
    path.write_bytes(build_zip(entries))
    result = read_back(path, ["x.dll", "y.dll", "z.dll", "none.dll"])
    assert [fault.kind for fault in result.archive] == ["local-mismatch"]
    assert [fault.kind for fault in result.record] == ["row-missing"]
    assert result.damaged == (
        "none.dll: it is not in the wheel",
        "x.dll: its sha256 is not what RECORD says",
        f"y.dll: its CRC is {zlib.crc32(b'y' * 100):08x} instead of 00000001",
    )
    assert len(result.problems) == 5


def test_no_record(tmp_path: Path) -> None:
    path = tmp_path / "pkg-1.0-py3-none-any.whl"
    path.write_bytes(build_zip([Entry(f"{DIST_INFO}/METADATA", b"")]))
    assert read_back(path).problems == ("RECORD: there is no RECORD",)


@pytest.mark.slow
@pytest.mark.parametrize("name", codec.NAMES)
def test_blocks_are_looked_at_one_by_one(tmp_path: Path, name: str) -> None:
    """What is whole is found to be, and every block that is not; with and without knowing where blocks end."""
    if not codec._version(name):
        pytest.skip(f"{name} is not installed")
    chance = random.Random(1)
    data = bytes(chance.choices(range(64), k=BLOCK)) + bytes(chance.choices(range(200), k=BLOCK)) + b"the end" * 99
    source = write_wheel_by_hand(tmp_path, [Entry("a.txt", b"a")])
    found: list[tuple[str, ...]] = []

    def check(draft: Draft) -> None:
        draft.ready()
        cuts = draft.cuts["x.dll"]
        assert len(cuts) == 3
        with Archive.open(draft.path) as archive:
            member = archive.find("x.dll")
            assert member is not None
            at, size = archive.data_span(member)
        assert sum(cuts) == size
        whole = draft.path.read_bytes()
        places = [at + cuts[0] // 2, at + cuts[0] + cuts[1] // 2, at + size - 2]
        for place in (None, *places):
            spoilt = bytearray(whole)
            if place is not None:
                spoilt[place] ^= 0x55
            draft.path.write_bytes(spoilt)
            for known in (draft.cuts, {}):
                found.append(read_back(draft.path, ["x.dll"], cuts=known).damaged)
        draft.path.write_bytes(whole)

    edition = WheelChanges(DIST_INFO, add=(NewMember("x.dll", data=data),))
    with Archive.open(source) as archive:
        write_wheel(archive, tmp_path / "out.whl", edition, compressor=codec.Compressor.choose(name), check=check)
    assert found[:2] == [(), ()]
    assert all(len(damaged) == 1 and damaged[0].startswith("x.dll: ") for damaged in found[2:])
