"""The writer: what changes changes, what does not stays byte for byte, and nothing is left half done."""

from __future__ import annotations

import hashlib
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.archive.byhand import (
    DIST_INFO,
    STAMP,
    Entry,
    build_zip,
    deflate,
    hash_bytes,
    wheel_entries,
    write_wheel_by_hand,
)
from tests.archive.hostile import CASES
from tests.support.tables import named_cases
from wheelfix.archive import writer
from wheelfix.archive.changes import NewMember, WheelChanges, arrange, new_stamp
from wheelfix.archive.conformance import check_archive
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import Record, Row, check_record, render
from wheelfix.archive.writer import write_wheel
from wheelfix.errors import CannotRepair, EnvironmentFailure, UsageError, WheelfixError
from wheelfix.streams import codec
from wheelfix.streams.codec import BLOCK
from wheelfix.streams.output import AtomicFile

RECORD = f"{DIST_INFO}/RECORD"
TEXT = b"text that is compressed, text that is compressed\n" * 30


@pytest.fixture(autouse=True)
def _no_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


def rewrite(source: Path, target: Path, edition: WheelChanges | None = None, **options: object) -> int:
    """Write an edition of a wheel with the rows of its own RECORD."""
    with Archive.open(source) as archive:
        return write_wheel(archive, target, edition or WheelChanges(DIST_INFO), **options)  # type: ignore[arg-type]


def own_rows(path: Path) -> tuple[Row, ...]:
    with zipfile.ZipFile(path) as wheel:
        return Record.parse(wheel.read(RECORD)).rows


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        return {info.filename: wheel.read(info) for info in wheel.infolist()}


def assert_right(path: Path) -> None:
    """Compare a wheel with everything we know of wheels."""
    with Archive.open(path) as archive:
        assert check_archive(archive) == ()
        assert check_record(archive, hashes=True) == ()


def test_nothing_to_do_changes_nothing(tmp_path):
    source = write_wheel_by_hand(
        tmp_path, [Entry("d/", method=0), Entry("a.txt", TEXT), Entry("b.bin", b"b", method=0)]
    )
    target = tmp_path / "out" / source.name
    size = rewrite(source, target, WheelChanges(DIST_INFO, rows=own_rows(source)))
    assert contents(target) == contents(source)
    assert_right(target)
    again = tmp_path / "again" / source.name
    rewrite(target, again, WheelChanges(DIST_INFO, rows=own_rows(target)))
    assert again.read_bytes() == target.read_bytes()
    assert size == target.stat().st_size


def test_members_are_dropped_added_replaced_and_renamed(tmp_path):
    source = write_wheel_by_hand(
        tmp_path, [Entry("a.txt", TEXT), Entry("b.txt", b"b" * 99), Entry("old/c.txt", TEXT), Entry("d.txt", b"d")]
    )
    disk = tmp_path / "disk.dll"
    disk.write_bytes(TEXT * 3)
    with Archive.open(source) as archive:
        drop = frozenset(member for member in archive.members if member.name == "d.txt")
    edition = WheelChanges(
        DIST_INFO,
        drop=drop,
        rename={"old/c.txt": "new/ç.txt"},
        add=(NewMember("lib/x.dll", path=disk), NewMember("b.txt", data=b"replaced"), NewMember("empty", data=b"")),
        rows=(Row("a.txt", "sha256", hash_bytes(TEXT), len(TEXT)), Row("d.txt", "sha256", hash_bytes(b"d"), 1)),
    )
    target = tmp_path / "out.whl"
    rewrite(source, target, edition)
    found = contents(target)
    assert found["lib/x.dll"] == TEXT * 3
    assert found["b.txt"] == b"replaced"
    assert found["new/ç.txt"] == TEXT
    assert found["empty"] == b""
    assert not {"d.txt", "old/c.txt"} & found.keys()
    assert list(found)[-1] == RECORD
    assert_right(target)
    # The row that was given comes first, the others by name, RECORD itself last.
    assert [row.path for row in own_rows(target)] == [
        "a.txt", "b.txt", "empty", "lib/x.dll", "new/ç.txt", f"{DIST_INFO}/METADATA", f"{DIST_INFO}/WHEEL",
        "pkg/__init__.py", RECORD,
    ]  # fmt: skip


def test_unchanged_members_keep_header_and_bytes(tmp_path):
    extra = b"UT\x05\x00\x01abcd"
    kept = Entry("kept.bin", TEXT, packed=deflate(TEXT, 1), both={"extra": extra, "flags": 2, "needed": 10},
                 attributes=0o100755 << 16)  # fmt: skip
    source = write_wheel_by_hand(tmp_path, [Entry("gone.bin", TEXT), kept, Entry("more.bin", b"m")])
    target = tmp_path / "out.whl"
    with Archive.open(source) as archive:
        edition = WheelChanges(DIST_INFO, drop=frozenset(archive.members[:1]))
        write_wheel(archive, target, edition)
        old = archive.find("kept.bin")
        before = archive.read_at(old.header_offset, 30 + 8 + 9 + old.csize)
    with Archive.open(target) as archive:
        new = archive.find("kept.bin")
        assert archive.read_at(new.header_offset, len(before)) == before
        assert new._replace(header_offset=0, entry=0) == old._replace(header_offset=0, entry=0)
        assert archive.find("more.bin") is not None
    assert_right(target)


def test_a_header_that_reaches_into_the_data_is_a_fault(tmp_path):
    """The directory leaves no room for the extra field that the header claims."""
    data = bytearray(build_zip(wheel_entries([Entry("a.txt", TEXT)])))
    data[28:30] = b"\4\0"
    path = tmp_path / "pkg-1.0-cp311-cp311-win_amd64.whl"
    path.write_bytes(data)
    with Archive.open(path) as archive:
        assert "overlap" in {fault.kind for fault in check_archive(archive)}


REPAIRED = """
descriptor descriptor-local-only backslash comment archive-comment trailing prefix prefix-counted gap-at-end
gap-before-end-record ghost count-low disks utf8-unflagged unicode-path-central unicode-path-local extra-cut
local-name local-crc local-flags local-date zip64-unneeded zip64-forced zip64-forced-local zip64-local-lie
zip64-central-unneeded zip64-central-one-too-many zip64-local-zeros zip64-end zip64-end-size zip64-end-elsewhere
cp437 disk-of-member utf8 regular
""".split()


@pytest.mark.parametrize("key", REPAIRED)
def test_irregularities_are_mended_by_writing_anew(tmp_path, key):
    case = CASES[key]
    source = write_wheel_by_hand(tmp_path, case.entries, **case.options)
    target = tmp_path / "out.whl"
    rewrite(source, target)
    assert_right(target)
    with Archive.open(source) as before, Archive.open(target) as after:
        # What the members hold is what the old directory said they hold.
        assert {
            member.name: before.read(member) for member in before.members if not member.name.endswith("RECORD")
        } == {member.name: after.read(member) for member in after.members if not member.name.endswith("RECORD")}


HOPELESS = """
encrypted bzip2 overlap beyond crc-lie stream-cut stored-size-lie zip64-missing local-signature duplicate
name-up name-nul-dll
""".split()


@pytest.mark.parametrize("key", HOPELESS)
def test_what_cannot_be_mended_is_refused_and_nothing_is_written(tmp_path, key):
    case = CASES[key]
    source = write_wheel_by_hand(tmp_path / "in", case.entries, **case.options)
    target = tmp_path / "out" / "x.whl"
    with pytest.raises(CannotRepair):
        rewrite(source, target)
    assert not target.parent.exists() or list(target.parent.iterdir()) == []


# ------------------------------------------------------------------------------------------ where bytes come from


def root_wheel(folder: Path, data: bytes, **changes: object) -> Path:
    """A wheel to vendor from."""
    path = folder / "root-1-py3-none-any.whl"
    path.write_bytes(build_zip([Entry("bin/x.dll", data, **changes)]))  # type: ignore[arg-type]
    return path


def test_packed_bytes_are_taken_as_they_are(tmp_path):
    packed = deflate(TEXT, 1)
    source = write_wheel_by_hand(tmp_path)
    with Archive.open(root_wheel(tmp_path, TEXT, packed=packed)) as root:
        new = NewMember("lib/x.dll", packed=(root, root.members[0]), sha256=hashlib.sha256(TEXT).hexdigest())
        target = tmp_path / "out.whl"
        rewrite(source, target, WheelChanges(DIST_INFO, add=(new,)))
    assert contents(target)["lib/x.dll"] == TEXT
    assert_right(target)
    with Archive.open(target) as archive:
        member = archive.find("lib/x.dll")
        start, length = archive.data_span(member)
        assert archive.read_at(start, length) == packed
        assert (member.dos_stamp, member.mode) == (STAMP, 0o100644)


def test_stored_members_of_a_root_are_compressed(tmp_path):
    source = write_wheel_by_hand(tmp_path)
    target = tmp_path / "out.whl"
    with Archive.open(root_wheel(tmp_path, TEXT, method=0)) as root:
        new = NewMember("lib/x.dll", packed=(root, root.members[0]))
        rewrite(source, target, WheelChanges(DIST_INFO, add=(new,)))
    assert zipfile.ZipFile(target).getinfo("lib/x.dll").compress_size < len(TEXT) // 5
    assert_right(target)


@named_cases("change", {"crc": {"both": {"crc": 5}}, "cut": {"packed": deflate(TEXT)[:-4]}})
def test_a_damaged_root_gets_nothing_in(tmp_path, change):
    source = write_wheel_by_hand(tmp_path / "in")
    target = tmp_path / "out" / "x.whl"
    with Archive.open(root_wheel(tmp_path, TEXT, **change)) as root:
        new = NewMember("lib/x.dll", packed=(root, root.members[0]), sha256=hashlib.sha256(TEXT).hexdigest())
        with pytest.raises(CannotRepair, match="cannot vendor"):
            rewrite(source, target, WheelChanges(DIST_INFO, add=(new,)))
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("way", ["path", "data", "packed"])
def test_other_bytes_than_planned_are_refused(tmp_path, way):
    source = write_wheel_by_hand(tmp_path / "in")
    disk = tmp_path / "x.dll"
    disk.write_bytes(TEXT)
    with Archive.open(root_wheel(tmp_path, TEXT)) as root:
        places = {"path": disk, "data": TEXT, "packed": (root, root.members[0])}
        new = NewMember("lib/x.dll", sha256="0" * 64, **{way: places[way]})  # type: ignore[arg-type]
        target = tmp_path / "out" / "x.whl"
        with pytest.raises(EnvironmentFailure, match="not the file that was planned"):
            rewrite(source, target, WheelChanges(DIST_INFO, add=(new,)))
    assert list(target.parent.iterdir()) == []


def test_a_file_that_is_not_there(tmp_path):
    source = write_wheel_by_hand(tmp_path / "in")
    target = tmp_path / "out" / "x.whl"
    new = NewMember("lib/x.dll", path=tmp_path / "none.dll")
    with pytest.raises(WheelfixError, match=r"none\.dll"):
        rewrite(source, target, WheelChanges(DIST_INFO, add=(new,)))
    assert list(target.parent.iterdir()) == []


# ----------------------------------------------------------------------------------------------- compression


@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK + 1])
@pytest.mark.parametrize("level", ["store", 0, 1, 6, 9])
def test_levels_and_sizes(tmp_path, size, level):
    data = (TEXT * (size // len(TEXT) + 1))[:size]
    source = write_wheel_by_hand(tmp_path)
    target = tmp_path / "out.whl"
    edition = WheelChanges(DIST_INFO, add=(NewMember("x.dll", data=data),))
    rewrite(source, target, edition, compressor=codec.Compressor.choose("auto", level))
    assert contents(target)["x.dll"] == data
    assert_right(target)
    with zipfile.ZipFile(target) as wheel:
        info = wheel.getinfo("x.dll")
        if level == "store":
            assert info.compress_type == zipfile.ZIP_STORED
        assert info.flag_bits & 8 == 0


@pytest.mark.parametrize("size", [0, 1000, 2 * BLOCK + 100])
def test_a_file_that_does_not_shrink_is_stored(tmp_path, size):
    noise = random.Random(3).randbytes(size)
    source = write_wheel_by_hand(tmp_path)
    target = tmp_path / "out.whl"
    rewrite(source, target, WheelChanges(DIST_INFO, add=(NewMember("x.dll", data=noise),)))
    assert zipfile.ZipFile(target).getinfo("x.dll").compress_size == len(noise)
    assert contents(target)["x.dll"] == noise
    assert_right(target)


def test_the_same_bytes_on_any_number_of_threads_and_in_any_order(tmp_path):
    source = write_wheel_by_hand(tmp_path, [Entry("a.txt", TEXT)])
    new = [NewMember(f"lib/{name}.dll", data=(name.encode() + TEXT) * 1500) for name in "abcde"]
    results = set()
    for number, (jobs, order) in enumerate([(1, new), (2, new[::-1]), (5, new[1:] + new[:1])]):
        target = tmp_path / f"{number}.whl"
        rewrite(source, target, WheelChanges(DIST_INFO, add=tuple(order)), jobs=jobs)
        results.add(target.read_bytes())
    assert len(results) == 1


# -------------------------------------------------------------------------------------------------- failures


def spoil(monkeypatch: pytest.MonkeyPatch, change: Callable[[bytearray], None]) -> None:
    """Change what was written, before it is read back."""

    def settle(self: AtomicFile) -> None:
        self.flush()
        data = bytearray(self.path.read_bytes())
        change(data)
        self.path.write_bytes(data)

    monkeypatch.setattr(AtomicFile, "settle", settle)


@pytest.mark.parametrize(
    "old, new, because",
    [
        ("x.dll,sha256=", "y.dll,sha256=", "x.dll: the member has no row in RECORD"),
        (f"{hash_bytes(b'x')},1", f"{hash_bytes(b'y')},1", "x.dll: the member's sha256 is not what RECORD says"),
        (f"{hash_bytes(b'x')},1", f"{hash_bytes(b'x')},2", "x.dll: RECORD says 2 bytes, the member has 1"),
        (f"{RECORD},,", "", f"{RECORD}: the member has no row in RECORD"),
    ],
)
def test_what_reading_back_finds(tmp_path, monkeypatch, old, new, because):
    source = write_wheel_by_hand(tmp_path / "in")

    def wrong(rows: list[Row]) -> bytes:
        text = render(rows).decode()
        assert old in text
        return text.replace(old, new).encode()

    monkeypatch.setattr(writer, "render", wrong)
    with pytest.raises(CannotRepair, match="is not valid") as caught:
        rewrite(source, tmp_path / "out.whl", WheelChanges(DIST_INFO, add=(NewMember("x.dll", data=b"x"),)))
    assert because in caught.value.because


@pytest.mark.parametrize("damaged, because", [(b"x.dll", r"'y\.dll' in the header"), (b"x" * 50, "x.dll: its CRC is")])
def test_headers_and_data_are_read_back_too(tmp_path, monkeypatch, damaged, because):
    source = write_wheel_by_hand(tmp_path / "in")

    def spoiled(written: bytearray) -> None:
        written[written.index(damaged)] = ord("y")

    spoil(monkeypatch, spoiled)
    changes = WheelChanges(DIST_INFO, add=(NewMember("x.dll", data=b"x" * 50),))
    with pytest.raises(CannotRepair, match=because):
        rewrite(source, tmp_path / "out.whl", changes, compressor=codec.Compressor.choose(level="store"))
    assert not (tmp_path / "out.whl").exists()


def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch):
    source = write_wheel_by_hand(tmp_path / "in", [Entry("a.txt", TEXT)])
    target = tmp_path / "out" / "x.whl"

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(AtomicFile, "_note", interrupt)
    edition = WheelChanges(DIST_INFO, add=(NewMember("x.dll", data=TEXT * 50_000),))
    with pytest.raises(KeyboardInterrupt):
        rewrite(source, target, edition)
    assert list(target.parent.iterdir()) == []


# -------------------------------------------------------------------------------------------------------------- changes
# What goes where in a new wheel, and which editions are refused before a byte is written.


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """A wheel with dist-info in the middle and a signature."""
    entries = [Entry("lib/a.dll", b"a"), Entry(f"{DIST_INFO}/RECORD.jws", b"{}"), Entry("lib/b.dll", b"b")]
    with Archive.open(write_wheel_by_hand(tmp_path, entries)) as archive:
        yield archive


@pytest.mark.parametrize(
    "name",
    ["../evil.dll", "C:/evil.dll", "lib\\x.dll", "lib/NUL.dll", ""],
)
def test_unsafe_names_do_not_get_in(archive, name):
    with pytest.raises(CannotRepair, match="refusing to write"):
        arrange(archive, WheelChanges(DIST_INFO, add=(NewMember(name, data=b""),)))


def test_unsafe_names_do_not_stay_in(tmp_path):
    path = write_wheel_by_hand(tmp_path, [Entry("../evil.py", b"")])
    with Archive.open(path) as archive:
        with pytest.raises(CannotRepair, match="leads upwards"):
            arrange(archive, WheelChanges(DIST_INFO))
        arrange(archive, WheelChanges(DIST_INFO, drop=frozenset(archive.members[:1])))
        arrange(archive, WheelChanges(DIST_INFO, rename={"../evil.py": ""}))


@pytest.mark.parametrize(
    "add, message",
    [
        (("lib/x.dll", "lib/x.dll"), "twice"),
        (("lib/A.DLL",), "clash"),
        (("lib/a.dll/x.dll",), "'lib/a.dll' and 'lib/a.dll/x.dll' clash"),
        (("pkg",), "'pkg' and 'pkg/__init__.py' clash"),
    ],
)
def test_names_that_clash(archive, add, message):
    with pytest.raises(CannotRepair, match=message):
        arrange(archive, WheelChanges(DIST_INFO, add=tuple(NewMember(name, data=b"") for name in add)))


def test_duplicates_must_be_resolved_first(tmp_path):
    path = tmp_path / "x.whl"
    path.write_bytes(build_zip([Entry("a", b"1"), Entry("a", b"2")]))
    with Archive.open(path) as archive:
        with pytest.raises(CannotRepair, match="twice"):
            arrange(archive, WheelChanges(DIST_INFO))
        arranged = arrange(archive, WheelChanges(DIST_INFO, drop=frozenset(archive.members[:1])))
        assert arranged.groups[0][0] == archive.members[1:]


def test_record_is_nobody_elses(archive):
    with pytest.raises(UsageError, match="written by the writer"):
        arrange(archive, WheelChanges(DIST_INFO, add=(NewMember(f"{DIST_INFO}/RECORD", data=b""),)))


def test_bytes_come_from_one_place():
    with pytest.raises(UsageError, match="not 0"):
        NewMember("x")
    with pytest.raises(UsageError, match="not 2"):
        NewMember("x", data=b"", path=Path("y"))


def _stamp(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    return (year - 1980) << 25 | month << 21 | day << 16 | hour << 11 | minute << 5 | second // 2


@pytest.mark.parametrize(
    "epoch, expected",
    [
        ("0", _stamp(1980, 1, 1)),
        ("1700000001", _stamp(2023, 11, 14, 22, 13, 21)),
        ("9999999999", _stamp(2107, 12, 31, 23, 59, 58)),
    ],
)
def test_source_date_epoch(monkeypatch, archive, epoch, expected):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    assert new_stamp(archive.members) == expected


@pytest.mark.parametrize("epoch", ["soon", "1.5", "-5", "9" * 40])
def test_source_date_epoch_that_is_no_time(monkeypatch, epoch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(UsageError, match="SOURCE_DATE_EPOCH"):
        new_stamp([])


def test_without_it_the_newest_member_counts(tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    stamps = [_stamp(2019, 2, 28), _stamp(2021, 5, 6), _stamp(2030, 2, 31), 0, 0xFFFFFFFF]
    path = tmp_path / "x.whl"
    path.write_bytes(build_zip([Entry(str(stamp), both={"stamp": stamp}) for stamp in stamps]))
    with Archive.open(path) as archive:
        assert new_stamp(archive.members) == _stamp(2021, 5, 6)
    assert new_stamp([]) == _stamp(1980, 1, 1)
