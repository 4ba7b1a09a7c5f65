"""Folders and environments with installed distributions, and which of them lie beside the subject."""

from __future__ import annotations

import functools
import os
import re
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from wheelfix.archive.names import installed_path
from wheelfix.base.inputfiles import open_regular
from wheelfix.base.values import frozen
from wheelfix.errors import EnvironmentFailure, InputError
from wheelfix.loader.installations import Distribution, conda_folders, find_installations, normal_path, record_paths
from wheelfix.loader.profile import Profile, python_of_tags
from wheelfix.loader.requirements import requirements
from wheelfix.loader.view import (
    ABI3T_FOLDER,
    BASE,
    PE_SUFFIXES,
    SITE_PACKAGES,
    USER,
    VENV_SETTINGS,
    FileView,
    ViewFile,
)
from wheelfix.model import ByteSource, canonical, dll_key, fold
from wheelfix.streams.source import FileSource

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from wheelfix.archive.metadata import WheelInfo
    from wheelfix.archive.reader import Archive, Member


# ------------------------------------------------------------------------------------------------------- a wheel


def member_path(path: str, data_folder: str) -> str:
    """The member name for a path of the view: the inverse of :func:`installed_path` for what a repair adds."""
    if path.startswith(SITE_PACKAGES + "/"):
        return path[len(SITE_PACKAGES) + 1 :]
    return f"{data_folder}/data/{path}"


def view_of_wheel(archive: Archive, info: WheelInfo) -> FileView:
    """The files of a wheel as an installer would lay them out."""
    return FileView(_wheel_files(archive, info.prefix, info.data))


def _wheel_files(archive: Archive, prefix: str, data_folder: str) -> Iterator[ViewFile]:
    for member in archive.members:
        name = member.name
        if name[-1:] != "/":
            inside = name.removeprefix(prefix) if prefix else name
            moved = inside.startswith(data_folder)
            where = installed_path(inside, data_folder) if moved else f"{SITE_PACKAGES}/{inside}"
            yield ViewFile(where, name, member.usize, functools.partial(_ReadableOrEmpty, archive, member))


class _ReadableOrEmpty:
    """A member's bytes; a member that cannot be read has none, the archive's own findings say why."""

    def __init__(self, archive: Archive, member: Member) -> None:
        self.size = member.usize
        self._source: ByteSource | None = None
        try:
            self._source = archive.source(member)
        except InputError:
            self.size = 0

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``."""
        if self._source is None:
            return b""
        try:
            return self._source.read_at(offset, length)
        except InputError:
            return b""


# ----------------------------------------------------------------------------------------------- an environment


@frozen
class Environment:
    """An installed Python environment, or a copy of one."""

    prefix: Path
    site: Path
    """Its site-packages folder."""
    python: tuple[int, int] | None
    installed: InstalledSet

    @property
    def view(self) -> FileView:
        """All its files."""
        return self.installed.view

    @property
    def distributions(self) -> tuple[Distribution, ...]:
        """All that is installed in it."""
        return self.installed.distributions

    @property
    def unowned(self) -> frozenset[str]:
        """The DLLs that no distribution's RECORD names."""
        dlls = (file.path for file in self.view.files if file.path.lower().endswith(".dll"))
        return frozenset(dlls).difference(*(distribution.paths for distribution in self.distributions))

    def disk_path(self, path: str) -> Path:
        """Where a path of the view is, or would be, on disk."""
        if path.startswith(SITE_PACKAGES + "/"):
            return self.site / path[len(SITE_PACKAGES) + 1 :]
        return self.prefix / path


def find_site_packages(path: Path) -> Path | None:
    """The site-packages folder of a prefix (of any layout), or the path itself when it is one."""
    if path.name.lower() == "site-packages" or any(path.glob("*.dist-info")):
        return path
    for parts in (("lib", "site-packages"), ("site-packages",)):
        found = _descend(path, parts)
        if found:
            return found
    return next(iter(sorted(path.glob("lib/python3*/site-packages"))), None)


def _descend(path: Path, parts: tuple[str, ...]) -> Path | None:
    """Go down folder by folder without regard to case, as Windows would."""
    for part in parts:
        try:
            match = next((entry for entry in path.iterdir() if entry.name.lower() == part and entry.is_dir()), None)
        except OSError:
            return None
        if match is None:
            return None
        path = match
    return path


def open_environment(path: Path) -> Environment:
    """Read the layout of an environment; InputError when the folder is not one."""
    site = find_site_packages(path)
    if site is None:
        raise InputError(
            str(path),
            because="it has no wheel, and is neither an environment, a site-packages folder nor a package",
            hint="give a wheel, a folder of wheels, or the folder that has python.exe",
        )
    prefix = _prefix_of(site)
    files = list(_walk(site, SITE_PACKAGES))
    searched: tuple[str, ...] = ()
    settings = _venv_settings(prefix)
    home = Path(settings.get("home") or "?")  # of the Python that a venv was made from, if it is on this machine
    for folder, label in ((prefix, ""), (home if home.is_dir() else None, BASE + "/")):
        if folder is not None:
            files += _prefix_files(folder, label)
            searched += conda_folders(folder, label)
    if prefix is not None and settings:  # code asks for it: dpctl, in a venv, adds the venv's Library/bin
        files.append(_disk_file(prefix / VENV_SETTINGS, VENV_SETTINGS))
    userbase = _userbase_of(site)
    if userbase is not None:
        files += _walk_flat(_descend(userbase, ("library", "bin")), f"{USER}/Library/bin")
    files += _recorded_outside(site, prefix, {fold(file.path) for file in files})
    view = FileView(files, own=())
    distributions, absent = find_installations(view, site, prefix)
    python = _python_version(prefix, settings, site) or _python_of_most(distributions)
    complete = userbase is None and settings.get("include-system-site-packages", "").lower() != "true"
    there = InstalledSet(view, distributions, complete=complete, absent=absent, searched=searched, installed=True)
    return Environment(prefix or site, site, python, there)


def _recorded_outside(site: Path, prefix: Path | None, known: set[str]) -> Iterator[ViewFile]:
    """The DLLs that distributions have put outside of site-packages: ``share/sdl2/bin``, ``Library/bin``.

    ``pip install --target`` keeps them in the target, and names in RECORD where they would be in an environment.
    """
    for record in sorted(site.glob("*.dist-info/RECORD")):
        for row in record_paths(record):
            path = normal_path(f"{SITE_PACKAGES}/{row}")
            if not row.startswith("..") or not path.lower().endswith(PE_SUFFIXES) or fold(path) in known:
                continue
            places = [folder / path for folder in (prefix, site) if folder is not None]
            place = next((place for place in places if place.is_file()), None)
            if place is not None:
                known.add(fold(path))
                yield _disk_file(place, path)


def _prefix_of(site: Path) -> Path | None:
    if site.parent.name.lower() == "lib":
        return site.parent.parent
    if re.fullmatch(r"python3\.\d+", site.parent.name):
        return site.parent.parent.parent
    return None


def _userbase_of(site: Path) -> Path | None:
    """``%APPDATA%\\Python`` when the folder is ``%APPDATA%\\Python\\Python311\\site-packages``."""
    return site.parent.parent if re.fullmatch(r"python3\d+", site.parent.name.lower()) else None


def _venv_settings(prefix: Path | None) -> dict[str, str]:
    """What the ``pyvenv.cfg`` of a venv says."""
    try:
        with open_regular((prefix or Path("?")) / VENV_SETTINGS) as file:
            lines = file.read(1 << 16).decode("utf-8", "replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in reversed(lines))  # the first line of a name counts
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _prefix_files(prefix: Path, label: str) -> Iterator[ViewFile]:
    yield from _walk_flat(prefix, label.rstrip("/"))
    folders = ("Library/bin", "DLLs", "Scripts", "bin", "Library/usr/bin", "Library/mingw-w64/bin", ABI3T_FOLDER)
    for spelled in folders:
        yield from _walk_flat(_descend(prefix, tuple(spelled.lower().split("/"))), label + spelled)


def _walk_flat(folder: Path | None, label: str) -> Iterator[ViewFile]:
    """The PE files directly in a folder."""
    if folder is None:
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.lower().endswith(PE_SUFFIXES) and entry.is_file():
            yield _disk_file(Path(entry.path), f"{label}/{entry.name}" if label else entry.name)


def _walk(folder: Path, label: str) -> Iterator[ViewFile]:
    """The files below a folder; code asks for data, too, as pvporcupine does. What Python has compiled is left out."""
    for root, names, files in os.walk(folder):
        names.sort()
        inside = PurePosixPath(Path(root).relative_to(folder).as_posix())
        for name in sorted(files):
            if not name.endswith(".pyc"):
                yield _disk_file(Path(root) / name, (PurePosixPath(label) / inside / name).as_posix())


def _disk_file(path: Path, label: str) -> ViewFile:
    try:
        size = path.stat().st_size
    except OSError:
        size = 0
    return ViewFile(label, str(path), size, functools.partial(FileSource, path))


def _python_version(prefix: Path | None, settings: dict[str, str], site: Path) -> tuple[int, int] | None:
    """The version of the Python in an environment, from ``pyvenv.cfg``, its DLL or folder names."""
    stated = settings.get("version") or settings.get("version_info", "")
    dlls = sorted(prefix.glob("*.dll")) if prefix is not None else []
    patterns = [(stated, r"([0-9]{1,2})\.([0-9]{1,3})\b.*")]
    patterns += [(path.name.lower(), r"python(3)\.?([0-9]{1,3})t?(?:\.dll)?") for path in (*dlls, site.parent)]
    found = next(filter(None, (re.fullmatch(pattern, text) for text, pattern in patterns)), None)
    return (int(found[1]), int(found[2])) if found else None


def _python_of_most(distributions: Iterable[Distribution]) -> tuple[int, int] | None:
    """The Python that most distributions of a folder are for, of several the newest; None where none names one."""
    counted = Counter(filter(None, (python_of_tags(one.tags) for one in distributions)))
    return max(counted, key=lambda python: (counted[python], python), default=None)


# ---------------------------------------------------------------------------------------------- a package folder


def view_of_folder(folder: Path) -> FileView:
    """An unpacked wheel, or a single package folder, as if it lay in site-packages."""
    if not folder.is_dir():
        raise InputError(str(folder), because="the folder does not exist")
    whole = any(folder.glob("*.dist-info")) or not (folder / "__init__.py").exists()
    label = SITE_PACKAGES if whole else f"{SITE_PACKAGES}/{folder.name}"
    try:
        return FileView(_walk(folder, label))
    except PermissionError as exc:
        raise EnvironmentFailure(str(folder), because=str(exc), hint="run as a user who may read it") from exc


LISTED = 500_000
"""Files that the views of single distributions list together; beyond that the oldest view is made again if needed."""


NOT_INSTALLED = Distribution("")


class InstalledSet:
    """Distributions that are installed in one place, with their files; shared by the examinations of all of them."""

    def __init__(
        self,
        view: FileView,
        distributions: Iterable[Distribution] = (),
        *,
        complete: bool = False,
        absent: Mapping[str, str] | None = None,
        searched: tuple[str, ...] = (),
        installed: bool = False,
    ) -> None:
        """``view`` has all files, also those that no distribution has: Python's own, and what was copied there."""
        self.view = view
        """All files, none of them the subject's."""
        self.distributions = tuple(distributions)
        self._by_name = {canonical(one.name): one for one in self.distributions}
        self.complete = complete
        """Whether nothing else is installed."""
        self.absent: dict[str, str] = {canonical(name): why for name, why in (absent or {}).items()}
        """What has no files here although it is, or may be, installed, and why."""
        self.searched = searched
        """Folders of the view that every process of its Python searches for DLLs."""
        self.installed = installed
        """Whether it is there, and not what an installer would choose."""
        self._views: dict[str, FileView] = {}

    def having(self, others: Iterable[InstalledSet], like: InstalledSet | None = None) -> InstalledSet:
        """All of this set and of others, which replace what is installed here under the same names.

        Of several wheels of one distribution the last counts. ``like`` is the set whose Python and whose completeness
        count, by default this one.
        """
        added, whose = [*{tuple(other): other for other in others}.values()], like or self
        names = {name for other in added for name in other}
        owned = {path: canonical(one.name) for one in self.distributions for path in one.paths}
        files = {file.path: file for file in self.view.files if owned.get(file.path) not in names}
        new = {file.path: file for other in added for file in other.view.files}
        facts = {path: known for path, known in self.view.facts().items() if path in files and path not in new}
        kept = [one for one in self.distributions if canonical(one.name) not in names]
        absent = {name: why for name, why in self.absent.items() if name not in names}
        return InstalledSet(
            FileView({**files, **new}.values(), facts),
            (*kept, *(one for other in added for one in other.distributions)),
            complete=whose.complete,
            absent=absent | {name: why for other in added for name, why in other.absent.items()},
            searched=whose.searched,
            installed=whose.installed,
        )

    def __contains__(self, distribution: str) -> bool:
        return distribution in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def focused_on(self, distribution: Distribution) -> FileView:
        """All files with one distribution as the subject; a view that was made for it before is used again."""
        name = canonical(distribution.name)
        if self._by_name.get(name) is distribution:
            return self.view_of(name)
        return self._focused(distribution)  # another one of the same name

    def view_of(self, distribution: str) -> FileView:
        """All files, with those of one distribution as the subject."""
        if distribution not in self._views:
            if len(self._views) * len(self._owners) > LISTED:
                del self._views[next(iter(self._views))]
            self._views[distribution] = self._focused(self._by_name[distribution])
        return self._views[distribution]

    def _focused(self, distribution: Distribution) -> FileView:
        view = self.view.focused(distribution.paths)
        view.beside = self
        return view

    @functools.cached_property
    def _owners(self) -> dict[str, str]:
        return {path: name for name, one in self._by_name.items() for path in one.paths}

    def __getitem__(self, distribution: str) -> Distribution:
        """What is installed under a name; without version and files if nothing is."""
        return self._by_name.get(distribution, NOT_INSTALLED)

    def owner(self, path: str) -> str:
        """The distribution that a file belongs to; empty for a file of none."""
        return self._owners.get(path, "")

    def owner_of_module(self, module: str) -> str:
        """The distribution that has a module; empty if none has it."""
        return self.owner(self.view.module_file(module) or "")

    # ------------------------------------------------------------------------------------------ who belongs to whom

    def knowing(self, name: str, files: Iterable[str], profile: Profile) -> Iterator[str]:
        """Those of some files of distributions whose code may load a DLL of one of them, or add its folder.

        It is its own distribution's, or that of one that requires it, or that it requires.
        """
        owners = {self.owner(path) for path in self.view.named(dll_key(name))} - {""}
        for file in files if owners else ():
            own = self.owner(file)
            needed = {own, *self.required_by(own, profile)}
            if not own or any(owner in needed or own in self.required_by(owner, profile) for owner in owners):
                yield file

    def required_by(self, distribution: str, profile: Profile) -> set[str]:
        """The distributions of the set that one of them requires, transitively."""
        found: set[str] = set()
        pending = [distribution]
        for name in pending:  # grows while it is walked
            own = requirements(self[name].requires, profile)
            new = [other for other in self if other not in found and other in own]
            found.update(new)
            pending += new
        return found
