"""Wheels that we wrote in the hands of those who will read them: pip, installer, wheel, uv, unzip, 7-Zip, zipfile."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from typing import TYPE_CHECKING

import pytest
from installer.records import Hash
from installer.sources import WheelFile

from tests.archive.byhand import DIST_INFO, Entry, deflate, write_wheel_by_hand
from tests.archive.hostile import CASES
from tests.support.chance import random_bytes
from wheelfix.archive.changes import NewMember, WheelChanges
from wheelfix.archive.reader import Archive
from wheelfix.archive.writer import write_wheel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = b"text that is compressed, text that is compressed\n" * 30


@functools.cache
def dense() -> bytes:
    """Parts in which hardly anything repeats, which libdeflate packs, and parts for zlib-ng, in several blocks."""
    return b"".join(random_bytes(n, 300_000, seed=n) for n in (250, 20, 256, 180, 5, 256, 200, 210, 9))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel made of a bad one: data descriptors, backslashes, gaps, Unicode, and new members of every kind."""
    folder = tmp_path_factory.mktemp("wheel")
    entries = [
        *CASES["descriptor"].entries,
        Entry("pkg\\sub\\b.txt", TEXT, before=b"gap"),
        Entry("pkg/\u00fc.txt", TEXT, both={"flags": 0}),
        Entry("pkg/script.sh", b"#!/bin/sh\n", attributes=0o100755 << 16),
        Entry("folder/", method=0),
    ]
    source = write_wheel_by_hand(folder / "in", entries, trailing=b"junk")
    root = folder / "root.whl"
    root.write_bytes(write_wheel_by_hand(folder / "root", [Entry("x.dll", TEXT, packed=deflate(TEXT, 1))]).read_bytes())
    target = folder / "out" / source.name
    with Archive.open(source) as archive, Archive.open(root) as other:
        packed = other.find("x.dll")
        assert packed is not None
        add = (
            NewMember("pkg/lib/big.dll", data=bytes(range(256)) * 12_000),
            NewMember("pkg/lib/dense.dll", data=dense()),
            NewMember("pkg/lib/packed.dll", packed=(other, packed)),
            NewMember("pkg/lib/empty.dll", data=b""),
            NewMember(f"{DIST_INFO}/sboms/x.cdx.json", data=b"{}"),
        )
        write_wheel(archive, target, WheelChanges(DIST_INFO, add=add))
    return target


EXPECTED = {
    "a.txt",
    "pkg/__init__.py",
    "pkg/sub/b.txt",
    "pkg/\u00fc.txt",
    "pkg/script.sh",
    "pkg/lib/big.dll",
    "pkg/lib/dense.dll",
    "pkg/lib/packed.dll",
    "pkg/lib/empty.dll",
}


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def tool(name: str, *others: str) -> str:
    """Return the path of a program, or skip."""
    for candidate in (name, *others):
        found = shutil.which(
            candidate, path=os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
        )
        if found:
            return found
    pytest.skip(f"{name} is not installed")


def _pip(wheel: Path, target: Path) -> list[str]:
    options = ["--no-deps", "--no-index", "--disable-pip-version-check", "--target", str(target)]
    return [sys.executable, "-m", "pip", "install", "-q", *options, str(wheel)]


def _uv(wheel: Path, target: Path) -> list[str]:
    options = ["--no-deps", "--offline", "--no-cache", "--python", sys.executable, "--target", str(target)]
    return [tool("uv"), "pip", "install", "-q", *options, str(wheel)]


def _unzip(wheel: Path, target: Path) -> list[str]:
    return [tool("unzip"), "-q", str(wheel), "-d", str(target)]


def _seven_zip(wheel: Path, target: Path) -> list[str]:
    return [tool("7z", "7zz"), "x", f"-o{target}", str(wheel)]


@pytest.mark.parametrize("command", [_pip, _uv, _unzip, _seven_zip], ids=["pip", "uv", "unzip", "7z"])
def test_programs_unpack_it(wheel: Path, tmp_path: Path, command: Callable[[Path, Path], list[str]]) -> None:
    target = tmp_path / "target"
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    ran = subprocess.run(command(wheel, target), capture_output=True, text=True, check=False, env=env)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert files(target) >= EXPECTED
    assert (target / "pkg/lib/big.dll").read_bytes() == bytes(range(256)) * 12_000
    assert (target / "pkg/lib/dense.dll").read_bytes() == dense()
    assert (target / "pkg/lib/packed.dll").read_bytes() == TEXT
    if os.name == "posix":
        assert os.access(target / "pkg/script.sh", os.X_OK)


@pytest.mark.parametrize("command", [("unzip", "-tq"), ("7z", "t")], ids=["unzip", "7z"])
def test_programs_find_no_fault(wheel: Path, command: tuple[str, str]) -> None:
    ran = subprocess.run([tool(command[0]), command[1], str(wheel)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "warning" not in (ran.stdout + ran.stderr).lower()


def test_wheel_unpacks_it(wheel: Path, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "wheel", "unpack", "-d", str(tmp_path), str(wheel)], capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert files(tmp_path / "pkg-1.0") >= EXPECTED


def test_installer_accepts_every_hash(wheel: Path) -> None:
    with WheelFile.open(wheel) as source:
        source.validate_record(validate_contents=True)
        for (path, digest, size), stream, _ in source.get_contents():
            data = stream.read()
            assert size == str(len(data)) or path.endswith("/RECORD")
            if digest:
                assert Hash.parse(digest).validate(data)


def test_zipfile_finds_no_fault(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        assert not any(info.flag_bits & 8 for info in archive.infolist())
