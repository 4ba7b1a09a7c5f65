"""NVIDIA's cards: compute capability by name, and the toolkits and cuDNN releases that still serve it."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from wheelfix.base.values import dataclass
from wheelfix.knowledge.tables import Checker, parse_toml, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

Capability = tuple[int, int]

_ARCH = r"(?:sm|compute)?_?(?P<major>\d{1,2})\.?(?P<minor>\d)(?:[af]|\+ptx)?"
_NOISE = (
    r"\b(?:nvidia|geforce|quadro|tesla|laptop gpu|laptop|embedded gpu|mobile|max-q|design|graphics|generation|with)\b"
    r"|\b(?:blackwell|lite hash rate)\b|\(tm\)|\(r\)|\((?:pascal|notebook)\)"
)
_VARIANT = (
    r"(?:^|[\s-])\d{1,6}gb?\b|-?(?:pcie|sxm\d*(?: ac)?|hbm\d*e?|nvl)\b|\b(?:server|workstation|edition|super|sff)\b"
)


@dataclass(frozen=True, slots=True)
class Architecture:
    """A compute capability and who still serves it."""

    capability: Capability
    generation: str
    """Kepler, Maxwell, …"""
    first_cuda: Capability
    """The oldest toolkit that compiles for it."""
    source: str
    last_cuda: Capability | None = None
    """The newest toolkit that compiles for it; None while there are new ones."""
    cudnn_has: str = ""
    """The newest cuDNN known to have code for it, where that has ended."""
    cudnn_without: str = ""
    """The oldest cuDNN known to have no code for it."""

    @property
    def name(self) -> str:
        """As the compiler writes it: ``sm_86``."""
        return "sm_{}{}".format(*self.capability)

    def compiles_with(self, cuda: Capability) -> bool:
        """Whether a toolkit of that version can make code for it."""
        return self.first_cuda <= cuda and (self.last_cuda is None or cuda <= self.last_cuda)


@dataclass(frozen=True, slots=True)
class Card:
    """A graphics card by its name."""

    name: str
    capability: Capability
    source: str


@dataclass(frozen=True, slots=True)
class CardTable:
    """The content of ``cards.toml``."""

    architectures: Mapping[Capability, Architecture]
    cards: Mapping[str, Card]
    """By the name without what sellers add to it."""


def parse_cards(table: str, text: str) -> CardTable:
    """Turn the table's text into values; every fault is reported at once."""
    tree = parse_toml(table, text)
    check = Checker(table)
    architectures = _architectures(check, tree)
    cards: dict[str, Card] = {}
    for row in check.rows(tree, "card", ["capability", "names"]):
        capability = _pair(row["capability"])
        if capability not in architectures:
            check.faults.append(f"cards of the unknown capability {row['capability']}")
        for name in row["names"]:
            key = plain_name(name)
            if key in cards and cards[key].capability != capability:
                check.faults.append(f"{name} has two capabilities")
            cards.setdefault(key, Card(name, capability, row["source"]))
    check.finish()
    return CardTable(architectures, cards)


def _architectures(check: Checker, tree: dict[str, Any]) -> dict[Capability, Architecture]:
    optional = ["last_cuda", "cudnn_has", "cudnn_without"]
    rows = check.rows(tree, "architecture", ["capability", "generation", "first_cuda"], optional)
    check.unique("capability", (row["capability"] for row in rows))
    found = {}
    for row in rows:
        first = _pair(row["first_cuda"])
        last = _pair(row["last_cuda"]) if "last_cuda" in row else None
        if last and last < first:
            check.faults.append(f"toolkits for {row['capability']} end before they begin")
        has, without = row.get("cudnn_has", ""), row.get("cudnn_without", "")
        if has and without and _numbers(has) >= _numbers(without):
            check.faults.append(f"cuDNN {has} has code for {row['capability']} and {without} has none")
        capability = _pair(row["capability"])
        found[capability] = Architecture(capability, row["generation"], first, row["source"], last, has, without)
    return found


def _pair(text: str) -> Capability:
    major, _, minor = text.partition(".")
    return int(major), int(minor)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def plain_name(name: str) -> str:
    """Return a card's name without vendor, form factor and memory: ``rtx5070ti``, ``k40``."""
    text = re.sub(_NOISE, " ", name.lower())
    text = re.sub(r"\s+", "", re.sub(_VARIANT, " ", text))
    # The last letter of the first Teslas tells how they are cooled: K40c, K40m, K20X, K20Xm.
    return re.sub(r"^(k[1248]0)[a-z]+$", r"\1", text)


@functools.cache
def card_table() -> CardTable:
    """Return every card and architecture."""
    return parse_cards("cards.toml", read_text("cards.toml"))


def capability_of_arch(text: str) -> Capability | None:
    """Return the compute capability that ``sm_35``, ``3.5``, ``sm_90a`` or ``compute_120`` stands for."""
    match = re.fullmatch(_ARCH, text.strip().lower())
    return (int(match["major"]), int(match["minor"])) if match else None


def architecture(capability: Capability) -> Architecture | None:
    """Return what is known about a compute capability."""
    return card_table().architectures.get(capability)


def build_flags(capability: Capability) -> tuple[str, ...]:
    """Return the settings that make PyTorch's and CMake's builds produce code for a card."""
    major, minor = capability
    return f"TORCH_CUDA_ARCH_LIST={major}.{minor}", f"-DCMAKE_CUDA_ARCHITECTURES={major}{minor}"


def library_release(group: str, title: str, capability: Capability) -> str:
    """Return which release of one of NVIDIA's libraries has code for a card, as words after "take"; empty if unknown.

    ``group`` and ``title`` are those of the library's family.
    """
    known = architecture(capability)
    if known is None:
        return ""
    if group == "cudnn" and known.cudnn_has:
        return f"{title} {known.cudnn_has}, the last that is known to have code for {known.name}"
    if group == "cuda" and known.last_cuda is not None:
        return f"{title} of CUDA {known.last_cuda[0]}.{known.last_cuda[1]}, the last toolkit with code for {known.name}"
    if group == "cuda":
        return f"{title} of CUDA {known.first_cuda[0]}.{known.first_cuda[1]} or later, which has code for {known.name}"
    return ""
