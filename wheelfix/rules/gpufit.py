"""Whether GPU code runs on a card: NVIDIA's rules of binary compatibility.

The rules are those of the CUDA C++ Programming Guide ("Binary Compatibility", "PTX Compatibility"), for desktop cards:

- Machine code (SASS) runs on cards of the same major and of the same or a higher minor: 8.6 on 8.9, not on 8.0 or 9.0.
- Intermediate code (PTX) is compiled by the driver for the same or any higher architecture, if the driver knows that
  version of PTX. Drivers for old cards have ended: Kepler's last one, 470, compiles what CUDA 11.4 wrote and nothing
  newer, although CUDA 11.8 still makes code for the card.
- Code for an architecture with a letter (``sm_90a``, ``ptx_100f``) is made for that architecture and moves nowhere.
"""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.drivers import driver_for_ptx, last_driver

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ARCH = re.compile(r"(?:sm_|compute_|ptx_)?(?P<major>[0-9]{1,3}?)\.?(?P<minor>[0-9])(?P<variant>[a-z]?)")


class Fit(enum.Enum):
    """How a set of GPU code fits a card, best first."""

    NATIVE = "native"
    """Machine code for this very architecture."""
    SAME_MAJOR = "same-major"
    """Machine code of an older card of the same generation, which runs as it is."""
    PTX = "ptx"
    """Intermediate code that the driver compiles when it is first used."""
    NONE = "none"
    """Nothing that runs."""
    LEFT_OVER = "left-over"
    """No kernels: only what nvcc links into every DLL when nobody names an architecture."""

    @property
    def runs(self) -> bool:
        """Whether kernels find code on the card."""
        return self in (Fit.NATIVE, Fit.SAME_MAJOR, Fit.PTX)


_LEFT_OVER = 1 << 20
"""A DLL with kernels of its own for one architecture is larger."""


def parse_arch(text: str) -> tuple[int, int, str]:
    """Return major, minor and variant of ``sm_86``, ``8.6``, ``ptx_90a``, ``sm_120``; ValueError for anything else."""
    match = _ARCH.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is not a GPU architecture")
    return int(match["major"]), int(match["minor"]), match["variant"]


def in_order(archs: Iterable[str]) -> list[str]:
    """Return architectures as people list them: machine code before PTX, old before new."""
    return sorted(archs, key=lambda arch: (arch.startswith("ptx_"), parse_arch(arch)))


def fit(archs: Iterable[str], card: str, ptx: Mapping[str, tuple[int, int]] | None = None) -> Fit:
    """Return how a DLL's code fits a card, both as architecture names.

    ``ptx`` tells the version of the language for ``ptx_86`` and its like, where it is known.
    """
    major, minor, _ = parse_arch(card)
    found = {Fit.NONE}
    for arch in archs:
        own_major, own_minor, variant = parse_arch(arch)
        same = (own_major, own_minor) == (major, minor)
        if arch.startswith("ptx_"):
            moves = same or ((own_major, own_minor) < (major, minor) and not variant)
            if moves and compiles((ptx or {}).get(arch), card):
                found.add(Fit.PTX)
        elif same:
            found.add(Fit.NATIVE)
        elif own_major == major and own_minor < minor and not variant:
            found.add(Fit.SAME_MAJOR)
    return min(found, key=list(Fit).index)


def compiles(version: tuple[int, int] | None, card: str) -> bool:
    """Whether some driver for the card knows a version of PTX; what is not known is not held against anyone."""
    major, minor, _ = parse_arch(card)
    ended = last_driver(major, minor)
    if version is None or ended is None:
        return True
    needed = driver_for_ptx(version)
    return needed is not None and needed <= ended.driver


def fit_of_image(archs: tuple[str, ...], size: int, card: str, ptx: Mapping[str, tuple[int, int]]) -> Fit:
    """Return how a DLL with GPU code fits a card; NVIDIA's nvblas64_11.dll, for one, has a left-over and no kernels."""
    if set(archs) <= {"sm_52", "ptx_52"} and size < _LEFT_OVER:
        return Fit.LEFT_OVER
    return fit(archs, card, ptx)
