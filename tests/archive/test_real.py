"""Real wheels: read alike by zipfile, right by our checks, and unchanged where nothing was to be changed."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tiers import unavailable, wheels_folder
from tests.support.tiers import wheel as named
from wheelfix.archive.changes import NewMember, WheelChanges
from wheelfix.archive.conformance import check_archive, read_back
from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import Record, check_record, record_member
from wheelfix.archive.writer import write_wheel

ALL = sorted(wheels_folder().glob("*.whl"))
pytestmark = pytest.mark.real

# Official wheels whose RECORD does not fit (torch 1.12.1's METADATA; a backslash in PyQt5-Qt5's), and some that do.
RECORDS = {
    "PyQt5_Qt5-5.15.2-py3-none-win_amd64.whl": {"row-backslash"},
    "mkl-2025.3.0-py2.py3-none-win_amd64.whl": set(),
    "numpy-2.2.6-cp311-cp311-win_amd64.whl": set(),
    "nvidia_cudnn_cu11-8.9.4.25-py3-none-win_amd64.whl": set(),
    "scipy-1.15.3-cp311-cp311-win_amd64.whl": set(),
    "torch-1.12.1-cp310-cp310-win_amd64.whl": {"size-stale"},
    "torch-2.4.0-cp311-cp311-win_amd64.whl": set(),
    "torch-2.7.1-cp311-cp311-win_amd64.whl": set(),
}


@pytest.fixture(params=ALL or [None], ids=lambda path: path.name[:40] if path else "none")
def wheel(request: pytest.FixtureRequest) -> Iterator[Archive]:
    """Each wheel of the cache."""
    if request.param is None:
        unavailable(f"there are no wheels in {wheels_folder()} (python -m tests.real.fetch)")
    with Archive.open(request.param) as archive:
        yield archive


def test_the_directory_is_that_of_zipfile(wheel: Archive) -> None:
    with zipfile.ZipFile(wheel.path) as other:
        assert [
            (member.name, member.usize, member.csize, member.crc, member.header_offset) for member in wheel.members
        ] == [
            (info.filename, info.file_size, info.compress_size, info.CRC, info.header_offset)
            for info in other.infolist()
        ]


@pytest.mark.parametrize("name", RECORDS)
def test_they_are_regular(name: str) -> None:
    with Archive.open(named(name)) as archive:
        assert check_archive(archive) == ()
        info = WheelInfo.from_archive(archive)
    # NumPy 2.2.6 has a .pyc in numpy/distutils.
    known = {"dist-info-not-last", *({"pycache"} if name.startswith("numpy-2.2.6-") else ())}
    assert {fault.kind for fault in info.faults} <= known
    assert info.metadata.name.replace("-", "_").lower() == name.partition("-")[0].lower()


@pytest.mark.parametrize(("name", "kinds"), RECORDS.items())
def test_names_and_sizes_are_those_of_record(name: str, kinds: set[str]) -> None:
    with Archive.open(named(name)) as archive:
        assert {fault.kind for fault in check_record(archive)} == kinds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torch-1.12.1-cp310-cp310-win_amd64.whl", "scipy-1.15.3-cp311-cp311-win_amd64.whl"])
def test_hashes_are_those_of_record(name: str) -> None:
    with Archive.open(named(name)) as archive:
        stale = {"hash-stale"} if RECORDS[name] else set()
        assert {fault.kind for fault in check_record(archive, hashes=True)} == RECORDS[name] | stale


def test_torch_gets_its_openmp_back(tmp_path: Path) -> None:
    """Without libiomp5md.dll, and with it again out of Intel's wheel: only what must change changes."""
    source = named("torch-2.7.1-cp311-cp311-win_amd64.whl")
    openmp = named("intel_openmp-2023.2.0-py2.py3-none-win_amd64.whl")
    name = "torch/lib/libiomp5md.dll"
    with Archive.open(source) as torch, Archive.open(openmp) as intel:
        own = record_member(torch)
        assert own is not None
        rows = Record.parse(torch.read(own)).rows
        old = torch.find(name)
        assert old is not None
        (vendored,) = (member for member in intel.members if member.name.endswith("/libiomp5md.dll"))
        target = tmp_path / source.name
        kept = tuple(row for row in rows if row.path != name)
        new = NewMember(name, packed=(intel, vendored), sha256=hashlib.sha256(intel.read(vendored)).hexdigest())
        edition = WheelChanges("torch-2.7.1.dist-info", frozenset([old]), {}, (new,), kept)
        write_wheel(torch, target, edition, check=lambda draft: draft.ready())
        assert read_back(target, [name]).problems() == []
        with Archive.open(target) as made:
            before = {member.name: member for member in torch.members}
            for member in made.members:
                if member.name not in {name, own.name}:
                    assert member._replace(header_offset=0, entry=0) == before[member.name]._replace(
                        header_offset=0, entry=0
                    )
            assert {member.name for member in made.members} == before.keys()
