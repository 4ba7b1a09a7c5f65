"""AMD's and Intel's cards: the names that compilers have for their code, and what runs on several of them."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.knowledge.tables import Checker, parse_toml, read_text
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

NVIDIA, AMD, INTEL = "NVIDIA", "AMD", "Intel"
_GFX = re.compile(r"gfx[0-9]{1,2}[0-9a-f]{2}")
_NOISE = re.compile(r"\b(?:amd|ati|intel|radeon|instinct|graphics|gpu|laptop|mobile|series)\b|\(tm\)|\(r\)")


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
            key = _plain(name)
            if key in cards:
                check.faults.append(f"{name} is there twice")
            cards[key] = OtherCard(name, row["vendor"], row["arch"], row["source"])
    rows = check.rows(tree, "generic", ["arch", "runs_on"])
    check.unique("generic", (row["arch"] for row in rows))
    check.finish()
    return OtherCards(cards, {row["arch"]: frozenset(row["runs_on"]) for row in rows})


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "", _NOISE.sub(" ", name.lower()))


@functools.cache
def other_cards() -> OtherCards:
    """Return the table of this package."""
    return parse_other_cards("othercards.toml", read_text("othercards.toml"))


def other_arch(text: str) -> str:
    """Return the architecture of ``gfx1100``, ``RX 7900 XTX``, ``Arc B580`` or ``bmg-g21``; empty if none is known."""
    word = text.strip().lower()
    if _GFX.fullmatch(word):
        return word
    card = other_cards().cards.get(_plain(text))
    if card is not None:
        return card.arch
    device = f"intel_{word.removeprefix('intel_')}"
    known = {one.arch for one in other_cards().cards.values()}
    if device in known:
        return device
    same = other_cards().generic.get(device, frozenset())
    return next(iter(same)) if len(same) == 1 else ""


def runs_as_generic(arch: str, card: str) -> bool:
    """Whether code for several architectures, or under another name for one, runs on a card."""
    return card in other_cards().generic.get(arch, frozenset())


def suggest_other(name: str, limit: int = 3) -> tuple[str, ...]:
    """Return names of cards that resemble the given one."""
    import difflib

    known = other_cards().cards
    return tuple(known[key].name for key in difflib.get_close_matches(_plain(name), known, n=limit, cutoff=0.6))
