"""Many more names of graphics cards than the tables have, from a list made of public registers of devices.

A name may have been sold with chips of several architectures: Iris Xe, GeForce GTX 860M.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.knowledge.cards import Capability, capability_of_arch, card_table, plain_name
from wheelfix.knowledge.othercards import NVIDIA, other_cards, plain_other_name, vendor_of
from wheelfix.knowledge.tables import TableFault, read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

TABLE = "card_names.txt"
SERIES = ("rtx", "gtx", "gt", "rx", "arc")
"""What people leave out before the number: 4090, 7900 XTX."""


@dataclass(frozen=True, slots=True)
class NamedCard:
    """A card by its name."""

    name: str
    archs: tuple[str, ...]
    """As compilers call them: ``sm_86``, ``gfx1100``, ``intel_acm-g10``."""


def parse_card_names(table: str, text: str) -> Mapping[tuple[bool, str], NamedCard]:
    """Return the cards of a list, by whether NVIDIA made them and by the name without what sellers add to it."""
    found: dict[tuple[bool, str], NamedCard] = {}
    faults = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        archs, colon, name = line.partition(": ")
        card = NamedCard(name, tuple(archs.split()))
        key = _key(name, bool(card.archs) and vendor_of(card.archs[0]) == NVIDIA)
        if not colon or not card.archs or not key[1] or key in found:
            faults.append(f"line {number}: {line!r}")
        found[key] = card
    if faults:
        raise TableFault(table, faults)
    return found


def _key(name: str, nvidia: bool) -> tuple[bool, str]:
    return nvidia, plain_name(name) if nvidia else plain_other_name(name)


@functools.cache
def _all() -> Mapping[tuple[bool, str], NamedCard]:
    """Every card of the list and of the tables; what a table says counts more, because its sources are the makers'."""
    found = dict(parse_card_names(TABLE, read_text(TABLE)))
    for key, card in card_table().cards.items():
        found[True, key] = NamedCard(card.name, ("sm_{}{}".format(*card.capability),))
    for key, other in other_cards().cards.items():
        found[False, key] = NamedCard(other.name, (other.arch,))
    return found


def named_cards(text: str) -> tuple[NamedCard, ...]:
    """Return the cards that a name may stand for; several where the series was left out."""
    keys = (_key(text, True), _key(text, False))
    found = [_all()[key] for key in keys if key[1] and key in _all()]
    if not found and re.match(r"[0-9]", keys[0][1]):
        found = [
            _all()[made, prefix + key] for made, key in keys for prefix in SERIES if (made, prefix + key) in _all()
        ]
    return tuple(found)


def namesakes_of(text: str, cards: tuple[NamedCard, ...]) -> tuple[str, ...]:
    """Return the cards that ``RTX 6000`` may mean: Quadro RTX 6000, RTX 6000 Ada and RTX PRO 6000 Blackwell."""
    names = [card.name for card in cards if card.name.startswith("Quadro RTX")]
    if not names or "quadro" in text.lower():
        return ()
    number = plain_name(names[0]).removeprefix("rtx")
    later = [_all()[True, key].name for key in (f"rtx{number}ada", f"rtxpro{number}") if (True, key) in _all()]
    return (*names, *later) if later else ()


def nvidia_capability(name: str) -> Capability | None:
    """Return the compute capability of the card that a name stands for; None where no card or several are called that.

    ``K40c`` and ``NVIDIA GeForce RTX 5070 Ti Laptop GPU`` are names that drivers report.
    """
    cards = named_cards(name)
    archs = {arch for card in cards for arch in card.archs}
    if len(archs) != 1 or namesakes_of(name, cards):
        return None
    (arch,) = archs
    return capability_of_arch(arch) if vendor_of(arch) == NVIDIA else None


def close_names(text: str, limit: int = 5) -> tuple[str, ...]:
    """Return names that resemble the given one."""
    import difflib

    close: dict[str, float] = {}
    for made in (True, False):
        wanted = _key(text, made)[1]
        known = [key for nvidia, key in _all() if nvidia is made]
        for key in difflib.get_close_matches(wanted, known, n=limit, cutoff=0.6):
            close[_all()[made, key].name] = difflib.SequenceMatcher(None, wanted, key).ratio()
    return tuple(sorted(close, key=lambda name: -close[name]))[:limit]
