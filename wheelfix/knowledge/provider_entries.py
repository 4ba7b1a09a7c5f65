"""The lines of the provider index as values; ``provider_index`` describes them and answers questions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass
from wheelfix.knowledge.tables import TableFault
from wheelfix.model import Machine

if TYPE_CHECKING:
    from collections.abc import Sequence

DISTRIBUTIONS = "provider_distributions.txt"
DLLS = "provider_dlls.txt"
_MACHINES = {"win_amd64": Machine.AMD64, "win32": Machine.X86, "win_arm64": Machine.ARM64}


@dataclass(frozen=True, slots=True)
class ShippedDll:
    """A DLL of a distribution, in one folder."""

    name: str
    """Folded; with ``{py}`` or ``{py.}`` where the name has the version of Python."""
    distribution: str
    """Its normalised name."""
    folder: str
    """Under the prefix: ``Library/bin``, ``Lib/site-packages/torch/lib``; empty for the prefix itself."""
    versions: tuple[str, ...]
    """The versions that have it, of those that were looked at, from old to new."""
    looked_at: tuple[str, ...]
    """Every version that was looked at, from old to new."""

    @property
    def since(self) -> str:
        """The oldest version that has it, of those that were looked at."""
        return self.versions[0]

    @property
    def until(self) -> str:
        """The newest version that has it, of those that were looked at."""
        return self.versions[-1]


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A wheel whose members are in the index."""

    distribution: str
    version: str
    tags: str
    """As in the file name: ``cp311-cp311-win_amd64``."""

    @property
    def machine(self) -> Machine | None:
        """The processor it is for; None for a wheel for any."""
        return next((machine for tag, machine in _MACHINES.items() if self.tags.endswith(tag)), None)


@dataclass(frozen=True, slots=True)
class RequiredEntry:
    """A distribution that another one requires on Windows."""

    name: str
    """Normalised."""
    specifier: str
    """The versions that fit, as pip takes them; empty for any."""


@dataclass(frozen=True, slots=True)
class DistributionEntry:
    """A line of the table of distributions."""

    distribution: str
    wheels: tuple[LookedAt, ...]
    folders: tuple[str, ...]
    requirements: str
    """As in the table. Few questions are about them, and hundreds of distributions ship a DLL such as msvcp140.dll."""

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(wheel.version for wheel in self.wheels)

    def required_by(self, number: int) -> tuple[RequiredEntry, ...]:
        """Return what one of the versions requires."""
        try:
            texts = (text.partition("@") for text in self.requirements.split(" ") if text)
            count = len(self.wheels)
            return tuple(_parse_required(text) for text, _, of in texts if number in parse_numbers(of, count))
        except ValueError as exc:
            raise TableFault(DISTRIBUTIONS, [f"{self.distribution!r}: {exc}"]) from exc


def find_line(text: str, key: str) -> list[str]:
    """Return the fields after the first one of the line that begins with the key, in sorted lines; empty without one.

    A binary search finds a name in 20 steps, without a value for each line.
    """
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        start = text.rfind("\n", 0, middle) + 1
        end = text.find("\n", middle)
        end = end if end >= 0 else len(text)
        first, *rest = text[start:end].split("\t")
        if first == key:
            return rest
        if first < key:
            low = end + 1
        else:
            high = start
    return []


def parse_entry(distribution: str, fields: Sequence[str]) -> DistributionEntry:
    try:
        looked, folders, requirements = fields
        wheels: list[LookedAt] = []
        for wheel in looked.split(" "):
            version, _, tags = wheel.partition("/")
            wheels.append(LookedAt(distribution, version, wheels[-1].tags if tags == "-" else tags))
        return DistributionEntry(distribution, tuple(wheels), tuple(folders.split("|")), requirements)
    except (ValueError, IndexError) as exc:
        raise TableFault(DISTRIBUTIONS, [f"{distribution!r}: {exc}"]) from exc


def _parse_required(text: str) -> RequiredEntry:
    name = re.match(r"[a-z0-9-]+", text)
    if name is None:
        raise ValueError(f"{text!r} has no name")
    return RequiredEntry(name[0], text[name.end() :])


def parse_numbers(text: str, count: int) -> frozenset[int]:
    """Return the numbers of a list such as ``0-2,5``; an empty one means all below ``count``."""
    if not text:
        return frozenset(range(count))
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    if max(found) >= count:
        raise ValueError(f"version {max(found)} of {count}")
    return frozenset(found)
