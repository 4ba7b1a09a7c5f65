"""Real wheels: read alike by zipfile, right by our checks, and unchanged where nothing was to be changed."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator

import pytest

from tests.support.tiers import unavailable, wheels_folder
from tests.support.tiers import wheel as named
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import check_record

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


def test_the_directory_is_that_of_zipfile(wheel):
    with zipfile.ZipFile(wheel.path) as other:
        assert [
            (member.name, member.usize, member.csize, member.crc, member.header_offset) for member in wheel.members
        ] == [
            (info.filename, info.file_size, info.compress_size, info.CRC, info.header_offset)
            for info in other.infolist()
        ]


@pytest.mark.parametrize("name, kinds", RECORDS.items())
def test_names_and_sizes_are_those_of_record(name, kinds):
    with Archive.open(named(name)) as archive:
        assert {fault.kind for fault in check_record(archive)} == kinds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torch-1.12.1-cp310-cp310-win_amd64.whl", "scipy-1.15.3-cp311-cp311-win_amd64.whl"])
def test_hashes_are_those_of_record(name):
    with Archive.open(named(name)) as archive:
        stale = {"hash-stale"} if RECORDS[name] else set()
        assert {fault.kind for fault in check_record(archive, hashes=True)} == RECORDS[name] | stale
