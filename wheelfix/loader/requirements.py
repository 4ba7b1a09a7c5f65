"""The distributions that are installed with a wheel: what Requires-Dist names, what those require, what code imports.

For each of them the provider index says whether the versions that fit ship a DLL.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from wheelfix.base.parsing import as_marker, as_requirement, as_specifiers, as_version
from wheelfix.base.values import frozen, replace
from wheelfix.knowledge.provider_index import provider_index
from wheelfix.knowledge.providers import module_owners
from wheelfix.model import Machine, canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from packaging.requirements import Requirement

    from wheelfix.loader.places import InstalledSet
    from wheelfix.loader.profile import Profile

_NAME = r"^\s*([A-Za-z0-9][A-Za-z0-9._-]*)"
_EXTRA = r"""extra\s*==\s*['"]([^'"]{1,60})['"]"""

LONGEST = 2000
"""Characters of a requirement that is still worth parsing; fewer than the digits that Python makes a number of."""
MOST = 400
"""Distributions that are followed for one wheel."""
MOST_EXTRAS = 40
"""Distributions of extras whose own requirements are looked at, one level deep."""
_MACHINES = {Machine.AMD64: "AMD64", Machine.X86: "x86", Machine.ARM64: "ARM64"}


@frozen
class Dependency:
    """A distribution that an installer installs with the wheel, or that the wheel's code imports."""

    name: str
    """Normalised."""
    specifier: str = ""
    """The versions that fit; empty for any."""
    via: tuple[str, ...] = ()
    """The distributions through which it is required, the nearest to the wheel first."""
    extra: str = ""
    """The extra that has to be asked for."""
    imported: bool = False
    """It is not required: only an import statement names it."""
    with_extras: tuple[str, ...] = ()
    """The extras of this distribution that are asked for, as in ``uvicorn[standard]``."""

    def __str__(self) -> str:
        text = f"{self.name} ({self.specifier})" if self.specifier else self.name
        return f"{text} with the extra {self.extra!r}" if self.extra else text


def parse_requirement(text: str) -> Requirement | None:
    """Return a line of Requires-Dist in its parts, or None for one that is not valid; it comes from a stranger."""
    if len(text) > LONGEST:
        return None
    try:
        return as_requirement(text)
    except (ValueError, RecursionError):  # parentheses within parentheses; numbers that no integer may have
        return None


def holds_on_target(requirement: Requirement, profile: Profile, extra: str = "") -> bool:
    """Whether an installer on the target takes a requirement into account, with at most one extra asked for."""
    try:
        return requirement.marker is None or requirement.marker.evaluate({**_environment(profile), "extra": extra})
    except (ValueError, RecursionError):  # a name that is not defined, versions that cannot be compared
        return True


def marker_holds(
    text: str,
    profile: Profile,
    extras: Iterable[str] = (),
    groups: Iterable[str] = (),
    *,
    extra: Iterable[str] = (),
) -> bool:
    """Whether the condition of a lock file holds on the target; one that is not understood does.

    ``extras`` and ``groups`` are those of PEP 751, ``extra`` what uv.lock compares with ``extra``.
    """
    if len(text) > LONGEST:
        return True
    values: dict[str, str | AbstractSet[str]] = {
        **_environment(profile), "extras": frozenset(extras), "dependency_groups": frozenset(groups)
    }  # fmt: skip
    try:
        marker = as_marker(text)
        return any(marker.evaluate({**values, "extra": one}) for one in (*extra,) or ("",))
    except (ValueError, RecursionError):
        return True


def held_requirements(lines: Iterable[str], profile: Profile, extras: Iterable[str] = ()) -> Iterator[Requirement]:
    """Yield the requirements that an installer on the target takes into account where some extras are asked for."""
    asked = ("", *extras)
    for line in lines:
        requirement = parse_requirement(line)
        if requirement is not None and any(holds_on_target(requirement, profile, extra) for extra in asked):
            yield requirement


def requirements_with_extras(lines: Iterable[str], profile: Profile, extras: Iterable[str]) -> Iterator[Dependency]:
    """Yield what an installer adds to a distribution of which some extras are asked for."""
    for one in held_requirements(lines, profile, extras):
        yield Dependency(canonical(one.name), str(one.specifier), with_extras=tuple(sorted(one.extras)))


def _environment(profile: Profile) -> dict[str, str]:
    """The variables of markers on the target: none is left to the machine that this runs on."""
    major, minor = profile.python or (3, 11)
    return {
        "os_name": "nt",
        "sys_platform": "win32",
        "platform_system": "Windows",
        "platform_machine": _MACHINES.get(profile.machine, "AMD64"),
        "platform_python_implementation": "CPython",
        "platform_release": "10",
        "platform_version": "10.0.19045",
        "implementation_name": "cpython",
        "implementation_version": f"{major}.{minor}.0",
        "python_version": f"{major}.{minor}",
        "python_full_version": f"{major}.{minor}.0",
    }


class Requirements:
    """The distributions that an installer adds on the target: no extras, no lines for another system.

    torch's METADATA names NVIDIA's packages in its Windows wheels too, but for Linux only. A line is parsed when
    its distribution is asked for, which for most wheels is never.
    """

    def __init__(self, requires: tuple[str, ...], profile: Profile) -> None:
        self._profile = profile
        self._lines: dict[str, list[str]] = {}
        for text in requires:
            match = re.match(_NAME, text)
            if match:
                self._lines.setdefault(canonical(match[1].rstrip("-_.")), []).append(text)

    def __contains__(self, distribution: str) -> bool:
        return any(self._holds(text) for text in self._lines.get(distribution, ()))

    def _holds(self, text: str) -> bool:
        requirement = parse_requirement(text) if ";" in text else None
        return requirement is None or holds_on_target(requirement, self._profile)

    @functools.cached_property
    def direct(self) -> tuple[Dependency, ...]:
        """Every distribution that is required without an extra."""
        return tuple(found for name, lines in self._lines.items() if (found := self._joined(name, lines)) is not None)

    def _joined(self, name: str, lines: list[str]) -> Dependency | None:
        """What the lines about one distribution require together; None if all of them are for extras or others."""
        specifiers, extras, holds = set[str](), set[str](), False
        for text in lines:
            marker = text.partition(";")[2]
            if re.search(_EXTRA, marker) and not re.search(r"\bor\b", marker):
                continue  # most lines of most wheels, which are not parsed for this
            requirement = parse_requirement(text)
            if requirement is None or holds_on_target(requirement, self._profile):
                holds = True
                specifiers |= {str(requirement.specifier)} - {""} if requirement else set()
                extras |= requirement.extras if requirement else set()
        return Dependency(name, ",".join(sorted(specifiers)), with_extras=tuple(sorted(extras))) if holds else None

    @functools.cached_property
    def of_extras(self) -> tuple[Dependency, ...]:
        """Every distribution that an extra asks for, none twice for the same extra."""
        found: dict[tuple[str, str], Dependency] = {}
        for name, text in ((name, text) for name, lines in self._lines.items() for text in lines):
            requirement = parse_requirement(text) if re.search(_EXTRA, text) else None
            if requirement is None or holds_on_target(requirement, self._profile):
                continue
            for extra in re.findall(_EXTRA, text):
                if (name, extra) not in found and holds_on_target(requirement, self._profile, extra):
                    found[name, extra] = Dependency(name, str(requirement.specifier), extra=extra)
        return tuple(found.values())

    def named_like(self, module: str) -> list[str]:
        """The distributions that have the name of a module as words of their own: ``can`` in python-can."""
        return [one.name for one in self.direct if f"-{canonical(module)}-" in f"-{one.name}-"]


@functools.lru_cache(64)
def requirements(requires: tuple[str, ...], profile: Profile) -> Requirements:
    """What some lines require, which several ask of one wheel."""
    return Requirements(requires, profile)


@frozen
class Unmet:
    """A requirement that what is installed does not meet."""

    name: str
    """Normalised."""
    requirement: str
    """With its specifier, as an installer takes it."""
    installed: str = ""
    """The version that is installed; empty where none is."""


def unmet_requirements(requires: Iterable[str], beside: InstalledSet, profile: Profile) -> Iterator[Unmet]:
    """Yield what an installer would have to add or to replace, each distribution once; extras are not counted."""
    found: dict[str, Unmet] = {}
    for requirement in held_requirements(requires, profile):
        name = canonical(requirement.name)
        there = beside[name].version
        if name in found or (name in beside and fits(there, str(requirement.specifier), unknown=True)):
            continue
        if name in beside or (beside.complete and name not in beside.absent and not _is_unowned(name, beside)):
            found[name] = Unmet(name, f"{name}{requirement.specifier}", there)
    yield from found.values()


def _is_unowned(distribution: str, beside: InstalledSet) -> bool:
    """Whether the module of a distribution is there, and belongs to no other: it was installed without metadata."""
    modules = [module for module, owners in module_owners().items() if distribution in owners]
    files = map(beside.view.module_file, modules or [distribution.replace("-", "_")])
    return any(file and not beside.owner(file) for file in files)


class DependencyTree:
    """Everything that is installed with a wheel, found when first needed."""

    def __init__(
        self,
        requires: tuple[str, ...],
        profile: Profile,
        imported: Callable[[], Iterable[str]],
        beside: InstalledSet,
    ) -> None:
        """``imported`` gives the distributions that the wheel's code imports, ``beside`` has the installed ones."""
        self.required = requirements(requires, profile)
        self._profile, self._imported, self._beside = profile, imported, beside

    @functools.cached_property
    def certain(self) -> tuple[Dependency, ...]:
        """The direct ones first, then what these require, and so on; none of extras and of imports."""
        found = {dependency.name: dependency for dependency in self.required.direct}
        self._follow(found)
        return tuple(found.values())

    @functools.cached_property
    def all(self) -> tuple[Dependency, ...]:
        """Those, then the ones that code imports, then those of extras."""
        found = {dependency.name: dependency for dependency in self.certain}
        for name in self._imported():
            found.setdefault(name, Dependency(name, imported=True))
        self._follow(found)
        more = {(one.name, one.extra): one for one in self.required.of_extras if one.name not in found}
        for extra in [*more.values()][:MOST_EXTRAS]:
            for required in self._requirements(extra):
                if required.name not in found:
                    new = Dependency(required.name, required.specifier, (extra.name,), extra.extra)
                    more.setdefault((required.name, extra.extra), new)
        return (*found.values(), *more.values())

    def _follow(self, found: dict[str, Dependency]) -> None:
        """Add what the dependencies require, as far as their metadata or the index says."""
        pending = list(found.values())
        for dependency in pending:  # grows while it is walked
            for required in self._requirements(dependency):
                known = found.get(required.name)
                if known is None and len(found) < MOST:
                    via, imported = (*dependency.via, dependency.name), dependency.imported
                    found[required.name] = replace(required, via=via, imported=imported)
                elif known is not None and set(required.with_extras) - set(known.with_extras):
                    extras = tuple(sorted({*known.with_extras, *required.with_extras}))
                    found[required.name] = replace(known, with_extras=extras)
                else:
                    continue
                pending.append(found[required.name])

    def _requirements(self, dependency: Dependency) -> Iterable[Dependency]:
        if dependency.name in self._beside:
            lines = self._beside[dependency.name].requires
            yield from requirements_with_extras(lines, self._profile, dependency.with_extras)
            return
        index = provider_index()
        versions = [wheel.version for wheel in index.looked_at(dependency.name)]
        if not versions:
            return
        newest = newest_fitting(versions, dependency.specifier)
        for required in index.requirements(dependency.name, newest or versions[-1]) or ():
            yield Dependency(required.name, required.specifier)


def newest_fitting(versions: Iterable[str], specifier: str) -> str:
    """Return the newest of some versions that fits a specifier, as pip chooses it; empty where none does."""
    try:
        wanted = as_specifiers(specifier)
        known = sorted((version for version in versions), key=as_version)
        final = list(wanted.filter(known))
        fitting = final or list(wanted.filter(known, prereleases=True))
    except ValueError:  # invalid, or a number with more digits than Python reads
        return ""
    return fitting[-1] if fitting else ""


def fits(version: str, specifier: str, *, unknown: bool = False) -> bool:
    """Whether a version is one that a specifier admits: an empty one admits all, ``unknown`` holds for invalid ones."""
    try:
        return as_specifiers(specifier).contains(version, prereleases=True)
    except ValueError:  # invalid, or a number with more digits than Python reads
        return unknown
