"""Which distributions a requirements.txt names, as pip reads it: from pip freeze, pip-compile, uv, or by hand."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from wheelfix.base.inputfiles import read_file
from wheelfix.base.parsing import load_toml
from wheelfix.base.values import dataclass, field, replace
from wheelfix.errors import InputError
from wheelfix.exam.locked import Locked, LockedSet, as_table
from wheelfix.loader.requirements import marker_holds, parse_requirement
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from wheelfix.loader.profile import Profile

_WHEEL = re.compile(r"(?:^|[/\\])([\w.]{1,100})-([\w.!+%]{1,100})-[\w.-]{1,200}\.whl(?=$|[;\s\[])")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_EDITABLE = re.compile(r"#\s*Editable\b.*\(([A-Za-z0-9][\w.-]{0,200})==([^\s()]{1,100})\)\s*$")
"""What ``pip freeze`` writes above an editable installation without a remote repository."""
_EGG = re.compile(r"(?:^|&)egg=([A-Za-z0-9][\w.-]{0,200})")
DEEPEST = 50
"""Files that include each other in a row."""
LONGEST = 16 << 10
"""Characters of all specifiers of one distribution."""
_INCLUDES = {"-r": True, "--requirement": True, "-c": False, "--constraint": False}


@dataclass
class _Reading:
    """One requirements file with all that it includes."""

    profile: Profile
    read_text: Callable[[Path], str]
    members: dict[str, Locked] = field(default_factory=dict)
    constraints: dict[str, str] = field(default_factory=dict)
    hashed: bool = False
    unnamed: list[str] = field(default_factory=list)
    done: set[tuple[Path, bool]] = field(default_factory=set)
    """Files that were included, and whether as constraints: a second time changes nothing."""

    def add(self, one: Locked) -> None:
        """Add a distribution; a second line about it narrows its versions."""
        known = self.members.get(one.name)
        if known is not None:
            extras = tuple(dict.fromkeys((*known.extras, *one.extras)))
            one = replace(one, specifier=_joined(known.specifier, one.specifier), extras=extras)
        self.members[one.name] = one


def read_requirements(path: Path, text: str, profile: Profile, read_text: Callable[[Path], str]) -> LockedSet:
    """Return what a requirements file names; ``read_text`` reads those that it includes."""
    reading = _Reading(profile, read_text)
    _read(reading, path, text, (path.resolve(),), wanted=True)
    members = (
        replace(one, specifier=_joined(one.specifier, reading.constraints.get(one.name, "")))
        for one in reading.members.values()
    )
    return LockedSet(tuple(members), closed=reading.hashed, unnamed=tuple(reading.unnamed))


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


def _read(reading: _Reading, path: Path, text: str, above: tuple[Path, ...], *, wanted: bool) -> None:
    """Read one file; ``wanted`` is False for constraints, which install nothing."""
    comment = ""
    for number, line in _lines(text):
        content = _COMMENT.sub("", line).strip()
        if not content:
            comment = line.strip() or comment
            continue
        if content.startswith("-"):
            place = _option(reading, path, number, content, above, wanted=wanted)
            if place is None:
                continue
            editable = True
        else:
            place, editable = content, False
        reading.hashed = reading.hashed or " --hash" in content
        one = _named(re.split(r"\s--", place)[0].strip(), path, comment if editable else "")
        comment = ""
        if one is None and not editable:
            raise InputError(
                f"{path}, line {number}",
                because=f"{place[:80]!r} does not say which distribution it is",
                hint="write it as 'NAME @ URL' or 'NAME==VERSION'",
            )
        if one is None:
            reading.unnamed.append(place)
        elif not one.marker or marker_holds(one.marker, reading.profile):
            if wanted:
                reading.add(one.locked)
            else:
                known = reading.constraints.get(one.locked.name, "")
                reading.constraints[one.locked.name] = _joined(known, one.locked.specifier)


def _option(
    reading: _Reading, path: Path, number: int, line: str, above: tuple[Path, ...], *, wanted: bool
) -> str | None:
    """Follow an option that includes a file; return the place of an editable installation."""
    match = re.match(r"(--[a-z-]+|-[a-zA-Z])(?:\s*=\s*|\s*)(.*)", line)
    option, value = (match[1], match[2]) if match else ("", "")
    if option in ("-e", "--editable"):
        return value
    if option not in _INCLUDES:
        return None
    try:
        name = " ".join(shlex.split(value.replace("\\", "\\\\")))
    except ValueError:
        name = value
    if re.match(r"https?:", name, re.IGNORECASE):
        because = f"it includes {name[:200]}, and only files of this machine are read"
        raise InputError(f"{path}, line {number}", because=because, hint="save that file, and include the copy")
    other = path.parent / _path_of(name)
    real = other.resolve()
    if real in above:
        raise InputError(f"{path}, line {number}", because=f"it includes {other}, which includes it again")
    if len(above) > DEEPEST:
        raise InputError(f"{path}, line {number}", because=f"more than {DEEPEST} files include each other")
    if not other.is_file():
        because = f"it includes {name[:200]}, which does not exist"
        raise InputError(
            f"{path}, line {number}", because=because, hint="paths are relative to the file that names them"
        )
    wanted = wanted and _INCLUDES[option]
    if (real, wanted) not in reading.done:
        reading.done.add((real, wanted))
        _read(reading, other, reading.read_text(other), (*above, real), wanted=wanted)
    return None


@dataclass(frozen=True, slots=True)
class _NamedLine:
    """What one line names, and on which systems."""

    locked: Locked
    marker: str = ""


def _named(line: str, path: Path, comment: str) -> _NamedLine | None:
    """The distribution that a line names: by its name, its wheel, ``#egg=``, its folder, or the comment above."""
    requirement = parse_requirement(line)
    if requirement is not None:
        specifier = str(requirement.specifier) or _version_in(requirement.url or "")
        extras = tuple(sorted(requirement.extras))
        marker = str(requirement.marker) if requirement.marker is not None else ""
        return _NamedLine(Locked(canonical(requirement.name), specifier, extras), marker)
    place, _, marker = line.partition(" ;") if " ;" in line else line.partition("; ")
    place, _, fragment = place.strip().partition("#")
    egg, wheel, above = _EGG.search(fragment), _WHEEL.search(place), _EDITABLE.match(comment)
    if egg:
        return _NamedLine(Locked(canonical(egg[1]), _version_in(place)), marker.strip())
    if wheel:
        return _NamedLine(Locked(canonical(wheel[1]), f"=={unquote(wheel[2])}"), marker.strip())
    if above:
        return _NamedLine(Locked(canonical(above[1]), f"=={above[2]}"), marker.strip())
    folder = place.rpartition("[")[0] if place.endswith("]") else place  # without extras
    name = _project_name(path.parent / _path_of(folder))
    return _NamedLine(Locked(canonical(name), ""), marker.strip()) if name else None


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
    except (OSError, ValueError, RecursionError):
        return ""
    name = project.get("name")
    return name if isinstance(name, str) else ""


def _version_in(place: str) -> str:
    """The version that the name of a wheel gives, as a specifier; empty for other places."""
    wheel = _WHEEL.search(place.partition("#")[0])
    return f"=={unquote(wheel[2])}" if wheel else ""
