"""What Python's DLLs export: makes ``python_exports.txt`` and ``stable_abi.txt``; run by ``python -m tools.refresh``.

Some wheels on the index ship ``python3XY.dll`` for programs of their own: :data:`WHEELS`. Only its names of exports are
taken. A Python that no wheel has is read from its C headers, in Debian's package for developers: Windows exports what
they declare with ``PyAPI_FUNC`` and ``PyAPI_DATA``, and the functions of the stable ABI that have no declaration any
more. For 3.13 and 3.14 both ways were compared: the headers miss no name, and have one or two that the DLLs do not
have, Py_FrozenMain and PyOS_CheckStack.

Names with a leading underscore and ``PyUnstable_`` are left out: patch releases may add some. Free-threaded builds have
no column of their own, because no public declaration depends on ``Py_GIL_DISABLED``, which is checked here each time.
"""

from __future__ import annotations

import io
import lzma
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.heading import heading
from tools.package_index import IndexFault, PackageIndex
from wheelfix.base.values import grouped
from wheelfix.model import Image
from wheelfix.pe.image import read_image

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools.package_index import IndexFile

WHEELS = {
    "python27.dll": "mercurial 5.7",
    "python37.dll": "mercurial 5.7",
    "python38.dll": "mercurial 5.7",
    "python39.dll": "depthai 3.11.0",
    "python310.dll": "depthai 3.11.0",
    "python311.dll": "depthai 3.11.0",
    "python312.dll": "depthai 3.11.0",
    "python313.dll": "depthai 3.11.0",
    "python314.dll": "depthai 3.11.0",
}
"""DLLs of CPython for x64, with a release on the index that has them."""
DEBIAN = "https://deb.debian.org/debian/"
COMMAND = "python -m tools.refresh python"
EXPORTS = "Functions and data that CPython's own DLLs export on Windows, with the versions that have them."
STABLE = "Functions and data of CPython's stable ABI on Windows, with the version that added them."
_UNLISTED = ("_", "PyUnstable_")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(ifdef|ifndef|if|elif|else|endif)\b(.*)$", re.MULTILINE)
_DECLARED = re.compile(r"\bPyAPI_(?:FUNC|DATA)\s*\(")
_NAME = re.compile(r"\s*(?:_?Py_[A-Z_]+\s+)*[*(\s]*(\w+)")
_NOT_WINDOWS = re.compile(r"\b(?:HAVE_FORK|USE_STACKCHECK|Py_REF_DEBUG|Py_TRACE_REFS|Py_DEBUG)\b")
"""What is not defined in a release build of CPython for Windows: PC/pyconfig.h."""


class Bytes:
    """Bytes in memory, as the reader of images asks for them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.size = data, len(data)

    def read_at(self, offset: int, length: int) -> bytes:
        """Return a part of them."""
        return self.data[offset : offset + length]


def public(names: Iterable[str]) -> frozenset[str]:
    """Return the names that a patch release does not change."""
    return frozenset(name for name in names if name.startswith("P") and not name.startswith(_UNLISTED))


def exports_of(data: bytes) -> frozenset[str]:
    """Return the public names that a DLL exports."""
    image = read_image(Bytes(data))
    assert isinstance(image, Image), image
    return public(image.exports.names)


def declared(header: str) -> dict[str, list[str]]:
    """Return the names that a header declares for export, with the conditions around each."""
    text = _COMMENT.sub(" ", header.replace("\\\n", " "))
    found: dict[str, list[str]] = {}
    around: list[str] = []
    end = 0
    for mark in [*_CONDITION.finditer(text), None]:
        piece = re.sub(r"(?m)^[ \t]*#.*$", "", text[end : mark.start() if mark else len(text)])
        for start in _DECLARED.finditer(piece):
            depth, place = 1, start.end()
            while depth and place < len(piece):
                depth += {"(": 1, ")": -1}.get(piece[place], 0)
                place += 1
            if name := _NAME.match(piece, place):
                found[name[1]] = [*around]
        if mark is None:
            break
        end = mark.end()
        if mark[1] in ("if", "ifdef", "ifndef"):
            around.append(f"{mark[1]} {mark[2].strip()}")
        elif around:
            last = around.pop()
            around += [] if mark[1] == "endif" else [f"{last}; {mark[1]}"]
    return found


def names_of_headers(headers: Iterable[str]) -> frozenset[str]:
    """Return what a Python with these headers exports on Windows, without what only the stable ABI has."""
    found: set[str] = set()
    for header in headers:
        for name, around in declared(header).items():
            conditions = " ".join(around)
            if name in public([name]) and "Py_GIL_DISABLED" in conditions:
                raise IndexFault(f"{name} depends on Py_GIL_DISABLED: free-threaded Pythons need columns of their own")
            if not any(_NOT_WINDOWS.search(one) and not one.startswith("ifndef") for one in around):
                found.add(name)
    return public(found)


def headers_of(package: Path) -> list[str]:
    """Return the texts of the C headers of a Debian package."""
    unpacked = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(unpacked)) as archive:
        members = [member for member in archive if re.search(r"/include/python3[^/]*/.*\.h$", member.name)]
        return [archive.extractfile(member).read().decode("utf-8", "replace") for member in members if member.isfile()]


def newer_in_debian(index: PackageIndex, known: Iterable[str]) -> dict[str, tuple[str, list[str]]]:
    """Return column to version and headers, for each Python of Debian unstable that is newer than those known."""
    with index.open(f"{DEBIAN}dists/sid/main/binary-amd64/Packages.xz") as opened:
        listed = lzma.decompress(opened.read()).decode("utf-8", "replace")
    newest = max(int(column[1:]) for column in known)
    found = {}
    for match in re.finditer(r"^Filename: (\S+/libpython3\.(\d+)-dev_(3[0-9.]+)\S*_amd64\.deb)$", listed, re.MULTILINE):
        if int(match[2]) <= newest:
            continue
        with tempfile.TemporaryDirectory() as folder, index.open(DEBIAN + match[1]) as opened:
            package = Path(folder, "package.deb")
            package.write_bytes(opened.read())
            found[f"3{match[2]}"] = (match[3], headers_of(package))
    return found


def ranges(name: str, columns: list[str], found: dict[str, frozenset[str]]) -> str:
    """Return the columns that have a name: ``39-315``, ``27 37-38``."""
    parts: list[list[str]] = []
    last = -2
    for place, column in enumerate(columns):
        if name in found[column]:
            if place != last + 1:
                parts.append([])
            parts[-1].append(column)
            last = place
    return ",".join(part[0] if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def exports_table(found: dict[str, frozenset[str]], source: str, date: str) -> str:
    """Return the text of ``python_exports.txt``."""
    columns = sorted(found, key=lambda column: (column[0], int(column[1:])))
    names = sorted(frozenset[str]().union(*found.values()))
    header = heading(EXPORTS, source, COMMAND, f"columns: {' '.join(columns)}", date=date)
    together = grouped((ranges(name, columns, found), name) for name in names)
    lines = ((versions, own[at : at + 8]) for versions, own in together.items() for at in range(0, len(own), 8))
    return header + "".join(f"{versions} {' '.join(some)}\n" for versions, some in lines)


def abi_table(abi3info: Path, version: str, date: str) -> str:
    """Return the text of ``stable_abi.txt`` from a wheel of abi3info, which is generated from CPython's own list."""
    sys.path.insert(0, str(abi3info))
    try:
        module = import_module("abi3info")
    finally:
        sys.path.remove(str(abi3info))
    items = [*module.FUNCTIONS.values(), *module.DATAS.values()]
    lines = sorted(
        f"{item.symbol.name} {item.added.major}.{item.added.minor}"
        for item in items
        if item.ifdef is None or item.ifdef.windows
    )
    source = f"python/cpython Misc/stable_abi.toml, by way of abi3info {version}"
    return heading(STABLE, source, COMMAND, date=date) + "".join(f"{line}\n" for line in lines)


def newest_wheel(index: PackageIndex, project: str) -> tuple[str, IndexFile]:
    """Return the newest release of a project and one of its wheels."""
    files = [file for file in index.files(project) if file.name.endswith(".whl") and not file.yanked]
    if not files:
        raise IndexFault(f"{project} has no wheels on the index")
    newest = max(files, key=lambda file: Version(file.name.split("-")[1]))
    return newest.name.split("-")[1], newest


def shipped(index: PackageIndex) -> dict[str, frozenset[str]]:
    """Return the exports of the DLLs that wheels on the index have."""
    found: dict[str, frozenset[str]] = {}
    for dll, release in WHEELS.items():
        project, version = release.split()
        column = dll.removeprefix("python").removesuffix(".dll")
        fits = re.compile(rf"{project}-{re.escape(version)}-(?:.*\.)?cp{column}\b.*-win_amd64\.whl")
        file = next((file for file in index.files(project) if fits.fullmatch(file.name)), None)
        if file is None:
            raise IndexFault(f"no wheel of {release} for {dll} on the index")
        with index.open(file.url) as opened, zipfile.ZipFile(opened) as archive:
            name = next(name for name in archive.namelist() if name.rpartition("/")[2].lower() == dll)
            found[column] = exports_of(archive.read(name))
    return found


def make(index: PackageIndex, folder: Path, date: str) -> dict[str, str]:
    """Return the texts of both tables; ``folder`` is for files that are downloaded."""
    version, wheel = newest_wheel(index, "abi3info")
    kept = folder / wheel.name
    with index.open(wheel.url) as opened:
        kept.write_bytes(opened.read())
    stable = abi_table(kept, version, date)
    found = shipped(index)
    sources = [f"python3XY.dll in wheels on PyPI ({', '.join(dict.fromkeys(WHEELS.values()))})"]
    for column, (release, headers) in newer_in_debian(index, found).items():
        lines = (line.split() for line in stable.splitlines() if line[:1] != "#")
        old = {name for name, added in lines if int(added.partition(".")[2]) <= int(column[1:])}
        found[column] = names_of_headers(headers) | public(old)
        sources.append(f"the headers of CPython {release} as Debian has them, with the stable ABI")
    return {"python_exports.txt": exports_table(found, "; ".join(sources), date), "stable_abi.txt": stable}
