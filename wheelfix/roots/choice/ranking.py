"""How a candidate that would serve ranks among others, and why one ranks above another, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass

if TYPE_CHECKING:
    from wheelfix.roots.choice.serving import Serves
    from wheelfix.roots.rootfile import RootFile


@dataclass(frozen=True, slots=True)
class Ranking:
    """A candidate that would serve, with what ranks it."""

    file: RootFile
    serves: Serves
    objection: str
    absent_companions: tuple[str, ...]
    cuda: int
    release: int
    cuda_release: str
    """The CUDA release that it is for."""
    toolkit: int = 0
    """2 in the root that gives most of the one release, 1 certainly of that release, 0 perhaps."""

    @property
    def rank(self) -> tuple[bool, int, bool, int, int, int]:
        """The smaller, the better."""
        brings = bool(self.serves.brings)
        return (bool(self.objection), len(self.absent_companions), brings, -self.toolkit, -self.cuda, -self.release)


def absent_in_words(ranking: Ranking) -> str:
    """Return the companions that are not beside a file, as the beginning of a sentence."""
    return f"{', '.join(ranking.absent_companions)} {'is' if len(ranking.absent_companions) == 1 else 'are'}"


def advantage(ranking: Ranking, loser: Ranking) -> str:
    if loser.objection and not ranking.objection:
        return "the only one without an objection"
    if len(loser.absent_companions) > len(ranking.absent_companions):
        return "what it needs is beside it"
    if loser.serves.brings and not ranking.serves.brings:
        return "it has the code itself, the others only forward"
    if ranking.toolkit > loser.toolkit:
        return (
            "in the root that has most of this release" if loser.toolkit else "certainly of the release that was chosen"
        )
    if ranking.cuda > loser.cuda:
        cuda_release = ranking.cuda_release
        exact = "which the wheel needs" if ranking.cuda == 3 else "the nearest to what the wheel needs"
        return f"for CUDA {cuda_release}, {exact}" if cuda_release else "the others are for another CUDA than the wheel"
    return f"of release {ranking.file.version_hint}, which fits the wheel"


def disadvantage(ranking: Ranking, best: Ranking) -> str:
    if bool(ranking.objection) > bool(best.objection):
        return ranking.objection
    if len(ranking.absent_companions) > len(best.absent_companions):
        return f"{absent_in_words(ranking)} not beside it"
    if bool(ranking.serves.brings) > bool(best.serves.brings):
        return f"it only forwards to {', '.join(ranking.serves.brings)}; the chosen one has the code itself"
    if ranking.toolkit < best.toolkit:
        return "another root has most of this release" if ranking.toolkit else "its release is not certain"
    if ranking.cuda < best.cuda:
        cuda_release, better = ranking.cuda_release, best.cuda_release
        mine = f"for CUDA {cuda_release}" if cuda_release else "its CUDA release is not known"
        return f"{mine}; the chosen one is for CUDA {better}" if better else f"{mine}, which the wheel does not need"
    return f"of release {ranking.file.version_hint or 'unknown'}; the chosen one fits the wheel better"
