"""Every irregularity by its kind, and whether the right people are said to refuse it."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import pytest

from tests.archive.byhand import DIST_INFO, Entry, deflate, write_wheel_by_hand
from tests.archive.hostile import CASES, TEXT, refused_by
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from wheelfix.archive import conformance
from wheelfix.archive.changes import NewMember, WheelChanges
from wheelfix.archive.conformance import check_archive, stored_fault
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import check_record
from wheelfix.archive.writer import write_wheel
from wheelfix.base.options import Limits, ScanOptions
from wheelfix.exam.scan import scan
from wheelfix.exam.verify import verify
from wheelfix.model import Severity
from wheelfix.plan.lock import read_lock

BESIDES = {
    "end-in-comment": {"pip"},  # pip takes the inner, empty archive, and then misses dist-info
    "beyond": {"pypi"},  # PyPI reads headers one after the other and never follows the offset
    "zip64-missing": {"pip"},  # zipfile reads on to the end of the stream
}
"""Cases in which our answer is knowingly not the letter of what happens."""


@pytest.mark.parametrize("key", CASES)
def test_the_fault_is_found_and_those_who_refuse_it_are_named(tmp_path, key):
    case = CASES[key]
    path = write_wheel_by_hand(tmp_path, case.entries, **case.options)
    with Archive.open(path) as archive:
        faults = check_archive(archive)
        record = check_record(archive, hashes=True, jobs=1)
    kinds = {fault.kind for fault in faults}
    if case.kind == "":
        assert faults == ()
    elif case.kind == "damaged":
        assert ("member-unreadable", "a.txt") in {(fault.kind, fault.subject) for fault in record}
    else:
        assert case.kind in kinds
    assert all(fault.message for fault in faults)
    if case.kind != "damaged":
        named = {who for fault in faults for who in fault.rejected_by}
        assert named ^ refused_by(key) == BESIDES.get(key, set())


def test_what_pypi_refuses_for_its_compression_ratio_is_written(tmp_path, monkeypatch):
    """The file is as the format says: a repair does not call its own work invalid."""
    monkeypatch.setattr(conformance, "_PYPI_RATIO_FROM", 1 << 20)
    zeros = bytes(2 << 20)
    path = write_wheel_by_hand(tmp_path, [Entry("zeros.bin", zeros, packed=deflate(zeros, 1))])
    (found,) = verify(path).findings
    assert (found.code, found.severity, found.evidence["rejected_by"]) == ("WF115", Severity.WARNING, ["pypi"])
    assert found.hint == "nothing is damaged, and pip and uv install it; only an upload to PyPI fails"
    with Archive.open(path) as archive:
        write_wheel(archive, tmp_path / "out" / path.name, WheelChanges(DIST_INFO, add=(NewMember("new", data=b""),)))


def test_order_in_the_file_need_not_be_that_of_the_directory(tmp_path):
    path = write_wheel_by_hand(tmp_path, [Entry("a.txt", TEXT), Entry("b.txt", TEXT)], shuffle=True)
    with Archive.open(path) as archive:
        assert check_archive(archive) == ()
        assert check_record(archive, hashes=True) == ()
        assert archive.members[-1].name == "a.txt"


# --------------------------------------------------------------------------------------------------------------- stored
# Wheels that were packed without compression: found, and compressed on request.


TEXT_STORED = b"".join(b"line %d of a file that repeats\n" % number for number in range(4000))


def build(folder: Path, **files: bytes) -> Path:
    members = {"pkg/__init__.py": ""}
    members |= {f"pkg/{name}.txt": data for name, data in files.items()}
    return build_wheel(folder, "pkg", "1.0", "py3-none-any", members, purelib=True, stored=True)


def codes(path: Path) -> list[str]:
    return [finding.code for finding in scan(path).findings]


def test_a_stored_wheel_is_reported_and_compressed_on_request(tmp_path, run):
    """make_wheel.py left out ZIP_DEFLATED: 1.26 GB instead of 216 MB, and nobody said so."""
    wheel = build(tmp_path / "dist", data=TEXT_STORED)
    assert codes(wheel) == ["WF130"]
    assert [finding.severity.value for finding in verify(wheel).findings] == ["info"]
    out, lock = tmp_path / "out", tmp_path / "lock.json"
    run("repair", wheel, "--recompress", "--no-discover", "-w", out, "--lock", lock)
    made = out / wheel.name
    assert codes(made) == []
    assert made.stat().st_size < wheel.stat().st_size / 2
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made) as new:
        assert sorted(old.namelist()) == sorted(new.namelist())
        assert all(old.read(name) == new.read(name) for name in old.namelist() if not name.endswith("RECORD"))
        assert new.getinfo("pkg/data.txt").compress_type == zipfile.ZIP_DEFLATED
        assert new.getinfo("pkg/data.txt").external_attr == old.getinfo("pkg/data.txt").external_attr
    assert read_lock(lock)[0].recompress
    first = made.read_bytes()
    run("repair", "--locked", lock, "-w", tmp_path / "again")
    assert (tmp_path / "again" / wheel.name).read_bytes() == first


@pytest.mark.parametrize("stored, options", [(True, []), (False, ["--recompress"])])
def test_a_wheel_stays_as_it_is_where_nothing_is_asked_for_or_to_be_gained(tmp_path, run, stored, options):
    files = {"pkg/__init__.py": "", "pkg/data.txt": TEXT_STORED}
    wheel = build_wheel(tmp_path / "dist", "pkg", "1.0", "py3-none-any", files, purelib=True, stored=stored)
    run("repair", wheel, *options, "--no-discover", "-w", tmp_path / "out")
    assert (tmp_path / "out" / wheel.name).read_bytes() == wheel.read_bytes()


@named_cases(
    "files",
    {
        "what cannot be compressed": {"data": random.Random(7).randbytes(200_000)},
        "a few bytes": {"data": TEXT_STORED[:2000]},
    },
)
def test_where_nothing_would_be_saved_there_is_no_finding(files, tmp_path):
    with Archive.open(build(tmp_path, **files)) as archive:
        assert stored_fault(archive) == ()


def test_an_installed_package_has_nothing_to_compress(run, tmp_path):
    assert "--recompress" in run("repair", "--env", tmp_path, "--package", "x", "--recompress", code=2).err


# -------------------------------------------------------------------------------------------------------------- sizes
# Paths that are too long for Windows, and files that are too large for PyPI.


def sized(folder: Path, name: str, **more: object) -> list[tuple[str, str]]:
    wheel = build_wheel(folder, "pkg", "1.0", "py3-none-any", {"pkg/__init__.py": b"", name: b""})
    options = ScanOptions(verify=True, limits=Limits(**more))  # type: ignore[arg-type]
    return [(item.code, str(item.severity)) for item in verify(wheel, options).findings]


@pytest.mark.parametrize(
    "length, limit, expected",
    [
        (117, 0, []),
        (118, 0, [("WF133", "info")]),
        (209, 0, [("WF133", "info")]),
        (210, 0, [("WF133", "warning")]),
        (140, 140, []),
        (141, 140, [("WF133", "error")]),
    ],
)
def test_paths_that_are_too_long(length, limit, expected, tmp_path):
    """A member of 284 characters was ok; it cannot be installed below any home folder."""
    folders = "/".join(["pkg", *["long" * 12] * ((length - 40) // 49)])
    name = f"{folders}/{'x' * (length - len(folders) - 1)}"
    assert len(name) == length
    assert sized(tmp_path, name, max_path=limit) == expected


def test_a_scheme_of_data_has_its_own_folder(tmp_path):
    assert sized(tmp_path / "a", "pkg-1.0.data/purelib/pkg/" + "x" * 100, max_path=104) == []
    assert sized(tmp_path / "b", "pkg-1.0.data/purelib/pkg/" + "x" * 101, max_path=104) == [("WF133", "error")]


def test_the_size_that_pypi_takes(tmp_path, monkeypatch):
    assert sized(tmp_path, "pkg/x") == []
    monkeypatch.setattr(conformance, "PYPI_FILE", 500)
    assert sized(tmp_path, "pkg/x") == [("WF134", "info")]
