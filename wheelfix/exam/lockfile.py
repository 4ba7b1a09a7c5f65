"""Which distributions a lock file names: pylock.toml (PEP 751), uv.lock, requirements.txt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from wheelfix import toml
from wheelfix.errors import InputError
from wheelfix.loader.requirements import holds_on_target, parse_requirement
from wheelfix.model import canonical
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wheelfix.loader.profile import Profile

MOST = 16 << 20
"""Bytes of a lock file."""
_WHEEL = re.compile(r"(?:^|[/\\\\])([\w.]{1,100})-([\w.!+]{1,100})-[\w.-]{1,200}\.whl(?=$|[;\s])")
_DEPTH = 10
"""Files that include one another with ``-r``."""


@dataclass(frozen=True, slots=True)
class Locked:
    """A distribution that a lock file names."""

    name: str
    """Normalised."""
    specifier: str
    """The versions that fit: ``==2.9.1`` in a lock."""

    def __str__(self) -> str:
        return f"{self.name}{self.specifier}"

    def fits(self, version: str) -> bool:
        """Whether a version is one that is locked."""
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            return SpecifierSet(self.specifier).contains(version, prereleases=True)
        except (InvalidSpecifier, ValueError):
            return self.specifier.removeprefix("===").removeprefix("==") == version


def read_lockfile(path: Path, profile: Profile) -> tuple[Locked, ...]:
    """Return what is installed on the target according to a lock file, in its order, none twice."""
    text = _text(path)
    if path.name.endswith(".toml"):
        found = _pylock(path, text, profile)
    elif path.suffix == ".lock":
        found = _uv(path, text, profile)
    else:
        found = _requirements(path, text, profile)
    return tuple({one.name: one for one in found}.values())


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MOST:
            raise InputError(str(path), because="it is too large for a lock file")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(str(path), because=f"it cannot be read: {exc}") from exc


def _tables(path: Path, text: str, key: str) -> list[dict[str, Any]]:
    try:
        tree = toml.loads(text)
    except ValueError as exc:
        raise InputError(str(path), because=f"it is not valid TOML: {exc}") from exc
    rows = tree.get(key)
    named = isinstance(rows, list) and all(isinstance(row, dict) and isinstance(row.get("name"), str) for row in rows)
    if not isinstance(rows, list) or not named:
        raise InputError(
            str(path),
            because=f"it has no list of packages ({key})",
            hint="give a pylock.toml, a uv.lock or a requirements.txt",
        )
    return rows


def _pylock(path: Path, text: str, profile: Profile) -> Iterator[Locked]:
    for row in _tables(path, text, "packages"):
        marker = row.get("marker")
        if not isinstance(marker, str) or _holds(f"{row['name']}; {marker}", profile):
            yield _locked(row)


def _uv(path: Path, text: str, profile: Profile) -> Iterator[Locked]:
    """uv.lock holds all systems at once; a wheel that is for none of Windows is found missing, and named."""
    for row in _tables(path, text, "package"):
        source = row.get("source")
        if not (isinstance(source, dict) and ({"virtual", "editable"} & source.keys())) and _is_for_windows(row):
            # A distribution with several versions says for each on which systems and Pythons it is installed.
            markers = row.get("resolution-markers")
            if not isinstance(markers, list) or any(_holds(f"{row['name']}; {one}", profile) for one in markers):
                yield _locked(row)


def _is_for_windows(row: dict[str, Any]) -> bool:
    wheels = row.get("wheels")
    if not isinstance(wheels, list) or not wheels:
        return True
    names = [str(wheel.get("url", wheel.get("filename", ""))) for wheel in wheels if isinstance(wheel, dict)]
    return any(re.search(r"-(?:any|win32|win_\w+)\.whl", name) for name in names)


def _locked(row: dict[str, Any]) -> Locked:
    version = row.get("version")
    return Locked(canonical(row["name"]), f"=={version}" if isinstance(version, str) else "")


def _requirements(path: Path, text: str, profile: Profile, depth: int = 0) -> Iterator[Locked]:
    joined = re.sub(r"\\\r?\n", " ", text)
    for line in joined.splitlines():
        line = re.sub(r"(?:^|\s)#.*", "", line).strip()
        included = re.match(r"(?:-r|--requirement)[ =]*(\S+)", line)
        if included and depth < _DEPTH:
            other = path.parent / included[1]
            yield from _requirements(other, _text(other), profile, depth + 1)
            continue
        editable = re.match(r"(?:-e|--editable)[ =]*(\S+)", line)
        if editable:
            line = editable[1]
        if not line or line.startswith("-"):
            continue
        line = re.split(r"\s--", line)[0].strip()
        requirement = parse_requirement(line)
        if requirement is not None:
            if holds_on_target(requirement, profile):
                yield Locked(
                    canonical(requirement.name), str(requirement.specifier) or _version_in(requirement.url or "")
                )
        elif (found := _from_place(line)) is not None:
            yield found
        elif not editable:
            raise InputError(
                str(path),
                because=f"{line[:80]!r} does not say which distribution it is",
                hint="write it as 'NAME @ URL' or 'NAME==VERSION'",
            )


def _from_place(line: str) -> Locked | None:
    """The distribution of a path or URL without a name, by the name of its wheel, or by ``#egg=name``."""
    place, _, fragment = line.partition("#")
    egg = re.search(r"(?:^|&)egg=([\w.-]{1,200})", fragment)
    if egg:
        return Locked(canonical(egg[1]), _version_in(place))
    wheel = _WHEEL.search(place)
    return Locked(canonical(wheel[1]), f"=={wheel[2]}") if wheel else None


def _version_in(place: str) -> str:
    """The version that the name of a wheel gives, as a specifier; empty for other places."""
    wheel = _WHEEL.search(place.partition("#")[0])
    return f"=={wheel[2]}" if wheel else ""


def _holds(text: str, profile: Profile) -> bool:
    requirement = parse_requirement(text)
    return requirement is None or holds_on_target(requirement, profile)
