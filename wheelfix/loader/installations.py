"""What is installed in an environment: by pip and uv (dist-info), by older tools (egg-info), by conda (conda-meta).

A distribution whose files are somewhere else, or are not listed, is named with the reason: nothing is known about them.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from wheelfix.archive.metadata import HEADER_LIMIT, WheelInfo, parse_headers
from wheelfix.archive.names import expand_tag
from wheelfix.archive.record import MAX_SIZE, Record
from wheelfix.base.inputfiles import read_file
from wheelfix.base.parsing import read_json
from wheelfix.base.values import frozen, replace
from wheelfix.errors import WheelfixError
from wheelfix.loader.view import SITE_PACKAGES, FileView
from wheelfix.model import canonical, fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Any


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
