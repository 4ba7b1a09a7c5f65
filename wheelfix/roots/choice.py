"""The choice among candidates: which file is vendored for a missing DLL, why, and why not the others.

Roots that the user named come before discovered ones, and those before last resorts; a later rank is not even opened
when an earlier one has a file that serves. Within a rank: what has no objection, lies with its companions, stands by
itself and fits the wheel's versions; then the newest; within one root the folder order. What is still undecided is a
question for the user.

A toolkit's release is chosen once, before any single file: its DLLs are built and tested together, and a name says
little (``curand64_10.dll`` is in every toolkit from 10.1 to 13). It is what the wheel was built with, else the release
that has most of what is needed, else the newest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from wheelfix.base.parsing import dotted_numbers
from wheelfix.base.values import dataclass, field, frozen, grouped, replace
from wheelfix.knowledge.cards import capability_of_arch, library_release
from wheelfix.knowledge.companions import companions_of
from wheelfix.knowledge.families import family_of
from wheelfix.knowledge.system import classify, runtime_file
from wheelfix.loader.loading import split_forwarder
from wheelfix.model import Image, ImageFacts, Machine, Malformed, Symbol, dll_key, fold, spelled
from wheelfix.roots.release import (
    GROUPS,
    SEPARATE,
    OneRelease,
    Wanted,
    compatibility,
    cuda_release_of,
    possible_releases,
    release_compatibility,
    stated_version,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from wheelfix.roots.index import RootIndex
    from wheelfix.roots.root import Root, RootFile


T = TypeVar("T")


@frozen
class Needer:
    """Who asks for a DLL, and for what in it."""

    path: str
    symbols: tuple[Symbol, ...] = ()


@frozen
class Objection:
    """An objection to a candidate, such as that it has no code for the user's card."""

    reason: str
    fatal: bool = False
    """Rejects the candidate; otherwise it comes after those without objection, and with a warning."""


@frozen
class DllRequest:
    """A DLL that is wanted, and what the user and the wheel allow."""

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
    runtime: bool = False
    """The Visual C++ runtime may be taken (``--with-vcredist``)."""
    included: frozenset[str] = frozenset()
    """Keys of DLLs that the user asked for by name, even if they are not redistributable."""
    objection: Callable[[RootFile], Objection | None] = lambda _file: None
    """A further check of a candidate."""
    provided: Callable[[str], ImageFacts | None] = lambda _name: None
    """The image of that name which the wheel has or the plan already adds: forwarders may lead there."""


Verdict: TypeAlias = Literal["chosen", "identical", "outranked", "rejected", "rival"]


@frozen
class Considered:
    """A candidate and what became of it."""

    file: RootFile
    verdict: Verdict
    reason: str


@frozen
class Choice:
    """The file to vendor, or why there is none."""

    winner: RootFile | None
    """None where nothing serves, or where no rule decides between several different files."""
    reason: str
    considered: tuple[Considered, ...] = ()
    """All candidates, the winner first."""
    warnings: tuple[str, ...] = ()


MAX_HOPS = 16
"""Forwarders that may follow upon each other; Windows' own have two or three."""


def serves(need: DllRequest, file: RootFile, index: RootIndex) -> tuple[str, ...] | str:
    """Return the DLLs beside a candidate that it needs to serve all needers, or the reason why it does not."""
    machine, image = need.machine, index.image(file)
    if isinstance(image, Malformed):
        return f"not a DLL that can be loaded: {image.reason}"
    if image.machine is not machine:
        return f"for {image.machine}, not for {machine}"
    if debug := next((need.dll for need in image.imports if classify(need.dll, machine).debug), ""):
        return f"a debug build: it imports {debug}, which only machines with Visual Studio have"
    asked = [(needer.path, symbol) for needer in need.needers for symbol in needer.symbols]
    missing = [(path, symbol) for path, symbol in asked if not image.exports.offers(symbol)]
    if missing:
        return _missing_exports(missing)
    wanted = {symbol for _, symbol in asked}
    forwarders = image.exports.forwarders
    used = [symbol for symbol in forwarders if symbol in wanted]
    # Of a DLL that is loaded by name we do not know what will be asked; every name may be.
    names = used if wanted else [symbol for symbol in forwarders if isinstance(symbol, str)]
    brings: dict[str, str] = {}
    faults = [fault for name in names if (fault := _follow(name, forwarders[name], file, need, index, brings))]
    if faults and (wanted or len(faults) == len(image.exports.names)):
        return faults[0]
    return tuple(brings.values())


def _missing_exports(missing: list[tuple[str, Symbol]]) -> str:
    importer, symbol = missing[0]
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    return f"it does not export {spelled(symbol)}, which {importer} imports{more}"


def _follow(
    symbol: Symbol, first: str, file: RootFile, need: DllRequest, index: RootIndex, brings: dict[str, str]
) -> str:
    """Return what is wrong with a forwarder, or nothing; note the DLLs that it brings."""
    target = first
    for _ in range(MAX_HOPS):
        name, wanted = split_forwarder(target)
        if classify(name, need.machine).on_every_machine:
            return ""
        own, neighbour = need.provided(name), index.beside(file, name)
        image = own or (index.image(neighbour) if neighbour is not None else None)
        if not isinstance(image, Image):
            return f"it forwards {symbol} to {name}, which is not beside it"
        if not image.exports.offers(wanted):
            return f"it forwards {symbol} to {name}, which does not export {wanted}"
        if neighbour is not None and own is None:
            brings.setdefault(dll_key(name), neighbour.name)
        further = image.exports.forwarders.get(wanted)
        if further is None:
            return ""
        target = further
    return f"its forwarder of {symbol} to {first} has no end"


@frozen
class Ranking:
    """A candidate that would serve, with what ranks it."""

    file: RootFile
    brings: tuple[str, ...]
    """DLLs beside it to which it forwards."""
    objection: str
    absent_companions: tuple[str, ...]
    cuda: int
    release: int
    cuda_release: str
    """The CUDA release that it is for."""
    toolkit: int = 0
    """2 in the root that gives most of the one release, 1 certainly of that release, 0 perhaps."""

    @property
    def rank(self) -> tuple[int, ...]:
        """The smaller, the better."""
        absent = len(self.absent_companions)
        return (bool(self.objection), absent, bool(self.brings), -self.toolkit, -self.cuda, -self.release)


def absent_in_words(ranking: Ranking) -> str:
    """Return the companions that are not beside a file, as the beginning of a sentence."""
    return f"{', '.join(ranking.absent_companions)} {'is' if len(ranking.absent_companions) == 1 else 'are'}"


def difference(best: Ranking, other: Ranking) -> tuple[str, str]:
    """Return why one candidate is better than another, and why the other is not: the first thing that ranks them."""
    mine, better = best.cuda_release, other.cuda_release
    exact = "which the wheel needs" if best.cuda == 3 else "the nearest to what the wheel needs"
    cuda = f"for CUDA {better}" if better else "its CUDA release is not known"
    words = (
        ("the only one without an objection", other.objection),
        ("what it needs is beside it", f"{absent_in_words(other)} not beside it"),
        (
            "it has the code itself, the others only forward",
            f"it only forwards to {', '.join(other.brings)}; the chosen one has the code itself",
        ),
        ("in the root that has most of this release", "another root has most of this release")
        if other.toolkit
        else ("certainly of the release that was chosen", "its release is not certain"),
        (f"for CUDA {mine}, {exact}", f"{cuda}; the chosen one is for CUDA {mine}")
        if mine
        else ("the others are for another CUDA than the wheel", f"{cuda}, which the wheel does not need"),
        (
            f"of release {best.file.version_hint}, which fits the wheel",
            f"of release {other.file.version_hint or 'unknown'}; the chosen one fits the wheel better",
        ),
    )
    first = next(number for number, pair in enumerate(zip(best.rank, other.rank, strict=True)) if pair[0] != pair[1])
    return words[first]


def never_vendored(name: str, machine: Machine, *, runtime: bool) -> str:
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


def choose(need: DllRequest, index: RootIndex) -> Choice:
    """Return which file of the roots is vendored for a need, or why none is."""
    candidates = index.candidates(need.name)
    if refusal := never_vendored(need.name, need.machine, runtime=need.runtime):
        return Choice(None, refusal, tuple(Considered(file, "rejected", refusal) for file in candidates))
    if not candidates:
        return Choice(None, f"no root has {need.name}")
    rejected: list[Considered] = []
    for rank, group in sorted(grouped((standing(file), file) for file in candidates).items()):
        rankings: list[Ranking] = []
        for file in group:
            ranking = examine(need, file, index)
            if isinstance(ranking, Ranking):
                rankings.append(ranking)
            else:
                rejected.append(Considered(file, "rejected", ranking))
        if rankings:
            later = (file for file in candidates if standing(file) > rank)
            passed = [Considered(file, "outranked", _STANDINGS[standing(file)]) for file in later]
            return _decide(need, rankings, index, (*rejected, *passed))
    reasons = [f"{entry.file.location}: {entry.reason}" for entry in rejected[:MAX_NAMED]]
    reasons += [f"and {len(rejected) - MAX_NAMED} more"] if len(rejected) > MAX_NAMED else []
    return Choice(None, f"no candidate for {need.name} is suitable: {'; '.join(reasons)}", tuple(rejected))


MAX_NAMED = 4
"""Rejected candidates in one sentence; all of them are in ``considered``."""


_STANDINGS = {
    1: "found automatically; a root that was named comes first",
    2: "used only if no other root has a suitable file",
}


def standing(file: RootFile) -> int:
    """Return 0 for a file of a root that was named, 1 for a discovered one, 2 for a last resort."""
    return 0 if file.root.explicit else 2 if file.root.last_resort else 1


def examine(need: DllRequest, file: RootFile, facts: RootIndex) -> Ranking | str:
    """Return how a candidate ranks, or why it does not serve."""
    if need.beside is not None and _folder(file) != _folder(need.beside):
        return f"its family comes from one folder, that of {need.beside.location}"
    if not _redistributable(file) and dll_key(need.name) not in need.included:
        return f"the vendor does not allow redistribution; --include {need.name} adds it nevertheless"
    brings = serves(need, file, facts)
    if isinstance(brings, str):
        return brings
    objection = need.objection(file)
    if objection is not None and objection.fatal:
        return objection.reason
    cuda_release = cuda_release_of(file, facts) if need.cuda else ""
    cuda = compatibility(cuda_release, need.cuda)
    other = _other_release(need, file, facts) or _other_major(need, file, cuda_release)
    if other and dll_key(need.name) not in need.included:
        return f"{other}; --include {need.name} takes it all the same"
    if other:
        objection = objection or Objection(other)
    return Ranking(
        file,
        brings,
        objection.reason if objection is not None else "",
        tuple(name for name in need.companions if facts.beside(file, name) is None),
        cuda,
        release_compatibility(file, need.release, facts) if need.release else 1,
        cuda_release,
        _toolkit_rank(need.one_release, file, facts),
    )


def _other_release(need: DllRequest, file: RootFile, facts: RootIndex) -> str:
    """Return that a candidate is of another release than the one chosen for its group; nothing when it may be of it."""
    one = need.one_release
    if one is None or not one.release:
        return ""
    possible = possible_releases(file, facts)
    if not possible or one.release in possible:
        return ""
    found = " or ".join(sorted(possible, key=dotted_numbers)) if len(possible) < 3 else "another release"
    title = GROUPS[one.group]
    return f"of {title} {found}; this wheel takes its {title} libraries from {one.release}: {one.because}"


_CUDA = ("cuda", "cudnn", "cuda-extra")
"""Groups of families that are built for one CUDA major."""


def _other_major(need: DllRequest, file: RootFile, cuda_release: str) -> str:
    """Return that a candidate was made for another CUDA major than the wheel, which never works."""
    family = family_of(file.name)
    if compatibility(cuda_release, need.cuda) or family.group not in _CUDA or family.id in SEPARATE:
        return ""
    return f"for CUDA {cuda_release}; the wheel is for CUDA {need.cuda}"


def _toolkit_rank(one: OneRelease | None, file: RootFile, facts: RootIndex) -> int:
    if one is None or not one.release or possible_releases(file, facts) != {one.release}:
        return 0
    return 2 if file.root.path == one.root else 1


def _redistributable(file: RootFile) -> bool:
    return file.folder.redistributable and family_of(file.name).redistribute


def _decide(need: DllRequest, rankings: list[Ranking], facts: RootIndex, others: tuple[Considered, ...]) -> Choice:
    best = min(ranking.rank for ranking in rankings)
    top = [ranking for ranking in rankings if ranking.rank == best]
    losers = [ranking for ranking in rankings if ranking.rank != best]
    below = [Considered(ranking.file, "outranked", difference(top[0], ranking)[1]) for ranking in losers]
    groups, reason = [top], _why_best(top[0], losers, others)
    if len(top) > 1:
        groups, reason, older = _newest(top, facts)
        below = [*older, *below]
    if len(groups) > 1:
        return _conflict(need, [ranking for group in groups for ranking in group], (*below, *others))
    winner, *twins = groups[0]
    same = [Considered(ranking.file, "identical", "the same bytes") for ranking in twins]
    considered = (Considered(winner.file, "chosen", reason), *same, *below, *others)
    return Choice(winner.file, reason, considered, tuple(_warnings(need, winner)))


def _why_best(ranking: Ranking, losers: list[Ranking], others: tuple[Considered, ...]) -> str:
    """Return what set the winner apart from the one that came nearest."""
    if losers:
        return difference(ranking, min(losers, key=lambda loser: loser.rank))[0]
    root = ranking.file.root
    if root.explicit and any(other.verdict == "outranked" for other in others):
        return f"named with {root.learned}"
    return "the only suitable candidate"


def _newest(top: list[Ranking], facts: RootIndex) -> tuple[list[list[Ranking]], str, list[Considered]]:
    """Return who is left among equals: those of the newest version, in one root those of the first folder; why; others.

    They are grouped by content: more than one group means that nothing decides.
    """
    groups = _by_content(top, facts)
    reason, older = f"all {len(top)} candidates have the same bytes", list[Considered]()
    first = min(ranking.file.root.place for ranking in top)
    later = [one for one in top if one.file.root.place != first]
    if later and len(groups) > 1 and all(ranking.file.root.explicit for ranking in top):
        top = [one for one in top if one not in later]
        older += [Considered(one.file, "outranked", "in a root that was named later") for one in later]
        reason, groups = f"in the first root that was named, {top[0].file.root.path}", _by_content(top, facts)
    # Within one package the release comes first: a name shows it, while a file's version may lie behind hundreds of
    # megabytes that have to be inflated.
    measures = [("version", _versions), ("release", _releases)]
    packages = {ranking.file.package for ranking in top}
    for what, measure in reversed(measures) if len(packages) == 1 and "" not in packages else measures:
        column = measure([group[0].file for group in groups], facts) if len(groups) > 1 else []
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
    return groups, reason, older


def _versions(files: list[RootFile], facts: RootIndex) -> list[tuple[int, ...]]:
    return [stated_version(file, facts) for file in files]


def _releases(files: list[RootFile], _: RootIndex) -> list[tuple[int, ...]]:
    """Return the release of each file's package or root; nothing when these count in different ways."""
    if len({(file.package, "" if file.package else file.root.kind) for file in files}) > 1:
        return []
    return [dotted_numbers(file.version_hint) for file in files]


def _outranked(groups: list[list[Ranking]], left: list[list[Ranking]], reason: str) -> list[Considered]:
    return [Considered(ranking.file, "outranked", reason) for group in groups if group not in left for ranking in group]


def _by_content(rankings: list[Ranking], facts: RootIndex) -> list[list[Ranking]]:
    """Return the candidates grouped by their bytes, in order; only files of one size are hashed."""
    sized = grouped((ranking.file.size, ranking) for ranking in rankings)
    keyed = ((facts.sha256(one.file) if len(sized[one.file.size]) > 1 else one.file.size, one) for one in rankings)
    return [*grouped(keyed).values()]


def _conflict(need: DllRequest, top: list[Ranking], others: tuple[Considered, ...]) -> Choice:
    reason = "their bytes differ, and neither versions nor the order of folders shows which is right"
    files = tuple(ranking.file for ranking in top)
    places = " or ".join(f'--root "{file.root.path if file.root.is_file else _folder(file)}"' for file in files)
    rivals = tuple(Considered(file, "rival", reason) for file in files)
    hint = f"name the one you mean: {places}; or leave it out: --exclude {need.name}"
    return Choice(None, f"{len(files)} files for {need.name}: {reason}; {hint}", (*rivals, *others))


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


@dataclass
class _Offer:
    """What one release has of the needed DLLs, in roots of one standing."""

    release: str
    roots: dict[Root, set[str]] = field(default_factory=dict)
    """The DLLs of it that each root has."""

    @property
    def names(self) -> set[str]:
        """The DLLs that it has somewhere."""
        return set[str]().union(*self.roots.values())


def choose_release(group: str, needs: Sequence[DllRequest], index: RootIndex, wanted: Wanted) -> OneRelease:
    """Return the one release that all needs of a group are met from; without a release when nothing shows one."""
    # Another major is refused here, with its release, and not file by file.
    files = [(replace(need, cuda=""), file) for need in needs for file in index.candidates(need.name)]
    refused: dict[str, list[str]] = {}
    for rank in sorted({standing(file) for _, file in files}):
        offers: dict[str, _Offer] = {}
        for need, file in files:
            if standing(file) != rank or isinstance(examine(need, file, index), str):
                continue
            releases = possible_releases(file, index)
            if len(releases) == 1:
                release = next(iter(releases))
                offers.setdefault(release, _Offer(release)).roots.setdefault(file.root, set()).add(file.key)
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
    mine = dotted_numbers(release)
    theirs = [dotted_numbers(name) for name in wanted.releases]
    if mine[:1] not in {other[:1] for other in theirs}:
        return OTHER
    return 1 if mine > max(other for other in theirs if other[:1] == mine[:1]) else 2


def _rank(offer: _Offer, wanted: Wanted) -> tuple[int, int, tuple[int, ...]]:
    distance = _distance(offer.release, wanted)
    numbers = dotted_numbers(offer.release)
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
    other = _distance(best.release, wanted) > 0
    return OneRelease(group, best.release, why, _main_root(best), _refusals(group, refused), other)


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
    mine, theirs = len(best.names), [len(other.names) for other in others]
    if min(theirs) < mine and mine not in theirs:
        return "it has most of what is needed"
    return "the newest of those that have most of what is needed"


def _main_root(offer: _Offer) -> Path | None:
    """Return the root that has most of a release; None when two have as much and none is newer."""
    counted = {root.path: (len(names), dotted_numbers(root.version)) for root, names in offer.roots.items()}
    first = [path for path, count in counted.items() if count == max(counted.values())]
    return first[0] if len(first) == 1 else None


def _refusals(group: str, refused: dict[str, list[str]]) -> tuple[str, ...]:
    title = GROUPS[group]
    ordered = sorted(refused, key=dotted_numbers)
    return tuple(f"{title} {release}: {'; '.join(dict.fromkeys(refused[release]))}" for release in ordered)


def family_files(index: RootIndex, file: RootFile) -> tuple[RootFile, ...]:
    """Return the DLLs beside a chosen one that are vendored with it and must not come from anywhere else, by name.

    For ``cudnn64_8.dll`` these are its six parts. Which members of a family are used is for the companions to say: an
    MKL folder holds BLACS too, which multiplying matrices does not need and which wants an MPI.
    """
    family = family_of(file.name)
    near = index.siblings(file) if family else ()
    siblings = {other: other.name for other in near if family.belong_together(file.name, other.name)}
    return tuple(sorted(loaded_by_name(file.name, siblings), key=lambda other: fold(other.name)))


def loaded_by_name(name: str, files: dict[T, str], cuda: str | None = None) -> list[T]:
    """Return which of some files, given with their names, a DLL and what it loads will load by name."""
    found: dict[T, None] = {}
    asking = [name]
    for asked in asking:  # grows while it is walked: the threading layer brings the core, the core its kernels
        needs = [need for need in companions_of(asked, cuda=cuda) if need.vendored_by_default]
        for file, own in files.items():
            if file not in found and any(need.matches(own) for need in needs):
                found[file] = None
                asking.append(own)
    return list(found)


def gpu_objection(
    index: RootIndex, card: str, runs: Callable[[tuple[str, ...]], bool]
) -> Callable[[RootFile], Objection | None]:
    """Return the objection for :class:`DllRequest` that asks for code for a card.

    ``runs`` says whether something among architectures such as ``sm_86`` and ``ptx_86`` runs on it. A DLL without any
    GPU code, such as ``cudnn64_8.dll``, is as good as the family beside it, which does its work.
    """

    def fault(part: RootFile) -> str:
        archs = index.archs(part)
        if not archs or runs(archs):
            return ""
        better = _better(part.name, card)
        return f"has no code for {card}, only for {', '.join(archs)}" + (f"; take {better}" if better else "")

    return objection_of_parts(index, fault)


def objection_of_parts(
    index: RootIndex, fault: Callable[[RootFile], str], *, fatal: bool = False
) -> Callable[[RootFile], Objection | None]:
    """Return the objection to a file that is itself at fault, or a part of its family."""

    def objection(file: RootFile) -> Objection | None:
        for part in (file, *family_files(index, file)):
            if reason := fault(part):
                return Objection(f"{'it' if part is file else part.name} {reason}", fatal)
        return None

    return objection


def _better(name: str, card: str) -> str:
    """Return the release of a library that has code for a card, as far as the tables know."""
    family, capability = family_of(name), capability_of_arch(card)
    return library_release(family.group, family.title, capability) if family and capability else ""
