"""The wheels that an installer would add to a wheel, from the package index: with them a verdict needs no guessing.

Versions are chosen as pip does where nothing conflicts: the newest that all requirements so far accept. Others are not
tried when a later requirement refuses it. Source distributions are not built; a distribution without a wheel is absent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.archive.reader import Archive
from wheelfix.archive.wheelinfo import WheelInfo, parse_headers
from wheelfix.errors import InputError
from wheelfix.loader.requirements import holds_on_target, parse_requirement
from wheelfix.model import Machine, canonical
from wheelfix.remote.target import InstallTarget
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from packaging.requirements import Requirement

    from wheelfix.archive.reader import Limits
    from wheelfix.loader.profile import Profile
    from wheelfix.remote.client import Client
    from wheelfix.remote.pages import IndexFile
    from wheelfix.remote.wheel import WheelPath

MOST = 150
"""Distributions that are followed for one wheel."""
_PLATFORMS = {Machine.AMD64: "win_amd64", Machine.X86: "win32", Machine.ARM64: "win_arm64"}


@dataclass(frozen=True, slots=True)
class RequiredWheels:
    """What is installed with a wheel."""

    wheels: Mapping[str, WheelPath]
    """By normalised name."""
    absent: tuple[str, ...]
    """Distributions without a wheel that fits."""


def required_wheels(
    subject: WheelPath, profile: Profile, client: Client, limits: Limits, present: Iterable[str] = ()
) -> RequiredWheels:
    """Return the wheels that an installer on the target adds; those of ``present`` are there already."""
    wheels: dict[str, WheelPath] = {}
    absent: dict[str, None] = {}
    with Archive.open(subject, limits) as archive:
        info = WheelInfo.from_archive(archive)
    target = InstallTarget(_PLATFORMS.get(profile.machine, "win_amd64"), profile.python)
    known = {canonical(info.name), *map(canonical, present)}
    wanted: dict[str, Requirement] = {}
    pending = list(_holding(info.metadata.requires_dist, profile, ()))
    while pending and len(wanted) < MOST:
        requirement = pending.pop(0)
        name = canonical(requirement.name)
        earlier = wanted.get(name)
        if earlier is not None:
            if not requirement.extras - earlier.extras and not set(requirement.specifier) - set(earlier.specifier):
                continue
            requirement.specifier &= earlier.specifier
            requirement.extras |= earlier.extras
        elif name in known:
            continue
        wanted[name] = requirement
        try:
            file = client.index.choose(requirement, target)
        except InputError:
            wheels.pop(name, None)
            absent[name] = None
            continue
        wheels[name] = client.wheel_of(file)
        pending += _holding(_requires(file, wheels[name], client, limits), profile, tuple(requirement.extras))
    return RequiredWheels(wheels, tuple(name for name in absent if name not in wheels))


def _holding(lines: Iterable[str], profile: Profile, extras: tuple[str, ...]) -> Iterator[Requirement]:
    """Yield the requirements that an installer takes into account."""
    for line in lines:
        requirement = parse_requirement(line)
        if requirement is None or requirement.url:
            continue
        if any(holds_on_target(requirement, profile, extra) for extra in ("", *extras)):
            yield requirement


def _requires(file: IndexFile, wheel: WheelPath, client: Client, limits: Limits) -> tuple[str, ...]:
    """Return what a wheel requires, from the METADATA that the index has, or from the wheel itself."""
    if file.metadata and file.url.lower().startswith("http"):
        return parse_headers(client.index.text(f"{file.url}.metadata")).get("requires-dist", ())
    with Archive.open(wheel, limits) as archive:
        return WheelInfo.from_archive(archive).metadata.requires_dist
