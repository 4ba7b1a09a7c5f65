"""Graphics cards by name and architecture, and which toolkits, libraries and drivers serve them.

NVIDIA's are in ``cards.toml``, those of AMD and Intel in ``othercards.toml``, names that drivers and sellers use in
``card_names.txt``, and which driver runs which CUDA and PTX in ``drivers.toml``.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import dotted_numbers
from wheelfix.base.values import frozen
from wheelfix.knowledge.tables import Checker, Pair, entries, table

if TYPE_CHECKING:
    from collections.abc import Mapping

Capability = Pair

_ARCH = r"(?:sm|compute)?_?(?P<major>\d{1,2})\.?(?P<minor>\d)(?:[af]|\+ptx)?"
_NOISE = (
    r"\b(?:nvidia|geforce|quadro|tesla|laptop gpu|laptop|embedded gpu|mobile|max-q|design|graphics|generation|with)\b"
    r"|\b(?:blackwell|lite hash rate)\b|\(tm\)|\(r\)|\((?:pascal|notebook)\)"
)
_VARIANT = (
    r"(?:^|[\s-])\d{1,6}gb?\b|-?(?:pcie|sxm\d*(?: ac)?|hbm\d*e?|nvl)\b|\b(?:server|workstation|edition|super|sff)\b"
)


@frozen
class Architecture:
    """A compute capability and who still serves it."""

    capability: Pair
    generation: str
    """Kepler, Maxwell, …"""
    first_cuda: Pair
    """The oldest toolkit that compiles for it."""
    last_cuda: Pair | None = None
    """The newest toolkit that compiles for it; None while there are new ones."""
    cudnn_has: str = ""
    """The newest cuDNN known to have code for it, where that has ended."""

    @property
    def name(self) -> str:
        """As the compiler writes it: ``sm_86``."""
        return "sm_{}{}".format(*self.capability)

    def compiles_with(self, cuda: Capability) -> bool:
        """Whether a toolkit of that version can make code for it."""
        return self.first_cuda <= cuda and (self.last_cuda is None or cuda <= self.last_cuda)


@frozen
class NamedCard:
    """A graphics card by its name."""

    name: str
    archs: tuple[str, ...]
    """As compilers call them: ``sm_86``, ``gfx1100``, ``intel_acm-g10``."""


CardKey = tuple[bool, str]
"""Whether NVIDIA made a card, and its name without what sellers add to it."""


@frozen
class CardTable:
    """The content of ``cards.toml``."""

    architectures: Mapping[Capability, Architecture]
    cards: Mapping[CardKey, NamedCard]


@table("cards.toml")
def card_table(check: Checker) -> CardTable:
    """Return every card and architecture."""
    cards: dict[CardKey, NamedCard] = {}
    for capability, names in check.columns("card", "capability", "names"):
        for name in names:
            cards.setdefault(card_key(name, True), NamedCard(name, (f"sm_{capability.replace('.', '')}",)))
    return CardTable({one.capability: one for one in check.values("architecture", Architecture)}, cards)


def card_key(name: str, nvidia: bool) -> CardKey:
    """Return the key of a card: its name is without vendor, form factor and memory, as ``rtx5070ti``, ``arcb580``."""
    if not nvidia:
        return False, re.sub(r"[^a-z0-9]+", "", re.sub(_OTHER_NOISE, " ", name.lower()))
    text = re.sub(_VARIANT, " ", re.sub(_NOISE, " ", name.lower()))
    # The last letter of the first Teslas tells how they are cooled: K40c, K40m, K20X, K20Xm.
    return True, re.sub(r"^(k[1248]0)[a-z]+$", r"\1", re.sub(r"\s+", "", text))


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


SERIES = ("rtx", "gtx", "gt", "rx", "arc")
"""What people leave out before the number: 4090, 7900 XTX."""


@table("card_names.txt")
def card_names(check: Checker) -> Mapping[CardKey, NamedCard]:
    """Return the cards of the list."""
    found: dict[CardKey, NamedCard] = {}
    for line in entries(check.text):
        archs, _, name = line.partition(": ")
        found[card_key(name, vendor_of(archs) == NVIDIA)] = NamedCard(name, tuple(archs.split()))
    return found


@functools.cache
def _all() -> Mapping[CardKey, NamedCard]:
    """Every card of the list and of the tables; what a table says counts more, because its sources are the makers'."""
    return {**card_names(), **card_table().cards, **other_cards().cards}


def named_cards(text: str) -> tuple[NamedCard, ...]:
    """Return the cards that a name may stand for; several where the series was left out."""
    keys = (card_key(text, True), card_key(text, False))
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
    number = card_key(names[0], True)[1].removeprefix("rtx")
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


def close_names(text: str) -> tuple[str, ...]:
    """Return names that resemble the given one."""
    import difflib

    close: dict[str, float] = {}
    for made in (True, False):
        wanted = card_key(text, made)[1]
        for key in difflib.get_close_matches(wanted, [key for nvidia, key in _all() if nvidia is made], n=5):
            close[_all()[made, key].name] = difflib.SequenceMatcher(None, wanted, key).ratio()
    return tuple(sorted(close, key=lambda name: -close[name]))[:5]


NVIDIA, AMD, INTEL = "NVIDIA", "AMD", "Intel"
_GFX = r"(?P<name>gfx[0-9]{1,2}[0-9a-f]{2})(?::(?:xnack|sramecc)[+-]){0,2}"
_OTHER_NOISE = (
    r"\b(?:amd|ati|intel|radeon|instinct|graphics|gpu|laptop|mobile|series|dual slot|oem|2048sp)\b"
    r"|\(tm\)|\(r\)|\(?(?<![0-9])[0-9]{1,3} ?gb\b\)?"
)


@frozen
class OtherCards:
    """The content of ``othercards.toml``."""

    cards: Mapping[CardKey, NamedCard]
    generic: Mapping[str, frozenset[str]]
    """Code for several architectures, and these."""
    archs: frozenset[str]
    """Every architecture that a card can have."""


def vendor_of(arch: str) -> str:
    """Return whose cards code is for: ``sm_86`` and ``ptx_86`` NVIDIA's, ``gfx1100`` AMD's, ``spir64`` Intel's."""
    if arch.startswith(("gfx", "amdgcn")):
        return AMD
    return INTEL if arch.startswith(("spir64", "intel_")) else NVIDIA


@table("othercards.toml")
def other_cards(check: Checker) -> OtherCards:
    """Return the cards of AMD and Intel."""
    cards = {
        card_key(name, False): NamedCard(name, (arch,))
        for _, arch, names in check.columns("card", "vendor", "arch", "names")
        for name in names
    }
    archs = {arch for card in cards.values() for arch in card.archs}
    archs.update(arch for (several,) in check.columns("processors", "archs") for arch in several)
    generic = {arch: frozenset(runs_on) for arch, runs_on in check.columns("generic", "arch", "runs_on")}
    return OtherCards(cards, generic, frozenset(archs))


def known_archs() -> frozenset[str]:
    """Return every architecture that a table knows."""
    return other_cards().archs | {one.name for one in card_table().architectures.values()}


def other_arch(text: str) -> str:
    """Return the architecture of ``gfx1100``, ``gfx90a:xnack-`` or ``bmg-g21``; empty for words of another form."""
    word = text.strip().lower()
    if found := re.fullmatch(_GFX, word):
        return found["name"]
    # -fsycl-targets=intel_gpu_bmg_g21 and -device bmg-g21 mean the same.
    device = "intel_" + word.removeprefix("intel_").removeprefix("gpu_").replace("_", "-")
    if device in other_cards().archs:
        return device
    same = other_cards().generic.get(device, frozenset())
    return next(iter(same)) if len(same) == 1 else ""


def runs_as_generic(arch: str, card: str) -> bool:
    """Whether code for several architectures, or under another name for one, runs on a card."""
    return card in other_cards().generic.get(arch, frozenset())


@frozen
class Generation:
    """Cards that one last driver serves."""

    name: str
    first: Pair
    last: Pair
    driver: int
    source: str


@frozen
class Language:
    """A version of PTX."""

    version: Pair
    cuda: Pair
    """The toolkit that brought it."""
    driver: int
    """The first branch that compiles it."""


@frozen
class Drivers:
    """The content of ``drivers.toml``."""

    needed: dict[tuple[int, ...], int]
    """CUDA major, or major and minor, to the oldest branch that runs it."""
    windows: dict[int, str]
    """Branch to its first driver for Windows."""
    generations: tuple[Generation, ...]
    languages: tuple[Language, ...]
    """Versions of PTX, oldest first."""


@table("drivers.toml")
def drivers(check: Checker) -> Drivers:
    """Return what is known about drivers."""
    rows = check.rows("cuda", ["release", "driver"], ["windows"])
    needed = {dotted_numbers(row["release"]): row["driver"] for row in rows}
    windows = {row["driver"]: row["windows"] for row in rows if "windows" in row}
    return Drivers(needed, windows, check.values("generation", Generation), check.values("ptx", Language))


def driver_needed(major: int, minor: int) -> int | None:
    """Return the oldest driver branch that runs a CUDA release; None when the table does not know it."""
    needed = drivers().needed
    return needed.get((major, minor), needed.get((major,)))


def windows_driver(branch: int) -> str:
    """Return the first driver for Windows of a branch, as far as it is known; else the branch."""
    return drivers().windows.get(branch, str(branch))


def last_driver(major: int, minor: int) -> Generation | None:
    """Return the generation of a compute capability whose drivers have ended; None while there are new ones."""
    card = (major, minor)
    return next((item for item in drivers().generations if item.first <= card <= item.last), None)


def branch_of(driver: int) -> int:
    """Return the branch of a driver by the first part of its version: 475 is of branch 470, 552 of 550."""
    tables = drivers()
    branches = {*tables.needed.values(), *(item.driver for item in tables.generations)}
    branches |= {item.driver for item in tables.languages}
    return max((branch for branch in branches if branch <= driver), default=driver)


def driver_for_ptx(version: Pair) -> int | None:
    """Return the oldest driver branch that compiles a version of PTX; None for a version newer than the table."""
    return next((item.driver for item in drivers().languages if item.version >= version), None)


def cuda_of_driver(driver: int) -> Pair | None:
    """Return the newest CUDA release whose PTX a driver branch compiles; None for branches before the table."""
    return next((item.cuda for item in reversed(drivers().languages) if item.driver <= driver), None)


def toolkit_driver(cuda: Pair) -> int | None:
    """Return the driver branch that came with a CUDA release; None for a release that the table does not have."""
    return next((item.driver for item in drivers().languages if item.cuda == cuda), None)


def about_architecture(name: str) -> str:
    """Return which toolkits compile for an architecture, in a sentence."""
    capability = capability_of_arch(name.replace("compute_", "sm_"))
    known = architecture(capability) if capability else None
    if known is None:
        return "A newer toolkit may know it."
    first = "CUDA {}.{} is the first that compiles for it".format(*known.first_cuda)
    last = "" if known.last_cuda is None else ", {}.{} the last".format(*known.last_cuda)
    return f"{first}{last}."
