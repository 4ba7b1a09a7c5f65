"""Wheels that were packed without compression: found, and compressed on request."""

from __future__ import annotations

import random
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import build_wheel
from wheelfix.archive.conformance import stored_fault
from wheelfix.archive.reader import Archive
from wheelfix.cli.main import main
from wheelfix.exam.scan import scan
from wheelfix.exam.verify import verify
from wheelfix.plan.lock import read_lock

if TYPE_CHECKING:
    from pathlib import Path

TEXT = b"".join(b"line %d of a file that repeats\n" % number for number in range(4000))


def build(folder: Path, **files: bytes) -> Path:
    members: dict[str, bytes | str] = {"pkg/__init__.py": ""}
    members |= {f"pkg/{name}.txt": data for name, data in files.items()}
    return build_wheel(folder, "pkg", "1.0", "py3-none-any", members, purelib=True, stored=True)


def codes(path: Path) -> list[str]:
    return [finding.code for finding in scan(path).findings]


def test_a_stored_wheel_is_reported_and_compressed_on_request(tmp_path: Path) -> None:
    """make_wheel.py left out ZIP_DEFLATED: 1.26 GB instead of 216 MB, and nobody said so."""
    wheel = build(tmp_path / "dist", data=TEXT)
    assert codes(wheel) == ["WF130"]
    assert [finding.severity.value for finding in verify(wheel).findings] == ["info"]
    out, lock = tmp_path / "out", tmp_path / "lock.json"
    assert main(["repair", str(wheel), "--recompress", "--no-discover", "-w", str(out), "--lock", str(lock)]) == 0
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
    assert main(["repair", "--locked", str(lock), "-w", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / wheel.name).read_bytes() == first


def test_nobody_is_surprised_by_another_wheel(tmp_path: Path) -> None:
    wheel = build(tmp_path / "dist", data=TEXT)
    assert main(["repair", str(wheel), "--no-discover", "-w", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / wheel.name).read_bytes() == wheel.read_bytes()


def test_a_compressed_wheel_stays_as_it_is_with_recompress(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {"pkg/__init__.py": "", "pkg/data.txt": TEXT}
    wheel = build_wheel(tmp_path / "dist", "pkg", "1.0", "py3-none-any", files, purelib=True)
    assert main(["repair", str(wheel), "--recompress", "--no-discover", "-w", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"data": random.Random(7).randbytes(200_000)}, id="what cannot be compressed"),
        pytest.param({"data": TEXT[:2000]}, id="a few bytes"),
    ],
)
def test_where_nothing_would_be_saved_there_is_no_finding(files: dict[str, bytes], tmp_path: Path) -> None:
    with Archive.open(build(tmp_path, **files)) as archive:
        assert stored_fault(archive) == ()


def test_an_installed_package_has_nothing_to_compress(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["repair", "--env", str(tmp_path), "--package", "x", "--recompress"]) == 2
    assert "--recompress" in capsys.readouterr().err
