"""Scan wheels as parts of one installation: with each other, with what is beside them, with a lock file.

Every archive stays open while the set is examined, and every image is read once: the facts are shared by all views.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet

from wheelfix.archive.metadata import WheelInfo
from wheelfix.archive.names import FileName
from wheelfix.archive.reader import Archive
from wheelfix.base.options import InstallTarget
from wheelfix.base.values import frozen, grouped, replace
from wheelfix.errors import InputError, failure_of
from wheelfix.exam.examination import Examination, FailedInput, Progress, wheels_in
from wheelfix.exam.examine import machine_of_tags
from wheelfix.exam.lockfile import ONLY, Locked, LockedSet, LockParts, read_lockfile
from wheelfix.exam.wheel import WheelScan
from wheelfix.loader.places import Distribution, InstalledSet, open_environment, view_of_wheel
from wheelfix.loader.profile import Profile, python_of_tags
from wheelfix.loader.requirements import Requirements, requirements_with_extras
from wheelfix.loader.view import FileView
from wheelfix.model import PLATFORM_MACHINES, ScanReport, canonical
from wheelfix.remote.packageindex import IndexFile, Offers, fitting_wheels, offered_wheels
from wheelfix.streams.pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from wheelfix.base.options import ScanOptions
    from wheelfix.remote.client import Client
    from wheelfix.remote.ranges import WheelPath
    from wheelfix.roots.index import RootIndex


NOT_FOUND = "it is in the lock file, but its wheel was not found"


@frozen
class Part:
    """A wheel of a set."""

    archive: Archive
    info: WheelInfo
    installed: InstalledSet
    """The wheel alone, as it would be installed."""

    @property
    def path(self) -> WheelPath:
        """Where it is, on disk or on a server."""
        return self.archive.remote or self.archive.path

    @property
    def distribution(self) -> Distribution:
        """What it says about itself."""
        return self.installed.distributions[0]

    @property
    def name(self) -> str:
        """The normalised name."""
        return canonical(self.distribution.name)


@contextlib.contextmanager
def open_parts(paths: Iterable[WheelPath], options: ScanOptions) -> Iterator[list[Part]]:
    """Open wheels as parts of a set."""
    with contextlib.ExitStack() as stack:
        yield [wheel_part(path, options, stack) for path in paths]


def wheel_part(path: WheelPath, options: ScanOptions, stack: contextlib.ExitStack) -> Part:
    """Return a wheel as a part of a set; ``stack`` keeps it open."""
    archive = stack.enter_context(Archive.open(path, options.limits))
    info = WheelInfo.from_archive(archive)
    view = view_of_wheel(archive, info).background()
    distribution = Distribution.of_wheel(info, (file.path for file in view.files))
    return Part(archive, info, InstalledSet(view, [distribution]))


@contextlib.contextmanager
def open_set(
    options: ScanOptions, subjects: Sequence[WheelPath], client: Client | None = None
) -> Iterator[tuple[InstalledSet, list[Part]]]:
    """Open what is installed beside the subjects, as ``--with`` and ``--lockfile`` name it, and the wheels of that.

    With a ``client``, what the subjects require and none of these has is opened too, from the package index.
    """
    wheels: list[Path] = []
    known, python = None, None
    for path in options.beside:
        if path.is_dir() and not (listed := wheels_in(path)):
            environment = open_environment(path)
            there, python = environment.installed, environment.python
            known = there if known is None else known.having([there], like=there)
        else:
            wheels += listed if path.is_dir() else [path]
    found = known or InstalledSet(FileView(()))
    profile = _profile_of(subjects, options, python, wheels)
    named = {canonical(file_name(path).name) for path in subjects}
    locked = None
    if options.lockfile is not None:
        locked = read_lockfile(options.lockfile, profile, LockParts(options.lock_extras, options.lock_groups))
    members = tuple(one for one in locked.members if not one.unless.startswith(ONLY)) if locked is not None else None
    chosen = choose_wheels(wheels, profile, members, lambda: _asked_for(subjects, options, profile))
    added: list[WheelPath] = [*chosen]
    if client is not None and subjects:
        from wheelfix.exam.versionchoice import required_wheels

        present = {*found, *(canonical(file_name(path).name) for path in chosen), *named}
        required = required_wheels(subjects, profile, client, options.limits, present)
        added += map(client.wheel_of, required.files.values())
        found.complete, found.installed = True, False
        found.absent.update(required.absent)
    with contextlib.ExitStack() as stack:
        parts = [wheel_part(path, options, stack) for path in added]
        if locked is not None:
            parts += _close(found, locked, parts, [*wheels, *subjects], (profile, options, stack))
        parts = [part for part in parts if part.name not in named]
        yield found.having(part.installed for part in parts), parts


def _close(
    found: InstalledSet,
    locked: LockedSet,
    parts: list[Part],
    wheels: Sequence[WheelPath],
    how: tuple[Profile, ScanOptions, contextlib.ExitStack],
) -> list[Part]:
    """Note what is locked without its files being here; return the wheels that pip adds to a plain requirements.txt.

    Such a file may list only direct requirements; pip adds what these require, in versions of its own choice.
    """
    profile, options, stack = how
    found.complete, found.installed = not locked.unnamed, False
    files = {canonical(file_name(path).name): path for path in reversed(wheels)}
    there = {**{name: found[name] for name in found}, **{part.name: part.distribution for part in parts}}
    found.absent.update((one.name, one.unless or NOT_FOUND) for one in locked.members if one.name not in there)
    more: list[Part] = []
    pending = [] if locked.closed else [(one.name, one.specifier, one.extras) for one in locked.members]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while pending:
        name, specifier, extras = pending.pop()
        if name not in there and name in files:
            path = best_of(name, specifier, wheels, profile)
            if path is not None:
                more.append(wheel_part(path, options, stack))
                there[name] = more[-1].distribution
        if name not in there or (name, extras) in seen:
            continue
        seen.add((name, extras))
        for one in requirements_with_extras(there[name].requires, profile, extras):
            if one.name not in there:
                found.absent.setdefault(
                    one.name, f"{name} requires it, so pip installs it, but its wheel was not found"
                )
            pending.append((one.name, one.specifier, one.with_extras))
    return more


def _profile_of(
    subjects: Iterable[WheelPath],
    options: ScanOptions,
    installed: tuple[int, int] | None,
    beside: Iterable[WheelPath],
) -> Profile:
    """The machine and the Python of the set.

    The first subject whose tags name them decides, then ``--platform`` and ``--python-version``, then the environment
    beside them, then
    the wheels there if all are for one Python.
    """
    machine, python = None, None
    for path in subjects:
        tags = file_name(path).tags
        machine, python = machine or machine_of_tags(tags), python or python_of_tags(tags)
    target = options.remote.target
    python = python or target.python or installed
    if python is None:
        pythons = {python_of_tags(file_name(path).tags) for path in beside} - {None}
        python = pythons.pop() if len(pythons) == 1 else None
    return Profile(machine or PLATFORM_MACHINES[target.platform], python)


def _asked_for(subjects: Iterable[WheelPath], options: ScanOptions, profile: Profile) -> dict[str, str]:
    """The versions that the subjects ask for, by distribution."""
    found: dict[str, str] = {}
    for path in subjects:
        with Archive.open(path, options.limits) as archive:
            requires = WheelInfo.from_archive(archive).metadata.requires_dist
        for one in Requirements(requires, profile).direct:
            found[one.name] = ",".join(filter(None, (found.get(one.name), one.specifier)))
    return found


def refuse_folders(paths: Iterable[WheelPath]) -> None:
    """Refuse what is not a wheel where wheels are put together."""
    for path in paths:
        if isinstance(path, Path) and path.is_dir():
            raise InputError(
                str(path),
                because="an environment is a set by itself",
                hint="scan it without --together, or add it with --with",
            )


def scan_set(
    paths: list[WheelPath],
    options: ScanOptions,
    index: RootIndex | None,
    progress: Progress | None,
    client: Client | None = None,
) -> Iterator[ScanReport | FailedInput]:
    """Scan wheels within one installation: all of them together, or each by itself with what is beside it."""
    if not paths and options.lockfile is None:
        return
    refuse_folders(paths)
    if client is not None and not options.together and len(paths) > 1:  # each has its own requirements
        for path in paths:
            yield from scan_set([path], options, index, progress, client)
        return
    with open_set(options, paths, client) as (beside, locked):
        if not paths:  # everything in the lock file
            paths = [part.path for part in locked]
            if not paths:
                raise InputError(
                    str(options.lockfile),
                    because="no wheel of what it names was found",
                    hint="name the folder that has the wheels: --with FOLDER",
                )
        groups = [paths] if options.together or options.lockfile is not None else [[path] for path in paths]
        for group in groups:
            with open_parts(group, options) as parts:
                yield from _scan_parts(parts, beside, options, index, progress)


def examine_set(
    paths: Sequence[Path],
    options: ScanOptions,
    index: RootIndex | None,
    stack: contextlib.ExitStack,
    python: tuple[int, int] | None = None,
) -> Iterator[tuple[Path, Examination]]:
    """Examine wheels within one installation, for the Python that imports them; ``stack`` keeps their archives open.

    Of several wheels of one distribution each is examined with the wheels of the others that fit it.
    """
    names = [canonical(file_name(path).name) for path in paths]
    groups = [list(paths)] if len(set(names)) == len(names) else [[path] for path in paths]
    for group in groups:
        others = tuple(path for path in paths if path not in group)
        beside, _ = stack.enter_context(open_set(replace(options, beside=(*options.beside, *others)), group))
        parts = stack.enter_context(open_parts(group, options))
        whole = beside.having(part.installed for part in parts)
        for part in parts:
            yield part.archive.path, _examined(part, whole, options, index, python=python)


def _examined(
    part: Part,
    whole: InstalledSet,
    options: ScanOptions,
    index: RootIndex | None = None,
    progress: Progress | None = None,
    python: tuple[int, int] | None = None,
) -> Examination:
    view = whole.focused_on(part.distribution)
    with WorkerPool(options.jobs) as pool:
        return WheelScan(part.archive, options, pool, progress, view, part.info).examine(index, python=python)


def _scan_parts(
    parts: list[Part],
    beside: InstalledSet,
    options: ScanOptions,
    index: RootIndex | None,
    progress: Progress | None,
) -> Iterator[ScanReport | FailedInput]:
    whole = beside.having(part.installed for part in parts)
    for part in parts:
        try:
            report = _examined(part, whole, options, index, progress).report
        except Exception as error:  # whatever it is, it costs this wheel only
            yield FailedInput(str(part.path), failure_of(error, str(part.path)))
        else:
            yield report
    beside.view.learn(whole.view)


def file_name(path: WheelPath) -> FileName:
    """Return the parts of the name of a wheel, on disk or on a server."""
    return FileName.parse(path if isinstance(path, Path) else Path(path.name))


def choose_wheels(
    wheels: Iterable[Path],
    profile: Profile,
    locked: tuple[Locked, ...] | None,
    asked_for: Callable[[], dict[str, str]],
) -> list[Path]:
    """Of each distribution the one wheel that an installer on the target takes; of a lock only what it names.

    Of several versions the newest that is asked for counts.
    """
    named = grouped((canonical(file_name(path).name), path) for path in wheels)
    for one in locked or ():
        named[one.name] = [path for path in named.get(one.name, ()) if one.fits(file_name(path).version)]
    names = [name for name in named if locked is None or any(one.name == name for one in locked)]
    offers = {name: offered_wheels(IndexFile(path.name, str(path)) for path in named[name]) for name in names}
    specifiers = asked_for() if any(len(versions) > 1 for versions in offers.values()) else {}
    found = (_newest(versions, specifiers.get(name, ""), profile) for name, versions in offers.items())
    return [path for path in found if path is not None]


def _newest(versions: Offers, specifier: str, profile: Profile) -> Path | None:
    """The newest wheel that fits the target and what is asked for, or else the target alone."""
    target = InstallTarget(profile.machine.platform, profile.python)
    for wanted in (specifier, ""):
        with contextlib.suppress(InputError):  # more conditions than can be tried
            for _, file in fitting_wheels(versions, SpecifierSet(wanted), target):
                return Path(file.url)
    return None


def best_of(name: str, specifier: str, wheels: Sequence[WheelPath], profile: Profile) -> Path | None:
    """The newest wheel of a distribution that fits the target and what is asked for."""
    own = [path for path in wheels if isinstance(path, Path) and canonical(file_name(path).name) == name]
    return next(iter(choose_wheels(own, profile, None, lambda: {name: specifier})), None)
