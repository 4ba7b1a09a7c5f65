"""WF413 to WF417 and WF5xx: whether the wheel's GPU code and CUDA release run on the card, and the driver, asked about.

The rules of compatibility are in :mod:`wheelfix.rules.gpufit`. From CUDA 11 on, a driver runs every release of a CUDA
major that is as old as the major's first driver ("minor version compatibility"), but compiles PTX of its own and of
older releases only. A newer major on an older driver ("forward compatibility") exists for data-centre cards on Linux,
not on Windows. https://docs.nvidia.com/deploy/cuda-compatibility
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.parsing import dotted_numbers
from wheelfix.base.values import grouped
from wheelfix.knowledge.cards import (
    AMD,
    NVIDIA,
    architecture,
    branch_of,
    build_flags,
    card_table,
    cuda_of_driver,
    driver_for_ptx,
    driver_needed,
    last_driver,
    library_release,
    toolkit_driver,
    vendor_of,
    windows_driver,
)
from wheelfix.knowledge.families import family_of, is_of_nvidia
from wheelfix.model import Finding, Severity
from wheelfix.pe.gpucode import CONTAINERS, WRAPPERS, GpuCode, read_gpu_code
from wheelfix.rules.context import Subject, base, built_for
from wheelfix.rules.cuda import needed_majors, spelled_release, used_releases
from wheelfix.rules.gpufit import Fit, capability, compiles, ended_support, fit, fit_of_image, in_order, of_vendor
from wheelfix.rules.registry import Findings, finding, rule
from wheelfix.rules.wording import dotted, listing
from wheelfix.streams.codec import INSTALL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Code = Callable[[str], GpuCode | None]


@rule("WF501", "WF502")
def gpu_code(subject: Subject) -> Findings:
    """Compare the GPU code of every image with the card that was asked about; DLLs with the same remedy share one."""
    card = subject.card
    if card is None:
        return
    found = _codes(subject)
    unread = any(code.unread for code in found.values())
    # Packages have DLLs for several vendors side by side: those for other vendors' cards stay unused.
    codes = {path: code for path, code in found.items() if of_vendor(code.archs, card)}
    if not codes and not unread:  # WF413 reports code that could not be read, which may be the code for the card
        codes = {path: code for path, code in found.items() if code.archs}
    fits = {path: fit_of_image(code, subject.images[path].size, card) for path, code in codes.items()}
    served = unread or any(fits[path].runs for path in fits)
    # Where another backend of the wheel has code for the card, a DLL that no import loads may be without.
    groups = grouped(
        ((fits_so, _remedy(path, subject, card, fits_so), subject.reached(path) or not served), path)
        for path, fits_so in fits.items()
        if fits_so in (Fit.NONE, Fit.PTX)
    )
    for (fits_so, hint, harmful), paths in groups.items():
        members = [codes[path] for path in paths]
        none = fits_so is Fit.NONE
        yield finding(
            "WF501" if none else "WF502",
            subject.origin(paths[0]),
            _none(paths, members, card) if none else _ptx_only(paths, members, card),
            hint=hint,
            evidence={
                "gpu": card,
                "fit": fits_so.value,
                "archs": {subject.origin(path): codes[path].archs for path in paths},
            },
            severity=Severity.WARNING if none and not harmful else None,
        )


def _codes(subject: Subject) -> dict[str, GpuCode]:
    """Return the GPU code of the images that have sections for it."""
    return {path: code for path in subject.images if (code := subject.gpu_code(path))}


@rule("WF413")
def gpu_code_unread(subject: Subject) -> Findings:
    """Say that an answer about a card leaves out code that could not be read."""
    for path, code in _codes(subject).items() if subject.card is not None else ():
        if subject.card is None or not code.unread or fit(code.archs, subject.card, code.ptx).runs:
            continue
        yield finding(
            "WF413",
            subject.origin(path),
            f"could not tell whether {base(path)} has code for {subject.card}: {code.unread}",
            hint=f"install zstd for Python ({INSTALL}) and scan again" if "zstd" in code.unread else "",
            evidence={"gpu": subject.card, "because": code.unread, "archs": code.archs},
        )


@rule("WF507")
def gpu_code_absent(subject: Subject) -> Findings:
    """Say that there is no GPU code at all, instead of passing a wheel that was asked about a card."""
    card = subject.card
    if card is None or not subject.images:
        return
    if any(code.archs or code.unread for code in _codes(subject).values()):
        return
    remedy = subject.loading.without_gpu_code
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
    ended = ended_support(card)
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


@rule("WF503")
def driver_too_old(subject: Subject) -> Findings:
    """Compare the wheel's CUDA release with the last driver that NVIDIA made for the card."""
    ended = ended_support(subject.card)
    if ended is None:
        return
    used = {cuda: driver_needed(*cuda) for cuda in used_releases(subject)}
    served = any(needed is not None and needed <= ended.driver for needed in used.values())
    for cuda, needed in used.items():
        if needed is None or needed <= ended.driver:
            continue
        spelled = spelled_release(cuda)
        yield finding(
            "WF503",
            f"CUDA {spelled}",
            f"CUDA {spelled} needs driver {windows_driver(needed)} or later; the last driver for {subject.card} "
            f"({ended.name}) is {ended.driver}, so that CUDA finds no usable device",
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
    family = family_of(base(path))
    own = capability(card)
    if own is None:
        return _remedy_of_others(card, fits_so)
    if family.vendor == "NVIDIA":
        known_release = library_release(family.group, family.title, own)
        return f"take {known_release or f'a release of {family.title} that has code for {card}'}"
    torch_flag, cmake_flag = build_flags(own)
    if family.group != "torch":
        return f"build with {cmake_flag} (torch extensions: {torch_flag})"
    known, built = architecture(own), built_for(subject)
    if known is None or built is None or known.compiles_with(built):
        return f"build torch with {torch_flag}"
    edge = known.first_cuda if built < known.first_cuda else known.last_cuda or known.first_cuda
    which = "the first" if built < known.first_cuda else "the last"
    return f"build torch with {torch_flag} and CUDA {edge[0]}.{edge[1]}, {which} toolkit that compiles for {card}"


_FIRST = 64
"""Entries of a DLL that nearly always show a card in common; reading on takes the whole file."""


@rule("WF504")
def gpu_code_disjoint(subject: Subject) -> Findings:
    """Compare the cards that the wheel's own code runs on with those of each NVIDIA library in it."""
    with_code = [path for path, image in subject.images.items() if {CONTAINERS, WRAPPERS} & set(image.sections)]
    libraries = [path for path in with_code if is_of_nvidia(base(path))]
    own = [path for path in with_code if not is_of_nvidia(base(path))]
    if not own or not libraries:
        return

    def first(path: str) -> GpuCode | None:
        return read_gpu_code(subject.view.source(path), _FIRST)

    # More code only adds cards: where the first entries have one in common, the rest need not be read.
    begun = _cards(subject, own, first)
    doubtful = [path for path in libraries if not begun & _cards(subject, [path], first)]
    if not doubtful:
        return
    cards = _cards(subject, own, subject.gpu_code)
    for path in doubtful if cards else ():
        code = subject.gpu_code(path)
        theirs = _cards(subject, [path], subject.gpu_code)
        if code is not None and theirs and not cards & theirs:
            yield _finding(subject, path, code, own)


def _finding(subject: Subject, path: str, code: GpuCode, own: list[str]) -> Finding:
    codes = {one: found for one in own if (found := subject.gpu_code(one)) and found.archs}
    archs = in_order({arch for found in codes.values() for arch in found.archs})
    return finding(
        "WF504",
        subject.origin(path),
        f"{base(path)} has code for {listing(in_order(code.archs), 14)}, {listing([*map(base, codes)])} for "
        f"{listing(archs, 14)}: no card runs both, and what calls {base(path)} fails with 'no kernel image is "
        "available for execution on the device'",
        hint=f"take a release of {base(path)} with code for the wheel's cards, or build the wheel for those of "
        f"{base(path)}",
        evidence={
            "library": code.archs,
            "own": {subject.origin(one): [*found.archs] for one, found in codes.items()},
        },
    )


def _cards(subject: Subject, paths: Iterable[str], read: Code) -> frozenset[str]:
    """Return the architectures of known cards on which the code of some image runs."""
    known = [architecture.name for architecture in card_table().architectures.values()]
    found: set[str] = set()
    for path in paths:
        code = read(path)
        if code is None or not code.archs:
            continue
        size = subject.images[path].size
        if fit_of_image(code, size, known[0]) is Fit.LEFT_OVER:
            continue
        # A card that is newer than all tables has the architecture that the code names itself.
        cards = {*known, *(arch for arch in code.archs if arch.startswith("sm_") and arch[-1].isdigit())}
        found.update(card for card in cards if fit_of_image(code, size, card).runs)
    return frozenset(found)


@rule("WF414", "WF415")
def driver_runs_cuda(subject: Subject) -> Findings:
    """Compare the wheel's CUDA releases with the driver that was asked about."""
    driver = subject.options.driver
    if not driver:
        return
    used = used_releases(subject)
    if not used:
        yield finding(
            "WF415",
            f"driver {driver}",
            f"the wheel uses no CUDA release that is known, so that driver {driver} was not compared",
            evidence={"driver": driver},
        )
    number = dotted_numbers(driver)
    oldest = {cuda: driver_needed(*cuda) for cuda in used}
    runs = [cuda for cuda, first in oldest.items() if first and dotted_numbers(windows_driver(first)) <= number]
    for cuda, needed in oldest.items():
        spelled = spelled_release(cuda)
        if needed is None:
            message = f"which driver CUDA {spelled} needs is not known"
            yield finding("WF415", f"CUDA {spelled}", message, evidence={"cuda": spelled, "driver": driver})
        elif cuda not in runs:
            # DLLs for several CUDA majors side by side, as in bitsandbytes: the driver runs some of them.
            other = bool(runs) and cuda[0] not in needed_majors(subject)
            yield finding(
                "WF414",
                f"CUDA {spelled}",
                f"CUDA {spelled} needs driver {windows_driver(needed)} or later, driver {driver} is older: "
                + ("the code for it finds no usable device" if other else "CUDA finds no usable device"),
                severity=Severity.INFO if other else Severity.ERROR,
                hint="update the driver, or take a build with an older CUDA major; Windows has no package that lets "
                "an older driver run a newer major",
                evidence={"cuda": spelled, "driver": driver, "needed": windows_driver(needed)},
            )
        else:
            yield _runs(driver, cuda, spelled)


def _runs(driver: str, cuda: tuple[int, int], spelled: str) -> Finding:
    own = toolkit_driver(cuda)
    message = f"driver {driver} runs CUDA {spelled}"
    limited = own is not None and dotted_numbers(driver)[0] < own
    if limited:
        knows = cuda_of_driver(dotted_numbers(driver)[0])
        older = f" of CUDA {knows[0]}.{knows[1]} and before" if knows else ""
        message += (
            f" because both are of CUDA {cuda[0]} (minor version compatibility), but it compiles only PTX{older}: code "
            "that is compiled at run time may fail"
        )
    hint = f"driver {own} or later has no such limit" if limited else ""
    evidence: dict[str, object] = {"cuda": spelled, "driver": driver, "limited": limited}
    return finding("WF415", f"CUDA {spelled}", message, hint=hint, evidence=evidence)


@rule("WF416")
def ptx_needs_newer_driver(subject: Subject) -> Findings:
    """Find DLLs whose code for the card the driver would have to compile, and cannot."""
    card, driver = subject.card, subject.options.driver
    if not driver or card is None or vendor_of(card) != NVIDIA:
        return
    refused = {
        path: needed
        for path, code in _codes(subject).items()
        if code.archs
        and fit_of_image(code, subject.images[path].size, card) is Fit.PTX
        and (needed := _driver_of_ptx(code, card)) is not None
        and dotted_numbers(driver)[0] < needed
    }
    if refused:
        needed = max(refused.values())
        yield finding(
            "WF416",
            subject.origin(next(iter(refused))),
            f"{listing([base(path) for path in refused], 6)} {'has' if len(refused) == 1 else 'have'} only PTX for "
            f"{card}, which driver {needed} and later compile; driver {driver} refuses it "
            "('the provided PTX was compiled with an unsupported toolchain')",
            hint="update the driver, or take a build with machine code for the card",
            evidence={"gpu": card, "driver": driver, "needed": needed},
        )


@rule("WF417")
def driver_not_for_card(subject: Subject) -> Findings:
    """Compare the driver with the first and the last that support the card's architecture."""
    driver, card, own = subject.options.driver, subject.card, capability(subject.card)
    if not driver or own is None:
        return
    known, ended = architecture(own), last_driver(*own)
    first = toolkit_driver(known.first_cuda) if known is not None else None
    number = dotted_numbers(driver)[0]
    if first is not None and number < first:
        message, hint = f"is older than the first for {card}, {first}", f"update the driver to {first} or later"
    elif ended is not None and branch_of(number) > ended.driver:
        message = f"is newer than the last for {card} ({ended.name}), {ended.driver}"
        hint = f"take a driver of branch {ended.driver}, and a wheel that it runs"
    else:
        return
    yield finding(
        "WF417",
        f"driver {driver}",
        f"driver {driver} {message}: CUDA finds no usable device",
        hint=hint,
        evidence={
            "gpu": card,
            "driver": driver,
            "first": first,
            "last": ended.driver if ended else None,
        },
    )


def _driver_of_ptx(code: GpuCode, card: str) -> int | None:
    """The oldest driver that compiles some of the PTX that fits a card; None where its version is not known."""
    versions = [code.ptx[arch] for arch in code.ptx if fit([arch], card) is Fit.PTX]
    return driver_for_ptx(min(versions)) if versions else None
