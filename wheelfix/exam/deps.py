"""The wheels that an installer would add to a wheel, from the package index: with them a verdict needs no guessing.

Versions are chosen as pip chooses them (``exam/versionchoice.py``). Source distributions are not built; a distribution
without a wheel is absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.archive.metadata import WheelInfo, parse_headers
from wheelfix.archive.reader import Archive
from wheelfix.base.options import InstallTarget
from wheelfix.base.values import dataclass
from wheelfix.errors import InputError
from wheelfix.exam.versionchoice import choose_versions
from wheelfix.loader.requirements import holds_on_target, parse_requirement
from wheelfix.model import Machine, canonical
from wheelfix.remote.packageindex import MOST_CLAUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from packaging.requirements import Requirement

    from wheelfix.base.options import Limits
    from wheelfix.loader.profile import Profile
    from wheelfix.remote.client import Client
    from wheelfix.remote.packageindex import IndexFile
    from wheelfix.remote.ranges import WheelPath

MOST_LINES = 5000
"""Requirements of one distribution."""
_PLATFORMS = {Machine.AMD64: "win_amd64", Machine.X86: "win32", Machine.ARM64: "win_arm64"}


@dataclass(frozen=True, slots=True)
class RequiredWheels:
    """What is installed with a wheel."""

    wheels: Mapping[str, WheelPath]
    """By normalised name."""
    absent: Mapping[str, str]
    """Distributions without a wheel that fits, and why."""


def required_wheels(
    subjects: Iterable[WheelPath], profile: Profile, client: Client, limits: Limits, present: Iterable[str] = ()
) -> RequiredWheels:
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

    target = InstallTarget(_PLATFORMS.get(profile.machine, "win_amd64"), profile.python)
    chosen = choose_versions(wanted, known, client.index.files, requires, target)
    return RequiredWheels({name: client.wheel_of(file) for name, file in chosen.files.items()}, chosen.absent)


def _holding(name: str, lines: Sequence[str], profile: Profile, extras: tuple[str, ...]) -> list[Requirement]:
    """Return the requirements that an installer takes into account, one for each distribution."""
    if len(lines) > MOST_LINES:
        raise InputError(f"what {name} requires is not read", because=f"it has more than {MOST_LINES} requirements")
    found: dict[str, Requirement] = {}
    for line in dict.fromkeys(lines):
        requirement = parse_requirement(line)
        if requirement is None or requirement.url:
            continue
        if any(holds_on_target(requirement, profile, extra) for extra in ("", *extras)):
            known = found.setdefault(canonical(requirement.name), requirement)
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
