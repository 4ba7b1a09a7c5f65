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
from wheelfix.base.values import dataclass, field, frozen, grouped, replace
from wheelfix.errors import InputError, failure_of
from wheelfix.exam.examination import Examination, FailedInput, Progress, wheels_in
from wheelfix.exam.examine import machine_of_tags
from wheelfix.exam.lockfile import ONLY, Locked, LockedSet, LockParts, read_lockfile
from wheelfix.exam.wheel import WheelScan
from wheelfix.loader.installations import Distribution
from wheelfix.loader.places import Neighbours, open_environment, view_of_wheel
from wheelfix.loader.profile import Profile, python_of_tags
from wheelfix.loader.requirements import Requirements, requirements_with_extras
from wheelfix.loader.view import FileView, Layer, ViewFile
from wheelfix.model import PLATFORM_MACHINES, ImageFacts, ScanReport, canonical
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
    """One distribution of a set: a wheel, or what is installed in an environment."""

    distribution: Distribution
    files: tuple[ViewFile, ...]
    path: WheelPath
    archive: Archive | None = None
    info: WheelInfo | None = None

    @property
    def name(self) -> str:
        """The normalised name."""
        return canonical(self.distribution.name)


@dataclass
class InstalledSet:
    """What is installed beside the subjects of a scan."""

    parts: tuple[Part, ...] = ()
    loose: tuple[ViewFile, ...] = ()
    """Files of an environment that no distribution has: those of Python, and what was copied there."""
    complete: bool = False
    installed: bool = False
    """Whether this is in an environment, and not only what a lock file or an index says."""
    absent: dict[str, str] = field(default_factory=dict)
    """Distributions that are, or may be, installed without their files being here, and why."""
    python: tuple[int, int] | None = None
    searched: tuple[str, ...] = ()
    """Folders that every process of the environment's Python searches."""
    _facts: dict[str, ImageFacts] = field(default_factory=dict)

    def around(self, subjects: Iterable[Part]) -> Neighbours:
        """All files of the set and of some subjects; a subject replaces what is installed under its name."""
        own = {part.name: part for part in subjects}
        parts = [*(part for part in self.parts if part.name not in own), *own.values()]
        files: dict[str, ViewFile] = {file.path: file for file in self.loose}
        for part in parts:
            files.update({file.path: file for file in part.files})
        mine = {file.path for part in own.values() for file in part.files}
        facts = {path: known for path, known in self._facts.items() if path not in mine}
        background = (file._replace(layer=Layer.ENVIRONMENT) for file in files.values())
        view = FileView(background, facts)
        distributions = [part.distribution for part in parts]
        absent = {name: why for name, why in self.absent.items() if name not in own}
        view.beside = Neighbours(
            view, distributions, complete=self.complete, absent=absent, searched=self.searched, installed=self.installed
        )
        return view.beside

    def keep(self, view: FileView, subjects: Iterable[Part]) -> None:
        """Keep the facts about the files beside the subjects for the next subject."""
        mine = {file.path for part in subjects for file in part.files}
        self._facts.update({path: known for path, known in view.facts().items() if path not in mine})


@contextlib.contextmanager
def open_parts(paths: Iterable[WheelPath], options: ScanOptions) -> Iterator[list[Part]]:
    """Open wheels as parts of a set."""
    with contextlib.ExitStack() as stack:
        yield [wheel_part(path, options, stack) for path in paths]


def wheel_part(path: WheelPath, options: ScanOptions, stack: contextlib.ExitStack) -> Part:
    """Return a wheel as a part of a set; ``stack`` keeps it open."""
    archive = stack.enter_context(Archive.open(path, options.limits))
    info = WheelInfo.from_archive(archive)
    files = view_of_wheel(archive, info).files
    distribution = Distribution.of_wheel(info, (file.path for file in files))
    return Part(distribution, files, archive.remote or archive.path, archive, info)


@contextlib.contextmanager
def open_set(
    options: ScanOptions, subjects: Sequence[WheelPath], client: Client | None = None
) -> Iterator[InstalledSet]:
    """Open what is installed beside the subjects, as ``--with`` and ``--lockfile`` name it.

    With a ``client``, what the subjects require and none of these has is opened too, from the package index.
    """
    wheels: list[Path] = []
    found = InstalledSet()
    for path in options.beside:
        if path.is_dir() and not (listed := wheels_in(path)):
            _add_environment(found, path)
        else:
            wheels += listed if path.is_dir() else [path]
    profile = _profile_of(subjects, options, found.python, wheels)
    named = {canonical(file_name(path).name) for path in subjects}
    locked = None
    if options.lockfile is not None:
        locked = read_lockfile(options.lockfile, profile, LockParts(options.lock_extras, options.lock_groups))
    members = tuple(one for one in locked.members if not one.unless.startswith(ONLY)) if locked is not None else None
    chosen = choose_wheels(wheels, profile, members, lambda: _asked_for(subjects, options, profile))
    present = {*(part.name for part in found.parts), *(canonical(file_name(path).name) for path in chosen), *named}
    added: list[WheelPath] = [*chosen]
    if client is not None and subjects:
        from wheelfix.exam.versionchoice import required_wheels

        required = required_wheels(subjects, profile, client, options.limits, present)
        added += map(client.wheel_of, required.files.values())
        found.complete, found.installed = True, False
        found.absent.update(required.absent)
    with contextlib.ExitStack() as stack:
        parts = [wheel_part(path, options, stack) for path in added]
        if locked is not None:
            parts += _close(found, locked, parts, [*wheels, *subjects], (profile, options, stack))
        found.parts = (*found.parts, *(part for part in parts if part.name not in named))
        yield found


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
    there = {part.name: part for part in (*found.parts, *parts)}
    found.absent.update((one.name, one.unless or NOT_FOUND) for one in locked.members if one.name not in there)
    more: list[Part] = []
    pending = [] if locked.closed else [(one.name, one.specifier, one.extras) for one in locked.members]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    while pending:
        name, specifier, extras = pending.pop()
        if name not in there and name in files:
            path = best_of(name, specifier, wheels, profile)
            if path is not None:
                there[name] = wheel_part(path, options, stack)
                more.append(there[name])
                found.absent.pop(name, None)
        part = there.get(name)
        if part is None or (name, extras) in seen:
            continue
        seen.add((name, extras))
        for one in requirements_with_extras(part.distribution.requires, profile, extras):
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


def _add_environment(found: InstalledSet, path: Path) -> None:
    environment = open_environment(path)
    owned = {file: one for one in environment.distributions for file in one.paths}
    files: dict[str, list[ViewFile]] = {}
    loose = []
    for file in environment.view.files:
        one = owned.get(file.path)
        if one is None:
            loose.append(file)
        else:
            files.setdefault(one.name, []).append(file)
    found.parts = (
        *found.parts,
        *(Part(one, tuple(files.get(one.name, ())), path) for one in environment.distributions),
    )
    found.loose = (*found.loose, *loose)
    found.absent.update(environment.elsewhere)
    found.complete, found.python, found.searched = environment.complete, environment.python, environment.searched
    found.installed = True


def _asked_for(subjects: Iterable[WheelPath], options: ScanOptions, profile: Profile) -> dict[str, str]:
    """The versions that the subjects ask for, by distribution."""
    found: dict[str, str] = {}
    for path in subjects:
        with Archive.open(path, options.limits) as archive:
            requires = WheelInfo.from_archive(archive).metadata.requires_dist
        for one in Requirements(requires, profile).direct():
            if not one.extra:
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
    with open_set(options, paths, client) as beside:
        if not paths:
            paths, beside.parts = [part.path for part in beside.parts if part.archive is not None], ()
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
    paths: Sequence[Path], options: ScanOptions, index: RootIndex | None, stack: contextlib.ExitStack
) -> Iterator[tuple[Path, Examination]]:
    """Examine wheels within one installation; ``stack`` keeps their archives open.

    Of several wheels of one distribution each is examined with the wheels of the others that fit it.
    """
    names = [canonical(file_name(path).name) for path in paths]
    groups = [list(paths)] if len(set(names)) == len(names) else [[path] for path in paths]
    for group in groups:
        others = tuple(path for path in paths if path not in group)
        beside = stack.enter_context(open_set(replace(options, beside=(*options.beside, *others)), group))
        parts = stack.enter_context(open_parts(group, options))
        whole = beside.around(parts)
        for part in parts:
            assert part.archive is not None
            yield part.archive.path, _examined(part, whole, options, index)


def _examined(
    part: Part, whole: Neighbours, options: ScanOptions, index: RootIndex | None, progress: Progress | None = None
) -> Examination:
    assert part.archive is not None
    view = whole.focused_on(part.distribution)
    with WorkerPool(options.jobs) as pool:
        return WheelScan(part.archive, options, pool, progress, view, part.info).examine(index)


def _scan_parts(
    parts: list[Part],
    beside: InstalledSet,
    options: ScanOptions,
    index: RootIndex | None,
    progress: Progress | None,
) -> Iterator[ScanReport | FailedInput]:
    whole = beside.around(parts)
    for part in parts:
        try:
            report = _examined(part, whole, options, index, progress).report
        except Exception as error:  # whatever it is, it costs this wheel only
            yield FailedInput(str(part.path), failure_of(error, str(part.path)))
        else:
            yield report
    beside.keep(whole.view, parts)


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
