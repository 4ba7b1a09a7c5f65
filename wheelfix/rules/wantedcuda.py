"""Which CUDA a wheel was built with, from what it says about itself and from the DLL names that it uses."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from wheelfix.knowledge.cuda import (
    cuda_table,
    cuda_versions_for,
    is_versioned_by_patch,
    release,
    release_of_local_version,
    toolkits_of,
    toolkits_of_file,
)
from wheelfix.knowledge.families import is_of_nvidia
from wheelfix.model import EdgeKind, canonical, dll_key
from wheelfix.roots.release import Wanted
from wheelfix.roots.tree import numbers
from wheelfix.rules.wording import dotted

if TYPE_CHECKING:
    from wheelfix.knowledge.cuda import Release
    from wheelfix.rules.context import Subject


def wanted_cuda(subject: Subject) -> Wanted:
    """Return the CUDA releases that a wheel may have been built with, and how that is known.

    Some packages say it in a file; others in a label such as ``+cu117``, in names that only one release has (CUPTI and
    NVRTC's built-ins), or in the DLLs that they have already. Other names give at least the major version:
    ``cublas64_12.dll`` with ``cufft64_11.dll`` is CUDA 12.
    """
    label, built = named_releases(subject)
    if built is not None:
        return Wanted(frozenset({dotted(built)}), f"{cuda_file(subject)} says {dotted(built)}")
    if label is not None:
        return Wanted(frozenset({dotted(label)}), f"its version {version_of(subject)}")
    names = _names(subject)
    exact = {name: releases for name, releases in names.items() if is_versioned_by_patch(name) and releases}
    if exact and len(set(exact.values())) == 1:
        return Wanted(next(iter(exact.values())), f"it uses {', '.join(sorted(exact))}")
    present = present_releases(subject)
    if len(present) == 1:
        return Wanted(frozenset(present), f"the DLLs in it are of CUDA {next(iter(present))}")
    common = frozenset.intersection(*names.values()) if names else frozenset[str]()
    if common:
        return Wanted(common, f"it uses {', '.join(sorted(names)[:4])}")
    if subject.loading is not None and subject.loading.cuda is not None:
        major = release(subject.loading.cuda)[0]
        same = frozenset(dotted(known) for known in cuda_table().releases if known[0] == major)
        return Wanted(same, f"{cuda_file(subject)} says {subject.loading.cuda}")
    assumed = subject.profile.cuda
    return Wanted(frozenset({assumed}), f"--assume cuda={assumed}") if assumed else Wanted()


def _names(subject: Subject) -> dict[str, frozenset[str]]:
    """Return the CUDA DLLs that the wheel has or asks for, each with the releases that have such a name."""
    asked = {dll_key(edge.name) for edge in subject.resolution.edges if edge.kind is not EdgeKind.COMPANION}
    asked |= {dll_key(load.name) for load in subject.loading.named} if subject.loading is not None else set()
    own = {dll_key(posixpath.basename(path)) for path in subject.images}
    names = filter(is_of_nvidia, asked | own)  # before the table is read, which few wheels need
    return {name: releases for name in names if (releases := cuda_versions_for(name))}


def present_releases(subject: Subject) -> set[str]:
    """Return the releases that the versions of the wheel's own CUDA DLLs give exactly."""
    found: set[str] = set()
    for path in subject.images:
        name = posixpath.basename(path)
        if is_of_nvidia(name) and cuda_versions_for(name):
            stated = _of_package(subject, name) or toolkits_of_file(name, subject.version(path))
            found |= stated if len(stated) == 1 else set()
    return found


def _of_package(subject: Subject, name: str) -> frozenset[str]:
    """Return what the version of NVIDIA's own wheel says about a DLL; its version resource may be far back in it."""
    if not canonical(subject.name).startswith("nvidia-"):
        return frozenset()
    stated = toolkits_of(name, numbers(subject.distribution.version))
    return stated if len(stated) == 1 and stated <= cuda_versions_for(name) else frozenset()


def version_of(subject: Subject) -> str:
    """Return the version with its label, which the file name may escape: ``2.0.1_cu117`` is ``2.0.1+cu117``."""
    version = subject.distribution.version or (subject.loading.version if subject.loading else "")
    return version.replace("_", "+", 1)


def named_releases(subject: Subject) -> tuple[Release | None, Release | None]:
    """Return the CUDA release that the version's label names, and the one that the package says it was built with."""
    built = built_for(subject)
    return release_of_local_version(version_of(subject)), built


def built_for(subject: Subject) -> Release | None:
    """Return the CUDA release that the package itself says it was built with, in a file of its own.

    None where any release of the same major serves as well.
    """
    loading = subject.loading
    return release(loading.cuda) if loading is not None and loading.cuda and not loading.any_minor else None


def cuda_file(subject: Subject) -> str:
    """Return the file in which the package says which CUDA release it was built with."""
    return subject.loading.cuda_file if subject.loading is not None else ""
