"""Which release of its toolkit a candidate may belong to, from everything that its place, name and bytes show.

An answer is the set of releases that nothing contradicts: one when a folder, a package or a version resource says it,
several when only the name does. ``curand64_10.dll`` alone may be of any toolkit from 10.1 to 13.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import as_requirement, as_specifiers, as_version, dotted_numbers
from wheelfix.base.values import frozen
from wheelfix.knowledge.cuda import (
    cuda_table,
    cuda_versions_for,
    is_versioned_by_patch,
    library_version,
    release,
    release_of_local_version,
    toolkits_of,
    toolkits_of_file,
)
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.provider_index import provider_index, vendor_of
from wheelfix.knowledge.providers import conda_package, owners_of
from wheelfix.model import canonical, fold
from wheelfix.roots.root import RootFolder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.root import Required, Root, RootFile


@frozen
class Wanted:
    """The releases of a toolkit that a wheel may have been built with."""

    releases: frozenset[str] = frozenset()
    """As ``11.7``; empty when unknown."""
    because: str = ""
    """How they are known."""

    @property
    def text(self) -> str:
        """The release, or the major alone where only that is known; empty when neither is."""
        if len(self.releases) == 1:
            return next(iter(self.releases))
        majors = {release.partition(".")[0] for release in self.releases}
        return majors.pop() if len(majors) == 1 else ""


@frozen
class OneRelease:
    """The release of a toolkit that all libraries of a group are taken from."""

    group: str
    """``cuda``, ``mkl`` or ``tbb``."""
    release: str
    """As ``11.7``; empty when unknown the release of any candidate."""
    because: str
    root: Path | None = None
    """The root that has most of it."""
    refused: tuple[str, ...] = ()
    """Releases that are there and were not taken, each with the reason."""
    other: bool = False
    """Whether it is not the one that the wheel was built for."""


# Packages that are numbered like the toolkit itself; cuBLAS, cuFFT, cuDNN and the like count their own way.
_LIKE_TOOLKIT = (
    r"(nvidia-)?(cuda-(runtime|cudart|nvrtc|cupti|nvtx|nvcc|nvvm\w*|sanitizer\w*)|nvjitlink|libnvjitlink|nvtx|nvfatbin"
    r"|libnvfatbin|cudatoolkit|cuda-toolkit|cuda-version)(-cu\d+|-dev)?"
)
GROUPS = {"cuda": "CUDA", "mkl": "oneMKL", "tbb": "oneTBB"}
"""Groups of families that come from one release, with the name to show."""

SEPARATE = frozenset({"nvtx", "cupti"})
"""Families of such a group that do not have to be of its release.

NVTX is installed by itself and has one name up to 12.8; CUPTI's name has its exact release, so that a file of that
name is the right one wherever it lies.
"""

_NEIGHBOURS = r"nvrtc-builtins64_\d+\.dll|cupti64_[\d.]+\.dll|cudart64_\d+\.dll"
"""DLLs that show the release of the folder they lie in."""


def group_of(name: str) -> str:
    """Return the group whose members come from one release, or nothing for a DLL that is in none."""
    family = family_of(name)
    return family.group if family.id not in SEPARATE and family.group in GROUPS else ""


def possible_releases(file: RootFile, facts: RootIndex) -> frozenset[str]:
    """Return the releases of its group that a candidate may be of, as ``11.7``; empty when unknown."""
    if family_of(file.name).group != "cuda":
        return _own_release(file, facts)
    found = cuda_versions_for(file.name)
    for evidence in _cuda_evidence(file, facts):
        if evidence:
            # A release that the tables do not have yet is believed where a place or the DLL says it.
            found = (found & evidence) or (evidence if not found or not evidence <= _known() else found)
        if len(found) == 1:
            break
    return found


def _known() -> frozenset[str]:
    return frozenset(f"{major}.{minor}" for major, minor in cuda_table().releases)


def _cuda_evidence(file: RootFile, facts: RootIndex) -> Iterator[frozenset[str]]:
    """Yield what shows the release, the most certain and the cheapest first."""
    if is_versioned_by_patch(file.name):
        return
    packaged = cuda_of_package(file.package, file.version_hint) if file.package else ""
    owned = toolkits_of(file.name, dotted_numbers(file.version_hint)) if _is_packaged_library(file) else frozenset()
    exact = _of_text(packaged) if "." in packaged else owned
    yield exact
    if not exact:
        yield toolkits_of_file(file.name, facts.version(file))
    if "." in file.folder.cuda:
        yield _of_text(file.folder.cuda)
    if not file.package:
        yield _of_neighbours(file, facts)
    yield _of_text(file.folder.cuda or packaged)


def _is_packaged_library(file: RootFile) -> bool:
    """Whether the package that a file came in is NVIDIA's for this library, so that its version is the library's."""
    return family_of(file.name).group in ("cuda", "cudnn") and _is_own_package(file)


def _is_own_package(file: RootFile) -> bool:
    """Whether a file came in the vendor's package for it, and not in one that merely carries a copy, such as torch."""
    package = canonical(file.package) if file.package else ""
    owners = {owner.distribution for owner in owners_of(file.name) if not owner.only}
    return bool(package) and (package == conda_package(file.name) or package in owners)


def _of_neighbours(file: RootFile, facts: RootIndex) -> frozenset[str]:
    """Return what the folder's own DLLs say about it; nothing when they disagree."""
    stated: set[str] = set()
    for other in facts.siblings(file):
        if not re.fullmatch(_NEIGHBOURS, other.key):
            continue
        exact = is_versioned_by_patch(other.name)
        named = cuda_versions_for(other.name) if exact else toolkits_of_file(other.name, facts.version(other))
        stated |= named if len(named) == 1 else set()
    return frozenset(stated) if len(stated) == 1 else frozenset()


def _of_text(text: str) -> frozenset[str]:
    """Return the releases that ``11.7`` or ``11`` means."""
    parts = dotted_numbers(text)
    if len(parts) > 1:
        return frozenset({f"{parts[0]}.{parts[1]}"})
    return frozenset(name for name in _known() if parts and release(name)[0] == parts[0])


def _own_release(file: RootFile, facts: RootIndex) -> frozenset[str]:
    """Return major and minor of the library itself, for groups whose DLLs are numbered like their release."""
    stated = _is_own_package(file) or (file.root.kind == "oneapi" and not file.package)
    parts = dotted_numbers(file.version_hint) if stated else ()
    if len(parts) < 2:
        parts = library_version(file.name, facts.version(file))
    return frozenset({f"{parts[0]}.{parts[1]}"}) if len(parts) > 1 else frozenset()


def cuda_release_of(file: RootFile, facts: RootIndex) -> str:
    """Return the CUDA release that a candidate is for, ``11.7``, or its major alone; empty when unknown."""
    stated = file.folder.cuda or cuda_of_package(file.package, file.version_hint)
    if group_of(file.name) != "cuda":
        return stated
    named = cuda_versions_for(file.name)
    if "." in stated and (not named or stated in named):  # a folder that contradicts the DLL's own name is not believed
        return stated
    return Wanted(possible_releases(file, facts)).text or stated


def stated_version(file: RootFile, facts: RootIndex) -> tuple[int, ...]:
    """Return the version of the library that a candidate is, which compares; empty when nothing states it.

    Its own package says it without a look at the DLL, whose resources may lie behind hundreds of megabytes.
    """
    parts = dotted_numbers(file.version_hint)
    if len(parts) > 1 and _is_packaged_library(file):
        return parts
    return library_version(file.name, facts.version(file))


def shown_version(file: RootFile, facts: RootIndex) -> str:
    """Return the version to show for a candidate: the library's own, else what its place says."""
    own = stated_version(file, facts)
    if own:
        return ".".join(map(str, own))
    foreign = file.root.kind == "cuda" and family_of(file.name).group != "cuda"
    return "" if foreign else file.version_hint


def cuda_of_package(package: str, version: str) -> str:
    """Return the CUDA release that a package is made for: ``11.7``, ``11`` when only that is known, or nothing."""
    name = fold(package).replace("_", "-").replace(".", "-")
    parts = dotted_numbers(version)
    if re.fullmatch(_LIKE_TOOLKIT, name) and len(parts) >= 2 and parts[0] >= 9:
        return f"{parts[0]}.{parts[1]}"
    if found := re.search(r"-(?:cu|cuda)(\d\d)\d?x?$", name):
        return found[1]
    # torch and what is built for it carry the release in the local version: ``2.0.1+cu117``.
    local = release_of_local_version(version)
    return f"{local[0]}.{local[1]}" if local is not None else ""


def member_folders(members: Iterable[str], package: str, version: str) -> tuple[RootFolder, ...]:
    """Return the folders of a package that have DLLs, each with the CUDA release that the package is for."""
    release = cuda_of_package(package, version)
    names = dict.fromkeys(posixpath.dirname(name) or "." for name in members if fold(name).endswith(".dll"))
    return tuple(RootFolder(name, version=version, cuda=release, package=package) for name in names)


def compatibility(stated: str, wanted: str) -> int:
    """Return how well a release fits the wanted one: 3 the same, 2 the same major, 1 not known, 0 another major."""
    return _fit(dotted_numbers(stated), dotted_numbers(wanted))


def _fit(has: tuple[int, ...], wants: tuple[int, ...]) -> int:
    if not has or not wants:
        return 1
    if has[0] != wants[0]:
        return 0
    return 3 if has[:2] == wants[:2] else 2


def release_compatibility(file: RootFile, wanted: str, facts: RootIndex) -> int:
    """Return how well a candidate's release fits the wanted one, in the same four steps."""
    wants = dotted_numbers(wanted)
    best = _fit(dotted_numbers(file.version_hint), wants)
    found = facts.version(file) if wants and best < 3 else None
    return max(best, _fit(found.file, wants)) if found is not None and any(found.file) else best


LEARNED = "--fetch"
"""How a root is known that is a wheel on the package index."""


def unfulfilled(distribution: str, version: str, required: Required) -> str:
    """Return the requirement that a release does not fulfil; empty if there is none."""
    for name, specifier in required:
        if name == distribution and not as_specifiers(specifier).contains(version, prereleases=True):
            return f"{name}{specifier}"
    return ""


def broken_requirements(roots: Iterable[Root], requires: Iterable[str] = ()) -> Required:
    """Return what wheels require of each other and do not fulfil: MKL wants a certain OpenMP.

    ``requires`` is required of them besides.
    """
    wheels = [root for root in roots if root.folders]
    versions = {canonical(root.folders[0].package): root.version for root in wheels}
    found: dict[tuple[str, str], None] = {}
    for text in (*requires, *(text for root in wheels for text in root.requires)):
        try:
            wanted = as_requirement(text)
        except ValueError:
            continue
        one = (canonical(wanted.name), str(wanted.specifier))
        if wanted.marker is None and one[0] in versions and unfulfilled(one[0], versions[one[0]], (one,)):
            found[one] = None
    return tuple(found)


def ranked_releases(
    name: str, cuda: str, releases: tuple[str, ...] = (), trusted: Collection[str] = ()
) -> list[tuple[str, str]]:
    """Return the distributions and versions that ship a DLL for others, those that fit best first.

    Only distributions of vendors that sign what they publish count, and those that the user trusts; a release for
    another CUDA major never does.
    """
    found = []
    for shipped in provider_index().shipped(name):
        if not vendor_of(shipped.distribution) and shipped.distribution not in trusted:
            continue
        for version in shipped.versions:
            fits = compatibility(cuda_of_package(shipped.distribution, version), cuda)
            if fits:
                wanted = _is_of(name, version, releases or ((cuda,) if "." in cuda else ()))
                parsed = as_version(version)
                found.append((not wanted, -fits, parsed.is_prerelease, parsed, shipped.distribution, version))
    found.sort(key=lambda one: one[3], reverse=True)
    found.sort(key=lambda one: one[:3])
    return list(dict.fromkeys((one[4], one[5]) for one in found))


def _is_of(name: str, version: str, releases: tuple[str, ...]) -> bool:
    """Whether a version of a DLL's distribution belongs to one of the releases of its toolkit that fit.

    CUDA's libraries have numbers of their own: cuSPARSE 12.1.0 is of CUDA 12.1, and 12.1.2 of CUDA 12.2.
    """
    if family_of(name).group == "cuda":
        return not toolkits_of(name, dotted_numbers(version)).isdisjoint(releases)
    return any(f"{version}.".startswith(f"{release}.") for release in releases)
