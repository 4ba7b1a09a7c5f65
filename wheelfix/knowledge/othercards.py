"""AMD's and Intel's cards: the names that compilers have for their code, and what runs on several of them."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.knowledge.tables import Checker, parse_toml, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

NVIDIA, AMD, INTEL = "NVIDIA", "AMD", "Intel"
_GFX = r"(?P<name>gfx[0-9]{1,2}[0-9a-f]{2})(?::(?:xnack|sramecc)[+-]){0,2}"
_NOISE = (
    r"\b(?:amd|ati|intel|radeon|instinct|graphics|gpu|laptop|mobile|series|dual slot|oem|2048sp)\b"
    r"|\(tm\)|\(r\)|\(?(?<![0-9])[0-9]{1,3} ?gb\b\)?"
)


@dataclass(frozen=True, slots=True)
class OtherCard:
    """A card of AMD or Intel by its name."""

    name: str
    vendor: str
    arch: str
    """``gfx1100``, ``intel_bmg-g21``."""
    source: str


@dataclass(frozen=True, slots=True)
class OtherCards:
    """The content of ``othercards.toml``."""

    cards: Mapping[str, OtherCard]
    """By the name without what sellers add to it."""
    generic: Mapping[str, frozenset[str]]
    """Code for several architectures, and these."""
    archs: frozenset[str]
    """Every architecture that a card can have."""


def vendor_of(arch: str) -> str:
    """Return whose cards code is for: ``sm_86`` and ``ptx_86`` NVIDIA's, ``gfx1100`` AMD's, ``spir64`` Intel's."""
    if arch.startswith(("gfx", "amdgcn")):
        return AMD
    return INTEL if arch.startswith(("spir64", "intel_")) else NVIDIA


def parse_other_cards(table: str, text: str) -> OtherCards:
    """Turn the table's text into values; every fault is reported at once."""
    tree = parse_toml(table, text)
    check = Checker(table)
    cards: dict[str, OtherCard] = {}
    for row in check.rows(tree, "card", ["vendor", "arch", "names"]):
        if vendor_of(row["arch"]) != row["vendor"]:
            check.faults.append(f"{row['arch']} is not an architecture of {row['vendor']}")
        for name in row["names"]:
            key = plain_other_name(name)
            if key in cards:
                check.faults.append(f"{name} is there twice")
            cards[key] = OtherCard(name, row["vendor"], row["arch"], row["source"])
    rows = check.rows(tree, "generic", ["arch", "runs_on"])
    check.unique("generic", (row["arch"] for row in rows))
    archs = {card.arch for card in cards.values()}
    for row in check.rows(tree, "processors", ["archs"]):
        archs.update(row["archs"])
    for row in rows:
        if unknown := sorted(set(row["runs_on"]) - archs):
            check.faults.append(f"{row['arch']} runs on {', '.join(unknown)}, which no entry has")
    check.finish()
    return OtherCards(cards, {row["arch"]: frozenset(row["runs_on"]) for row in rows}, frozenset(archs))


def plain_other_name(name: str) -> str:
    """Return a card's name without vendor, form factor and memory: ``rx7900xtx``, ``arcb580``."""
    return re.sub(r"[^a-z0-9]+", "", re.sub(_NOISE, " ", name.lower()))


@functools.cache
def other_cards() -> OtherCards:
    """Return the table of this package."""
    return parse_other_cards("othercards.toml", read_text("othercards.toml"))


def known_archs() -> frozenset[str]:
    """Return every architecture of AMD and Intel that the table knows."""
    return other_cards().archs


def is_known_arch(arch: str) -> bool:
    """Whether the table knows an architecture."""
    return arch in known_archs()


def other_arch(text: str) -> str:
    """Return the architecture of ``gfx1100``, ``gfx90a:xnack-`` or ``bmg-g21``; empty for words of another form."""
    word = text.strip().lower()
    if found := re.fullmatch(_GFX, word):
        return found["name"]
    # -fsycl-targets=intel_gpu_bmg_g21 and -device bmg-g21 mean the same.
    device = "intel_" + word.removeprefix("intel_").removeprefix("gpu_").replace("_", "-")
    if is_known_arch(device):
        return device
    same = other_cards().generic.get(device, frozenset())
    return next(iter(same)) if len(same) == 1 else ""


def runs_as_generic(arch: str, card: str) -> bool:
    """Whether code for several architectures, or under another name for one, runs on a card."""
    return card in other_cards().generic.get(arch, frozenset())
