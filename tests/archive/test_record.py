"""RECORD: rows in every odd spelling, rendering, and agreement with the archive."""

from __future__ import annotations

import csv
import hashlib
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from installer.records import parse_record_file

from tests.archive.byhand import DIST_INFO, Entry, build_zip, hash_bytes, record_row, wheel_entries, write_wheel_by_hand
from tests.support.tables import named_cases
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import (
    Record,
    Row,
    check_record,
    encode_digest,
    render,
)
from wheelfix.errors import InputError

DIGEST = hash_bytes(b"hello")
SHA512 = encode_digest(hashlib.sha512(b"hello").digest())


@pytest.mark.parametrize(
    "line, row, kinds",
    [
        (f"a.py,sha256={DIGEST},5", Row("a.py", "sha256", DIGEST, 5), []),
        (f"a.py,sha256={DIGEST}=,5", Row("a.py", "sha256", DIGEST + "=", 5), ["row-malformed"]),
        (f"a.py,sha512={SHA512},5", Row("a.py", "sha512", SHA512, 5), []),
        (f'"a, b.py",sha256={DIGEST},5', Row("a, b.py", "sha256", DIGEST, 5), []),
        (f'"say ""hi"".py",sha256={DIGEST},5', Row('say "hi".py', "sha256", DIGEST, 5), []),
        (f"d\\a.py,sha256={DIGEST},5", Row("d/a.py", "sha256", DIGEST, 5), ["row-backslash"]),
        ("a.py,,,,", Row("a.py"), ["row-malformed"]),
        (",,", None, ["row-malformed"]),
        ("a.py,sha256:abc,5", Row("a.py", size=5), ["row-malformed"]),
        ("a.py,sha256=short,5", Row("a.py", size=5), ["row-malformed"]),
        ("a.py,shake_128=,5", Row("a.py", size=5), ["row-malformed"]),  # digests of any length, so also of none
        ("a.py,sha512=!!!,5", Row("a.py", size=5), ["row-malformed"]),
        (f"a.py,sha256={DIGEST},-5", Row("a.py", "sha256", DIGEST), ["row-malformed"]),
        (f"a.py,sha256={DIGEST},\u0665", Row("a.py", "sha256", DIGEST), ["row-malformed"]),
        (f"a.py,sha256={DIGEST}," + "9" * 5000, Row("a.py", "sha256", DIGEST), ["row-malformed"]),
    ],
)
def test_one_line(line, row, kinds):
    record = Record.parse(line.encode() + b"\n")
    assert record.rows == ((row,) if row else ())
    assert [fault.kind for fault in record.faults] == kinds


def test_line_ends_empty_lines_and_a_mark_at_the_start():
    text = f"\ufeffa.py,sha256={DIGEST},5\r\n\r\nb.py,sha256={DIGEST},5\n\nx/RECORD,,"
    record = Record.parse(text.encode())
    assert [row.path for row in record.rows] == ["a.py", "b.py", "x/RECORD"]
    assert [(fault.kind, fault.rejected_by) for fault in record.faults] == [
        ("row-malformed", ("installer",)),
        ("row-malformed", ("pip", "installer")),
        ("row-malformed", ("pip", "installer")),
    ]
    assert Record.parse(text.replace("\r\n", "\n").replace("\n", "\r").encode()).rows == record.rows


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\x00", b"a\0b,,\n", b'"never closed,,\n' * 3, b"x" * 200_000 + b",,\n", bytes(range(256))]
)
def test_garbage_is_told_and_never_raised(data):
    record = Record.parse(data)
    assert record.faults or record.rows


PATH = st.text(st.characters(codec="utf-8", exclude_characters="\\\0", exclude_categories=["Cs"]), min_size=1).filter(
    lambda path: not path.startswith("\ufeff")
)
ROWS = st.lists(
    st.builds(
        Row, PATH, st.just("sha256"), st.binary(min_size=32, max_size=32).map(encode_digest), st.integers(0, 2**40)
    )
)


@given(ROWS)
def test_what_is_rendered_is_read_back(rows):
    data = render(rows)
    record = Record.parse(data)
    assert record.rows == tuple(rows)
    assert all("end a line" in fault.message for fault in record.faults)
    # Two readers that know nothing of us.
    text = data.decode()
    assert [line[0] for line in csv.reader(io.StringIO(text, newline=""))] == [row.path for row in rows]
    if not any("\r" in row.path or len(row.path.splitlines()) > 1 for row in rows):
        read = list(parse_record_file(io.StringIO(text, newline="")))
        assert [(path, digest) for path, digest, _ in read] == [(row.path, f"sha256={row.digest}") for row in rows]


@pytest.mark.slow
def test_a_record_without_end_is_stopped():
    for line in (b"a,,\n", record_row("a", b"").encode()):
        with pytest.raises(InputError, match="more than 300000 rows"):
            Record.parse(line * 300_001)
    for line in (b"x,y\n", b"\n"):
        faults = Record.parse(line * 1_300_000).faults
        assert len(faults) == 1002
        assert faults[-1].message.startswith("more than 1000 faults")


# ----------------------------------------------------------------------------------- against the archive


def _wheel(folder: Path, record: str | None, *more: Entry) -> Path:
    entries = wheel_entries(more)[:-1]
    if record is not None:
        entries.append(Entry(f"{DIST_INFO}/RECORD", record.encode()))
    path = folder / "pkg-1.0-py3-none-any.whl"
    path.write_bytes(build_zip(entries))
    return path


def _rows(*more: Entry) -> str:
    return wheel_entries(more)[-1].data.decode()


INIT = record_row("pkg/__init__.py", b"answer = 42\n" * 20)
MD5 = encode_digest(hashlib.md5(b"answer = 42\n" * 20).digest())


@named_cases(
    "change, expected",
    {
        "missing": (lambda text: text.replace(INIT, ""), [("row-missing", "pkg/__init__.py")]),
        "orphan": (lambda text: text + record_row("gone.py", b""), [("row-orphan", "gone.py")]),
        "folder": (lambda text: text + "pkg/,,\n", [("row-folder", "pkg/")]),
        "unsafe": (lambda text: text + "../../up.py,,\n", [("row-unsafe", "../../up.py")]),
        "twice": (lambda text: text + INIT, [("row-duplicate", "pkg/__init__.py")]),
        "size": (lambda text: text.replace(",240", ",241"), [("size-stale", "pkg/__init__.py")]),
        "no-size": (lambda text: text.replace(",240", ","), [("size-missing", "pkg/__init__.py")]),
        "no-hash": (lambda text: text.replace(INIT, "pkg/__init__.py,,240\n"), [("hash-missing", "pkg/__init__.py")]),
        "hash": (
            lambda text: text.replace(INIT, record_row("pkg/__init__.py", b"z" * 240)),
            [("hash-stale", "pkg/__init__.py")],
        ),
        "weak": (
            lambda text: text.replace(INIT, f"pkg/__init__.py,md5={MD5},240\n"),
            [("hash-weak", "pkg/__init__.py")],
        ),
        "self-hash": (
            lambda text: text.replace("RECORD,,", f"RECORD,sha256={DIGEST},5"),
            [("self-hash", f"{DIST_INFO}/RECORD")],
        ),
        "no-self": (lambda text: text.replace(f"{DIST_INFO}/RECORD,,\n", ""), [("row-missing", f"{DIST_INFO}/RECORD")]),
    },
)
def test_disagreements(tmp_path, change, expected):
    path = _wheel(tmp_path, change(_rows()))  # type: ignore[operator]
    with Archive.open(path) as archive:
        faults = check_record(archive, hashes=True, jobs=2)
    assert [(fault.kind, fault.subject) for fault in faults] == expected


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("folder", [False, True])
def test_what_agrees_does_so_in_any_order(tmp_path, folder, end):
    text = "".join(sorted(_rows().splitlines(keepends=True), reverse=True)).replace("\n", end)
    path = _wheel(tmp_path, text, *([Entry("pkg/sub/", b"")] if folder else []))
    with Archive.open(path) as archive:
        assert check_record(archive) == ()


def test_other_strong_hashes_are_checked_too(tmp_path):
    data = b"answer = 42\n" * 20
    good = encode_digest(hashlib.sha512(data).digest())
    for digest, kinds in ((good, []), (SHA512, ["hash-stale"])):
        path = _wheel(tmp_path, _rows().replace(INIT, f"pkg/__init__.py,sha512={digest},240\n"))
        with Archive.open(path) as archive:
            assert [fault.kind for fault in check_record(archive, hashes=True)] == kinds


def test_signatures_need_no_row_and_are_told(tmp_path):
    path = _wheel(tmp_path, _rows(), Entry(f"{DIST_INFO}/RECORD.jws", b"{}"))
    with Archive.open(path) as archive:
        assert [(fault.kind, fault.subject) for fault in check_record(archive)] == [
            ("signature", f"{DIST_INFO}/RECORD.jws")
        ]


def test_progress_tells_every_byte(tmp_path):
    path = write_wheel_by_hand(tmp_path, [Entry("big.bin", bytes(3 << 20)), Entry("a.txt", b"a")])
    reported = []
    with Archive.open(path) as archive:
        check_record(archive, hashes=True, jobs=3, progress=reported.append)
        assert sum(reported) == sum(member.usize for member in archive.members)
