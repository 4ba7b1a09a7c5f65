"""The values of a choice: what is needed, on which terms, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from wheelfix.base.values import dataclass
from wheelfix.model import Machine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from wheelfix.model import ImageFacts, Symbol
    from wheelfix.roots.rootfile import RootFile


@dataclass(frozen=True, slots=True)
class Needer:
    """Who asks for a DLL, and for what in it."""

    path: str
    symbols: tuple[Symbol, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """The releases of a toolkit that a wheel may have been built with."""

    releases: frozenset[str] = frozenset()
    """As ``11.7``; empty when unknown."""
    because: str = ""
    """How they are known."""

    @property
    def text(self) -> str:
        """The release, or the major alone where only that is known; empty when neither is."""
        if len(self.releases) == 1:
            return next(iter(self.releases))
        majors = {release.partition(".")[0] for release in self.releases}
        return majors.pop() if len(majors) == 1 else ""


@dataclass(frozen=True, slots=True)
class OneRelease:
    """The release of a toolkit that all libraries of a group are taken from."""

    group: str
    """``cuda``, ``mkl`` or ``tbb``."""
    release: str
    """As ``11.7``; empty when unknown the release of any candidate."""
    because: str
    root: Path | None = None
    """The root that has most of it."""
    refused: tuple[str, ...] = ()
    """Releases that are there and were not taken, each with the reason."""


@dataclass(frozen=True, slots=True)
class DllRequest:
    """A DLL that is wanted."""

    name: str
    machine: Machine = Machine.AMD64
    needers: tuple[Needer, ...] = ()
    cuda: str = ""
    """CUDA release of the wheel, as ``11.7``; empty when it has none."""
    release: str = ""
    """Release of the DLL's family that fits the wheel, as ``2023.2`` for MKL; empty when none is known."""
    companions: tuple[str, ...] = ()
    """DLLs that must come from the same folder, because a family comes whole and from one folder."""
    beside: RootFile | None = None
    """A member of the family that is chosen already: only its folder counts."""
    one_release: OneRelease | None = None
    """The release that everything of the DLL's group is taken from."""


@dataclass(frozen=True, slots=True)
class Objection:
    """An objection to a candidate, such as that it has no code for the user's card."""

    reason: str
    fatal: bool = False
    """Rejects the candidate; otherwise it comes after those without objection, and with a warning."""


def no_objection(_file: RootFile) -> Objection | None:
    """Return None, as for every file."""
    return None


def nothing_provided(_name: str) -> ImageFacts | None:
    """Return None, as for a wheel that brings nothing."""
    return None


@dataclass(frozen=True, slots=True)
class Terms:
    """What the user and the wheel allow, beyond the one DLL."""

    runtime: bool = False
    """The Visual C++ runtime may be taken (``--with-vcredist``)."""
    included: frozenset[str] = frozenset()
    """Keys of DLLs that the user asked for by name, even if they are not redistributable."""
    objection: Callable[[RootFile], Objection | None] = no_objection
    """A further check of a candidate."""
    provided: Callable[[str], ImageFacts | None] = nothing_provided
    """The image of that name which the wheel has or the plan already adds: forwarders may lead there."""


Verdict: TypeAlias = Literal["chosen", "identical", "outranked", "rejected", "rival"]


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate and what became of it."""

    file: RootFile
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The file to vendor."""

    name: str
    winner: RootFile
    reason: str
    considered: tuple[Considered, ...]
    """All candidates, the winner first."""
    warnings: tuple[str, ...] = ()
    brings: tuple[str, ...] = ()
    """DLLs that must be vendored too, because the winner forwards to them."""

    @property
    def rejected(self) -> tuple[tuple[RootFile, str], ...]:
        """The candidates that would not have served, with the reason."""
        return _rejected(self.considered)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Several different files, and no rule that decides between them."""

    name: str
    rivals: tuple[RootFile, ...]
    reason: str
    hint: str
    considered: tuple[Considered, ...]

    @property
    def rejected(self) -> tuple[tuple[RootFile, str], ...]:
        """The candidates that would not have served, with the reason."""
        return _rejected(self.considered)


@dataclass(frozen=True, slots=True)
class NoCandidate:
    """Nothing that could be vendored."""

    name: str
    reason: str
    considered: tuple[Considered, ...] = ()

    @property
    def rejected(self) -> tuple[tuple[RootFile, str], ...]:
        """The candidates that would not have served, with the reason."""
        return _rejected(self.considered)


Outcome: TypeAlias = "Choice | Conflict | NoCandidate"


def _rejected(considered: tuple[Considered, ...]) -> tuple[tuple[RootFile, str], ...]:
    return tuple((entry.file, entry.reason) for entry in considered if entry.verdict == "rejected")
