"""What a lock file says is installed, whatever its format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wheelfix.base.values import dataclass
from wheelfix.errors import InputError
from wheelfix.loader.requirements import fits

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

ONLY = "it is installed only with "
"""How the reason begins for which something in a lock file may not be installed."""


@dataclass(frozen=True, slots=True)
class LockParts:
    """The optional parts of a lock file that are installed."""

    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] | None = None
    """None for those that an installer takes by default."""


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class LockedSet:
    """All that a lock file names."""

    members: tuple[Locked, ...]
    closed: bool = True
    """Whether nothing else is installed. pip adds what a plain requirements.txt does not name and its members need."""
    unnamed: tuple[str, ...] = ()
    """Lines that name a place from which something is installed, without saying what."""


def one_of_each(found: Iterable[Locked]) -> tuple[Locked, ...]:
    """Return each distribution once: one that is installed for certain comes before one that may be."""
    best: dict[str, Locked] = {}
    for one in found:
        known = best.get(one.name)
        if known is None or (known.unless and not one.unless):
            best[one.name] = one
    return tuple(best.values())


def package_tables(path: Path, tree: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the tables of packages of a lock file, each with a name; InputError where there are none."""
    rows = tree.get(key)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(
            str(path),
            because=f"it has no list of packages ({key})",
            hint="give a pylock.toml, a uv.lock or a requirements.txt",
        )
    nameless = next((number for number, row in enumerate(rows, 1) if not isinstance(row.get("name"), str)), None)
    if nameless is not None:
        raise InputError(str(path), because=f"entry {nameless} of its list of packages ({key}) has no name")
    return rows


def check_format(path: Path, tree: dict[str, Any], key: str, known: str, writer: str) -> None:
    """Refuse a lock file of another tool, or in a format that is newer than what is read here."""
    version = tree.get(key)
    if version is None:
        raise InputError(
            str(path),
            because=f"it has no {key}, so {writer} did not write it",
            hint="give a pylock.toml, a uv.lock or a requirements.txt",
        )
    if str(version).partition(".")[0] != known:
        raise InputError(str(path), because=f"its {key} is {version}; only {known} is supported")


def check_parts(path: Path, asked: Iterable[str], known: Iterable[str], option: str) -> None:
    """Refuse an extra or group that the lock file does not have."""
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


def as_table(value: object) -> dict[str, Any]:
    """Return a table of a file as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}
