"""Contradictions in what people paste about a machine: nvcc, ``where``, nvidia-smi and torch's collect_env output.

Each fact stands on a line of its own in words that the tools do not translate. A contradiction is named only where both
sides of it are in the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field
from wheelfix.diagnosis.symptoms.model import TextLimits
from wheelfix.diagnosis.symptoms.stream import Text, TextProgress, blocks
from wheelfix.knowledge.cards import architecture, capability_of_arch, driver_needed, nvidia_capability, windows_driver
from wheelfix.rules.wording import dotted

if TYPE_CHECKING:
    from wheelfix.knowledge.cards import Capability

_LONGEST = 400
_MOST = 16
_NVCC = re.compile(r"Cuda compilation tools, release (?P<major>[0-9]{1,2})\.(?P<minor>[0-9]{1,2})")
_NVCC_PATH = re.compile(r"(?P<path>[A-Za-z]:\\[^\r\n\"<>|*?]{1,200}\\nvcc\.exe)", re.IGNORECASE)
_CL_PATH = re.compile(r"(?P<path>[A-Za-z]:\\[^\r\n\"<>|*?]{1,250}\\cl\.exe)", re.IGNORECASE)
_BUILT = re.compile(r"CUDA used to build PyTorch: (?P<major>[0-9]{1,2})\.(?P<minor>[0-9]{1,2})")
_TORCH = re.compile(r"PyTorch version: (?P<version>[0-9][0-9A-Za-z.+]{1,40})")
_DRIVER = re.compile(r"(?:Nvidia driver version|Driver Version): ?(?P<branch>[0-9]{3})\.(?P<rest>[0-9]{1,4})")
_SERVED = re.compile(r"CUDA Version: (?P<major>[0-9]{1,2})\.(?P<minor>[0-9]{1,2})")
_CARD = re.compile(r"GPU [0-9]{1,2}: (?P<name>[A-Za-z0-9][\w .()/-]{2,80})")
_ARCHS = re.compile(r"TORCH_CUDA_ARCH_LIST ?[=:] ?[\"']?(?P<list>[0-9][0-9.;+PTXptxaf ]{0,200})")

Release = tuple[int, int]


@dataclass
class PastedMachine:
    """What a pasted text says about a machine."""

    nvcc: set[Release] = field(default_factory=set)
    nvcc_paths: list[str] = field(default_factory=list)
    compilers: list[str] = field(default_factory=list)
    built: Release | None = None
    """The CUDA version that torch was built with."""
    torch: str = ""
    driver: tuple[int, str] | None = None
    """Branch and whole version of the driver."""
    served: Release | None = None
    """The newest CUDA version that the driver serves, as nvidia-smi prints it."""
    cards: list[str] = field(default_factory=list)
    archs: str = ""
    """TORCH_CUDA_ARCH_LIST."""


def read_machine(text: Text, limits: TextLimits | None = None) -> PastedMachine:
    """Return what a text says about a machine."""
    facts = PastedMachine()
    carry = ""
    for block in blocks(text, limits or TextLimits(), TextProgress()):
        whole = carry + block
        end = whole.rfind("\n") + 1 if block else len(whole)
        lines, carry = whole[:end], whole[end:][-_LONGEST:]
        for line in lines.split("\n"):
            if ":" in line or "=" in line or "release" in line:
                _read_line(line[:_LONGEST], facts)
    return facts


def _read_line(line: str, facts: PastedMachine) -> None:
    if found := _NVCC.search(line):
        facts.nvcc.add(_release(found))
    if found := _BUILT.search(line):
        facts.built = _release(found)
    if found := _TORCH.search(line):
        facts.torch = found["version"]
    if found := _DRIVER.search(line):
        facts.driver = int(found["branch"]), f"{found['branch']}.{found['rest']}"
    if found := _SERVED.search(line):
        facts.served = _release(found)
    if found := _ARCHS.search(line):
        facts.archs = found["list"].strip(" ;")
    for pattern, kept in ((_NVCC_PATH, facts.nvcc_paths), (_CL_PATH, facts.compilers)):
        found = pattern.search(line)
        if found and found["path"] not in kept and len(kept) < _MOST:
            kept.append(found["path"])
    card = _CARD.search(line)
    if card and len(facts.cards) < _MOST:
        facts.cards.append(card["name"].partition(" (UUID")[0].strip())


def _release(found: re.Match[str]) -> Release:
    return int(found["major"]), int(found["minor"])


def contradictions(facts: PastedMachine) -> list[str]:
    """Return what does not fit together, each in a sentence."""
    found = [*_two_toolkits(facts), *_old_driver(facts), *_cards_without_code(facts)]
    if facts.built and facts.nvcc and all(release[0] != facts.built[0] for release in facts.nvcc):
        mine = ", ".join(map(dotted, sorted(facts.nvcc)))
        found.append(f"torch was built with CUDA {dotted(facts.built)}, nvcc is of {mine}: extensions do not compile.")
    return found


def _two_toolkits(facts: PastedMachine) -> list[str]:
    notes = []
    if len(facts.nvcc) > 1:
        notes.append(f"There are several nvcc: of CUDA {' and '.join(map(dotted, sorted(facts.nvcc)))}.")
    elif len({path.lower() for path in facts.nvcc_paths}) > 1:
        notes.append(f"There are several nvcc on PATH; the first is used: {'; '.join(facts.nvcc_paths)}.")
    if len({path.lower() for path in facts.compilers}) > 1:
        notes.append(f"There are several cl.exe on PATH; the first is used: {'; '.join(facts.compilers)}.")
    return notes


def _old_driver(facts: PastedMachine) -> list[str]:
    wanted = facts.built or (max(facts.nvcc) if facts.nvcc else None)
    if wanted is None:
        return []
    needed = driver_needed(*wanted)
    if facts.driver is not None and needed is not None and facts.driver[0] < needed:
        oldest = windows_driver(needed)
        return [f"The driver {facts.driver[1]} is older than CUDA {dotted(wanted)} needs ({oldest} or later)."]
    if facts.served is not None and facts.served[0] < wanted[0]:
        return [f"The driver serves CUDA {dotted(facts.served)} at most, and {dotted(wanted)} is used."]
    return []


def _cards_without_code(facts: PastedMachine) -> list[str]:
    notes = []
    for name in dict.fromkeys(facts.cards):
        capability = nvidia_capability(name)
        if capability is None:
            continue
        known = architecture(capability)
        toolkit = facts.built or (max(facts.nvcc) if facts.nvcc else None)
        mine = dotted(capability)
        if known is not None and toolkit is not None and not known.compiles_with(toolkit):
            notes.append(f"{name} has compute capability {mine}, which CUDA {dotted(toolkit)} does not know.")
        listed = [capability_of_arch(one.partition("+")[0]) for one in re.split(r"[; ]+", facts.archs) if one]
        if listed and not _is_served(capability, listed, facts.archs):
            notes.append(f"TORCH_CUDA_ARCH_LIST={facts.archs} has no code for {name}, which is {mine}.")
    return notes


def _is_served(card: Capability, listed: list[Capability | None], archs: str) -> bool:
    """Whether one of the architectures runs on a card: the same major and not newer, or PTX of an older one."""
    ptx = "ptx" in archs.lower()
    return any(
        one is not None and ((one[0] == card[0] and one[1] <= card[1]) or (ptx and one <= card)) for one in listed
    )
