"""Looking at a wheel: what is begun before the directory is known counts only if it was guessed right."""

from __future__ import annotations

import zipfile

import pytest

from tests.archive.byhand import Entry, build_zip
from tests.support.wheels import build_wheel
from wheelfix.archive.reader import Archive
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.demo.forge import forge_dll
from wheelfix.errors import InputError
from wheelfix.exam.wheel import Images, examine_wheel, looking_at
from wheelfix.model import Image

FILES = {
    "pkg/__init__.py": b"",
    "pkg/small.pyd": forge_dll("small.pyd", exports=["PyInit_small"]),
    "pkg/large.dll": forge_dll("large.dll", exports=[f"name{number}" for number in range(3000)]),
}


def options(jobs: int = 2, *, verify: bool = False) -> ScanOptions:
    return ScanOptions(jobs=jobs, verify=verify, roots=RootOptions(discover=False))


@pytest.fixture
def wheel(tmp_path):
    return build_wheel(tmp_path, "pkg", "1.0", "cp311-cp311-win_amd64", FILES)


def reads(monkeypatch):
    """The names of the members that are read as images, as often as they are."""
    found = []
    plain = Images._read

    def read(self, member):
        found.append(member.name)
        return plain(self, member)

    monkeypatch.setattr(Images, "_read", read)
    return found


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_each_image_is_read_once_and_the_same_is_found(wheel, monkeypatch, jobs, verify):
    with Archive.open(wheel) as archive:
        expected = examine_wheel(archive, options(jobs, verify=verify)).report
    found = reads(monkeypatch)
    with looking_at(wheel, options(jobs, verify=verify)) as (_, look):
        assert look.examine().report == expected
    assert sorted(found) == ["pkg/large.dll", "pkg/small.pyd"]
    assert found[0] == "pkg/large.dll"


@pytest.mark.parametrize("verify", [False, True])
def test_a_refused_image_is_not_read(tmp_path, verify):
    """The largest image shares its bytes with another member."""
    dll = FILES["pkg/large.dll"]
    path = tmp_path / "pkg-1.0-cp311-cp311-win_amd64.whl"
    entries = [Entry("pkg/large.dll", dll), Entry("pkg/inside.txt", b"x" * 10)]
    blob = bytearray(build_zip([*entries, *_dist_info()]))
    with zipfile.ZipFile(_saved(path, blob)) as archive:
        large = archive.getinfo("pkg/large.dll")
        start = archive.start_dir
    at = blob.index(b"PK\x01\x02", start + 4)  # the entry of the second: let its data lie within the first
    blob[at + 42 : at + 46] = (large.header_offset + 40).to_bytes(4, "little")
    _saved(path, blob)
    with looking_at(path, options(verify=verify)) as (archive, look):
        assert archive.why_refused(archive.find("pkg/large.dll"))
        report = look.examine().report
    with Archive.open(path) as archive:
        assert report == examine_wheel(archive, options(verify=verify)).report
    assert not [image for image in report.images if image.path == "pkg/large.dll" and isinstance(image.facts, Image)]


def test_a_wheel_that_cannot_be_opened_is_an_error_all_the_same(wheel):
    data = bytearray(wheel.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    data[at : at + 4] = b"nope"
    wheel.write_bytes(bytes(data))
    with pytest.raises(InputError, match="damaged"), looking_at(wheel, options()):
        pass


def _saved(path, blob):
    path.write_bytes(bytes(blob))
    return path


def _dist_info():
    yield Entry("pkg-1.0.dist-info/METADATA", b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\n")
    yield Entry("pkg-1.0.dist-info/WHEEL", b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-win_amd64\n")
    yield Entry("pkg-1.0.dist-info/RECORD", b"")
