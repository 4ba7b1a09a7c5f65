"""WF414 to WF417: whether the NVIDIA driver that was asked about runs the card, the wheel's CUDA, and its PTX.

From CUDA 11 on, a driver runs every release of a CUDA major that is as old as the major's first driver ("minor version
compatibility"), but compiles PTX of its own and of older releases only. A newer major on an older driver ("forward
compatibility") exists for data-centre cards on Linux, not on Windows.
https://docs.nvidia.com/deploy/cuda-compatibility
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number
from wheelfix.knowledge.cards import (
    NVIDIA,
    architecture,
    branch_of,
    cuda_of_driver,
    driver_for_ptx,
    driver_needed,
    last_driver,
    toolkit_driver,
    vendor_of,
    windows_driver,
)
from wheelfix.model import Finding, Json, Repairable, Severity
from wheelfix.rules.context import Subject, base
from wheelfix.rules.cuda import needed_majors, used_releases
from wheelfix.rules.gpufit import Fit, fit, fit_of_image, parse_arch
from wheelfix.rules.registry import finding, rule
from wheelfix.rules.wording import listing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.pe.gpucode import GpuCode


@rule(
    "WF414",
    "cuda-needs-newer-driver",
    Severity.ERROR,
    Repairable.NEVER,
    "The driver that was asked about does not run the CUDA release that the wheel uses.",
)
@rule(
    "WF415",
    "driver-compatibility",
    Severity.INFO,
    Repairable.NEVER,
    "Whether the driver that was asked about runs the wheel's CUDA release, and what it does not do.",
)
def driver_runs_cuda(subject: Subject) -> Iterator[Finding]:
    """Compare the wheel's CUDA releases with the driver that was asked about."""
    if not subject.driver:
        return
    used = used_releases(subject)
    if not used:
        yield finding(
            "WF415",
            f"driver {subject.driver}",
            f"the wheel uses no CUDA release that is known, so that driver {subject.driver} was not compared",
            evidence={"driver": subject.driver},
        )
    number = numbers(subject.driver)
    runs = [cuda for cuda in used if (oldest := driver_needed(*cuda)) and numbers(windows_driver(oldest)) <= number]
    for cuda in used:
        needed = driver_needed(*cuda)
        spelled = f"{cuda[0]}.{cuda[1]}" if cuda[1] >= 0 else f"{cuda[0]}"
        if needed is None:
            message = f"which driver CUDA {spelled} needs is not known"
            yield finding("WF415", f"CUDA {spelled}", message, evidence={"cuda": spelled, "driver": subject.driver})
        elif cuda not in runs:
            # DLLs for several CUDA majors side by side, as in bitsandbytes: the driver runs some of them.
            other = bool(runs) and cuda[0] not in needed_majors(subject)
            yield finding(
                "WF414",
                f"CUDA {spelled}",
                f"CUDA {spelled} needs driver {windows_driver(needed)} or later, driver {subject.driver} is older: "
                + ("the code for it finds no usable device" if other else "CUDA finds no usable device"),
                severity=Severity.INFO if other else Severity.ERROR,
                hint="update the driver, or take a build with an older CUDA major; Windows has no package that lets "
                "an older driver run a newer major",
                evidence={"cuda": spelled, "driver": subject.driver, "needed": windows_driver(needed)},
            )
        else:
            yield _runs(subject.driver, cuda, spelled)


def _runs(driver: str, cuda: tuple[int, int], spelled: str) -> Finding:
    own = toolkit_driver(cuda)
    message = f"driver {driver} runs CUDA {spelled}"
    limited = own is not None and numbers(driver)[0] < own
    if limited:
        knows = cuda_of_driver(numbers(driver)[0])
        older = f" of CUDA {knows[0]}.{knows[1]} and before" if knows else ""
        message += (
            f" because both are of CUDA {cuda[0]} (minor version compatibility), but it compiles only PTX{older}: code "
            "that is compiled at run time may fail"
        )
    hint = f"driver {own} or later has no such limit" if limited else ""
    evidence: dict[str, Json] = {"cuda": spelled, "driver": driver, "limited": limited}
    return finding("WF415", f"CUDA {spelled}", message, hint=hint, evidence=evidence)


@rule(
    "WF416",
    "ptx-needs-newer-driver",
    Severity.ERROR,
    Repairable.NEVER,
    "A DLL has only PTX for the card, in a version that the driver that was asked about does not compile.",
)
def ptx_needs_newer_driver(subject: Subject) -> Iterator[Finding]:
    """Find DLLs whose code for the card the driver would have to compile, and cannot."""
    card = subject.card
    if not subject.driver or card is None or vendor_of(card) != NVIDIA:
        return
    codes = {path: code for path in subject.images if (code := subject.code_of(path)) and code.archs}
    refused = {
        path: needed
        for path, code in codes.items()
        if fit_of_image(code, subject.images[path].size, card) is Fit.PTX
        and (needed := _driver_of_ptx(code, card)) is not None
        and numbers(subject.driver)[0] < needed
    }
    if refused:
        needed = max(refused.values())
        yield finding(
            "WF416",
            subject.origin(next(iter(refused))),
            f"{listing([base(path) for path in refused], 6)} {'has' if len(refused) == 1 else 'have'} only PTX for "
            f"{card}, which driver {needed} and later compile; driver {subject.driver} refuses it "
            "('the provided PTX was compiled with an unsupported toolchain')",
            hint="update the driver, or take a build with machine code for the card",
            evidence={"gpu": card, "driver": subject.driver, "needed": needed},
        )


@rule(
    "WF417",
    "driver-not-for-card",
    Severity.ERROR,
    Repairable.NEVER,
    "The driver that was asked about does not support the card that was asked about.",
)
def driver_not_for_card(subject: Subject) -> Iterator[Finding]:
    """Compare the driver with the first and the last that support the card's architecture."""
    card = subject.card
    if not subject.driver or card is None or vendor_of(card) != NVIDIA:
        return
    major, minor, _ = parse_arch(card)
    known, ended = architecture((major, minor)), last_driver(major, minor)
    first = toolkit_driver(known.first_cuda) if known is not None else None
    number = numbers(subject.driver)[0]
    if first is not None and number < first:
        message, hint = f"is older than the first for {card}, {first}", f"update the driver to {first} or later"
    elif ended is not None and branch_of(number) > ended.driver:
        message = f"is newer than the last for {card} ({ended.name}), {ended.driver}"
        hint = f"take a driver of branch {ended.driver}, and a wheel that it runs"
    else:
        return
    yield finding(
        "WF417",
        f"driver {subject.driver}",
        f"driver {subject.driver} {message}: CUDA finds no usable device",
        hint=hint,
        evidence={"gpu": card, "driver": subject.driver, "first": first, "last": ended.driver if ended else None},
    )


def _driver_of_ptx(code: GpuCode, card: str) -> int | None:
    """The oldest driver that compiles some of the PTX that fits a card; None where its version is not known."""
    versions = [code.ptx[arch] for arch in code.ptx if fit([arch], card) is Fit.PTX]
    return driver_for_ptx(min(versions)) if versions else None


def numbers(driver: str) -> tuple[int, ...]:
    """Return the parts of a version of a driver, as numbers."""
    return tuple(whole_number(part, digits=6) or 0 for part in driver.split("."))
