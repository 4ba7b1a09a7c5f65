"""Reads the version of a CUDA library from its DLL, and gives the toolkits that have that version."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.knowledge.cuda import cuda_table, release, release_of_product
from wheelfix.knowledge.families import families, family_of, is_of_nvidia
from wheelfix.knowledge.tables import Checker, parse_toml, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wheelfix.model import FileVersion

LibraryVersion = tuple[int, ...]

NUMBERS = ("digits", "thousand", "none")
_DESCRIBED = re.compile(r"\bVersion (\d+(?:\.\d+)+)\s*$")
_MARKER = (6, 14, 11)
"""The first three numbers of the file version of every DLL that follows this scheme."""


@dataclass(frozen=True, slots=True)
class CudaLibraryRule:
    """How the DLLs of one family state their version."""

    id: str
    description: bool
    number: str
    like_toolkit: bool
    source: str


@dataclass(frozen=True, slots=True)
class CudaLibraries:
    """The content of ``cuda_libraries.toml``."""

    rules: Mapping[str, CudaLibraryRule]
    versions: Mapping[str, Mapping[str, LibraryVersion]]
    """Family to toolkit with update (``11.7.1``) to the version of the library."""
    pypi: frozenset[tuple[str, str]] = frozenset()
    """Families with toolkits whose version is on PyPI for Windows."""


def parse_cuda_libraries(table: str, text: str) -> CudaLibraries:
    """Turn the table's text into values; unknown families, releases and encodings are refused."""
    tree = parse_toml(table, text)
    check = Checker(table)
    rows = check.rows(tree, "library", ["id", "number"], ["description", "like_toolkit"])
    check.unique("library", (row["id"] for row in rows))
    known = {family.id for family in families()}
    for row in rows:
        check.one_of("number", row["number"], NUMBERS)
        if row["id"] not in known:
            check.faults.append(f"unknown family {row['id']!r}")
    rules = {
        row["id"]: CudaLibraryRule(
            row["id"], row.get("description", False), row["number"], row.get("like_toolkit", False), row["source"]
        )
        for row in rows
    }
    toolkits = check.rows(tree, "toolkit", ["cuda", "libraries"], ["pypi"])
    check.unique("toolkit", (row["cuda"] for row in toolkits))
    versions: dict[str, dict[str, LibraryVersion]] = {}
    for row in toolkits:
        if release(row["cuda"]) not in cuda_table().releases:
            check.faults.append(f"unknown release {row['cuda']!r}")
        for family, version in row["libraries"].items():
            if family not in rules:
                check.faults.append(f"{row['cuda']}: no rule for {family!r}")
            versions.setdefault(family, {})[row["cuda"]] = _numbers(version)
        unknown = [name for name in row.get("pypi", ()) if name not in row["libraries"]]
        check.faults += [f"{row['cuda']}: no version of {name!r}" for name in unknown]
    check.finish()
    pypi = frozenset((name, row["cuda"]) for row in toolkits for name in row.get("pypi", ()))
    return CudaLibraries(rules, versions, pypi)


def _numbers(text: str) -> LibraryVersion:
    return tuple(int(part) for part in text.split("."))


@functools.cache
def cuda_libraries() -> CudaLibraries:
    """Return what is known about the versions of CUDA's libraries."""
    return parse_cuda_libraries("cuda_libraries.toml", read_text("cuda_libraries.toml"))


def library_version(name: str, version: FileVersion | None) -> LibraryVersion:
    """Return the version of the library that a DLL is, which compares; empty when the DLL does not state it.

    For families without a rule of their own the file version is the library's.
    """
    if version is None:
        return ()
    member = family_of(name)
    rule = cuda_libraries().rules.get(member.family.id) if member and is_of_nvidia(name) else None
    if rule is None:
        return version.file if any(version.file) and version.file[:3] != _MARKER else ()
    if rule.description and (found := _DESCRIBED.search(version.strings.get("FileDescription", ""))):
        return _numbers(found[1])
    if version.file[:3] != _MARKER:
        return ()
    return _decoded(rule, version.file[3])


def _decoded(rule: CudaLibraryRule, number: int) -> LibraryVersion:
    """Return what the last number of a file version says; empty when it can be read in two ways."""
    if rule.number == "thousand":
        return (number // 1000, number % 1000 // 10)
    if rule.number != "digits":
        return ()
    digits = str(number)
    major, rest = digits[:2], digits[2:]  # every release since CUDA 10 has a major of two digits
    readings = [
        (int(major), int(rest[:cut]), int(rest[cut:]))
        for cut in range(1, len(rest))
        if not any(part.startswith("0") and part != "0" for part in (rest[:cut], rest[cut:]))
    ]
    known = {version[:3] for version in cuda_libraries().versions.get(rule.id, {}).values()}
    return readings[0] if len(readings) == 1 else next((one for one in readings if one in known), ())


def toolkits_of(name: str, version: LibraryVersion) -> frozenset[str]:
    """Return the toolkits, as ``11.7``, that have this version of a library; empty when the table does not know it.

    All four numbers count: cuFFT 10.7.2 is in CUDA 11.6 with the build 124 and in 11.7 with the builds 50 and 91.
    """
    member = family_of(name)
    rule = cuda_libraries().rules.get(member.family.id) if member else None
    if rule is None or len(version) < 2:
        return frozenset()
    if rule.like_toolkit:
        return frozenset({f"{version[0]}.{version[1]}"})
    known = cuda_libraries().versions.get(rule.id, {})
    return frozenset("{}.{}".format(*release(cuda)) for cuda, number in known.items() if number == version[:4])


def version_on_pypi(name: str, cuda: str) -> str | None:
    """Return the version of a library that PyPI has for a toolkit, of its newest update.

    Empty when PyPI has none for that release; None when the table does not know the library in that release.
    """
    member = family_of(name)
    known = cuda_libraries().versions.get(member.family.id, {}) if member else {}
    updates = [update for update in known if release(update) == release(cuda)]
    if member is None or not updates:
        return None
    found = [update for update in updates if (member.family.id, update) in cuda_libraries().pypi]
    return ".".join(map(str, known[max(found, key=_numbers)])) if found else ""


def toolkits_of_file(name: str, version: FileVersion | None) -> frozenset[str]:
    """Return the toolkits that the version resource of a DLL admits; empty when unknown."""
    if version is None:
        return frozenset()
    product = release_of_product(version.strings.get("ProductName", ""))
    if product is not None:
        return frozenset({"{}.{}".format(*product)})
    return toolkits_of(name, library_version(name, version))
