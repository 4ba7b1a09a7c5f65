"""The wheels that an installer would add to a wheel, from the package index, in the versions that pip chooses.

With them a verdict needs no guessing. Versions are chosen by resolvelib, with backtracking; this is the only module
that imports it. Source distributions are not built; a distribution without a wheel is absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.utils import parse_sdist_filename, parse_wheel_filename

from wheelfix.archive.metadata import WheelInfo, parse_headers
from wheelfix.archive.reader import Archive
from wheelfix.base.options import InstallTarget, Limits
from wheelfix.base.values import field, frozen
from wheelfix.errors import InputError, MissingExtra
from wheelfix.loader.requirements import held_requirements, parse_requirement
from wheelfix.model import canonical
from wheelfix.remote.packageindex import MOST_CLAUSES, IndexFile, Offers, fitting_wheels, offered_wheels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version
    from resolvelib.structs import RequirementInformation

    from wheelfix.loader.profile import Profile
    from wheelfix.remote.client import Client
    from wheelfix.remote.ranges import WheelPath


MAX_ROUNDS = 2000
"""Decisions and revisions for one set, so that an index cannot keep us busy; pip itself allows 200 000."""
MOST_ASKED = 600
"""Wheels whose requirements are asked for."""
MOST_COMPARED = 500_000
"""Comparisons of a version with one condition of a requirement, which take a few seconds."""
NO_WHEEL = "no wheel on the package index fits the target"


@frozen
class ChosenVersions:
    """What is installed besides the wheels that are there already."""

    files: Mapping[str, IndexFile] = field(default_factory=dict)
    """By normalised name."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """What is required and not among them, and why."""


@frozen
class _WheelVersion:
    """One version of a distribution, with the extras that are asked for; without a file, one that has no wheel."""

    name: str
    extras: frozenset[str] = frozenset()
    version: Version | None = None
    file: IndexFile | None = None


def choose_versions(
    wanted: Sequence[Requirement],
    present: Iterable[str],
    files: Callable[[str], list[IndexFile]],
    requires: Callable[[IndexFile, frozenset[str]], Iterable[Requirement]],
    target: InstallTarget,
) -> ChosenVersions:
    """Return the versions that meet all requirements; where none do, all that was asked for is absent.

    ``present`` are the names that are there already, ``files`` what the index has of a name, ``requires`` what a wheel
    requires with some extras.
    """
    try:
        from resolvelib import BaseReporter, ResolutionImpossible, ResolutionTooDeep, Resolver
    except ImportError as error:
        raise MissingExtra("versions cannot be chosen", "resolvelib", extra="fetch") from error

    there = frozenset(map(canonical, present))
    provider = _Provider(there, files, requires, target)
    asked = [one for one in wanted if canonical(one.name) not in there]
    resolver: Resolver[Requirement, _WheelVersion, str] = Resolver(provider, BaseReporter())  # type: ignore[arg-type]
    try:
        found = resolver.resolve(asked, max_rounds=MAX_ROUNDS).mapping.values()
        chosen = {one.name: one.file for one in found if one.file is not None and one.name not in provider.unread}
        absent = {one.name: provider.unread.get(one.name, NO_WHEEL) for one in found if one.name not in chosen}
        return ChosenVersions(chosen, absent)
    except ResolutionImpossible as error:
        causes = sorted({str(cause.requirement) for cause in error.causes})
        why = f"no versions fit together: {' and '.join(causes)[:300]}"
    except (ResolutionTooDeep, _AskedTooMuch):
        why = "which versions fit together could not be found out"
    return ChosenVersions(absent=dict.fromkeys((canonical(one.name) for one in asked), why))


class _AskedTooMuch(Exception):
    """More wheels were asked for their requirements than any application needs."""


class _Provider:
    """What resolvelib asks: what there is of a name, what it requires, and what to decide first."""

    def __init__(
        self,
        present: frozenset[str],
        files: Callable[[str], list[IndexFile]],
        requires: Callable[[IndexFile, frozenset[str]], Iterable[Requirement]],
        target: InstallTarget,
    ) -> None:
        self._present, self._files, self._requires, self._target = present, files, requires, target
        self._known: dict[tuple[str, frozenset[str]], list[Requirement]] = {}
        self._offered: dict[str, Offers] = {}
        self._compared = 0
        self.unread: dict[str, str] = {}
        """Distributions whose requirements could not be read, and why."""

    def identify(self, requirement_or_candidate: Requirement | _WheelVersion) -> str:
        """A distribution with extras is another thing than the distribution, which it requires."""
        asked = requirement_or_candidate
        extras = ",".join(sorted(map(canonical, asked.extras)))
        return f"{canonical(asked.name)}[{extras}]" if extras else canonical(asked.name)

    def narrow_requirement_selection(
        self, identifiers: Iterable[str], *_: object, **information: object
    ) -> Iterable[str]:
        return identifiers

    def get_preference(
        self,
        identifier: str,
        resolutions: Mapping[str, _WheelVersion],
        candidates: Mapping[str, Iterator[_WheelVersion]],
        information: Mapping[str, Iterator[RequirementInformation[Requirement, _WheelVersion]]],
        backtrack_causes: Sequence[RequirementInformation[Requirement, _WheelVersion]],
    ) -> tuple[bool, bool, bool, str]:
        """What is pinned is decided first, then what has led to conflicts, then what has any limits, as in pip."""
        asked = [one.requirement for one in information[identifier]]
        operators = [one.operator for requirement in asked for one in requirement.specifier]
        pinned = any(operator in ("==", "===") for operator in operators)
        cause = any(identifier == self.identify(one.requirement) for one in backtrack_causes)
        return not pinned, not cause, not operators, identifier

    def find_matches(
        self,
        identifier: str,
        requirements: Mapping[str, Iterator[Requirement]],
        incompatibilities: Mapping[str, Iterator[_WheelVersion]],
    ) -> Callable[[], Iterator[_WheelVersion]]:
        """The versions that all requirements allow, the newest first; one without a file if only sources are there."""
        asked = list(requirements[identifier])
        refused = {one.version for one in incompatibilities[identifier]}
        specifier = asked[0].specifier
        for one in asked[1:]:
            specifier &= one.specifier
        name, extras = canonical(asked[0].name), frozenset(map(canonical, asked[0].extras))

        def found() -> Iterator[_WheelVersion]:
            files = self._files(name)
            if name not in self._offered:
                self._offered[name] = offered_wheels(files)
            self._compare(len(specifier) * len(self._offered[name]))
            wheels = False
            try:
                for version, file in fitting_wheels(self._offered[name], specifier, self._target):
                    wheels = True
                    if version not in refused:
                        yield _WheelVersion(name, extras, version, file)
            except InputError:  # more conditions than can be tried: the same as if there were no wheel
                if None not in refused:
                    yield _WheelVersion(name, extras)
                return
            if not wheels and None not in refused and (not files or _has_sources(files, specifier)):
                yield _WheelVersion(name, extras)

        return found

    def _compare(self, times: int) -> None:
        """Count the work; hostile requirements would take minutes."""
        self._compared += times
        if self._compared > MOST_COMPARED:
            raise _AskedTooMuch

    def is_satisfied_by(self, requirement: Requirement, candidate: _WheelVersion) -> bool:
        """Whether a version is one that a requirement allows."""
        self._compare(len(requirement.specifier))
        return candidate.version is None or requirement.specifier.contains(candidate.version, prereleases=True)

    def get_dependencies(self, candidate: _WheelVersion) -> Iterable[Requirement]:
        """What a version requires that is not there already."""
        if candidate.file is None:
            return ()
        key = (candidate.file.name, candidate.extras)
        if key not in self._known:
            if len(self._known) >= MOST_ASKED:
                raise _AskedTooMuch
            try:
                needs = [*self._requires(candidate.file, candidate.extras)]
            except InputError as error:
                needs, self.unread[candidate.name] = [], str(error)
            needs = [one for one in needs if canonical(one.name) not in self._present]
            # With extras, the distribution itself in the same version.
            same = parse_requirement(f"{candidate.name}=={candidate.version}") if candidate.extras else None
            self._known[key] = [*needs, same] if same is not None else needs
        return self._known[key]


def _has_sources(files: Iterable[IndexFile], specifier: SpecifierSet) -> bool:
    """Whether there is anything of an allowed version, which an installer would build or refuse."""
    for file in files:
        try:
            parsed = parse_wheel_filename(file.name) if file.name.endswith(".whl") else parse_sdist_filename(file.name)
        except ValueError:
            continue
        if specifier.contains(parsed[1], prereleases=True):
            return True
    return False


MOST_LINES = 5000
"""Requirements of one distribution."""


def required_wheels(
    subjects: Iterable[WheelPath], profile: Profile, client: Client, limits: Limits, present: Iterable[str] = ()
) -> ChosenVersions:
    """Return the wheels that an installer on the target adds; those of ``present`` are there already."""
    known = {*map(canonical, present)}
    wanted: list[Requirement] = []
    for subject in subjects:
        with Archive.open(subject, limits) as archive:
            info = WheelInfo.from_archive(archive)
        known.add(canonical(info.name))
        wanted += _holding(info.name, info.metadata.requires_dist, profile, ())

    def requires(file: IndexFile, extras: frozenset[str]) -> Iterable[Requirement]:
        lines = _requires(file, client.wheel_of(file), client, limits)
        return _holding(file.name, lines, profile, tuple(extras))

    target = InstallTarget(profile.machine.platform, profile.python)
    return choose_versions(wanted, known, client.index.files, requires, target)


def _holding(name: str, lines: Sequence[str], profile: Profile, extras: tuple[str, ...]) -> list[Requirement]:
    """Return the requirements that an installer takes into account, one for each distribution."""
    if len(lines) > MOST_LINES:
        raise InputError(f"what {name} requires is not read", because=f"it has more than {MOST_LINES} requirements")
    found: dict[str, Requirement] = {}
    for requirement in held_requirements(dict.fromkeys(lines), profile, extras):
        known = found.setdefault(canonical(requirement.name), requirement) if not requirement.url else requirement
        if known is not requirement and len(known.specifier) <= MOST_CLAUSES:  # with more, none is chosen
            known.specifier &= requirement.specifier
            known.extras |= requirement.extras
    return list(found.values())


def _requires(file: IndexFile, wheel: WheelPath, client: Client, limits: Limits) -> tuple[str, ...]:
    """Return what a wheel requires, from the METADATA that the index has, or from the wheel itself."""
    if file.metadata and file.url.lower().startswith("http"):
        return parse_headers(client.index.metadata(file)).get("requires-dist", ())
    with Archive.open(wheel, limits) as archive:
        return WheelInfo.from_archive(archive).metadata.requires_dist
