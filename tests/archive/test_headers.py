"""Headers as bytes: ZIP64 exactly where a number does not fit, and readable by zipfile."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from tests.archive.byhand import extra_field
from wheelfix.archive.directory import Header, end_of_archive, without_sizes

LIMIT = 0xFFFFFFFF


def header(**changes: int | bytes) -> Header:
    fields = {"name": b"a.dll", "method": 8, "crc": 7, "csize": 5, "usize": 9, "dos_stamp": 0x21 << 16}
    return Header(**{**fields, "external_attr": 0o100644 << 16, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("csize", "usize", "wide"),
    [(5, 9, False), (5, LIMIT - 1, False), (5, LIMIT, True), (LIMIT, 5, True), (LIMIT + 1, LIMIT + 1, True)],
)
def test_local_headers(csize: int, usize: int, wide: bool) -> None:
    raw = header(csize=csize, usize=usize).local()
    needed, flags = struct.unpack_from("<HH", raw, 4)
    told = struct.unpack_from("<II", raw, 18)
    assert (needed, flags) == (45 if wide else 20, 0)
    assert told == ((LIMIT, LIMIT) if wide else (csize, usize))
    assert raw[35:] == (extra_field(1, struct.pack("<QQ", usize, csize)) if wide else b"")


@pytest.mark.parametrize(
    ("csize", "usize", "offset", "values"),
    [
        (5, 9, 0, ()),
        (5, 9, LIMIT - 1, ()),
        (5, 9, LIMIT, (LIMIT,)),
        (5, LIMIT, 1, (LIMIT,)),
        (5, LIMIT + 7, LIMIT + 3, (LIMIT + 7, LIMIT + 3)),
        (LIMIT + 1, LIMIT + 2, LIMIT + 3, (LIMIT + 2, LIMIT + 1, LIMIT + 3)),
    ],
)
def test_directory_entries_hold_just_the_values_that_do_not_fit(
    csize: int, usize: int, offset: int, values: tuple[int, ...]
) -> None:
    entry = header(csize=csize, usize=usize).central(offset)
    expected = extra_field(1, struct.pack(f"<{len(values)}Q", *values)) if values else b""
    assert entry[51:] == expected
    closing = end_of_archive(1, len(entry), 0)
    (info,) = zipfile.ZipFile(io.BytesIO(entry + closing)).infolist()
    assert (info.compress_size, info.file_size, info.header_offset) == (csize, usize, offset)


@pytest.mark.parametrize(
    ("entries", "size", "offset", "wide"),
    [
        (65534, 100, 100, False),
        (65535, 100, 100, True),
        (65536, 100, 100, True),
        (1, LIMIT - 1, LIMIT - 1, False),
        (1, LIMIT, 1, True),
        (1, 1, LIMIT, True),
    ],
)
def test_the_end(entries: int, size: int, offset: int, wide: bool) -> None:
    raw = end_of_archive(entries, size, offset)
    assert len(raw) == (98 if wide else 22)
    if wide:
        assert struct.unpack_from("<QQQQ", raw, 24) == (entries, entries, size, offset)
        assert struct.unpack_from("<Q", raw, 64) == (offset + size,)


def test_utf8_is_flagged_where_needed() -> None:
    assert header().flags == 0
    assert header(name="\u00fc".encode()).flags == 0x800
    assert header(name="\u00fc".encode(), level_flags=2).flags == 0x802


def test_extra_fields_about_sizes_and_names_are_left_out() -> None:
    time, owner = extra_field(0x5455, b"\x01abcd"), extra_field(0x7875, b"x")
    junk = b"\x01\x02\xff"
    assert without_sizes(time + extra_field(1, bytes(16)) + owner + extra_field(0x7075, b"name") + junk) == time + owner
