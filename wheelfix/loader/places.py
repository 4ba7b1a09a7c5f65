"""Wheels, folders and environments as views, with the distributions that are installed in them.

These are installed by pip and uv (dist-info), by older tools (egg-info), by conda (conda-meta). A distribution whose
files are somewhere else, or are not listed, is named with the reason: nothing is known about them.
"""

from __future__ import annotations

import functools
import os
import posixpath
import re
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from wheelfix.archive.metadata import HEADER_LIMIT, WheelInfo, parse_headers
from wheelfix.archive.names import expand_tag, installed_path
from wheelfix.archive.record import MAX_SIZE, Record
from wheelfix.base.inputfiles import open_regular, read_file
from wheelfix.base.parsing import read_json
from wheelfix.base.values import frozen, replace
from wheelfix.errors import EnvironmentFailure, InputError, WheelfixError
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
    from typing import Any

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


# ----------------------------------------------------------------------------------------------- distributions

_LOADED = (".dll", ".pyd")
CONDA_FOLDERS = ("bin", "Scripts", "Library/bin", "Library/usr/bin", "Library/mingw-w64/bin")
"""What conda's Python gives to AddDllDirectory when it starts (conda-forge/python-feedstock, its patch
``Add-CondaEcosystemModifyDllSearchPath``)."""


@frozen
class Distribution:
    """A distribution with what it says about itself: in a wheel, unpacked, or installed in an environment."""

    name: str
    version: str = ""
    dist_info: str = ""
    """The folder in the view; for a package of conda without one its file in ``conda-meta``."""
    paths: frozenset[str] = frozenset()
    """Its files, as far as they matter to a loader."""
    requires: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    requires_python: str = ""
    absent: tuple[str, ...] = ()
    """The DLLs and extension modules that RECORD lists, and that are not on the disk, as paths of the view."""

    @classmethod
    def of_wheel(cls, info: WheelInfo, paths: Iterable[str] = ()) -> Distribution:
        """Return what a wheel says about itself."""
        return cls(
            name=info.name,
            version=info.version,
            dist_info=f"{SITE_PACKAGES}/{info.dist_info}",
            paths=frozenset(paths),
            requires=info.metadata.requires_dist,
            tags=info.tags,
            requires_python=info.metadata.requires_python,
        )

    @property
    def has_modules(self) -> bool:
        """Whether it is for one platform, or has images in site-packages: one of conda may have DLLs for others only.

        All images of a distribution for one platform may be gone, together with their rows in RECORD.
        """
        images = (path for path in (*self.paths, *self.absent) if path.lower().endswith(_LOADED))
        conda = not self.dist_info.startswith(SITE_PACKAGES)
        own = any(path.startswith(f"{SITE_PACKAGES}/") or not conda for path in images)
        return own or not all(tag.endswith("-any") for tag in self.tags)


def find_installations(
    view: FileView, site: Path, prefix: Path | None
) -> tuple[tuple[Distribution, ...], dict[str, str]]:
    """Return what is installed in a site-packages folder, and in the prefix by conda.

    Also the distributions whose files are not known, by normalised name, and why.
    """
    known = {fold(file.path): file.path for file in view.files}
    packages = list(_conda_packages(prefix))
    found: dict[str, Distribution] = {}
    notes = [(link.stem, _editable("".join(_lines(link)[:1]))) for link in sorted(site.glob("*.egg-link"))]
    for folder in sorted(site.glob("*.dist-info")):
        one = _from_dist_info(folder, known, packages)
        if one is not None:
            found[folder.name] = one
            notes.append((one.name, _place_of(folder) or _unlisted(folder, one)))
    names = {canonical(one.name) for one in found.values()}
    for folder in sorted(site.glob("*.egg-info")):
        one = _from_egg_info(folder, known)
        if one is not None and canonical(one.name) not in names:
            names.add(canonical(one.name))
            found[folder.name] = one
            notes.append((one.name, _unlisted(folder, one)))
    owned = {path for one in found.values() for path in one.paths}
    for package in packages:
        paths = frozenset(_present(package.paths, known)) - owned
        if paths and canonical(package.name) not in names:
            found[package.dist_info] = replace(package, paths=paths)
    return tuple(found.values()), {canonical(name): why for name, why in notes if why}


def distribution_in(folder: Path) -> Distribution | None:
    """Return what the only ``dist-info`` in a folder says: that of an unpacked wheel, or of a lone distribution."""
    infos = list(folder.glob("*.dist-info"))
    return _from_dist_info(infos[0], {}, []) if len(infos) == 1 else None


def conda_folders(prefix: Path | None, label: str) -> tuple[str, ...]:
    """Return the folders of a view that conda's Python searches by itself; none for another Python."""
    if prefix is None or next(iter(prefix.glob("conda-meta/python-3*.json")), None) is None:
        return ()
    return tuple(f"{label}{folder}" for folder in CONDA_FOLDERS)


# --------------------------------------------------------------------------------------------- dist-info, egg-info


def _from_dist_info(folder: Path, known: dict[str, str], packages: list[Distribution]) -> Distribution | None:
    spelled, version = _name_and_version(folder)
    if not spelled:
        return None
    metadata, wheel = _headers(folder / "METADATA"), _headers(folder / "WHEEL")
    absent: tuple[str, ...] = ()
    if (folder / "RECORD").is_file():
        rows = record_paths(folder / "RECORD")
        listed: Iterable[str] = (f"{SITE_PACKAGES}/{row}" for row in rows)
        absent = tuple(_not_there(rows, folder.parent, known))
    else:
        own = f"{fold(SITE_PACKAGES)}/{fold(folder.name)}/"
        conda = next((one for one in packages if any(fold(file).startswith(own) for file in one.paths)), None)
        listed = conda.paths if conda is not None else _below(_modules(folder, spelled), known)
    return Distribution(
        name=metadata.get("name", (spelled,))[0],
        version=metadata.get("version", (version,))[0],
        dist_info=f"{SITE_PACKAGES}/{folder.name}",
        paths=frozenset(_present(listed, known)),
        requires=metadata.get("requires-dist", ()),
        tags=tuple(one for tag in wheel.get("tag", ()) for one in expand_tag(tag) or ()),
        requires_python=metadata.get("requires-python", ("",))[0],
        absent=absent,
    )


def _from_egg_info(folder: Path, known: dict[str, str]) -> Distribution | None:
    spelled, version = _name_and_version(folder)
    metadata = _headers(folder / "PKG-INFO" if folder.is_dir() else folder)
    name = metadata.get("name", (spelled,))[0]
    if not name:
        return None
    installed = folder / "installed-files.txt"
    if installed.is_file():
        own = f"{SITE_PACKAGES}/{folder.name}"
        listed: Iterable[str] = (f"{own}/{line}" for line in _lines(installed))
    else:
        listed = _below(_modules(folder, name), known)
    return Distribution(
        name=name,
        version=metadata.get("version", (version,))[0],
        dist_info=f"{SITE_PACKAGES}/{folder.name}",
        paths=frozenset(_present(listed, known)),
        requires=metadata.get("requires-dist", ()) or tuple(_egg_requirements(folder / "requires.txt")),
        requires_python=metadata.get("requires-python", ("",))[0],
    )


def _name_and_version(folder: Path) -> tuple[str, str]:
    """The parts of ``flux-2.1.dist-info`` and ``flux-2.1-py3.11.egg-info``; empty texts for another name."""
    parts = folder.name.rpartition(".")[0].split("-")
    if len(parts) > 2 and parts[-1].startswith("py") and folder.name.lower().endswith(".egg-info"):
        parts.pop()
    return ("-".join(parts[:-1]), parts[-1]) if len(parts) > 1 else ("", "")


def _egg_requirements(path: Path) -> Iterator[str]:
    """The requirements of setuptools' ``requires.txt``, in which ``[extra:marker]`` begins a section."""
    condition = ""
    for line in _lines(path):
        if not (line.startswith("[") and line.endswith("]")):
            yield f"{line}; {condition}" if condition else line
            continue
        name, _, marker = line[1:-1].partition(":")
        extra = f'extra == "{name}"' if name else ""
        condition = " and ".join(filter(None, (f"({marker})" if marker else "", extra)))


def _modules(folder: Path, name: str) -> list[str]:
    """The top-level modules of a distribution that lists no files: what it says, else those named like it."""
    return _lines(folder / "top_level.txt") or [name, name.lower(), canonical(name).replace("-", "_")]


def _below(modules: Iterable[str], known: dict[str, str]) -> Iterator[str]:
    """The files of top-level modules: packages, extension modules, DLLs that delvewheel put beside them."""
    starts = tuple(f"{fold(SITE_PACKAGES)}/{fold(one)}{end}" for one in modules for end in ("/", ".", ".libs/"))
    return (path for key, path in known.items() if key.startswith(starts))


def _unlisted(folder: Path, one: Distribution) -> str:
    """Why the files of a distribution are not known; empty where it lists some, or was found to have some."""
    if any((folder / name).is_file() for name in ("RECORD", "installed-files.txt")) or one.paths:
        return ""
    return "it is installed without a list of its files, and they were not found by its name"


# ---------------------------------------------------------------------------------------------------- editable ones


def _place_of(folder: Path) -> str:
    """Why the files of an editable installation are not here; empty for an ordinary one."""
    origin = _json(folder / "direct_url.json")
    about = origin.get("dir_info")
    if isinstance(about, dict) and about.get("editable") is True:
        try:
            return _editable(unquote(urlsplit(str(origin.get("url", ""))).path))
        except ValueError:  # such as file://[x
            return _editable("")
    rows = [row for row in record_paths(folder / "RECORD") if f"{folder.name}/" not in row.replace("\\", "/")]
    own = [row for row in rows if not row.startswith("..")]
    if own and all(re.fullmatch(r"[^/\\]+\.pth|__editable__\w*\.py|__pycache__/.*", row) for row in own):
        return _editable("") if any("editable" in row or _leads_away(folder.parent / row) for row in own) else ""
    return ""


def _leads_away(path: Path) -> bool:
    """Whether a ``.pth`` file names a folder."""
    lines = _lines(path) if path.name.endswith(".pth") else []
    return any(not line.startswith(("import ", "import\t", "#")) for line in lines)


def _editable(place: str) -> str:
    return f"it is an editable installation: its files are {f'in {place}' if place else 'somewhere else'}"


# ------------------------------------------------------------------------------------------------------------ conda


def _conda_packages(prefix: Path | None) -> Iterator[Distribution]:
    for path in sorted(prefix.glob("conda-meta/*.json")) if prefix is not None else ():
        about = _json(path)
        name, version, files = about.get("name"), about.get("version"), about.get("files")
        if isinstance(name, str) and isinstance(files, list):
            listed = frozenset(file for file in files if isinstance(file, str))
            yield Distribution(name, str(version or ""), f"conda-meta/{path.name}", listed)


# ------------------------------------------------------------------------------------------------------------ files


def record_paths(path: Path) -> list[str]:
    """Return the paths that a RECORD lists; none for one that is not there."""
    try:
        return [row.path for row in Record.parse(read_file(path, MAX_SIZE)).rows]
    except OSError:
        return []


def normal_path(path: str) -> str:
    """Resolve the ``..`` with which RECORD reaches out of site-packages."""
    return posixpath.normpath("/" + path.replace("\\", "/")).lstrip("/")


def _present(listed: Iterable[str], known: dict[str, str]) -> Iterator[str]:
    found = (known.get(fold(normal_path(path))) for path in listed)
    return (path for path in found if path)


def _not_there(rows: Iterable[str], site: Path, known: dict[str, str]) -> Iterator[str]:
    """The DLLs and extension modules in site-packages that are listed and gone, each once.

    What RECORD lists outside may be where it was not looked for, as in a copy of site-packages alone.
    """
    images = dict.fromkeys(row.replace("\\", "/") for row in rows if row.lower().endswith(_LOADED))
    for row in images:
        path = normal_path(f"{SITE_PACKAGES}/{row}")
        if not row.startswith("..") and fold(path) not in known and not (site / row).is_file():
            yield path


def _text(path: Path) -> str:
    try:
        return read_file(path, HEADER_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""


def _headers(path: Path) -> dict[str, tuple[str, ...]]:
    return parse_headers(_text(path))


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in _text(path).splitlines() if line.strip()]


def _json(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path)
    except (OSError, ValueError, WheelfixError):
        return {}
    return found if isinstance(found, dict) else {}


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
