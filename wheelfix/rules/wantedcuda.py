"""Which CUDA a wheel was built with, from what it says about itself and from the DLL names that it uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.cuda import cuda_versions_for, is_versioned_by_patch
from wheelfix.knowledge.cudalibraries import toolkits_of_file
from wheelfix.model import EdgeKind, dll_key
from wheelfix.roots.outcome import Wanted
from wheelfix.rules.context import base
from wheelfix.rules.cuda import named_releases, spell, version_of

if TYPE_CHECKING:
    from wheelfix.rules.context import Subject


def wanted_cuda(subject: Subject) -> Wanted:
    """Return the CUDA releases that a wheel may have been built with, and what tells them.

    torch says it in its version.py; others in a label such as ``+cu117``, in names that only one release has (CUPTI and
    NVRTC's built-ins), or in the DLLs that they have already. Names of the others leave the major at least:
    ``cublas64_12.dll`` with ``cufft64_11.dll`` is CUDA 12.
    """
    label, built = named_releases(subject)
    if built is not None:
        return Wanted(frozenset({spell(built)}), f"torch/version.py says {spell(built)}")
    if label is not None:
        return Wanted(frozenset({spell(label)}), f"its version {version_of(subject)}")
    names = _names(subject)
    exact = {name: releases for name, releases in names.items() if is_versioned_by_patch(name) and releases}
    if exact and len(set(exact.values())) == 1:
        return Wanted(next(iter(exact.values())), f"it uses {', '.join(sorted(exact))}")
    present = _present(subject)
    if len(present) == 1:
        return Wanted(frozenset(present), f"the DLLs in it are of CUDA {next(iter(present))}")
    common = frozenset.intersection(*names.values()) if names else frozenset[str]()
    if common:
        return Wanted(common, f"it uses {', '.join(sorted(names)[:4])}")
    assumed = subject.profile.cuda
    return Wanted(frozenset({assumed}), f"--assume cuda={assumed}") if assumed else Wanted()


def _names(subject: Subject) -> dict[str, frozenset[str]]:
    """Return the CUDA DLLs that the wheel has or asks for, each with the releases that have such a name."""
    asked = {dll_key(edge.name) for edge in subject.resolution.edges if edge.kind is not EdgeKind.COMPANION}
    own = {dll_key(base(path)) for path in subject.images}
    return {name: releases for name in asked | own if (releases := cuda_versions_for(name))}


def _present(subject: Subject) -> set[str]:
    """Return the releases that the version resources of the wheel's own CUDA DLLs tell exactly."""
    found: set[str] = set()
    for path in subject.images:
        if cuda_versions_for(base(path)):
            told = toolkits_of_file(base(path), subject.version(path))
            found |= told if len(told) == 1 else set()
    return found
