"""The choice among candidates: which file is vendored for a missing DLL, why, and why not the others.

Roots that the user named come before discovered ones, and those before last resorts; a later rank is not even opened
when an earlier one has a file that serves. Within a rank: what has no objection, lies with its companions, stands by
itself and fits the wheel's versions; then the newest; within one root the folder order. What is still undecided is a
question for the user.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from wheelfix.base.values import dataclass
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.system import classify, runtime_file
from wheelfix.model import dll_key
from wheelfix.roots import tree
from wheelfix.roots.choice.model import Choice, Conflict, Considered, DllRequest, NoCandidate, Objection, Terms
from wheelfix.roots.choice.ranking import Ranking, absent_in_words, advantage, disadvantage
from wheelfix.roots.choice.release import (
    GROUPS,
    SEPARATE,
    cuda_compatibility,
    cuda_release_of,
    possible_releases,
    release_compatibility,
    stated_version,
)
from wheelfix.roots.choice.serving import serves

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wheelfix.model import Machine
    from wheelfix.roots.choice.model import OneRelease, Outcome
    from wheelfix.roots.rootfile import Facts, RootFile


def never_vendored(name: str, machine: Machine, *, runtime: bool = False) -> str:
    """Return why a DLL of that name is never taken, or an empty string when it may be."""
    known = classify(name, machine)
    if runtime and runtime_file(name) is not None and not known.debug:
        return ""
    match known.kind:
        case "driver":
            return f"{name} is never vendored: {known.detail or 'a driver installs it'}"
        case "system" | "api-set" | "ucrt":
            return f"{name} is never vendored: it is part of Windows"
        case "python" if not known.folder:  # what lies in DLLs is found by Python's own modules alone
            return f"{name} is never vendored: it comes with Python"
        case "vcredist" if known.debug:
            return f"{name} is never vendored: a debug runtime must not be redistributed"
        case "vcredist":
            return f"{name} belongs to the Visual C++ runtime, which is vendored only with --with-vcredist"
    return ""


def choose(need: DllRequest, candidates: Sequence[RootFile], facts: Facts, terms: Terms | None = None) -> Outcome:
    """Return which of the candidates is vendored for a need, or why none is."""
    terms = terms or Terms()
    if refusal := never_vendored(need.name, need.machine, runtime=terms.runtime):
        return NoCandidate(need.name, refusal, tuple(Considered(file, "rejected", refusal) for file in candidates))
    if not candidates:
        return NoCandidate(need.name, f"no root has {need.name}")
    rejected: list[Considered] = []
    ranks = sorted({standing(file) for file in candidates})
    for position, rank in enumerate(ranks):
        group = [file for file in candidates if standing(file) == rank]
        rankings: list[Ranking] = []
        for file in group:
            ranking = examine(need, file, facts, terms)
            if isinstance(ranking, Ranking):
                rankings.append(ranking)
            else:
                rejected.append(Considered(file, "rejected", ranking))
        if rankings:
            later = [file for file in candidates if standing(file) in ranks[position + 1 :]]
            passed = [Considered(file, "outranked", _STANDINGS[standing(file)]) for file in later]
            return _decide(need, rankings, facts, (*rejected, *passed))
    reasons = [f"{entry.file.location}: {entry.reason}" for entry in rejected[:MAX_NAMED]]
    reasons += [f"and {len(rejected) - MAX_NAMED} more"] if len(rejected) > MAX_NAMED else []
    return NoCandidate(need.name, f"no candidate for {need.name} is suitable: {'; '.join(reasons)}", tuple(rejected))


MAX_NAMED = 4
"""Rejected candidates in one sentence; all of them are in ``considered``."""


_STANDINGS = {
    1: "found automatically; a root that was named comes first",
    2: "used only if no other root has a suitable file",
}


def standing(file: RootFile) -> int:
    """Return 0 for a file of a root that was named, 1 for a discovered one, 2 for a last resort."""
    return 0 if file.root.explicit else 2 if file.root.last_resort else 1


def examine(need: DllRequest, file: RootFile, facts: Facts, terms: Terms) -> Ranking | str:
    """Return how a candidate ranks, or why it does not serve."""
    if need.beside is not None and not _same_folder(file, need.beside):
        return f"its family comes from one folder, that of {need.beside.location}"
    if not _redistributable(file) and dll_key(need.name) not in terms.included:
        return f"the vendor does not allow redistribution; --include {need.name} adds it nevertheless"
    verdict = serves(file, need.machine, need.needers, facts, terms.provided)
    if isinstance(verdict, str):
        return verdict
    objection = terms.objection(file)
    if objection is not None and objection.fatal:
        return objection.reason
    cuda_release = cuda_release_of(file, facts) if need.cuda else ""
    cuda = cuda_compatibility(cuda_release, need.cuda)
    other = _other_release(need, file, facts) or _other_major(need, file, cuda_release)
    if other and dll_key(need.name) not in terms.included:
        return f"{other}; --include {need.name} takes it all the same"
    if other:
        objection = objection or Objection(other)
    return Ranking(
        file,
        verdict,
        objection.reason if objection is not None else "",
        tuple(name for name in need.companions if facts.beside(file, name) is None),
        cuda,
        release_compatibility(file, need.release, facts) if need.release else 1,
        cuda_release,
        _toolkit_rank(need.one_release, file, facts),
    )


def _other_release(need: DllRequest, file: RootFile, facts: Facts) -> str:
    """Return that a candidate is of another release than the one chosen for its group; nothing when it may be of it."""
    one = need.one_release
    if one is None or not one.release:
        return ""
    possible = possible_releases(file, facts)
    if not possible or one.release in possible:
        return ""
    found = " or ".join(sorted(possible, key=tree.numbers)) if len(possible) < 3 else "another release"
    title = GROUPS[one.group]
    return f"of {title} {found}; this wheel takes its {title} libraries from {one.release}: {one.because}"


_CUDA = ("cuda", "cudnn", "cuda-extra")
"""Groups of families that are built for one CUDA major."""


def _other_major(need: DllRequest, file: RootFile, cuda_release: str) -> str:
    """Return that a candidate was made for another CUDA major than the wheel, which never works."""
    member = family_of(file.name)
    if (
        cuda_compatibility(cuda_release, need.cuda)
        or member is None
        or member.family.group not in _CUDA
        or member.family.id in SEPARATE
    ):
        return ""
    return f"for CUDA {cuda_release}; the wheel is for CUDA {need.cuda}"


def _toolkit_rank(one: OneRelease | None, file: RootFile, facts: Facts) -> int:
    if one is None or not one.release or possible_releases(file, facts) != {one.release}:
        return 0
    return 2 if file.root.path == one.root else 1


def _redistributable(file: RootFile) -> bool:
    member = family_of(file.name)
    return file.folder.redistributable and (member is None or member.family.redistribute)


def _same_folder(file: RootFile, other: RootFile) -> bool:
    return file.root.path == other.root.path and file.folder.path == other.folder.path


def _decide(
    need: DllRequest, rankings: list[Ranking], facts: Facts, others: tuple[Considered, ...]
) -> Choice | Conflict:
    best = min(ranking.rank for ranking in rankings)
    top = [ranking for ranking in rankings if ranking.rank == best]
    losers = [ranking for ranking in rankings if ranking.rank != best]
    below = [Considered(ranking.file, "outranked", disadvantage(ranking, top[0])) for ranking in losers]
    contest = _Contest([top], _why_best(top[0], losers, others), []) if len(top) == 1 else _newest(top, facts)
    if len(contest.left) > 1:
        return _conflict(
            need, [ranking for group in contest.left for ranking in group], (*contest.older, *below, *others)
        )
    winner, *twins = contest.left[0]
    below = [*contest.older, *below]
    reason = contest.reason
    same = [Considered(ranking.file, "identical", "the same bytes") for ranking in twins]
    considered = (Considered(winner.file, "chosen", reason), *same, *below, *others)
    return Choice(need.name, winner.file, reason, considered, tuple(_warnings(need, winner)), winner.serves.brings)


def _why_best(ranking: Ranking, losers: list[Ranking], others: tuple[Considered, ...]) -> str:
    """Return what set the winner apart from the one that came nearest."""
    if losers:
        return advantage(ranking, min(losers, key=lambda loser: loser.rank))
    root = ranking.file.root
    if root.explicit and any(other.verdict == "outranked" for other in others):
        return f"named with {root.learned}"
    return "the only suitable candidate"


@dataclass(frozen=True, slots=True)
class _Contest:
    """What is left of equals when the newest was looked for."""

    left: list[list[Ranking]]
    """Grouped by content; more than one group means that nothing decides."""
    reason: str
    older: list[Considered]


def _newest(top: list[Ranking], facts: Facts) -> _Contest:
    """Return who is left among equals: those of the newest version, in one root those of the first folder."""
    groups = _by_content(top, facts)
    reason, older = f"all {len(top)} candidates have the same bytes", list[Considered]()
    for what, measure in _measures(top, facts):
        column = measure(groups) if len(groups) > 1 else []
        if not column or not all(column) or max(column) == min(column):
            continue
        said = ".".join(map(str, max(column)))
        reason = f"the newest, {what} {said}"
        left = [group for group, number in zip(groups, column, strict=True) if number == max(column)]
        older += _outranked(groups, left, f"an older {what} than {said}")
        groups = left
    if len(groups) > 1 and len({ranking.file.root.path for group in groups for ranking in group}) == 1:
        reason = f"in the first folder that is searched, {groups[0][0].file.folder.path}"
        older += _outranked(groups, groups[:1], "in a later folder of the same root")
        groups = groups[:1]
    return _Contest(groups, reason, older)


def _measures(top: list[Ranking], facts: Facts) -> Sequence[tuple[str, _Measure]]:
    """Return how age is measured: by the file's own version, then by the release of what it came in.

    Within one package the release comes first: a name shows it, while a file's version may lie behind hundreds of
    megabytes that have to be inflated.
    """
    measures: list[tuple[str, _Measure]] = [
        ("version", lambda groups: _versions(groups, facts)),
        ("release", _releases),
    ]
    packages = {ranking.file.package for ranking in top}
    return measures[::-1] if len(packages) == 1 and "" not in packages else measures


_Measure: TypeAlias = "Callable[[list[list[Ranking]]], list[tuple[int, ...]]]"


def _outranked(groups: list[list[Ranking]], left: list[list[Ranking]], reason: str) -> list[Considered]:
    return [Considered(ranking.file, "outranked", reason) for group in groups if group not in left for ranking in group]


def _by_content(rankings: list[Ranking], facts: Facts) -> list[list[Ranking]]:
    """Return the candidates grouped by their bytes, in order; only files of one size are hashed."""
    groups: dict[tuple[int, str], list[Ranking]] = {}
    sizes = [ranking.file.size for ranking in rankings]
    for ranking in rankings:
        alone = sizes.count(ranking.file.size) == 1
        groups.setdefault((ranking.file.size, "" if alone else facts.sha256(ranking.file)), []).append(ranking)
    return list(groups.values())


def _versions(groups: list[list[Ranking]], facts: Facts) -> list[tuple[int, ...]]:
    """Return the version of the library that each group's file is; empty where nothing states it."""
    return [stated_version(group[0].file, facts) for group in groups]


def _releases(groups: list[list[Ranking]]) -> list[tuple[int, ...]]:
    """Return the release of each group's package or root; nothing when these count in different ways."""
    files = [group[0].file for group in groups]
    if len({(file.package, "" if file.package else file.root.kind) for file in files}) > 1:
        return []
    return [tree.numbers(file.version_hint) for file in files]


def _conflict(need: DllRequest, top: list[Ranking], others: tuple[Considered, ...]) -> Conflict:
    reason = "their bytes differ, and neither versions nor the order of folders shows which is right"
    files = tuple(ranking.file for ranking in top)
    places = " or ".join(f'--root "{file.root.path if file.root.is_file else _folder(file)}"' for file in files)
    rivals = tuple(Considered(file, "rival", reason) for file in files)
    hint = f"name the one you mean: {places}; or leave it out: --exclude {need.name}"
    return Conflict(need.name, files, f"{len(files)} files for {need.name}: {reason}", hint, (*rivals, *others))


def _folder(file: RootFile) -> str:
    return str(file.root.path / file.folder.path)


def _warnings(need: DllRequest, ranking: Ranking) -> list[str]:
    file = ranking.file
    warnings = list(file.root.warnings)
    if ranking.objection:
        warnings.append(ranking.objection)
    if not _redistributable(file):
        warnings.append(f"the vendor does not allow redistributing {file.name} (it is in {file.folder.path})")
    if ranking.absent_companions:
        warnings.append(f"{absent_in_words(ranking)} not beside {file.name}")
    if need.release and ranking.release == 0:
        warnings.append(f"{file.name} is of release {file.version_hint}, the wheel needs {need.release}")
    return warnings
