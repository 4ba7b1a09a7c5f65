"""Reading back: what was written wrongly is seen."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from tests.archive.byhand import DIST_INFO, Entry, build_zip, wheel_entries, write_wheel_by_hand
from wheelfix.archive.readback import read_back

if TYPE_CHECKING:
    from pathlib import Path


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
