"""WF5xx: whether the GPU code in the wheel, and its CUDA release, run on the card that was asked about.

The rules of compatibility are in :mod:`wheelfix.rules.gpufit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.cards import architecture, build_flags
from wheelfix.knowledge.cuda import cuda_majors_for, release
from wheelfix.knowledge.drivers import driver_needed, last_driver
from wheelfix.knowledge.families import family_of
from wheelfix.model import Finding, Json, Repairable, Severity
from wheelfix.rules.coherence import cuda_dlls
from wheelfix.rules.context import Subject, base
from wheelfix.rules.gpufit import Fit, fit, parse_arch
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LEFT_OVER = 1 << 20
"""A DLL with kernels of its own for one architecture is larger."""


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
    card = subject.card
    if card is None:
        return
    for path in subject.images:
        archs = subject.archs_of(path)
        if not archs or _is_left_over(archs, subject.images[path].size):
            continue
        fits = fit(archs, card)
        evidence: dict[str, Json] = {"archs": [*archs], "gpu": card, "fit": fits.value}
        if fits is Fit.NONE:
            loaded = subject.reached(path)
            yield finding(
                "WF501",
                subject.origin(path),
                f"{base(path)} has code for {listing(archs, 12)}, none of which runs on {card}; its kernels "
                "fail with 'no kernel image is available for execution on the device'",
                hint=_remedy(path, subject, card),
                evidence=evidence,
                severity=Severity.ERROR if loaded else Severity.WARNING,
            )
        elif fits is Fit.PTX:
            yield finding(
                "WF502",
                subject.origin(path),
                f"{base(path)} has no machine code for {card}, only PTX ({listing(_ptx(archs))}); the driver "
                "compiles it at first use, which can take minutes, and a driver older than the toolkit cannot",
                hint=_remedy(path, subject, card),
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
    card = subject.card
    if card is None:
        return
    major, minor, _ = parse_arch(card)
    ended = last_driver(major, minor)
    for cuda in _releases(subject):
        needed = driver_needed(*cuda)
        if ended is None or needed is None or needed <= ended.driver:
            continue
        spelled = f"{cuda[0]}.{cuda[1]}" if cuda[1] >= 0 else f"{cuda[0]}"
        yield finding(
            "WF503",
            f"CUDA {spelled}",
            f"CUDA {spelled} needs driver {needed} or later; the last driver for {card} ({ended.name}) is "
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


def _is_left_over(archs: tuple[str, ...], size: int) -> bool:
    """Whether the code is only what nvcc links in when nobody names an architecture, as in NVIDIA's nvblas64_11.dll."""
    return set(archs) <= {"sm_52", "ptx_52"} and size < _LEFT_OVER


def _ptx(archs: Iterable[str]) -> list[str]:
    return [arch for arch in archs if arch.startswith("ptx_")]


def _remedy(path: str, subject: Subject, card: str) -> str:
    """Return the flag that makes the code, or the release of the vendor's file that has it."""
    member = family_of(base(path))
    major, minor, _ = parse_arch(card)
    if member is not None and member.family.vendor == "NVIDIA":
        return _other_release(member.family.group, member.family.title, (major, minor))
    torch_flag, cmake_flag = build_flags((major, minor))
    if member is None or member.family.group != "torch":
        return f"build with {cmake_flag} (torch extensions: {torch_flag})"
    known = architecture((major, minor))
    built = release(subject.torch.cuda) if subject.torch is not None and subject.torch.cuda else None
    if known is None or built is None or known.compiles_with(built):
        return f"build torch with {torch_flag}"
    edge = known.first_cuda if built < known.first_cuda else known.last_cuda or known.first_cuda
    which = "the first" if built < known.first_cuda else "the last"
    return f"build torch with {torch_flag} and CUDA {edge[0]}.{edge[1]}, {which} toolkit that compiles for {card}"


def _other_release(group: str, title: str, capability: tuple[int, int]) -> str:
    """Return which release of NVIDIA's library to take for a card."""
    card = f"sm_{capability[0]}{capability[1]}"
    known = architecture(capability)
    if known is not None and group == "cudnn" and known.cudnn_has:
        return f"take cuDNN {known.cudnn_has}, the last that is known to have code for {card}"
    if known is not None and group == "cuda" and known.last_cuda is not None:
        return f"take {title} of CUDA {known.last_cuda[0]}.{known.last_cuda[1]} or before, which has code for {card}"
    if known is not None and group == "cuda":
        return f"take {title} of CUDA {known.first_cuda[0]}.{known.first_cuda[1]} or later, which has code for {card}"
    return f"take a release of {title} that has code for {card}"
