"""What does not fit together on a machine, as a text shows it: toolkits, driver, cards, compilers, Pythons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import whole_number
from wheelfix.knowledge.cards import (
    Capability,
    architecture,
    capability_of_arch,
    driver_needed,
    nvidia_capability,
    windows_driver,
)
from wheelfix.knowledge.tables import Pair, pair

if TYPE_CHECKING:
    from collections.abc import Iterable


def contradictions(facts: dict[str, list[str]]) -> list[str]:
    """Return what does not fit together, each in a sentence."""
    nvcc = sorted(map(pair, facts["nvcc"]))
    built = pair(facts["built"][-1]) if facts["built"] else None
    toolkit = built or (nvcc[-1] if nvcc else None)
    found = [
        *_two_toolkits(facts, nvcc),
        *_old_driver(facts, toolkit),
        *_cards_without_code(facts["card"], "".join(facts["archs"][-1:]), toolkit),
    ]
    if built and nvcc and all(release[0] != built[0] for release in nvcc):
        mine = ", ".join(map(_dotted, nvcc))
        found.append(f"torch was built with CUDA {_dotted(built)}, nvcc is of {mine}: extensions do not compile.")
    if {one.lower() for one in facts["compiler"]} == {"x86"} and facts["build"]:
        found.append(
            r"The compiler is the one for 32 bits (Host…\x86), and the build is for 64: they need one console for both."
        )
    tags, pythons = set(facts["tag"]), set(facts["python"])
    if len(tags) == len(pythons) == 1 and tags != pythons:
        theirs, mine = f"3.{min(tags)}", f"3.{min(pythons)}"
        found.append(
            f"The text has a file for Python {theirs}, and Python {mine}: the one cannot use files of the other."
        )
    return found


def _two_toolkits(facts: dict[str, list[str]], nvcc: list[Pair]) -> list[str]:
    notes = [
        f"There are several {name} on PATH; the first is used: {'; '.join(facts[name])}."
        for name in ("nvcc.exe", "cl.exe")
        if len(facts[name]) > 1 and (name == "cl.exe" or len(nvcc) < 2)
    ]
    return [f"There are several nvcc: of CUDA {' and '.join(map(_dotted, nvcc))}.", *notes] if len(nvcc) > 1 else notes


def _old_driver(facts: dict[str, list[str]], wanted: Pair | None) -> list[str]:
    needed = driver_needed(*wanted) if wanted else None
    if wanted is None:
        return []
    for driver in facts["driver"][-1:]:
        if needed is not None and (whole_number(driver[:3]) or needed) < needed:
            oldest = windows_driver(needed)
            return [f"The driver {driver} is older than CUDA {_dotted(wanted)} needs ({oldest} or later)."]
    return [
        f"The driver serves CUDA {served} at most, and {_dotted(wanted)} is used."
        for served in facts["served"][-1:]
        if pair(served)[0] < wanted[0]
    ]


def _cards_without_code(cards: Iterable[str], archs: str, toolkit: Pair | None) -> list[str]:
    """Return which cards, by their names, a toolkit or a list of architectures (TORCH_CUDA_ARCH_LIST) leaves out."""
    notes = []
    listed = [capability_of_arch(one.partition("+")[0]) for one in re.split(r"[; ]+", archs) if one]
    for name, capability in ((name, nvidia_capability(name)) for name in cards):
        known = architecture(capability) if capability else None
        mine = _dotted(capability) if capability else ""
        if known is not None and toolkit is not None and not known.compiles_with(toolkit):
            notes.append(f"{name} has compute capability {mine}, which CUDA {_dotted(toolkit)} does not know.")
        if capability and listed and not _is_served(capability, listed, archs):
            notes.append(f"TORCH_CUDA_ARCH_LIST={archs} has no code for {name}, which is {mine}.")
    return notes


def _is_served(card: Capability, listed: Iterable[Capability | None], archs: str) -> bool:
    """Whether one of the architectures runs on a card: the same major and not newer, or PTX of an older one."""
    ptx = "ptx" in archs.lower()
    return any(
        one is not None and ((one[0] == card[0] and one[1] <= card[1]) or (ptx and one <= card)) for one in listed
    )


def _dotted(release: Pair) -> str:
    return "{}.{}".format(*release)
