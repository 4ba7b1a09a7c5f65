"""What goes where in a new wheel, and which editions are refused before a byte is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.archive.byhand import DIST_INFO, Entry, build_zip, write_wheel_by_hand
from wheelfix.archive.changes import NewMember, WheelChanges, arrange, new_stamp
from wheelfix.archive.reader import Archive
from wheelfix.errors import CannotRepair, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """A wheel with dist-info in the middle and a signature."""
    entries = [Entry("lib/a.dll", b"a"), Entry(f"{DIST_INFO}/RECORD.jws", b"{}"), Entry("lib/b.dll", b"b")]
    with Archive.open(write_wheel_by_hand(tmp_path, entries)) as archive:
        yield archive


def test_the_order(archive: Archive) -> None:
    add = (
        NewMember(f"{DIST_INFO}/sboms/x.json", data=b"{}"),
        NewMember("lib/z.dll", data=b""),
        NewMember("lib/c.dll", data=b""),
        NewMember("lib/b.dll", data=b"other"),
    )
    arranged = arrange(archive, WheelChanges(DIST_INFO, add=add))
    assert [member.name for member in arranged.kept_first] == ["lib/a.dll", "pkg/__init__.py"]
    assert [member.name for member in arranged.new_first] == ["lib/b.dll", "lib/c.dll", "lib/z.dll"]
    assert [member.name for member in arranged.kept_last] == [f"{DIST_INFO}/METADATA", f"{DIST_INFO}/WHEEL"]
    assert [member.name for member in arranged.new_last] == [f"{DIST_INFO}/sboms/x.json"]
    assert sorted(arranged.replaced) == ["lib/b.dll", f"{DIST_INFO}/RECORD", f"{DIST_INFO}/RECORD.jws"]


@pytest.mark.parametrize(
    "name",
    ["../evil.dll", "/evil.dll", "C:/evil.dll", "lib\\x.dll", "lib/NUL.dll", "lib/x.dll.", "", "lib/x.dll:s"],
)
def test_unsafe_names_do_not_get_in(archive: Archive, name: str) -> None:
    with pytest.raises(CannotRepair, match="refusing to write"):
        arrange(archive, WheelChanges(DIST_INFO, add=(NewMember(name, data=b""),)))


def test_unsafe_names_do_not_stay_in(tmp_path: Path) -> None:
    path = write_wheel_by_hand(tmp_path, [Entry("../evil.py", b"")])
    with Archive.open(path) as archive:
        with pytest.raises(CannotRepair, match="leads upwards"):
            arrange(archive, WheelChanges(DIST_INFO))
        arrange(archive, WheelChanges(DIST_INFO, drop=frozenset(archive.members[:1])))
        arrange(archive, WheelChanges(DIST_INFO, rename={"../evil.py": ""}))


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (("lib/x.dll", "lib/x.dll"), "twice"),
        (("lib/A.DLL",), "clash"),
        (("lib/x.dll", "lib/X.dll"), "clash"),
    ],
)
def test_names_that_clash(archive: Archive, add: tuple[str, ...], message: str) -> None:
    with pytest.raises(CannotRepair, match=message):
        arrange(archive, WheelChanges(DIST_INFO, add=tuple(NewMember(name, data=b"") for name in add)))


def test_duplicates_must_be_resolved_first(tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    path.write_bytes(build_zip([Entry("a", b"1"), Entry("a", b"2")]))
    with Archive.open(path) as archive:
        with pytest.raises(CannotRepair, match="twice"):
            arrange(archive, WheelChanges(DIST_INFO))
        arranged = arrange(archive, WheelChanges(DIST_INFO, drop=frozenset(archive.members[:1])))
        assert arranged.kept_first == archive.members[1:]


def test_record_is_nobody_elses(archive: Archive) -> None:
    with pytest.raises(UsageError, match="written by the writer"):
        arrange(archive, WheelChanges(DIST_INFO, add=(NewMember(f"{DIST_INFO}/RECORD", data=b""),)))


def test_bytes_come_from_one_place() -> None:
    with pytest.raises(UsageError, match="not 0"):
        NewMember("x")
    with pytest.raises(UsageError, match="not 2"):
        NewMember("x", data=b"", path=Path("y"))


def _stamp(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    return (year - 1980) << 25 | month << 21 | day << 16 | hour << 11 | minute << 5 | second // 2


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        ("0", _stamp(1980, 1, 1)),
        ("315532800", _stamp(1980, 1, 1)),
        ("1700000001", _stamp(2023, 11, 14, 22, 13, 21)),
        ("9999999999", _stamp(2107, 12, 31, 23, 59, 58)),
    ],
)
def test_source_date_epoch(monkeypatch: pytest.MonkeyPatch, archive: Archive, epoch: str, expected: int) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert new_stamp(archive.members) == expected


@pytest.mark.parametrize("epoch", ["soon", "1.5", "-5", "9" * 40])
def test_source_date_epoch_that_is_no_time(monkeypatch: pytest.MonkeyPatch, epoch: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(UsageError, match="SOURCE_DATE_EPOCH"):
        new_stamp([])


def test_without_it_the_newest_member_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    stamps = [_stamp(2019, 2, 28), _stamp(2021, 5, 6), _stamp(2030, 2, 31), 0, 0xFFFFFFFF]
    path = tmp_path / "x.whl"
    path.write_bytes(build_zip([Entry(str(stamp), both={"stamp": stamp}) for stamp in stamps]))
    with Archive.open(path) as archive:
        assert new_stamp(archive.members) == _stamp(2021, 5, 6)
    assert new_stamp([]) == _stamp(1980, 1, 1)
