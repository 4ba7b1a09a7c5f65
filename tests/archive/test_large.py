"""Beyond 32 and 16 bits: members and archives over 4 GiB, more than 65535 members, in little memory."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.archive.byhand import DIST_INFO, Entry, central_entry, extra_field, hash_bytes, local_header, wheel_entries
from tests.support.parts import some
from tests.support.tiers import impossible
from wheelfix.archive.changes import NewMember, WheelChanges
from wheelfix.archive.conformance import check_archive
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import Row, check_record
from wheelfix.archive.writer import write_wheel
from wheelfix.base.options import Limits
from wheelfix.streams import codec

GIB = 1 << 30
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="needs sparse files"),
]


def needs_room(folder: Path, size: int) -> None:
    if shutil.disk_usage(folder).free < size:
        impossible(f"needs {size >> 30} GiB of free disk")


def sparse_wheel(path: Path, sizes: list[int]) -> list[Row]:
    """Write a wheel with stored members of zeros, which take no room on disk; return rows (with a made-up hash)."""
    rows = []
    directory = b""
    with path.open("wb") as out:
        for number, size in enumerate(sizes):
            wide = size >= 0xFFFFFFFF
            offset = out.tell()
            reported = {"csize": min(size, 0xFFFFFFFF), "usize": min(size, 0xFFFFFFFF), "crc": 0}
            entry = Entry(f"lib/{number}.dll", method=0, both=reported)
            entry.local = {"extra": extra_field(1, struct.pack("<QQ", size, size)) if wide else b""}
            values = ([size, size] if wide else []) + ([offset] if offset >= 0xFFFFFFFF else [])
            extra = extra_field(1, struct.pack(f"<{len(values)}Q", *values)) if values else b""
            entry.central = {"extra": extra, "offset": min(offset, 0xFFFFFFFF)}
            out.write(local_header(entry))
            out.seek(size, os.SEEK_CUR)
            directory += central_entry(entry, offset)
            rows.append(Row(f"lib/{number}.dll", "sha256", hash_bytes(b""), size))
        for entry in wheel_entries():
            offset = out.tell()
            values = [offset] if offset >= 0xFFFFFFFF else []
            extra = extra_field(1, struct.pack(f"<{len(values)}Q", *values)) if values else b""
            entry.central = {"extra": extra, "offset": min(offset, 0xFFFFFFFF)}
            out.write(local_header(entry) + (entry.packed or b""))
            directory += central_entry(entry, offset)
        at, count = out.tell(), len(sizes) + 4
        out.write(directory)
        if at >= 0xFFFFFFFF:
            out.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, len(directory), at))
            out.write(struct.pack("<IIQI", 0x07064B50, 0, at + len(directory), 1))
        out.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), min(at, 0xFFFFFFFF), 0))
    return rows


LIMITS = Limits(max_ratio=1e9)


@pytest.mark.parametrize(
    "sizes",
    [
        pytest.param([3 * GIB, 2 * GIB], id="archive", marks=pytest.mark.long),
        pytest.param([0xFFFFFFFF], id="at", marks=pytest.mark.long),
        pytest.param([0xFFFFFFFE], id="below", marks=pytest.mark.long),
        pytest.param([5 * GIB], id="member", marks=pytest.mark.long),
    ],
)
def test_old_members_beyond_4_gib(tmp_path, sizes):
    needs_room(tmp_path, 2 * sum(sizes))
    source = tmp_path / "pkg-1.0-py3-none-any.whl"
    rows = sparse_wheel(source, sizes)
    with Archive.open(source, LIMITS) as archive:
        assert check_archive(archive) == ()
        assert [member.usize for member in archive.members[: len(sizes)]] == sizes
        target = tmp_path / "out" / source.name
        add = (NewMember("lib/new.dll", data=b"new" * 100),)
        try:
            write_wheel(archive, target, WheelChanges(DIST_INFO, add=add, rows=tuple(rows)), jobs=1)
            with zipfile.ZipFile(target) as wheel, zipfile.ZipFile(source) as old:
                assert [info.file_size for info in wheel.infolist()[: len(sizes)]] == sizes
                assert wheel.read("lib/new.dll") == b"new" * 100
                assert wheel.read("pkg/__init__.py") == old.read("pkg/__init__.py")
                wheel.open("lib/0.dll").close()
        finally:
            target.unlink(missing_ok=True)


@pytest.mark.long  # packs 4 GiB
def test_a_new_member_beyond_4_gib(tmp_path):
    size = 4 * GIB + 12345
    needs_room(tmp_path, GIB)
    (tmp_path / "in").mkdir()
    source = tmp_path / "in" / "pkg-1.0-py3-none-any.whl"
    sparse_wheel(source, [])
    big = tmp_path / "big.dll"
    with big.open("wb") as file:
        file.truncate(size)
    target = tmp_path / source.name
    with Archive.open(source) as archive:
        edition = WheelChanges(DIST_INFO, add=(NewMember("lib/big.dll", path=big),))
        write_wheel(archive, target, edition, compressor=codec.Compressor.choose(level=1))
    with zipfile.ZipFile(target) as wheel:
        info = wheel.getinfo("lib/big.dll")
        assert info.file_size == size
        assert info.compress_size < size // 100
        with wheel.open(info) as stream:
            assert stream.read(1000) == bytes(1000)
    with Archive.open(target, LIMITS) as archive:
        assert check_archive(archive) == ()
        assert check_record(archive) == ()


@pytest.mark.parametrize("count", some([65_536, 65_535, 70_000]))
def test_many_members(tmp_path, count):
    """The new wheel has one member more than the 16 bits of the plain end record can count, or just as many."""
    source = tmp_path / "pkg-1.0-py3-none-any.whl"
    with zipfile.ZipFile(source, "w") as wheel:
        for number in range(count - 5):
            wheel.writestr(zipfile.ZipInfo(f"pkg/{number}.txt"), b"")
        for entry in wheel_entries():
            wheel.writestr(str(entry.name), entry.data)
    target = tmp_path / "out" / source.name
    rows = tuple(Row(f"pkg/{number}.txt", "sha256", hash_bytes(b""), 0) for number in range(count - 5))
    with Archive.open(source) as archive:
        edition = WheelChanges(DIST_INFO, add=(NewMember("lib/new.dll", data=b"new"),), rows=rows)
        write_wheel(archive, target, edition)
    with zipfile.ZipFile(target) as wheel:
        assert len(wheel.namelist()) == count
    if shutil.which("unzip"):
        assert subprocess.run(["unzip", "-tqq", str(target)], check=False).returncode == 0


MEASURED = """
import pathlib, re, sys
from wheelfix.archive.changes import WheelChanges, NewMember
from wheelfix.archive.reader import Archive
from wheelfix.base.options import Limits
from tests.archive.byhand import hash_bytes
from wheelfix.archive.record import Row
from wheelfix.archive.writer import write_wheel
source, target, big = map(pathlib.Path, sys.argv[1:])
with Archive.open(source, Limits(max_ratio=1e9)) as archive:
    rows = tuple(Row(m.name, "sha256", hash_bytes(b""), m.usize) for m in archive.members)
    changes = WheelChanges("pkg-1.0.dist-info", add=(NewMember("big.dll", path=big),), rows=rows)
    write_wheel(archive, target, changes, jobs=2)
print(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_does_not_grow_with_the_wheel(tmp_path):
    """A wheel of 512 MiB with a new file of 128 MiB needs hardly more memory than Python itself."""
    needs_room(tmp_path, 2 * GIB)
    source = tmp_path / "pkg-1.0-py3-none-any.whl"
    sparse_wheel(source, [GIB // 2])
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(GIB // 8)
    target = tmp_path / "out" / source.name
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, source, target, big], capture_output=True, text=True, check=True
    )
    assert int(ran.stdout) < 60 * 1024
