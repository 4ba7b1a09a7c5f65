"""WF5xx: whether the GPU code in the wheel, and its CUDA release, run on the card that was asked about.

The rules of compatibility are in :mod:`wheelfix.rules.gpufit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.knowledge.cards import (
    AMD,
    NVIDIA,
    architecture,
    build_flags,
    cuda_of_driver,
    driver_for_ptx,
    driver_needed,
    last_driver,
    library_release,
    vendor_of,
)
from wheelfix.knowledge.families import family_of
from wheelfix.model import Finding, Json, Repairable, Severity
from wheelfix.rules.context import Subject, base
from wheelfix.rules.cuda import needed_majors, used_releases
from wheelfix.rules.gpufit import Fit, compiles, fit, fit_of_image, in_order, of_vendor, parse_arch
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wantedcuda import built_for
from wheelfix.rules.wording import dotted, listing
from wheelfix.streams.codec import INSTALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.pe.gpucode import GpuCode


@rule(
    "WF501",
    "no-gpu-code",
    Severity.ERROR,
    Repairable.NEVER,
    "A DLL with GPU code has none that runs on the card.",
)
@rule(
    "WF502",
    "ptx-only",
    Severity.INFO,
    Repairable.NEVER,
    "A DLL has only intermediate code for the card, which the driver compiles at first use.",
)
def gpu_code(subject: Subject) -> Iterator[Finding]:
    """Compare the GPU code of every image with the card that was asked about; DLLs with the same remedy share one."""
    card = subject.card
    if card is None:
        return
    found = {path: code for path in subject.images if (code := subject.code_of(path))}
    unread = any(code.unread for code in found.values())
    # Packages have DLLs for several vendors side by side: those for other vendors' cards stay unused.
    codes = {path: code for path, code in found.items() if of_vendor(code.archs, card)}
    if not codes and not unread:  # WF413 reports code that could not be read, which may be the code for the card
        codes = {path: code for path, code in found.items() if code.archs}
    fits = {path: fit_of_image(code, subject.images[path].size, card) for path, code in codes.items()}
    served = unread or any(fits[path].runs for path in fits)
    groups: dict[tuple[Fit, str, bool], list[str]] = {}
    for path, fits_so in fits.items():
        if fits_so in (Fit.NONE, Fit.PTX):
            # Where another backend of the wheel has code for the card, a DLL that no import loads may be without.
            harmful = subject.reached(path) or not served
            groups.setdefault((fits_so, _remedy(path, subject, card, fits_so), harmful), []).append(path)
    for (fits_so, hint, harmful), paths in groups.items():
        evidence: dict[str, Json] = {
            "gpu": card,
            "fit": fits_so.value,
            "archs": {subject.origin(path): [*codes[path].archs] for path in paths},
        }
        members = [codes[path] for path in paths]
        if fits_so is Fit.NONE:
            severity = Severity.ERROR if harmful else Severity.WARNING
            message = _none(paths, members, card)
            yield finding("WF501", subject.origin(paths[0]), message, hint=hint, evidence=evidence, severity=severity)
        else:
            yield finding(
                "WF502", subject.origin(paths[0]), _ptx_only(paths, members, card), hint=hint, evidence=evidence
            )


@rule(
    "WF413",
    "gpu-code-unread",
    Severity.UNSURE,
    Repairable.NEVER,
    "A DLL has GPU code that could not be read, so that it is not known for which cards.",
)
def gpu_code_unread(subject: Subject) -> Iterator[Finding]:
    """Say that an answer about a card leaves out code that could not be read."""
    if subject.card is None:
        return
    for path in subject.images:
        code = subject.code_of(path)
        if code is None or not code.unread or fit(code.archs, subject.card, code.ptx).runs:
            continue
        yield finding(
            "WF413",
            subject.origin(path),
            f"could not tell whether {base(path)} has code for {subject.card}: {code.unread}",
            hint=f"install zstd for Python ({INSTALL}) and scan again" if "zstd" in code.unread else "",
            evidence={"gpu": subject.card, "because": code.unread, "archs": [*code.archs]},
        )


@rule(
    "WF507",
    "gpu-code-absent",
    Severity.WARNING,
    Repairable.NEVER,
    "A card was asked about, and nothing in the wheel has GPU code.",
)
def gpu_code_absent(subject: Subject) -> Iterator[Finding]:
    """Say that there is no GPU code at all, instead of passing a wheel that was asked about a card."""
    card = subject.card
    if card is None or not subject.images:
        return
    if any((code := subject.code_of(path)) and (code.archs or code.unread) for path in subject.images):
        return
    remedy = subject.loading.without_gpu_code if subject.loading is not None else ""
    message = f"no DLL of the wheel has GPU code, so nothing of it runs on {card}"
    hint = remedy or "fine for a package that leaves the GPU to others, or compiles for it at run time"
    severity = Severity.WARNING if remedy else Severity.INFO
    yield finding("WF507", subject.name or "the package", message, hint=hint, evidence={"gpu": card}, severity=severity)


def _none(paths: list[str], codes: list[GpuCode], card: str) -> str:
    """Say which code there is, that none of it runs on the card, and which error that gives."""
    has, their = ("has", "its") if len(paths) == 1 else ("have", "their")
    archs = in_order({arch for code in codes for arch in code.archs})
    message = f"{listing([base(path) for path in paths], 6)} {has} code for {listing(archs, 14)}, "
    if vendor_of(card) != NVIDIA:
        return f"{message}none of which runs on {card}; {their} kernels fail when they are first used"
    ended = last_driver(*parse_arch(card)[:2])
    too_new = {code.ptx[arch] for code in codes for arch in code.ptx if fit([arch], card) is Fit.PTX}
    if too_new and ended is not None and not compiles(max(too_new), card):
        knows = cuda_of_driver(ended.driver)
        message += (
            f"and the last driver for {card} ({ended.name}), {ended.driver}, does not compile {their} PTX "
            f"{dotted(max(too_new))}" + (f", only that of CUDA {dotted(knows)} and before; " if knows else "; ")
        )
    else:
        message += f"none of which runs on {card}; "
    return message + f"{their} kernels fail with 'no kernel image is available for execution on the device'"


def _ptx_only(paths: list[str], codes: list[GpuCode], card: str) -> str:
    """Say that the driver has to compile the code, and how new it must be."""
    has, it = ("has", "it") if len(paths) == 1 else ("have", "them")
    usable = {arch for code in codes for arch in code.archs if fit([arch], card) is Fit.PTX}
    if vendor_of(card) != NVIDIA:
        return (
            f"{listing([base(path) for path in paths], 6)} {has} no machine code for {card}, only SPIR-V "
            f"({listing(in_order(usable))}); the driver compiles {it} at first use, which can take minutes"
        )
    versions = [code.ptx[arch] for code in codes for arch in usable & set(code.ptx)]
    needed = driver_for_ptx(max(versions)) if versions else None
    message = (
        f"{listing([base(path) for path in paths], 6)} {has} no machine code for {card}, only PTX "
        f"({listing(in_order(usable))}); the driver compiles {it} at first use, which can take minutes, "
    )
    return message + (f"and must be {needed} or later" if needed else "and a driver older than the toolkit cannot")


@rule(
    "WF503",
    "driver-too-old-for-cuda",
    Severity.ERROR,
    Repairable.NEVER,
    "The last driver for the card does not run the CUDA release that the wheel uses.",
)
def driver_too_old(subject: Subject) -> Iterator[Finding]:
    """Compare the wheel's CUDA release with the last driver that NVIDIA made for the card."""
    card = subject.card
    if card is None or vendor_of(card) != NVIDIA:
        return
    major, minor, _ = parse_arch(card)
    ended = last_driver(major, minor)
    if ended is None:
        return
    used = {cuda: driver_needed(*cuda) for cuda in used_releases(subject)}
    served = any(needed is not None and needed <= ended.driver for needed in used.values())
    for cuda, needed in used.items():
        if needed is None or needed <= ended.driver:
            continue
        spelled = f"{cuda[0]}.{cuda[1]}" if cuda[1] >= 0 else f"{cuda[0]}"
        yield finding(
            "WF503",
            f"CUDA {spelled}",
            f"CUDA {spelled} needs driver {needed} or later; the last driver for {card} ({ended.name}) is "
            f"{ended.driver}, so that CUDA finds no usable device",
            hint=f"use or build a wheel with a CUDA release that driver {ended.driver} runs",
            evidence={"cuda": spelled, "needed": needed, "last": ended.driver, "source": ended.source},
            severity=Severity.INFO if served and cuda[0] not in needed_majors(subject) else Severity.ERROR,
        )


def _remedy_of_others(card: str, fits_so: Fit) -> str:
    """Return the flags that make code for a card of AMD or Intel."""
    if vendor_of(card) == AMD:
        flags = f"-DCMAKE_HIP_ARCHITECTURES={card}, or PYTORCH_ROCM_ARCH={card} for torch"
        return f"take a build that has code for {card}, or build with {flags}"
    machine_code = f"-fsycl-targets=spir64_gen and -Xs '-device {card.removeprefix('intel_')}'"
    if fits_so is Fit.PTX:
        return f"for machine code, build with {machine_code}"
    return f"take a build for Intel's cards, or build with -fsycl-targets=spir64, which runs on all, or {machine_code}"


def _remedy(path: str, subject: Subject, card: str, fits_so: Fit) -> str:
    """Return the flag that makes the code, or the release of the vendor's file that has it."""
    member = family_of(base(path))
    if vendor_of(card) != NVIDIA:
        return _remedy_of_others(card, fits_so)
    major, minor, _ = parse_arch(card)
    if member is not None and member.family.vendor == "NVIDIA":
        known_release = library_release(member.family.group, member.family.title, (major, minor))
        return f"take {known_release or f'a release of {member.family.title} that has code for {card}'}"
    torch_flag, cmake_flag = build_flags((major, minor))
    if member is None or member.family.group != "torch":
        return f"build with {cmake_flag} (torch extensions: {torch_flag})"
    known = architecture((major, minor))
    built = built_for(subject)
    if known is None or built is None or known.compiles_with(built):
        return f"build torch with {torch_flag}"
    edge = known.first_cuda if built < known.first_cuda else known.last_cuda or known.first_cuda
    which = "the first" if built < known.first_cuda else "the last"
    return f"build torch with {torch_flag} and CUDA {edge[0]}.{edge[1]}, {which} toolkit that compiles for {card}"
