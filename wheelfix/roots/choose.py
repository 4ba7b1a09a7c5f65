"""The choice among candidates: which file is vendored for a missing DLL, why, and why not the others.

Roots that the user named come before discovered ones, and those before last resorts; a later rank is not even opened
when an earlier one has a file that serves. Within a rank: what has no objection, lies with its companions, stands by
itself and fits the wheel's versions; then the newest; within one root the folder order. What is still undecided is a
question for the user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.system import classify, runtime_file
from wheelfix.model import dll_key
from wheelfix.roots import tree
from wheelfix.roots.fit import cuda_fit, cuda_of, release_fit
from wheelfix.roots.outcome import Choice, Conflict, Considered, Need, NoCandidate, Terms
from wheelfix.roots.symbols import Serves, serves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wheelfix.model import Machine
    from wheelfix.roots.index import RootFile
    from wheelfix.roots.outcome import Facts, Outcome


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
            return f"{name} is never vendored: Python brings it"
        case "vcredist" if known.debug:
            return f"{name} is never vendored: a debug runtime must not be passed on"
        case "vcredist":
            return f"{name} belongs to the Visual C++ runtime, which is vendored only with --with-vcredist"
    return ""


@dataclass(frozen=True, slots=True)
class _Fit:
    """A candidate that would serve, with what ranks it."""

    file: RootFile
    serves: Serves
    objection: str
    lacks: tuple[str, ...]
    cuda: int
    release: int

    @property
    def rank(self) -> tuple[bool, int, bool, int, int]:
        """The smaller, the better."""
        return (bool(self.objection), len(self.lacks), bool(self.serves.brings), -self.cuda, -self.release)


def choose(need: Need, candidates: Sequence[RootFile], facts: Facts, terms: Terms | None = None) -> Outcome:
    """Return which of the candidates is vendored for a need, or why none is."""
    terms = terms or Terms()
    if refusal := never_vendored(need.name, need.machine, runtime=terms.runtime):
        return NoCandidate(need.name, refusal, tuple(Considered(file, "rejected", refusal) for file in candidates))
    if not candidates:
        return NoCandidate(need.name, f"no root has {need.name}")
    rejected: list[Considered] = []
    ranks = sorted({_standing(file) for file in candidates})
    for position, standing in enumerate(ranks):
        group = [file for file in candidates if _standing(file) == standing]
        fits: list[_Fit] = []
        for file in group:
            fit = _examine(need, file, facts, terms)
            if isinstance(fit, _Fit):
                fits.append(fit)
            else:
                rejected.append(Considered(file, "rejected", fit))
        if fits:
            later = [file for file in candidates if _standing(file) in ranks[position + 1 :]]
            passed = [Considered(file, "outranked", _STANDINGS[_standing(file)]) for file in later]
            return _decide(need, fits, facts, (*rejected, *passed))
    reason = f"no candidate for {need.name} serves: " + "; ".join(f"{c.file.location}: {c.reason}" for c in rejected)
    return NoCandidate(need.name, reason, tuple(rejected))


_STANDINGS = {
    1: "discovered; a root that was named comes first",
    2: "asked only when no other root has a file that serves",
}


def _standing(file: RootFile) -> int:
    return 0 if file.root.explicit else 2 if file.root.last_resort else 1


def _examine(need: Need, file: RootFile, facts: Facts, terms: Terms) -> _Fit | str:
    """Return how a candidate ranks, or why it does not serve."""
    if need.beside is not None and not _same_folder(file, need.beside):
        return f"its family comes from one folder, that of {need.beside.location}"
    if not _redistributable(file) and dll_key(need.name) not in terms.included:
        return f"the vendor does not allow to pass it on; --include {need.name} takes it all the same"
    verdict = serves(file, need.machine, need.needers, facts, terms.provided)
    if isinstance(verdict, str):
        return verdict
    objection = terms.objection(file)
    if objection is not None and objection.fatal:
        return objection.reason
    return _Fit(
        file,
        verdict,
        objection.reason if objection is not None else "",
        tuple(name for name in need.companions if facts.beside(file, name) is None),
        cuda_fit(cuda_of(file), need.cuda),
        release_fit(file, need.release, facts) if need.release else 1,
    )


def _redistributable(file: RootFile) -> bool:
    member = family_of(file.name)
    return file.folder.redistributable and (member is None or member.family.redistribute)


def _same_folder(file: RootFile, other: RootFile) -> bool:
    return file.root.path == other.root.path and file.folder.path == other.folder.path


def _decide(need: Need, fits: list[_Fit], facts: Facts, others: tuple[Considered, ...]) -> Choice | Conflict:
    best = min(fit.rank for fit in fits)
    top = [fit for fit in fits if fit.rank == best]
    below = [Considered(fit.file, "outranked", _why_below(fit, top[0])) for fit in fits if fit.rank != best]
    winner, reason, twins = top[0], "the only candidate that serves", list[_Fit]()
    if len(fits) > 1 or others:
        reason = _why_best(top[0], below, others)
    if len(top) > 1:
        decided = _newest(top, facts)
        if isinstance(decided, str):
            return _conflict(need, top, decided, (*below, *others))
        winner, said, twins, older = decided
        reason = said or reason
        below = [*older, *below]
    same = [Considered(fit.file, "identical", "the same bytes") for fit in twins if fit is not winner]
    considered = (Considered(winner.file, "chosen", reason), *same, *below, *others)
    return Choice(need.name, winner.file, reason, considered, tuple(_warnings(need, winner)), winner.serves.brings)


def _why_best(fit: _Fit, below: list[Considered], others: tuple[Considered, ...]) -> str:
    file = fit.file
    if below and fit.cuda == 3:
        return f"for CUDA {cuda_of(file)}, which the wheel wants"
    if below:
        return below[0].reason.replace("the chosen one", "it")
    if file.root.explicit and any(other.verdict == "outranked" for other in others):
        return f"named with {file.root.learned}" if file.root.learned.startswith("--") else "named by the user"
    return "the only candidate that serves"


def _why_below(fit: _Fit, best: _Fit) -> str:
    if bool(fit.objection) > bool(best.objection):
        return fit.objection
    if len(fit.lacks) > len(best.lacks):
        return f"{', '.join(fit.lacks)} does not lie beside it"
    if bool(fit.serves.brings) > bool(best.serves.brings):
        return f"it only forwards to {', '.join(fit.serves.brings)}; the chosen one stands by itself"
    if fit.cuda < best.cuda:
        told, better = cuda_of(fit.file), cuda_of(best.file)
        mine = f"for CUDA {told}" if told else "its CUDA release is not told"
        return f"{mine}; the chosen one is for CUDA {better}" if better else f"{mine}, which the wheel does not want"
    return f"of release {fit.file.version_hint or 'unknown'}; the chosen one fits the wheel better"


_Decided: TypeAlias = "tuple[_Fit, str, list[_Fit], list[Considered]]"


def _newest(top: list[_Fit], facts: Facts) -> _Decided | str:
    """Return the winner among equals, why, its twins and the older ones; or why it cannot be told."""
    groups = _by_content(top, facts)
    if len(groups) == 1:
        return groups[0][0], f"all {len(top)} candidates have the same bytes", groups[0], []
    versions = [_comparable(group[0], facts) for group in groups]
    for index, what in ((0, "version"), (1, "release")):
        column = [version[index] for version in versions]
        if not all(column):
            continue
        newest = max(column)
        if column.count(newest) == 1:
            group = groups[column.index(newest)]
            said = ".".join(map(str, newest))
            older = _older(groups, group, f"an older {what} than {said}")
            return group[0], f"the newest, {what} {said}", group, older
        if newest != min(column):
            # Some are older than the rest; only the rest still compete.
            rest = [group for group, number in zip(groups, column, strict=True) if number == newest]
            decided = _newest([fit for group in rest for fit in group], facts)
            if isinstance(decided, str):
                return decided
            winner, reason, twins, older = decided
            others = [fit for group in groups if group not in rest for fit in group]
            return (
                winner,
                reason,
                twins,
                [*older, *(Considered(f.file, "outranked", f"an older {what}") for f in others)],
            )
    if len({fit.file.root.path for fit in top}) == 1:
        return (
            groups[0][0],
            f"in the first folder that counts, {groups[0][0].file.folder.path}",
            groups[0],
            _older(groups, groups[0], "in a later folder of the same root"),
        )
    return "their bytes differ, and neither versions nor the order of folders tells which is right"


def _older(groups: list[list[_Fit]], winner: list[_Fit], reason: str) -> list[Considered]:
    return [Considered(fit.file, "outranked", reason) for group in groups if group is not winner for fit in group]


def _by_content(fits: list[_Fit], facts: Facts) -> list[list[_Fit]]:
    """Return the candidates grouped by their bytes, in order; only files of one size are hashed."""
    groups: dict[tuple[int, str], list[_Fit]] = {}
    sizes = [fit.file.size for fit in fits]
    for fit in fits:
        alone = sizes.count(fit.file.size) == 1
        groups.setdefault((fit.file.size, "" if alone else facts.sha256(fit.file)), []).append(fit)
    return list(groups.values())


def _comparable(fit: _Fit, facts: Facts) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the file's own version and that of its package or root; empty where it has none."""
    found = facts.version(fit.file)
    own = found.file if found is not None and any(found.file) else ()
    return own, tree.numbers(fit.file.version_hint)


def _conflict(need: Need, top: list[_Fit], reason: str, others: tuple[Considered, ...]) -> Conflict:
    files = tuple(fit.file for fit in top)
    places = " or ".join(f'--root "{file.root.path if file.root.is_file else _folder(file)}"' for file in files)
    rivals = tuple(Considered(file, "rival", reason) for file in files)
    hint = f"name the one you mean: {places}; or leave it out: --exclude {need.name}"
    return Conflict(need.name, files, f"{len(files)} files for {need.name}: {reason}", hint, (*rivals, *others))


def _folder(file: RootFile) -> str:
    return str(file.root.path / file.folder.path)


def _warnings(need: Need, fit: _Fit) -> list[str]:
    file = fit.file
    warnings = list(file.root.warnings)
    if fit.objection:
        warnings.append(fit.objection)
    if not _redistributable(file):
        warnings.append(f"the vendor does not allow to pass on {file.name} (it lies in {file.folder.path})")
    if fit.lacks:
        warnings.append(f"{', '.join(fit.lacks)} does not lie beside {file.name}")
    if need.cuda and fit.cuda == 0:
        warnings.append(f"{file.name} comes from CUDA {cuda_of(file)}, the wheel wants {need.cuda}")
    if need.release and fit.release == 0:
        warnings.append(f"{file.name} is of release {file.version_hint}, the wheel wants {need.release}")
    return warnings
