"""WF5xx: whether the GPU code in the wheel runs on the card that was asked about.

NVIDIA's rules of binary compatibility (CUDA C++ Programming Guide, "Compute Capabilities" and "Binary Compatibility"):
machine code (SASS) runs on cards of the same major and of the same or a higher minor; intermediate code (PTX) is
compiled by the driver for the same or any higher architecture; code for an architecture with a letter (``sm_90a``,
``sm_100f``) is made for that architecture and moves nowhere.
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.cuda import cuda_majors_for, release
from wheelfix.knowledge.drivers import driver_needed, last_driver
from wheelfix.knowledge.families import family_of
from wheelfix.model import Finding, Json, Repairable, Severity
from wheelfix.rules.coherence import cuda_dlls
from wheelfix.rules.context import Subject, base
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ARCH = re.compile(r"(?:sm_|compute_|ptx_)?(?P<major>\d+?)\.?(?P<minor>\d)(?P<variant>[a-z]?)")


class Fit(enum.Enum):
    """How a set of GPU code fits a card, best first."""

    NATIVE = "native"
    """Machine code for this very architecture."""
    SAME_MAJOR = "same major"
    """Machine code of an older card of the same generation, which runs as it is."""
    PTX = "ptx"
    """Intermediate code that the driver compiles when it is first used."""
    NONE = "none"
    """Nothing that runs."""


def parse_arch(text: str) -> tuple[int, int, str]:
    """Return major, minor and variant of ``sm_86``, ``8.6``, ``ptx_90a``, ``sm_120``; ValueError for anything else."""
    match = _ARCH.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is no GPU architecture")
    return int(match["major"]), int(match["minor"]), match["variant"]


def fit(archs: Iterable[str], card: str) -> Fit:
    """Return how a DLL's code fits a card, both as architecture names."""
    major, minor, _ = parse_arch(card)
    found = {Fit.NONE}
    for arch in archs:
        own_major, own_minor, variant = parse_arch(arch)
        same = (own_major, own_minor) == (major, minor)
        older = own_major == major and own_minor < minor and not variant
        if arch.startswith("ptx_"):
            if same or ((own_major, own_minor) < (major, minor) and not variant):
                found.add(Fit.PTX)
        elif same:
            found.add(Fit.NATIVE)
        elif older:
            found.add(Fit.SAME_MAJOR)
    return min(found, key=list(Fit).index)


@rule(
    "WF501",
    "no-gpu-code",
    Severity.ERROR,
    Repairable.NEVER,
    "A CUDA DLL has no code that runs on the card.",
)
@rule(
    "WF502",
    "ptx-only",
    Severity.INFO,
    Repairable.NEVER,
    "A CUDA DLL has only intermediate code for the card, which the driver compiles at first use.",
)
def gpu_code(subject: Subject) -> Iterator[Finding]:
    """Hold the GPU code of every image against the card that was asked about."""
    if subject.gpu is None:
        return
    for path in subject.images:
        archs = subject.archs(path)
        if not archs:
            continue
        fits = fit(archs, subject.gpu)
        evidence: dict[str, Json] = {"archs": [*archs], "gpu": subject.gpu, "fit": fits.value}
        if fits is Fit.NONE:
            loaded = subject.reached(path)
            yield finding(
                "WF501",
                subject.origin(path),
                f"{base(path)} has code for {listing(archs, 12)}, none of which runs on {subject.gpu}; its kernels "
                "fail with 'no kernel image is available for execution on the device'",
                hint=_remedy(path, subject.gpu),
                evidence=evidence,
                severity=Severity.ERROR if loaded else Severity.WARNING,
            )
        elif fits is Fit.PTX:
            yield finding(
                "WF502",
                subject.origin(path),
                f"{base(path)} has no machine code for {subject.gpu}, only PTX ({listing(_ptx(archs))}); the driver "
                "compiles it at first use, which can take minutes, and a driver older than the toolkit cannot",
                hint=_remedy(path, subject.gpu),
                evidence=evidence,
            )


@rule(
    "WF503",
    "driver-too-old-for-cuda",
    Severity.ERROR,
    Repairable.NEVER,
    "The last driver for the card does not run the CUDA release that the wheel uses.",
)
def driver_too_old(subject: Subject) -> Iterator[Finding]:
    """Hold the wheel's CUDA release against the last driver that NVIDIA made for the card."""
    if subject.gpu is None:
        return
    major, minor, _ = parse_arch(subject.gpu)
    ended = last_driver(major, minor)
    for cuda in _releases(subject):
        needed = driver_needed(*cuda)
        if ended is None or needed is None or needed <= ended.driver:
            continue
        spelled = f"{cuda[0]}.{cuda[1]}" if cuda[1] >= 0 else f"{cuda[0]}"
        yield finding(
            "WF503",
            f"CUDA {spelled}",
            f"CUDA {spelled} needs driver {needed} or later; the last driver for {subject.gpu} ({ended.name}) is "
            f"{ended.driver}, so that CUDA finds no usable device",
            hint=f"use or build a wheel with a CUDA release that driver {ended.driver} runs",
            evidence={"cuda": spelled, "needed": needed, "last": ended.driver, "source": ended.source},
        )


def _releases(subject: Subject) -> list[tuple[int, int]]:
    """Return the CUDA releases that the wheel uses; a minor of -1 where only the major is known."""
    if subject.torch is not None and subject.torch.cuda:
        return [release(subject.torch.cuda)]
    majors: set[int] = set()
    for process in subject.processes:
        sets = [cuda_majors_for(name) for name in cuda_dlls(subject, process)]
        common = frozenset.intersection(*sets) if sets else frozenset()
        majors |= common if len(common) == 1 else set()
    return [(major, -1) for major in sorted(majors)]


def _ptx(archs: Iterable[str]) -> list[str]:
    return [arch for arch in archs if arch.startswith("ptx_")]


def _remedy(path: str, card: str) -> str:
    """Return the flag that makes the code, or the vendor's file to take instead."""
    member = family_of(base(path))
    major, minor, _ = parse_arch(card)
    if member is not None and member.family.vendor == "NVIDIA":
        return f"take a release of {member.family.title} that still has, or already has, code for {card}"
    if member is not None and member.family.group == "torch":
        return f"build torch with TORCH_CUDA_ARCH_LIST={major}.{minor}"
    return (
        f"build with CMAKE_CUDA_ARCHITECTURES={major}{minor} (torch extensions: TORCH_CUDA_ARCH_LIST={major}.{minor})"
    )
