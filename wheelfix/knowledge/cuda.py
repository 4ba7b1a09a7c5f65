"""CUDA's DLLs: their names in each toolkit, the versions of its libraries, and torch's builds for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import dotted_numbers, regex
from wheelfix.base.values import distinct, frozen, grouped
from wheelfix.knowledge.families import family_of, is_of_nvidia
from wheelfix.knowledge.tables import Checker, Row, table
from wheelfix.model import FileVersion, dll_key

if TYPE_CHECKING:
    from collections.abc import Mapping


Release = tuple[int, int]

_CUPTI = regex(r"cupti64_[\d.]+\.dll")
_STARTS = ("cu", "nv", "npp")
"""How all names of the table begin."""
_LOCAL = regex(r"cu([0-9]{2})([0-9])\b")


@frozen
class CudaTable:
    """The content of ``cuda.toml``."""

    releases: tuple[Release, ...]
    libraries: Mapping[str, Mapping[Release, str]]
    """By the id of the library in lower case: its file name in each release."""
    cupti: Mapping[tuple[int, ...], str]
    """Toolkit with patch, where known, to the file name."""
    by_name: Mapping[str, frozenset[Release]]
    """Folded file name to the releases that have it."""


def release(text: str) -> Release:
    """Return major and minor of a version such as ``11.7``, ``11.7.1`` or ``11.8.20220929``."""
    major, minor, *_ = (*dotted_numbers(text), None, None)
    if major is None or minor is None:
        raise ValueError(f"{text[:40]!r} is not a CUDA version")
    return major, minor


def release_of_local_version(version: str) -> Release | None:
    """Return the toolkit that a local version label such as ``2.7.1+cu117`` names, or None."""
    match = _LOCAL.search(version.partition("+")[2])
    return (int(match[1]), int(match[2])) if match else None


def release_of_product(product: str) -> Release | None:
    """Return the toolkit that the product name of a CUDA DLL names: ``NVIDIA CUDA 11.7.99 NVRTC Library``; or None.

    cudart, NVRTC and nvJitLink have such a name. The mathematical libraries count their own releases: cuBLAS 11.10
    belongs to CUDA 11.7.
    """
    match = re.match(r"NVIDIA CUDA ([0-9]{1,4})\.([0-9]{1,4})\.[0-9]{1,9} ", product)
    return (int(match[1]), int(match[2])) if match else None


@table("cuda.toml")
def cuda_table(check: Checker) -> CudaTable:
    """Return what is known about CUDA's file names."""
    releases = tuple(map(release, check.tree["releases"]))
    rows = check.rows("library", ["id", "title"], ["names", "each"])
    libraries = {row["id"].lower(): _names(row, releases) for row in rows}
    cupti = {dotted_numbers(cuda): name for cuda, name in check.columns("cupti", "cuda", "name")}
    named = [(dll_key(name), version) for names in libraries.values() for version, name in names.items()]
    named += [(dll_key(name), (patch[0], patch[1])) for patch, name in cupti.items()]
    by_name = {name: frozenset(found) for name, found in grouped(named).items()}
    return CudaTable(releases, libraries, dict(sorted(cupti.items())), by_name)


def _names(row: Row, releases: tuple[Release, ...]) -> dict[Release, str]:
    """Return the file name of a library in each release."""
    names: dict[Release, str] = {}
    if "each" in row:
        names = {version: row["each"].format(major=version[0], minor=version[1]) for version in releases}
    for span, name in row.get("names", {}).items():
        low, high = map(release, span.split("-"))
        names |= dict.fromkeys([version for version in releases if low <= version <= high], name)
    return names


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
    if library.lower() == "cupti":
        return next(reversed(cupti_names(cuda)), None)
    return cuda_table().libraries.get(library.lower(), {}).get(release(cuda))


def cupti_names(cuda: str) -> tuple[str, ...]:
    """Return CUPTI's file names in a toolkit, oldest patch first; only the one of the patch if that is given.

    The table does not have every patch, so a name that is not in it may still be right.
    """
    wanted = dotted_numbers(cuda)[:3]
    names = [name for patch, name in cuda_table().cupti.items() if patch[: len(wanted)] == wanted]
    if not names and len(wanted) > 2:
        return cupti_names(f"{wanted[0]}.{wanted[1]}")
    return distinct(names)


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


LibraryVersion = tuple[int, ...]

_DESCRIBED = regex(r"\bVersion (\d+(?:\.\d+)+)\s*$")
_MARKER = (6, 14, 11)
"""The first three numbers of the file version of every DLL that follows this scheme."""


@frozen
class CudaLibraryRule:
    """How the DLLs of one family state their version."""

    id: str
    number: str
    """``digits``, ``thousand`` or ``none``."""
    description: bool = False
    like_toolkit: bool = False


@frozen
class CudaLibraries:
    """The content of ``cuda_libraries.toml``."""

    rules: Mapping[str, CudaLibraryRule]
    versions: Mapping[str, Mapping[str, LibraryVersion]]
    """Family to toolkit with update (``11.7.1``) to the version of the library."""


@table("cuda_libraries.toml")
def cuda_libraries(check: Checker) -> CudaLibraries:
    """Return what is known about the versions of CUDA's libraries."""
    versions: dict[str, dict[str, LibraryVersion]] = {}
    for cuda, libraries in check.columns("toolkit", "cuda", "libraries"):
        for family, version in libraries.items():
            versions.setdefault(family, {})[cuda] = dotted_numbers(version)
    return CudaLibraries({rule.id: rule for rule in check.values("library", CudaLibraryRule)}, versions)


def library_version(name: str, version: FileVersion | None) -> LibraryVersion:
    """Return the version of the library that a DLL is, which compares; empty when the DLL does not state it.

    For families without a rule of their own the file version is the library's.
    """
    if version is None:
        return ()
    rule = cuda_libraries().rules.get(family_of(name).id) if is_of_nvidia(name) else None
    if rule is None:
        return version.file if any(version.file) and version.file[:3] != _MARKER else ()
    if rule.description and (found := _DESCRIBED.search(version.strings.get("FileDescription", ""))):
        return dotted_numbers(found[1])
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
    family = family_of(name)
    rule = cuda_libraries().rules.get(family.id) if family else None
    if rule is None or len(version) < 2:
        return frozenset()
    if rule.like_toolkit:
        return frozenset({f"{version[0]}.{version[1]}"})
    known = cuda_libraries().versions.get(rule.id, {})
    return frozenset("{}.{}".format(*release(cuda)) for cuda, number in known.items() if number == version[:4])


def versions_in(name: str, cuda: str) -> tuple[str, ...]:
    """Return the versions of a library in a toolkit, that of its newest update first; empty when none is known."""
    family = family_of(name)
    known = cuda_libraries().versions.get(family.id, {}) if family else {}
    updates = sorted((update for update in known if release(update) == release(cuda)), key=dotted_numbers, reverse=True)
    return tuple(".".join(map(str, known[update])) for update in updates)


def toolkits_of_file(name: str, version: FileVersion | None) -> frozenset[str]:
    """Return the toolkits that the version resource of a DLL admits; empty when unknown."""
    if version is None:
        return frozenset()
    product = release_of_product(version.strings.get("ProductName", ""))
    if product is not None:
        return frozenset({"{}.{}".format(*product)})
    return toolkits_of(name, library_version(name, version))


INDEX = "https://download.pytorch.org/whl"
FAMILY = ("torch", "torchvision", "torchaudio")
"""Distributions that the index has for each kind of build."""
_FINAL = regex(r"([0-9]{1,2})\.([0-9]{1,3})(?:\.[0-9]{1,3})?(?:\.post[0-9]{1,2})?")


@frozen
class TorchBuild:
    """Which torch is installed."""

    version: str
    """Without its label: ``2.4.0``."""
    label: str
    """``cu121``, ``cpu``, ``xpu``; empty for the build of PyPI, which is one for CPUs."""

    @classmethod
    def parse(cls, version: str) -> TorchBuild:
        """Read a version as the metadata has it: ``2.4.0+cu121``."""
        plain, _, label = version.partition("+")
        return cls(plain, label)

    @property
    def is_published(self) -> bool:
        """Whether an index is known to have it; builds with other labels were made elsewhere."""
        final = _FINAL.fullmatch(self.version)
        if final is None or self.label in ("", "cpu"):
            return final is not None
        return self.label in published_builds().get((int(final[1]), int(final[2])), ())

    @property
    def index_option(self) -> str:
        """The option that names the index which has this kind of build; empty for PyPI's own."""
        return f" --index-url {INDEX}/{self.label}" if self.label else ""


@table("torch_builds.toml")
def _torch_builds(check: Checker) -> tuple[dict[Release, tuple[str, ...]], dict[str, dict[str, str]]]:
    """The labels of each minor version of torch, and which torch each release of its extensions requires."""
    labels = {release(torch): tuple(labels) for torch, labels in check.columns("build", "torch", "labels")}
    return labels, check.tree["extensions"]


def published_builds() -> dict[Release, tuple[str, ...]]:
    """Return the labels that the index has for each minor version of torch."""
    return _torch_builds()[0]


def release_for(torch: str, distribution: str) -> str:
    """Return the newest release of one of torch's own extensions that admits a release of torch; empty if not known.

    Most require exactly one torch; those that are built for its stable ABI, as torchvision 0.29.2, one from which on.
    """
    found = [
        release
        for release, wanted in _torch_builds()[1].get(distribution, {}).items()
        if wanted[2:] == torch or (wanted[:2] == ">=" and dotted_numbers(torch) >= dotted_numbers(wanted[2:]))
    ]
    return found[-1] if found else ""


def cuda_labels() -> tuple[str, ...]:
    """Return every label for CUDA, the oldest CUDA version first."""
    labels = {label for row in published_builds().values() for label in row if label.startswith("cu")}
    return tuple(sorted(labels, key=cuda_release))


def cuda_release(label: str) -> Release:
    """Return the CUDA version of a label: ``cu121`` is 12.1."""
    return int(label[2:4]), int(label[4:])


def cuda_part(name: str, cuda: str) -> bool:
    """Whether a DLL of that name lies in the ``bin`` folder of that toolkit, the one that is put on the search path.

    CUPTI lies elsewhere. NVTX does too, and it is an installation of its own: a toolkit may be there without it.
    """
    family = family_of(name)
    if family.id == "nvtx":
        return False
    if cuda_folder(name, cuda) == "bin":
        return True
    # Parts whose number the table does not have, such as nppig64_11.dll, belong to the toolkit of that major.
    return family.id == "npp" and family.major(name) == release(cuda)[0] < 13
