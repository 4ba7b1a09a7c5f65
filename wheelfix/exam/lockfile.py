"""Which distributions a lock file names: pylock.toml (PEP 751), uv.lock, requirements.txt.

uv.lock holds all systems at once. Conditions stand at the edges between packages, so a list of its packages would have
those that only Linux gets, and all extras: what counts is what can be reached from the project, edge by edge.
"""

from __future__ import annotations

import codecs
import re
import shlex
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

from wheelfix.base.inputfiles import read_file
from wheelfix.base.parsing import load_toml
from wheelfix.base.values import dataclass, distinct, field, frozen, grouped, replace
from wheelfix.errors import InputError
from wheelfix.loader.requirements import fits, marker_holds, parse_requirement
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Any

    from wheelfix.loader.profile import Profile


TomlTable: TypeAlias = "dict[str, Any]"
MOST = 16 << 20
"""Bytes of a lock file."""
_HINT = "give a pylock.toml, a uv.lock or a requirements.txt"
_OTHERS = {
    "poetry.lock": "let Poetry export it as requirements.txt, which needs its plugin poetry-plugin-export",
    "pdm.lock": "let PDM export it as requirements.txt or pylock.toml",
    "pipfile.lock": "let Pipenv print it as requirements.txt",
    "conda-lock.yml": "scan the conda environment itself",
    "environment.yml": "scan the conda environment itself",
    "pyproject.toml": "make a lock file of it, with uv or pip",
}
"""Files of other tools that people take for one that is read here, with what helps."""


def read_lockfile(path: Path, profile: Profile, parts: LockParts | None = None) -> LockedSet:
    """Return what is installed on the target according to a lock file, in its order, none twice."""
    hint = _OTHERS.get(path.name.lower())
    if hint is not None:
        raise InputError(str(path), because="it is not a lock file that wheelfix reads", hint=hint)
    text = read_text(path)
    chosen = parts or LockParts()
    if path.suffix.lower() not in (".toml", ".lock"):
        check_parts(path, chosen, (), ())
        return read_requirements(path, text, profile)
    try:
        tree = load_toml(text)
    except ValueError as exc:
        raise InputError(str(path), because=f"it is not valid TOML: {exc}", hint=_HINT) from exc
    read = read_pylock if path.suffix.lower() == ".toml" else read_uv_lock
    best: dict[str, Locked] = {}
    for one in read(path, tree, profile, chosen):
        known = best.get(one.name)
        if known is None or (known.unless and not one.unless):  # what is installed for certain counts
            best[one.name] = one
    return LockedSet(tuple(best.values()))


def read_text(path: Path) -> str:
    """Return the text of a lock file: UTF-8, or UTF-16 with a byte order mark, as PowerShell's ``>`` writes it."""
    try:
        data = read_file(path, MOST)
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return data.decode("utf-16" if wide else "utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(str(path), because=f"it cannot be read: {exc}", hint=_HINT) from exc


ONLY = "it is installed only with "
_FROM_SOURCE = "it is installed from its source, and no wheel of it was found"
"""How the reason begins for which something in a lock file may not be installed."""


@frozen
class LockParts:
    """The optional parts of a lock file that are installed."""

    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] | None = None
    """None for those that an installer takes by default."""


@frozen
class Locked:
    """A distribution that a lock file names."""

    name: str
    """Normalised."""
    specifier: str
    """The versions that fit: ``==2.9.1`` in a lock."""
    extras: tuple[str, ...] = ()
    """Its own extras that are asked for."""
    unless: str = ""
    """Why it may not be installed, or has no wheel: ``it is installed only with --extra gui``."""

    def __str__(self) -> str:
        return f"{self.name}{self.specifier}"

    def fits(self, version: str) -> bool:
        """Whether a version is one that is locked."""
        exact = self.specifier.removeprefix("===").removeprefix("==")
        return fits(version, self.specifier) or exact == version


@frozen
class LockedSet:
    """All that a lock file names."""

    members: tuple[Locked, ...]
    closed: bool = True
    """Whether nothing else is installed. pip adds what a plain requirements.txt does not name and its members need."""
    unnamed: tuple[str, ...] = ()
    """Lines that name a place from which something is installed, without saying what."""


def _packages(path: Path, tree: TomlTable, key: str, format_key: str, writer: str) -> list[TomlTable]:
    """Return the tables of packages of a lock file, each with a name; InputError for another tool's or a newer one."""
    rows = tree.get(key)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(
            str(path),
            because=f"it has no list of packages ({key})",
            hint=_HINT,
        )
    nameless = next((number for number, row in enumerate(rows, 1) if not isinstance(row.get("name"), str)), None)
    if nameless is not None:
        raise InputError(str(path), because=f"entry {nameless} of its list of packages ({key}) has no name")
    version = tree.get(format_key)
    if version is None:
        raise InputError(str(path), because=f"it has no {format_key}, so {writer} did not write it", hint=_HINT)
    if str(version).partition(".")[0] != "1":
        raise InputError(str(path), because=f"its {format_key} is {version}; only 1 is supported")
    return rows


def check_parts(path: Path, parts: LockParts, extras: Iterable[str], groups: Iterable[str]) -> None:
    """Refuse an extra or group that the lock file does not have."""
    for option, asked, known in (("--extra", parts.extras, extras), ("--group", parts.groups or (), groups)):
        there = sorted(set(known))
        for name in asked:
            if name not in there:
                raise InputError(
                    str(path),
                    because=f"it has nothing for {option} {name}",
                    hint=f"it has {', '.join(there)}" if there else f"leave {option} out",
                )


def as_list(value: object) -> list[Any]:
    """Return a list of a file as it is, and anything else as an empty one."""
    return value if isinstance(value, list) else []


def as_table(value: object) -> TomlTable:
    """Return a table of a file as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def read_pylock(path: Path, tree: TomlTable, profile: Profile, parts: LockParts) -> list[Locked]:
    """Return the packages whose markers hold, and those that other extras or groups would install."""
    rows = _packages(path, tree, "packages", "lock-version", "a tool that follows PEP 751")
    extras, groups = _names(tree, "extras"), _names(tree, "dependency-groups")
    check_parts(path, parts, extras, groups)
    wanted = tree.get("requires-python")
    if profile.python is not None and isinstance(wanted, str) and not fits(_python(profile), wanted):
        raise InputError(str(path), because=f"it is for Python {wanted}, and the wheels are for {_python(profile)}")
    chosen = parts.groups if parts.groups is not None else _names(tree, "default-groups")
    found = []
    for row in rows:
        marker, python = row.get("marker"), row.get("requires-python")
        if isinstance(python, str) and not fits(_python(profile), python):
            continue
        if not isinstance(marker, str) or marker_holds(marker, profile, parts.extras, chosen):
            source = as_table(row.get("directory")) or as_table(row.get("vcs"))
            found.append(_locked(row, _FROM_SOURCE if source else ""))
        elif any(words := [*extras, *groups]) and marker_holds(marker, profile, extras, groups):
            named = [word for word in words if word in marker]
            found.append(_locked(row, f"{ONLY}the extra or group {' or '.join(named or words)}"))
    return found


def _locked(row: TomlTable, unless: str) -> Locked:
    version = row.get("version")
    return Locked(canonical(row["name"]), f"=={version}" if isinstance(version, str) else "", unless=unless)


def _names(tree: TomlTable, key: str) -> tuple[str, ...]:
    return tuple(name for name in as_list(tree.get(key)) if isinstance(name, str))


def _python(profile: Profile) -> str:
    major, minor = profile.python or (3, 11)
    return f"{major}.{minor}"


_OWN = ("virtual", "editable", "directory")
"""Kinds of sources that are folders: the project itself, members of its workspace, packages beside it."""
_DEFAULT_GROUPS = ("dev",)
"""What ``uv sync`` installs unless the project says otherwise, which its lock file does not repeat."""


def read_uv_lock(path: Path, tree: TomlTable, profile: Profile, parts: LockParts) -> list[Locked]:
    """Return what the project requires on the target, and what other extras or groups would install."""
    rows = _packages(path, tree, "package", "version", "uv")
    graph = _LockGraph(rows, profile)
    roots = graph.roots(as_table(tree.get("manifest")))
    extras = [name for root in roots for name in as_table(root.get("optional-dependencies"))]
    groups = [name for root in roots for name in as_table(root.get("dev-dependencies"))]
    check_parts(path, parts, extras, groups)
    chosen = parts.groups if parts.groups is not None else tuple(name for name in _DEFAULT_GROUPS if name in groups)
    installed = graph.reached(roots, parts.extras, chosen)
    found = [*_members(installed.values())]
    for option, name in (*(("--extra", one) for one in extras), *(("--group", one) for one in groups)):
        some = (name,) if option == "--extra" else ()
        more = graph.reached(roots, some, () if some else (name,))
        rest = (row for key, row in more.items() if key not in installed)
        found += _members(rest, f"{ONLY}{option} {name}")
    return found


def _members(rows: Iterable[TomlTable], unless: str = "") -> Iterator[Locked]:
    for row in rows:
        source = as_table(row.get("source"))
        if "virtual" not in source:
            yield _locked(row, unless or (_FROM_SOURCE if any(kind in source for kind in _OWN) else ""))


class _LockGraph:
    """The packages of a lock file and the edges between them."""

    def __init__(self, rows: list[TomlTable], profile: Profile) -> None:
        self.rows, self.profile = rows, profile
        self._by_name = grouped((row["name"], row) for row in rows)

    def roots(self, manifest: TomlTable) -> list[TomlTable]:
        """The project, the members of its workspace, or what a script requires; everything where none of them is."""
        if manifest.get("members"):
            return [row for name in as_list(manifest["members"]) for row in self._by_name.get(str(name), ())]
        if manifest.get("requirements"):
            edges = as_list(manifest["requirements"])
            return [{"name": "", "source": {"virtual": "."}, "dependencies": edges}]
        own = [row for row in self.rows if any(kind in as_table(row.get("source")) for kind in _OWN)]
        project = [row for row in own if "." in as_table(row["source"]).values()]
        return project or own or [row for row in self.rows if self._is_for_target(row)]

    def reached(
        self, roots: list[TomlTable], extras: tuple[str, ...], groups: tuple[str, ...]
    ) -> dict[tuple[str, str], TomlTable]:
        """All packages that are installed with some extras and groups of the project, by name and version."""
        found: dict[tuple[str, str], TomlTable] = {}
        seen: set[tuple[str, str, str]] = set()
        asked = tuple(
            encoded
            for root in roots
            for kind, names in (("extra", extras), ("group", groups))
            for encoded in (f"{kind}-{len(root['name'])}-{root['name']}-{name}" for name in names)
        )
        pending = [(root, ("", *extras), groups) for root in roots]
        while pending:
            row, own_extras, own_groups = pending.pop(0)
            key = (row["name"], str(row.get("version", "")))
            found[key] = row
            optional, dev = as_table(row.get("optional-dependencies")), as_table(row.get("dev-dependencies"))
            tables = {"": row.get("dependencies")} | {extra: optional.get(extra) for extra in own_extras if extra}
            tables |= {f"group {group}": dev.get(group) for group in own_groups}
            new = [edges for part, edges in tables.items() if (*key, part) not in seen]
            seen.update((*key, part) for part in tables)
            for edge in (edge for edges in new for edge in as_list(edges) if isinstance(edge, dict)):
                marker = edge.get("marker")
                if not isinstance(marker, str) or marker_holds(marker, self.profile, extra=asked):
                    more = ("", *(str(one) for one in as_list(edge.get("extra"))))
                    pending += [(target, more, ()) for target in self._targets(edge)]
        return found

    def _targets(self, edge: TomlTable) -> Iterator[TomlTable]:
        """The package at the end of an edge; of several versions the one that it names or that is for the target."""
        rows, version = self._by_name.get(str(edge.get("name")), []), edge.get("version")
        for row in rows:
            if row.get("version") == version if isinstance(version, str) else self._is_for_target(row):
                yield row

    def _is_for_target(self, row: TomlTable) -> bool:
        """A package with several versions says for each on which systems and Pythons it is installed."""
        markers = as_list(row.get("resolution-markers"))
        return not markers or any(marker_holds(str(one), self.profile) for one in markers)


_WHEEL = re.compile(r"(?:^|[/\\])([\w.]{1,100})-([\w.!+%]{1,100})-[\w.-]{1,200}\.whl(?=$|[;\s\[])")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_EDITABLE = re.compile(r"#\s*Editable\b.*\(([A-Za-z0-9][\w.-]{0,200})==([^\s()]{1,100})\)\s*$")
"""What ``pip freeze`` writes above an editable installation without a remote repository."""
_EGG = re.compile(r"(?:^|&)egg=([A-Za-z0-9][\w.-]{0,200})")
DEEPEST = 50
"""Files that include each other in a row."""
LONGEST = 16 << 10
"""Characters of all specifiers of one distribution."""
_OPTION = re.compile(r"(--[a-z-]+|-[a-zA-Z])(?:\s*=\s*|\s*)(.*)")
_INCLUDES = {"-r": True, "--requirement": True, "-c": False, "--constraint": False}
"""The options that include a file, and whether what it names is installed: constraints install nothing."""


@dataclass
class _Reading:
    """One requirements file with all that it includes."""

    profile: Profile
    members: dict[str, Locked] = field(default_factory=dict)
    constraints: dict[str, Locked] = field(default_factory=dict)
    hashed: bool = False
    unnamed: list[str] = field(default_factory=list)
    done: set[tuple[Path, bool]] = field(default_factory=set)
    """Files that were included, and whether as constraints: a second time changes nothing."""

    def read(self, path: Path, text: str, above: tuple[Path, ...] = (), *, wanted: bool = True) -> None:
        """Read one file, which those ``above`` include."""
        above = (*above, path.resolve())
        comment = ""
        for number, line in _lines(text):
            content = _COMMENT.sub("", line).strip()
            if not content:
                comment = line.strip() or comment
                continue
            option = _OPTION.match(content)
            editable = option is not None and option[1] in ("-e", "--editable")
            if option is not None and option[1] in _INCLUDES:
                name = _without_quotes(option[2])
                self._include(f"{path}, line {number}", path.parent, name, above, wanted and _INCLUDES[option[1]])
            if content.startswith("-") and not editable:
                continue
            place = option[2] if option is not None and editable else content
            self.hashed = self.hashed or " --hash" in content
            one = _named(re.split(r"\s--", place)[0].strip(), path, comment if editable else "")
            comment = ""
            if one is None and not editable:
                raise InputError(
                    f"{path}, line {number}",
                    because=f"{place[:80]!r} does not say which distribution it is",
                    hint="write it as 'NAME @ URL' or 'NAME==VERSION'",
                )
            if one is None:
                self.unnamed.append(place)
            elif not one[1] or marker_holds(one[1], self.profile):
                _add(self.members if wanted else self.constraints, one[0])

    def _include(self, place: str, folder: Path, name: str, above: tuple[Path, ...], wanted: bool) -> None:
        """Read a file that a line includes, as InputError if that is not a file of this machine."""
        if re.match(r"https?:", name, re.IGNORECASE):
            because = f"it includes {name[:200]}, and only files of this machine are read"
            raise InputError(place, because=because, hint="save that file, and include the copy")
        other = folder / _path_of(name)
        real = other.resolve()
        if real in above:
            raise InputError(place, because=f"it includes {other}, which includes it again")
        if len(above) > DEEPEST:
            raise InputError(place, because=f"more than {DEEPEST} files include each other")
        if not other.is_file():
            because = f"it includes {name[:200]}, which does not exist"
            raise InputError(place, because=because, hint="paths are relative to the file that names them")
        if (real, wanted) not in self.done:
            self.done.add((real, wanted))
            self.read(other, read_text(other), above, wanted=wanted)


def _add(found: dict[str, Locked], one: Locked) -> None:
    """Add a distribution; a second line about it narrows its versions."""
    known = found.get(one.name)
    if known is not None:
        extras = distinct((*known.extras, *one.extras))
        one = replace(one, specifier=_joined(known.specifier, one.specifier), extras=extras)
    found[one.name] = one


def _without_quotes(value: str) -> str:
    try:
        return " ".join(shlex.split(value.replace("\\", "\\\\")))
    except ValueError:
        return value


def read_requirements(path: Path, text: str, profile: Profile) -> LockedSet:
    """Return what a requirements file names."""
    reading = _Reading(profile)
    reading.read(path, text)
    for name, limit in reading.constraints.items():
        if name in reading.members:
            _add(reading.members, replace(limit, extras=()))
    return LockedSet(tuple(reading.members.values()), closed=reading.hashed, unnamed=tuple(reading.unnamed))


def _joined(*specifiers: str) -> str:
    joined = ",".join(dict.fromkeys(filter(None, specifiers)))
    if len(joined) > LONGEST:
        raise InputError(f"more than {LONGEST} characters say which version of one distribution is meant")
    return joined


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a file with those joined that a backslash continues, and the number of the first."""
    joined, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        first = first or number
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            joined += line[:-1] + " "
            continue
        yield first, joined + line
        joined, first = "", 0
    if joined:
        yield first, joined


def _named(line: str, path: Path, comment: str) -> tuple[Locked, str] | None:
    """The distribution that a line names by name, wheel, ``#egg=``, folder, or the comment above, and its marker."""
    requirement = parse_requirement(line)
    if requirement is not None:
        specifier = str(requirement.specifier) or _version_in(requirement.url or "")
        extras = tuple(sorted(requirement.extras))
        marker = str(requirement.marker) if requirement.marker is not None else ""
        return Locked(canonical(requirement.name), specifier, extras), marker
    place, _, marker = line.partition(" ;") if " ;" in line else line.partition("; ")
    place, _, fragment = place.strip().partition("#")
    egg, wheel, above = _EGG.search(fragment), _WHEEL.search(place), _EDITABLE.match(comment)
    if egg:
        return Locked(canonical(egg[1]), _version_in(place)), marker.strip()
    if wheel:
        return Locked(canonical(wheel[1]), f"=={unquote(wheel[2])}"), marker.strip()
    if above:
        return Locked(canonical(above[1]), f"=={above[2]}"), marker.strip()
    folder = place.rpartition("[")[0] if place.endswith("]") else place  # without extras
    name = _project_name(path.parent / _path_of(folder))
    return (Locked(canonical(name), ""), marker.strip()) if name else None


def _path_of(place: str) -> str:
    """The path that a file URL gives, and other texts as they are."""
    try:
        return unquote(urlsplit(place).path) if place.lower().startswith("file:") else place
    except ValueError:  # such as file://[x
        return place


def _project_name(folder: Path) -> str:
    """The name that the pyproject.toml of a folder gives; empty without one."""
    try:
        project = as_table(load_toml(read_file(folder / "pyproject.toml", 1 << 20).decode()).get("project"))
    except (OSError, ValueError):
        return ""
    name = project.get("name")
    return name if isinstance(name, str) else ""


def _version_in(place: str) -> str:
    """The version that the name of a wheel gives, as a specifier; empty for other places."""
    wheel = _WHEEL.search(place.partition("#")[0])
    return f"=={unquote(wheel[2])}" if wheel else ""
