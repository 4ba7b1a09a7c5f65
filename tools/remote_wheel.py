"""Lists what a wheel on a package index has, from its directory and METADATA alone."""

from __future__ import annotations

import re
import zipfile
import zlib
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from typing import TYPE_CHECKING

from packaging.markers import Marker, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from tools.package_index import IndexFault, IndexFile, PackageIndex
from wheelfix.knowledge.provider_index import HASHED
from wheelfix.survey.wheelrows import dll_places, modules_of

if TYPE_CHECKING:
    from collections.abc import Iterable

PYTHONS = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
_FOR_WINDOWS = re.compile(r"[-.](?:win_amd64|any|win32|win_arm64)(?:\.[\w.]+)?\.whl$")


@dataclass(frozen=True)
class Contents:
    """What the index keeps of a wheel."""

    dlls: tuple[str, ...]
    """Paths under the prefix, the name folded: DLLs, and extension modules without a tag."""
    modules: tuple[str, ...]
    requires: tuple[str, ...]
    """Names with specifiers, those that hold on Windows; what their extras add is not followed."""


def read_contents(index: PackageIndex, file: IndexFile) -> Contents:
    """Read the directory and the METADATA of a wheel on the index."""
    try:
        with index.open(file.url) as opened, zipfile.ZipFile(opened) as archive:
            members = archive.namelist()
            metadata = _metadata(index, file, archive, members)
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, KeyError, RuntimeError, ValueError) as exc:
        raise IndexFault(f"{file.url}: {exc!r}") from exc
    return Contents(dlls_of(members, file.name), modules_of(members), requires_of(metadata))


def _metadata(index: PackageIndex, file: IndexFile, archive: zipfile.ZipFile, members: list[str]) -> str:
    own = [name for name in members if re.fullmatch(r"[^/]+\.dist-info/METADATA", name)]
    if own and not file.metadata:
        return archive.read(own[0]).decode("utf-8", "replace")
    return index.metadata(file) if file.metadata else ""


def dlls_of(members: list[str], wheel: str) -> tuple[str, ...]:
    """Return where the DLLs of a wheel lie under the prefix, their names folded."""
    name, version = wheel.split("-")[:2]
    data = next(
        (top for top in (m.partition("/")[0] for m in members) if top.endswith(".data")), f"{name}-{version}.data"
    )
    return tuple(dll_places(members, data))


def comparable(contents: Contents, wheel: str) -> Contents:
    """Return contents that can be compared with those of wheels of other versions and for other Pythons."""
    found = re.fullmatch(r"cp(3\d{1,2})", wheel.split("-")[-3])
    python = found[1] if found and "abi3" not in wheel.split("-")[-2] else ""
    split = (path.rpartition("/") for path in contents.dlls)
    dlls = {f"{folder}{slash}{general_name(name, python)}" for folder, slash, name in split if not HASHED.search(name)}
    return replace(contents, dlls=tuple(sorted(dlls)))


def general_name(key: str, python: str) -> str:
    """Return a name with ``{py}`` in place of the version of Python, ``{py.}`` where that has a dot.

    Only names that are about Python: others may have the same digits for another reason.
    """
    if not python or ("py" not in key and f"cp{python}" not in key):
        return key
    general = re.sub(rf"(?<![\d.]){python}(?!\d)", "{py}", key)
    return re.sub(rf"(?<![\d.])3\.{python[1:]}(?!\d)", "{py.}", general)


def requires_of(metadata: str) -> tuple[str, ...]:
    """Return the requirements that hold on 64-bit Windows with any Python of today, without extras."""
    return required_on_windows(HeaderParser().parsestr(metadata).get_all("Requires-Dist") or [])


def required_on_windows(lines: Iterable[str]) -> tuple[str, ...]:
    """Return those of the Requires-Dist that hold on 64-bit Windows with any Python of today, without extras."""
    found = set()
    for line in lines:
        try:
            wanted = Requirement(line)
        except InvalidRequirement:
            continue
        if holds_on_windows(wanted.marker):
            found.add(f"{canonicalize_name(wanted.name)}{wanted.specifier}")
    return tuple(sorted(found))


def holds_on_windows(marker: Marker | None) -> bool:
    """Whether a marker holds on 64-bit Windows for one of the versions of Python, without an extra."""
    windows = {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt", "platform_machine": "AMD64"}
    windows |= {"platform_python_implementation": "CPython", "implementation_name": "cpython", "extra": ""}
    try:
        return marker is None or any(
            marker.evaluate({**windows, "python_version": python, "python_full_version": f"{python}.0"})
            for python in PYTHONS
        )
    except (UndefinedEnvironmentName, ValueError):
        return False


def wheel_rank(wheel: str) -> tuple[int, int] | None:
    """Say how well a wheel stands for its version, the best first; None for one that is not looked at.

    x64 comes before wheels for any system, 32 bits and arm64; then what serves every Python, then the newest of those
    that most packages are built for.
    """
    if not _FOR_WINDOWS.search(wheel):
        return None
    try:
        tags = parse_wheel_filename(wheel)[3]
    except ValueError:
        return None
    platforms = {"win_amd64": 0, "any": 1, "win32": 2, "win_arm64": 3}
    ranks = []
    for tag in tags:
        if tag.platform not in platforms:
            continue
        newest = re.fullmatch(r"cp3(\d+)", tag.interpreter)
        if tag.abi == "abi3" or tag.interpreter in ("py3", "py2.py3"):
            ranks.append((platforms[tag.platform], 0))
        elif newest and not re.fullmatch(r"cp3\d+t", tag.abi):
            minor = int(newest[1])
            ranks.append((platforms[tag.platform], 14 - minor if minor <= 13 else minor))
    return min(ranks, default=None)
