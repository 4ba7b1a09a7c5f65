"""Headers as bytes: ZIP64 exactly where a number does not fit, and readable by zipfile."""

from __future__ import annotations

import contextlib
import io
import os
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.archive.byhand import Entry, build_zip, deflate, extra_field, wheel_entries
from tests.support.tables import named_cases
from wheelfix.archive.conformance import check_archive
from wheelfix.archive.directory import Member, central_entry, end_of_archive, local_header, without_sizes
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import check_record
from wheelfix.base.options import Limits
from wheelfix.errors import EnvironmentFailure, InputError, WheelfixError

LIMIT = 0xFFFFFFFF


def member(csize: int, usize: int, offset: int = 0) -> Member:
    return Member("a.dll", 8, 0, 7, csize, usize, offset, 0o100644 << 16, 0x21 << 16, 3, b"", b"", 0, None)


@pytest.mark.parametrize(
    "csize, usize, wide",
    [(5, LIMIT - 1, False), (5, LIMIT, True), (LIMIT, 5, True)],
)
def test_local_headers(csize, usize, wide):
    raw = local_header(member(csize, usize))
    needed, flags = struct.unpack_from("<HH", raw, 4)
    reported = struct.unpack_from("<II", raw, 18)
    assert (needed, flags) == (45 if wide else 20, 0)
    assert reported == ((LIMIT, LIMIT) if wide else (csize, usize))
    assert raw[35:] == (extra_field(1, struct.pack("<QQ", usize, csize)) if wide else b"")


@pytest.mark.parametrize(
    "csize, usize, offset, values",
    [
        (5, 9, LIMIT - 1, ()),
        (5, 9, LIMIT, (LIMIT,)),
        (LIMIT + 1, LIMIT + 2, LIMIT + 3, (LIMIT + 2, LIMIT + 1, LIMIT + 3)),
    ],
)
def test_directory_entries_hold_just_the_values_that_do_not_fit(csize, usize, offset, values):
    entry = central_entry(member(csize, usize, offset))
    expected = extra_field(1, struct.pack(f"<{len(values)}Q", *values)) if values else b""
    assert entry[51:] == expected
    closing = end_of_archive(1, len(entry), 0)
    (info,) = zipfile.ZipFile(io.BytesIO(entry + closing)).infolist()
    assert (info.compress_size, info.file_size, info.header_offset) == (csize, usize, offset)


@pytest.mark.parametrize(
    "entries, size, offset, wide",
    [
        (65534, 100, 100, False),
        (65535, 100, 100, True),
        (1, LIMIT - 1, LIMIT - 1, False),
        (1, LIMIT, 1, True),
        (1, 1, LIMIT, True),
    ],
)
def test_the_end(entries, size, offset, wide):
    raw = end_of_archive(entries, size, offset)
    assert len(raw) == (98 if wide else 22)
    if wide:
        assert struct.unpack_from("<QQQQ", raw, 24) == (entries, entries, size, offset)
        assert struct.unpack_from("<Q", raw, 64) == (offset + size,)


def test_extra_fields_about_sizes_and_names_are_left_out():
    time, owner = extra_field(0x5455, b"\x01abcd"), extra_field(0x7875, b"x")
    junk = b"\x01\x02\xff"
    assert without_sizes(time + extra_field(1, bytes(16)) + owner + extra_field(0x7075, b"name") + junk) == time + owner


# --------------------------------------------------------------------------------------------------------------- reader
# The reader: what zipfile sees, what limits stop, and what damage says.


@named_cases(
    "content, because",
    {
        "empty": (b"", "it is empty"),
        "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n", "it is a git-lfs pointer"),
        "html": (b"<!DOCTYPE html><html>404</html>", "it looks like a web page"),
        "cut": (b"PK\x03\x04" + bytes(100), "it has no end record, so it was cut short"),
        "gzip": (b"\x1f\x8b" + bytes(100), "it is a compressed tar archive, such as a source distribution"),
        "end-cut": (b"PK\x05\x06", "it has no end record"),
    },
)
def test_what_is_no_archive_says_why(tmp_path, content, because):
    path = tmp_path / "x.whl"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        Archive.open(path)
    assert caught.value.because == because
    assert caught.value.hint
    assert str(path) in caught.value.what


def test_a_path_that_is_no_file(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        Archive.open(tmp_path / "none.whl")
    with pytest.raises(InputError, match="is a folder"):
        Archive.open(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="does not exist"):
        Archive.open(tmp_path / "file" / "x.whl")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x.whl")
    with pytest.raises(InputError, match="a device or pipe"):
        Archive.open(tmp_path / "x.whl")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "x.whl"
    path.write_bytes(b"")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("wheelfix.streams.source.open_regular", refuse)
    with pytest.raises(EnvironmentFailure, match=r"cannot open .*Permission denied"):
        Archive.open(path)


def _try_everything(path: Path) -> None:
    """Open and read all of an archive; only our own errors may come."""
    with contextlib.suppress(WheelfixError), Archive.open(path) as archive:
        check_archive(archive)
        check_record(archive, hashes=True, jobs=1)
        for member in archive.members:
            with contextlib.suppress(WheelfixError):
                archive.read(member)


def test_cut_at_every_byte(tmp_path):
    whole = build_zip(wheel_entries([Entry("a.txt", b"text" * 50)]), zip64={})
    path = tmp_path / "x.whl"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        _try_everything(path)


# ------------------------------------------------------------------------------------------------- limits


def _archive(path: Path, entries: list[Entry], **options: object) -> Path:
    path.write_bytes(build_zip(entries, **options))  # type: ignore[arg-type]
    return path


def test_too_many_members(tmp_path):
    path = _archive(tmp_path / "x.whl", [Entry(f"{number}", method=0) for number in range(50)])
    with pytest.raises(InputError, match="more than 49 members"):
        Archive.open(path, Limits(max_members=49))
    with Archive.open(path, Limits(max_members=50)) as archive:
        assert len(archive.members) == 50


def test_a_huge_directory(tmp_path):
    path = _archive(tmp_path / "x.whl", [Entry("a", method=0, central={"comment": b"c" * 5000})])
    with pytest.raises(InputError, match="directory has 5047 bytes"):
        Archive.open(path, Limits(max_directory=5000))


def test_a_bomb_of_one_member_is_told_and_not_read(tmp_path):
    zeros = bytes(3 << 20)
    path = _archive(tmp_path / "x.whl", [Entry("bomb", zeros), Entry("pad", bytes(range(256)) * 99, method=0)])
    limits = Limits(max_ratio=100, ratio_from=1 << 20)
    with Archive.open(path, limits) as archive:
        assert [fault.kind for fault in archive.faults] == ["zip-bomb"]
        bomb = archive.members[0]
        with pytest.raises(InputError, match="would unpack to"):
            archive.read(bomb)
        assert archive.why_refused(bomb)


def test_a_bomb_of_many_members_is_refused(tmp_path):
    packed = Entry("x", bytes(1 << 20))
    packed.fields()
    many = [Entry(f"{number}", bytes(1 << 20), packed=packed.packed) for number in range(5)]
    path = _archive(tmp_path / "x.whl", many)
    with pytest.raises(InputError, match="asks for too much"):
        Archive.open(path, Limits(max_ratio=100, ratio_from=4 << 20))
    with pytest.raises(InputError, match="would unpack to 5242880 bytes"):
        Archive.open(path, Limits(max_total=(5 << 20) - 1))


def test_a_bomb_of_quoted_overlaps_is_refused_without_unpacking(tmp_path):
    """All entries share one kernel of data: 2000 entries claim 40 MB of nearly nothing."""
    data = bytes(20_000)
    packed = deflate(data)
    entries = [Entry(f"{number}", data, packed=packed, reuse=0 if number else None) for number in range(2000)]
    path = _archive(tmp_path / "x.whl", entries)
    with Archive.open(path) as archive:
        assert {fault.kind for fault in archive.faults} == {"overlap", "out-of-bounds"}
        for member in archive.members:
            with pytest.raises(InputError):
                archive.data_span(member)


def test_a_member_that_lies_about_its_size_is_not_unpacked_beyond_it(tmp_path):
    """The stream would give 8 MB; the entry says 1000 bytes; at most one piece more than that is made."""
    packed = deflate(bytes(8 << 20), 9)
    path = _archive(tmp_path / "x.whl", [Entry("a", b"", packed=packed, both={"usize": 1000, "csize": len(packed)})])
    with Archive.open(path) as archive:
        made = []
        with pytest.raises(InputError, match="more than its 1000 bytes"):
            made.extend(archive.chunks(archive.members[0]))
        assert sum(map(len, made)) <= 1000


def test_reading_at_once_has_a_limit(tmp_path):
    path = _archive(tmp_path / "x.whl", [Entry("a", b"x" * 1000)])
    with Archive.open(path) as archive, pytest.raises(InputError, match="more than the 999"):
        archive.read(archive.members[0], 999)


def test_the_list_of_faults_has_an_end(tmp_path):
    path = _archive(tmp_path / "x.whl", [Entry(f"{number}:", method=0) for number in range(10_050)])
    with Archive.open(path) as archive:
        assert len(archive.faults) == 10_001
        assert archive.faults[-1].message == "and 50 more members like this"


# -------------------------------------------------------------------------------------------------- reading


def test_many_threads_read_at_once(tmp_path):
    contents = {f"{number}.bin": bytes([number]) * 300_000 + bytes(range(256)) * 50 for number in range(8)}
    path = _archive(tmp_path / "x.whl", [Entry(name, data) for name, data in contents.items()])
    with Archive.open(path) as archive, ThreadPoolExecutor(6) as pool:
        members = [*archive.members] * 6
        assert [*pool.map(archive.read, members)] == [contents[member.name] for member in members]


def test_a_file_that_changes_is_noticed(tmp_path):
    path = _archive(tmp_path / "x.whl", [Entry("a", b"abc")])
    with Archive.open(path) as archive:
        archive.check_unchanged()
        with path.open("ab") as file:
            file.write(b"more")
        with pytest.raises(EnvironmentFailure, match="changed while it was read"):
            archive.check_unchanged()


@pytest.mark.parametrize(
    "method, hint",
    [(12, "pack the wheel again with members that are deflated or stored"), (8, "the wheel is damaged")],
)
def test_the_hint_says_whether_packing_again_helps(tmp_path, method, hint):
    path = _archive(tmp_path / "x.whl", [Entry("a.txt", b"text", method=method, packed=b"not packed by this method")])
    with Archive.open(path, Limits()) as archive, pytest.raises(InputError, match=r"cannot read 'a\.txt'") as caught:
        archive.read(archive.members[0])
    assert caught.value.hint == hint
