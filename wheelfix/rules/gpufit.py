"""Whether GPU code runs on a card: NVIDIA's rules of binary compatibility, and which card a word stands for.

The rules are those of the CUDA C++ Programming Guide ("Binary Compatibility", "PTX Compatibility"), for desktop cards:

- Machine code (SASS) runs on cards of the same major and of the same or a higher minor: 8.6 on 8.9, not on 8.0 or 9.0.
- Intermediate code (PTX) is compiled by the driver for the same or any higher architecture, if the driver knows that
  version of PTX. Drivers for old cards have ended: Kepler's last one, 470, compiles what CUDA 11.4 wrote and nothing
  newer, although CUDA 11.8 still makes code for the card.
- Code for an architecture with a letter (``sm_90a``, ``ptx_100f``) is made for that architecture and moves nowhere.
"""

from __future__ import annotations

import enum
import functools
import re
from typing import TYPE_CHECKING

from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.knowledge.cards import capability_of, suggest
from wheelfix.knowledge.drivers import driver_for_ptx, last_driver
from wheelfix.programs import find_program, run_program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_ARCH = re.compile(r"(?:sm_|compute_|ptx_)?(?P<major>[0-9]{1,3}?)\.?(?P<minor>[0-9])(?P<variant>[a-z]?)")
_ASK_DRIVER = ("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")


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
        raise ValueError(f"{text!r} is no GPU architecture")
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


@functools.cache
def card_arch(text: str, ask: Callable[[], str] | None = None) -> str:
    """Return the architecture, as ``sm_86``, that ``8.6``, ``K40c``, ``RTX 5070`` or ``native`` stands for.

    ``native`` asks the driver of this machine; several cards in it must be alike. UsageError for a word that no table
    knows, EnvironmentFailure where no driver answers.
    """
    word = text.strip()
    if word.lower() == "native":
        return _native((ask or _ask_driver)())
    capability = capability_of(word)
    if capability is None:
        close = suggest(word)
        hint = f"did you mean {' or '.join(close)}?" if close else "give the architecture instead, as sm_86 or 8.6"
        raise UsageError(f"--gpu {text}", because="no table knows that card", hint=hint)
    return f"sm_{capability[0]}{capability[1]}"


def _native(answer: str) -> str:
    found = sorted({line.strip() for line in answer.splitlines() if re.fullmatch(r"\s*[0-9]{1,3}\.[0-9]\s*", line)})
    if not found:
        raise EnvironmentFailure("--gpu native", because="the driver names no card", hint="give the card: --gpu sm_86")
    if len(found) > 1:
        raise UsageError(
            "--gpu native",
            because=f"this machine has cards of different architectures ({', '.join(found)})",
            hint=f"choose one: --gpu {found[0]}",
        )
    major, _, minor = found[0].partition(".")
    return f"sm_{major}{minor}"


def _ask_driver() -> str:
    hint = "give the card: --gpu sm_86"
    program = find_program(_ASK_DRIVER[0])
    if program is None:
        raise EnvironmentFailure("--gpu native", because="nvidia-smi gives no answer (it is not on PATH)", hint=hint)
    try:
        done = run_program([program, *_ASK_DRIVER[1:]], timeout=30)
    except EnvironmentFailure as error:
        raise EnvironmentFailure("--gpu native", because=str(error), hint=hint) from error
    if done.code:
        because = f"nvidia-smi gives no answer (exit code {done.code})"
        raise EnvironmentFailure("--gpu native", because=because, hint=hint)
    return done.out
