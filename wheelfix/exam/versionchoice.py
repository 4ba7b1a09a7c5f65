"""Which versions an installer takes of what is required, as pip chooses them: by resolvelib, with backtracking.

This is the only module that imports resolvelib.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.base.values import dataclass, field
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.model import canonical
from wheelfix.remote.packageindex import fitting_wheels, offered_wheels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version
    from resolvelib.structs import RequirementInformation

    from wheelfix.base.options import InstallTarget
    from wheelfix.remote.packageindex import IndexFile, Offers

MAX_ROUNDS = 2000
"""Decisions and revisions for one set, so that an index cannot keep us busy; pip itself allows 200 000."""
MOST_ASKED = 600
"""Wheels whose requirements are asked for."""
MOST_COMPARED = 500_000
"""Comparisons of a version with one condition of a requirement, which take a few seconds."""
NO_WHEEL = "no wheel on the package index fits the target"


@dataclass(frozen=True, slots=True)
class ChosenVersions:
    """What is installed besides the wheels that are there already."""

    files: Mapping[str, IndexFile] = field(default_factory=dict)
    """By normalised name."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """What is required and not among them, and why."""


@dataclass(frozen=True, slots=True)
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
        raise EnvironmentFailure(
            "versions cannot be chosen: resolvelib is not installed", hint="pip install 'wheelfix[fetch]'"
        ) from error

    there = frozenset(map(canonical, present))
    provider = _Provider(there, files, requires, target)
    asked = [one for one in wanted if canonical(one.name) not in there]
    resolver: Resolver[Requirement, _WheelVersion, str] = Resolver(provider, BaseReporter())  # type: ignore[arg-type]
    try:
        found = resolver.resolve(asked, max_rounds=MAX_ROUNDS).mapping.values()
    except ResolutionImpossible as error:
        causes = sorted({str(cause.requirement) for cause in error.causes})
        why = f"no versions fit together: {' and '.join(causes)[:300]}"
        return ChosenVersions(absent=dict.fromkeys((canonical(one.name) for one in asked), why))
    except (ResolutionTooDeep, _AskedTooMuch):
        why = "which versions fit together could not be found out"
        return ChosenVersions(absent=dict.fromkeys((canonical(one.name) for one in asked), why))
    chosen = {one.name: one.file for one in found if one.file is not None and one.name not in provider.unread}
    absent = {one.name: provider.unread.get(one.name, NO_WHEEL) for one in found if one.name not in chosen}
    return ChosenVersions(chosen, absent)


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
            self._known[key] = [*needs, *_same_version(candidate)]
        return self._known[key]


def _same_version(candidate: _WheelVersion) -> Iterator[Requirement]:
    """With extras, the distribution itself in the same version."""
    from packaging.requirements import Requirement as Needed

    if candidate.extras:
        yield Needed(f"{candidate.name}=={candidate.version}")


def _has_sources(files: Iterable[IndexFile], specifier: SpecifierSet) -> bool:
    """Whether there is anything of an allowed version, which an installer would build or refuse."""
    from packaging.utils import parse_sdist_filename, parse_wheel_filename

    for file in files:
        try:
            parsed = parse_wheel_filename(file.name) if file.name.endswith(".whl") else parse_sdist_filename(file.name)
        except ValueError:
            continue
        if specifier.contains(parsed[1], prereleases=True):
            return True
    return False
