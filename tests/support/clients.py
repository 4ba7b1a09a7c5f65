"""Everybody who will ever read a wheel, asked in turn: zipfile, unzip, 7z, pip, installer, wheel and uv.

A wheel that repair wrote is right when all of them take it and unpack the same files from it.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.tiers import absent

PLATFORMS = {
    "win_amd64": "x86_64-pc-windows-msvc",
    "win32": "i686-pc-windows-msvc",
    "win_arm64": "aarch64-pc-windows-msvc",
}
"""Platform tags, and what uv calls them."""
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Target:
    """The machine that a wheel is for, as installers want to be told."""

    platform: str
    python: str
    """``3.11``"""
    abi: str
    """``cp313t`` for a free-threaded Python, else empty: the installers work it out."""


def check_with_clients(path: Path, folder: Path, only: Sequence[str] = ()) -> None:
    """Let every client read the wheel, each in a folder of its own, and compare what came out with what is in it.

    A client that is not installed is a warning, and a failure where tiers are required.
    """
    contents = read_with_zipfile(path)
    for name, client in CLIENTS.items():
        if only and name not in only:
            continue
        if find(name) is None:
            absent(f"there is no {name} here to read wheels with")
            continue
        place = folder / name
        place.mkdir(parents=True)
        unpacked = client(path, place)
        if unpacked is not None:
            assert_same_files(unpacked, contents, name)
        shutil.rmtree(place)


def find(client: str) -> str | None:
    """Return the program of a client, or the Python that has its module; None where it is not installed."""
    if client in ("pip", "installer", "wheel"):
        return sys.executable if importlib.util.find_spec(client) else None
    beside = str(Path(sys.executable).parent)
    return shutil.which(client, path=os.pathsep.join([beside, os.environ.get("PATH", "")]))


def target_of(path: Path) -> Target:
    """Read from a wheel's name where it can be installed."""
    pythons, abi, platform = path.stem.split("-")[-3:]
    version = re.search(r"(?:cp|py)3(\d+)", pythons)
    python = f"3.{version[1]}" if version and "abi3" not in abi else "3.11"
    return Target("win_amd64" if platform == "any" else platform, python, abi if abi.endswith("t") else "")


# ----------------------------------------------------------------------------------------- the archive by itself


def read_with_zipfile(path: Path) -> dict[str, tuple[int, int]]:
    """Read every member with the standard library; returns size and CRC of each file.

    RECORD is compared with the bytes here, by a reader that knows nothing of ours.
    """
    with zipfile.ZipFile(path) as archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        names = [info.filename for info in infos]
        assert len(names) == len(set(names)), "a member is there twice"
        assert not [name for name in names if "\\" in name or name.startswith("/") or ".." in name.split("/")]
        (record,) = (name for name in names if re.fullmatch(r"[^/]+\.dist-info/RECORD", name))
        table = list(csv.reader(io.StringIO(archive.read(record).decode("utf-8"), newline="")))
        rows = {row[0]: (row[1], row[2]) for row in table}
        assert len(rows) == len(table), "RECORD names a file twice"
        assert set(rows) == set(names)
        assert rows[record] == ("", "")
        for info in infos:
            digest = _sha256(archive, info)
            if info.filename != record:
                assert rows[info.filename] == (f"sha256={digest}", str(info.file_size)), info.filename
    return {info.filename: (info.file_size, info.CRC) for info in infos}


def _sha256(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    digest = hashlib.sha256()
    with archive.open(info) as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()


def run_unzip(path: Path, folder: Path) -> None:
    """Info-ZIP's own test; its status 1 is a warning, and there may be none."""
    _run(["unzip", "-tqq", str(path)])


def run_7z(path: Path, folder: Path) -> None:
    """7-Zip's own test, which tells headers that contradict each other."""
    said = _run(["7z", "t", "-bd", str(path)])
    assert "Everything is Ok" in said
    assert "WARNING" not in said.upper(), said


# --------------------------------------------------------------------------------------------------- the wheel


def run_pip(path: Path, folder: Path) -> Path:
    """Install into a folder, for the machine that the wheel is for."""
    target = target_of(path)
    command = ["pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    command += ["--disable-pip-version-check", "--no-cache-dir", "--only-binary=:all:", "--target", str(folder)]
    command += ["--platform", target.platform, "--python-version", target.python]
    command += ["--abi", target.abi] if target.abi else []
    _run([*command, str(path)])
    return folder


def run_installer(path: Path, folder: Path) -> Path:
    """The reference library: RECORD against every byte, then the installation."""
    from installer import install
    from installer.destinations import SchemeDictionaryDestination
    from installer.sources import WheelFile

    schemes = dict.fromkeys(("purelib", "platlib", "data"), str(folder))
    schemes |= {"scripts": str(folder / "Scripts"), "headers": str(folder / "Include")}
    destination = SchemeDictionaryDestination(schemes, interpreter="python.exe", script_kind="win-amd64")
    with WheelFile.open(path) as source:
        source.validate_record(validate_contents=True)
        install(source, destination, additional_metadata={})
    return folder


def run_wheel(path: Path, folder: Path) -> Path:
    """``wheel unpack`` checks each file's hash against RECORD while it writes."""
    _run(["wheel", "unpack", "--dest", str(folder), str(path)])
    (unpacked,) = folder.iterdir()
    return unpacked


def run_uv(path: Path, folder: Path) -> Path | None:
    """The strictest reader of archives among the installers."""
    target = target_of(path)
    if target.abi:
        return None  # uv takes the free-threaded ABI from a running interpreter only
    cache, site = folder / "cache", folder / "site"
    command = ["uv", "pip", "install", "--quiet", "--no-deps", "--no-index", "--offline", "--no-config"]
    command += ["--cache-dir", str(cache), "--target", str(site), "--python", sys.executable]
    command += ["--python-version", target.python, "--python-platform", PLATFORMS[target.platform]]
    _run([*command, str(path)])
    return site


CLIENTS: Mapping[str, Callable[[Path, Path], Path | None]] = {
    "unzip": run_unzip,
    "7z": run_7z,
    "pip": run_pip,
    "installer": run_installer,
    "wheel": run_wheel,
    "uv": run_uv,
}


def _run(command: Sequence[str]) -> str:
    client, arguments = command[0], command[1:]
    found = find(client)
    assert found is not None, client
    start = [found, "-m", client] if found == sys.executable else [found]
    done = subprocess.run(
        [*start, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    assert done.returncode == 0, f"{client} says {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


def assert_same_files(folder: Path, contents: Mapping[str, tuple[int, int]], client: str) -> None:
    """Hold what a client unpacked against the members, file by file; RECORD and INSTALLER are an installer's own."""
    present = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name, (size, crc) in contents.items():
        if name.endswith(".dist-info/RECORD"):
            continue
        path = present.get(name) or present.get(re.sub(r"^[^/]+\.data/(?:data|purelib|platlib)/", "", name))
        if path is None and ".data/" in name:
            continue  # scripts and headers have a home of their own with each installer
        assert path is not None, f"{client} did not unpack {name}"
        assert (path.stat().st_size, _crc(path)) == (size, crc), f"{client} unpacked {name} wrongly"


def _crc(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            value = zlib.crc32(block, value)
    return value
