"""Whether GPU code runs on a card: NVIDIA's rules of binary compatibility.

The rules are those of the CUDA C++ Programming Guide ("Binary Compatibility", "PTX Compatibility"), for desktop cards:

- Machine code (SASS) runs on cards of the same major and of the same or a higher minor: 8.6 on 8.9, not on 8.0 or 9.0.
- Intermediate code (PTX) is compiled by the driver for the same or any higher architecture, if the driver knows that
  version of PTX. There are no new drivers for old cards: Kepler's last one, 470, compiles what CUDA 11.4 wrote and
  nothing newer, although CUDA 11.8 still makes code for the card.
- Code for one architecture (``sm_90a``) runs on that one only. Code for a family (``sm_100f``) runs on the same and on
  later minors of the major: 10.0 and 10.3, 12.0 and 12.1 ("Family-Specific Features").

AMD's code runs on the processor that it names, generic code on those of its list; Intel's machine code runs on the
devices that it names; the driver compiles SPIR-V of either (:mod:`wheelfix.knowledge.cards`).
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.cards import AMD, NVIDIA, Generation, driver_for_ptx, last_driver, runs_as_generic, vendor_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wheelfix.pe.gpucode import GpuCode

_ARCH = r"(?:sm_|compute_|ptx_)?(?P<major>[0-9]{1,3}?)\.?(?P<minor>[0-9])(?P<variant>[a-z]?)"


class Fit(enum.Enum):
    """How a set of GPU code fits a card, best first."""

    NATIVE = "native"
    """Machine code for exactly this architecture."""
    SAME_MAJOR = "same-major"
    """Machine code of an older card of the same generation, or for several cards, which runs as it is."""
    PTX = "ptx"
    """Intermediate code that the driver compiles when it is first used."""
    NONE = "none"
    """Nothing that runs."""
    LEFT_OVER = "left-over"
    """No kernels: only what nvcc links into every DLL when no architecture is named."""

    @property
    def runs(self) -> bool:
        """Whether kernels find code on the card."""
        return self in (Fit.NATIVE, Fit.SAME_MAJOR, Fit.PTX)


_LEFT_OVER = 1 << 20
"""A DLL with kernels of its own for one architecture is larger."""


def parse_arch(text: str) -> tuple[int, int, str]:
    """Return major, minor and variant of ``sm_86``, ``8.6``, ``ptx_90a``, ``sm_120``; ValueError for anything else."""
    match = re.fullmatch(_ARCH, text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is not a GPU architecture")
    return int(match["major"]), int(match["minor"]), match["variant"]


def capability(card: str | None) -> tuple[int, int] | None:
    """Return major and minor of one of NVIDIA's cards; None for any other."""
    return parse_arch(card)[:2] if card is not None and vendor_of(card) == NVIDIA else None


def ended_support(card: str | None) -> Generation | None:
    """Return the generation of a card for which there are no new drivers; None for every other card."""
    known = capability(card)
    return last_driver(*known) if known is not None else None


def in_order(archs: Iterable[str]) -> list[str]:
    """Return architectures as people list them: NVIDIA's first, machine code before PTX, old before new."""

    def place(arch: str) -> tuple[object, ...]:
        vendor = vendor_of(arch)
        if vendor == NVIDIA:
            return 0, arch.startswith("ptx_"), parse_arch(arch)
        return 1, vendor, len(arch) if vendor == AMD else 0, arch

    return sorted(archs, key=place)


def of_vendor(archs: Iterable[str], card: str) -> tuple[str, ...]:
    """Return the architectures of the vendor who made the card."""
    vendor = vendor_of(card)
    return tuple(arch for arch in archs if vendor_of(arch) == vendor)


def fit(archs: Iterable[str], card: str, ptx: Mapping[str, tuple[int, int]] | None = None) -> Fit:
    """Return how a DLL's code fits a card, both as architecture names.

    ``ptx`` has the version of the language for names such as ``ptx_86``, where it is known.
    """
    own = capability(card)
    kinds = (
        _fit_nvidia(arch, own, card, ptx or {}) if own else _fit_other(arch, card) for arch in of_vendor(archs, card)
    )
    return min((Fit.NONE, *kinds), key=list(Fit).index)


def _fit_nvidia(arch: str, own: tuple[int, int], card: str, ptx: Mapping[str, tuple[int, int]]) -> Fit:
    """Return how code for one architecture fits a card of NVIDIA."""
    major, minor, variant = parse_arch(arch)
    same = (major, minor) == own
    if arch.startswith("ptx_"):
        in_family = major == own[0] and variant == "f"
        moves = same or ((major, minor) < own and (not variant or in_family))
        return Fit.PTX if moves and compiles(ptx.get(arch), card) else Fit.NONE
    if same:
        return Fit.NATIVE
    return Fit.SAME_MAJOR if major == own[0] and minor < own[1] and variant in ("", "f") else Fit.NONE


def _fit_other(arch: str, card: str) -> Fit:
    """Return how code for one of AMD's or Intel's cards fits one of them."""
    if arch == card:
        return Fit.NATIVE
    if runs_as_generic(arch, card):
        return Fit.SAME_MAJOR
    return Fit.PTX if arch in ("spir64", "amdgcnspirv") else Fit.NONE


def compiles(version: tuple[int, int] | None, card: str) -> bool:
    """Whether some driver for the card knows a version of PTX; True where that is not known."""
    ended = ended_support(card)
    if version is None or ended is None:
        return True
    needed = driver_for_ptx(version)
    return needed is not None and needed <= ended.driver


def fit_of_image(code: GpuCode, size: int, card: str) -> Fit:
    """Return how a DLL with GPU code fits a card; NVIDIA's nvblas64_11.dll, for one, has a left-over and no kernels."""
    if not code.kernels or (set(code.archs) <= {"sm_52", "ptx_52"} and size < _LEFT_OVER):
        return Fit.LEFT_OVER
    return fit(code.archs, card, code.ptx)
