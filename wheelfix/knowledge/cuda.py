"""Translates between CUDA toolkit versions and the names of their DLLs."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from wheelfix.base.parsing import dotted_numbers
from wheelfix.base.values import dataclass, field
from wheelfix.knowledge.tables import Checker, Row, parse_toml, read_text
from wheelfix.model import dll_key

if TYPE_CHECKING:
    from collections.abc import Mapping

Release = tuple[int, int]

_CUPTI = re.compile(r"cupti64_[\d.]+\.dll")
_STARTS = ("cu", "nv", "npp")
"""How all names of the table begin."""
_LOCAL = re.compile(r"cu(?P<major>[0-9]{2})(?P<minor>[0-9])\b")


@dataclass(frozen=True, slots=True)
class CudaLibrary:
    """One library of the toolkit and its file name in each release."""

    id: str
    title: str
    names: Mapping[Release, str]
    source: str


@dataclass(frozen=True, slots=True)
class CudaTable:
    """The content of ``cuda.toml``."""

    releases: tuple[Release, ...]
    libraries: Mapping[str, CudaLibrary]
    cupti: Mapping[tuple[int, ...], str]
    """Toolkit with patch, where known, to the file name."""
    by_name: Mapping[str, frozenset[Release]] = field(default_factory=dict)
    """Folded file name to the releases that have it."""


def release(text: str) -> Release:
    """Return major and minor of a version such as ``11.7``, ``11.7.1`` or ``11.8.20220929``."""
    major, minor, *_ = (*dotted_numbers(text.strip().removeprefix("v")), None, None)
    if major is None or minor is None:
        raise ValueError(f"{text[:40]!r} is not a CUDA version")
    return major, minor


def release_of_local_version(version: str) -> Release | None:
    """Return the toolkit that a local version label such as ``2.7.1+cu117`` names, or None."""
    match = _LOCAL.search(version.partition("+")[2])
    return (int(match["major"]), int(match["minor"])) if match else None


def release_of_product(product: str) -> Release | None:
    """Return the toolkit that the product name of a CUDA DLL names: ``NVIDIA CUDA 11.7.99 NVRTC Library``; or None.

    cudart, NVRTC and nvJitLink have such a name. The mathematical libraries count their own releases: cuBLAS 11.10
    belongs to CUDA 11.7.
    """
    match = re.match(r"NVIDIA CUDA ([0-9]{1,4})\.([0-9]{1,4})\.[0-9]{1,9} ", product)
    return (int(match[1]), int(match[2])) if match else None


def parse_cuda(table: str, text: str) -> CudaTable:
    """Turn the table's text into values; gaps, overlaps and unknown releases are refused."""
    tree = parse_toml(table, text)
    check = Checker(table)
    releases = tuple(release(item) for item in tree.get("releases", ()))
    if list(releases) != sorted(set(releases)):
        check.faults.append("releases are not in order")
    rows = check.rows(tree, "library", ["id", "title"], ["names", "each"])
    check.unique("library", (row["id"] for row in rows))
    libraries = {row["id"]: _library(check, row, releases) for row in rows}
    cupti = _cupti(check, tree, releases)
    check.finish()
    by_name: dict[str, set[Release]] = {}
    for library in libraries.values():
        for version, name in library.names.items():
            by_name.setdefault(dll_key(name), set()).add(version)
    for patch, name in cupti.items():
        by_name.setdefault(dll_key(name), set()).add((patch[0], patch[1]))
    return CudaTable(releases, libraries, cupti, {name: frozenset(found) for name, found in by_name.items()})


def _library(check: Checker, row: Row, releases: tuple[Release, ...]) -> CudaLibrary:
    if ("names" in row) == ("each" in row):
        check.faults.append(f"library {row['id']!r} has to have either names or each")
    names: dict[Release, str] = {}
    if "each" in row:
        names = {version: row["each"].format(major=version[0], minor=version[1]) for version in releases}
    for span, name in row.get("names", {}).items():
        first, _, last = span.partition("-")
        low, high = release(first), release(last)
        covered = [version for version in releases if low <= version <= high]
        if low not in releases or high not in releases or not covered:
            check.faults.append(f"library {row['id']!r} has the unknown span {span!r}")
        check.faults += [f"library {row['id']!r} has two names for {v[0]}.{v[1]}" for v in covered if v in names]
        names.update(dict.fromkeys(covered, name))
    return CudaLibrary(row["id"], row["title"], names, row["source"])


def _cupti(check: Checker, tree: dict[str, Any], releases: tuple[Release, ...]) -> dict[tuple[int, ...], str]:
    rows = check.rows(tree, "cupti", ["cuda", "name"])
    check.unique("cupti for", (row["cuda"] for row in rows))
    found: dict[tuple[int, ...], str] = {}
    for row in rows:
        patch = tuple(int(part) for part in row["cuda"].split("."))
        if patch[:2] not in releases:
            check.faults.append(f"cupti for the unknown release {row['cuda']!r}")
        if not _CUPTI.fullmatch(row["name"]):
            check.faults.append(f"{row['name']!r} is not a name of CUPTI")
        found[patch] = row["name"]
    owners: dict[str, set[tuple[int, ...]]] = {}
    for patch, name in found.items():
        owners.setdefault(name, set()).add(patch[:2])
    check.faults += [f"{name} belongs to two toolkits" for name, toolkits in owners.items() if len(toolkits) > 1]
    return dict(sorted(found.items()))


@functools.cache
def cuda_table() -> CudaTable:
    """Return what is known about CUDA's file names."""
    return parse_cuda("cuda.toml", read_text("cuda.toml"))


def cuda_versions_for(name: str) -> frozenset[str]:
    """Return the toolkits, as ``11.7``, that have a DLL of that name; empty when no table knows the name."""
    return frozenset(f"{major}.{minor}" for major, minor in cuda_table().by_name.get(dll_key(name), ()))


def cuda_majors_for(name: str) -> frozenset[int]:
    """Return the CUDA majors that have a DLL of that name: ``curand64_10.dll`` has four of them."""
    if not name.lower().startswith(_STARTS):  # most wheels have none, and need not read the table
        return frozenset()
    return frozenset(major for major, _ in cuda_table().by_name.get(dll_key(name), ()))


def expected_name(library: str, cuda: str) -> str | None:
    """Return the file name of a library (``cudart``, ``nvrtc-builtins``, …) in a toolkit; None when it has none.

    CUPTI has one name per patch: the whole version picks it, two numbers give the newest patch's.
    """
    version = release(cuda)
    if library.lower() == "cupti":
        names = cupti_names(cuda)
        return names[-1] if names else None
    for entry in cuda_table().libraries.values():
        if entry.id.lower() == library.lower():
            return entry.names.get(version)
    return None


def cupti_names(cuda: str) -> tuple[str, ...]:
    """Return CUPTI's file names in a toolkit, oldest patch first; only the one of the patch if that is given.

    The table does not have every patch, so a name that is not in it may still be right.
    """
    wanted = dotted_numbers(cuda)[:3]
    names = [name for patch, name in cuda_table().cupti.items() if patch[: len(wanted)] == wanted]
    if not names and len(wanted) > 2:
        return cupti_names(f"{wanted[0]}.{wanted[1]}")
    return tuple(dict.fromkeys(names))


def cuda_folder(name: str, cuda: str) -> str | None:
    """Return the folder of the toolkit that has a DLL of that name, relative and with ``/``; None when none has.

    From 13 on the DLLs lie in ``bin/x64``, which torch does not add to the search; CUPTI's folder it never adds.
    """
    key, version = dll_key(name), release(cuda)
    if _CUPTI.fullmatch(key) or key.startswith(("nvperf_", "pcsamplingutil", "checkpoint")):
        return "extras/CUPTI/lib64" if version < (13, 4) else "extras/CUPTI/lib/x64"
    if version not in cuda_table().by_name.get(key, ()):
        return None
    if key.startswith("nvvm"):
        return "nvvm/bin" if version < (13, 0) else "nvvm/bin/x64"
    return "bin" if version < (13, 0) else "bin/x64"


def is_versioned_by_patch(name: str) -> bool:
    """Whether the exact file is needed and a neighbour of the same major will not do: CUPTI, NVRTC's built-ins."""
    key = dll_key(name)
    return key.startswith("nvrtc-builtins64_") or bool(_CUPTI.fullmatch(key))
