"""One release for all libraries of a vendor: which toolkit a wheel takes its CUDA, oneMKL or oneTBB DLLs from, and why.

DLLs of one toolkit are built and tested together; a name says little (``curand64_10.dll`` is in every toolkit from 10.1
to 13). So the release is chosen once, before any single file: what the wheel was built with, else the release that
has most of what is needed, else the newest. Roots that the user named come before discovered ones, as for files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field, replace
from wheelfix.model import dll_key
from wheelfix.roots import tree
from wheelfix.roots.choice.choose import examine, standing
from wheelfix.roots.choice.model import DllRequest, OneRelease, Terms, Wanted
from wheelfix.roots.choice.release import GROUPS, possible_releases

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.rootfile import RootFile


@dataclass(slots=True)
class _Offer:
    """What one release has of the needed DLLs, in roots of one standing."""

    release: str
    names: set[str] = field(default_factory=set)
    roots: dict[Path, set[str]] = field(default_factory=dict)
    labels: dict[Path, tuple[int, ...]] = field(default_factory=dict)

    def add(self, file: RootFile) -> None:
        self.names.add(file.key)
        self.roots.setdefault(file.root.path, set()).add(file.key)
        self.labels[file.root.path] = tree.numbers(file.root.version)


def choose_release(
    group: str, needs: Sequence[DllRequest], index: RootIndex, wanted: Wanted, terms: Terms | None = None
) -> OneRelease:
    """Return the one release that all needs of a group are met from; without a release when nothing shows one."""
    terms = terms or Terms()
    # Another major is refused here, with its release, and not file by file.
    files = [(replace(need, cuda=""), file) for need in needs for file in index.candidates(need.name)]
    refused: dict[str, list[str]] = {}
    for rank in sorted({standing(file) for _, file in files}):
        offers: dict[str, _Offer] = {}
        for need, file in files:
            if standing(file) != rank or isinstance(examine(need, file, index, terms), str):
                continue
            releases = possible_releases(file, index)
            if len(releases) == 1:
                release = next(iter(releases))
                offers.setdefault(release, _Offer(release)).add(file)
        fitting = [offer for offer in offers.values() if _distance(offer.release, wanted) < OTHER]
        for offer in offers.values():
            if offer not in fitting:
                refused.setdefault(offer.release, []).append(f"another major than the wheel needs ({wanted.because})")
        if fitting:
            best = min(fitting, key=lambda offer: _rank(offer, wanted))
            later = [file for _, file in files if standing(file) > rank]
            if _distance(best.release, wanted) and any(
                possible_releases(file, index) == wanted.releases for file in later
            ):
                refused.setdefault(wanted.text, []).append(
                    "only in roots that come later: named ones come first, caches and PATH last"
                )
            return _chosen(group, best, fitting, needs, wanted, refused)
    return OneRelease(group, "", "", None, _refusals(group, refused))


OTHER = 9
"""The distance of a release of another major, which is never taken."""


def _distance(release: str, wanted: Wanted) -> int:
    """Return how far a release is from what the wheel was built with: 0 the same, 1 newer, 2 older, 9 another major."""
    if not wanted.releases or release in wanted.releases:
        return 0
    mine = tree.numbers(release)
    theirs = [tree.numbers(name) for name in wanted.releases]
    if mine[:1] not in {other[:1] for other in theirs}:
        return OTHER
    return 1 if mine > max(other for other in theirs if other[:1] == mine[:1]) else 2


def _rank(offer: _Offer, wanted: Wanted) -> tuple[int, int, tuple[int, ...]]:
    distance = _distance(offer.release, wanted)
    numbers = tree.numbers(offer.release)
    # The nearest newer one; otherwise, and among equals, the newest.
    nearness = numbers if distance == 1 else tuple(-number for number in numbers)
    return (distance, -len(offer.names), nearness)


def _chosen(
    group: str,
    best: _Offer,
    fitting: list[_Offer],
    needs: Sequence[DllRequest],
    wanted: Wanted,
    refused: dict[str, list[str]],
) -> OneRelease:
    others = [offer for offer in fitting if offer is not best]
    for offer in others:
        only = sorted(need.name for need in needs if dll_key(need.name) in offer.names - best.names)
        extra = f", although only it has {', '.join(only)}" if only else ""
        refused.setdefault(offer.release, []).append(f"releases are not mixed{extra}")
    why = _why(best, others, wanted, known=wanted.text in refused)
    return OneRelease(group, best.release, why, _main_root(best), _refusals(group, refused))


def _why(best: _Offer, others: list[_Offer], wanted: Wanted, *, known: bool) -> str:
    if wanted.releases and len(wanted.releases) == 1:
        if best.release in wanted.releases:
            return f"the wheel was built for it ({wanted.because})"
        asked = next(iter(wanted.releases))
        side = "newer" if _distance(best.release, wanted) == 1 else "older"
        where = "is not in the roots that come first" if known else "is in no root"
        return f"{asked}, which the wheel was built for ({wanted.because}), {where}; this is {side}, of the same major"
    if not others:
        return "the only release that has what is needed"
    if any(len(other.names) < len(best.names) for other in others) and not any(
        len(other.names) == len(best.names) for other in others
    ):
        return "it has most of what is needed"
    return "the newest of those that have most of what is needed"


def _main_root(offer: _Offer) -> Path | None:
    """Return the root that has most of a release; None when two have as much and none is newer."""
    ranked = sorted(offer.roots, key=lambda path: (len(offer.roots[path]), offer.labels[path]), reverse=True)
    if len(ranked) > 1:
        first, second = ((len(offer.roots[path]), offer.labels[path]) for path in ranked[:2])
        if first == second:
            return None
    return ranked[0] if ranked else None


def _refusals(group: str, refused: dict[str, list[str]]) -> tuple[str, ...]:
    title = GROUPS[group]
    ordered = sorted(refused, key=tree.numbers)
    return tuple(f"{title} {release}: {'; '.join(dict.fromkeys(refused[release]))}" for release in ordered)
