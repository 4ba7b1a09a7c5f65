"""Which distributions a pylock.toml (PEP 751) installs on the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wheelfix.errors import InputError
from wheelfix.exam.locked import ONLY, Locked, LockedSet, as_list, as_table, check_format, check_parts, package_tables
from wheelfix.loader.requirements import fits, marker_holds
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from wheelfix.exam.locked import LockParts
    from wheelfix.loader.profile import Profile


def read_pylock(path: Path, tree: dict[str, Any], profile: Profile, parts: LockParts) -> LockedSet:
    """Return the packages whose markers hold, and those that other extras or groups would install."""
    rows = package_tables(path, tree, "packages")
    check_format(path, tree, "lock-version", "1", "a tool that follows PEP 751")
    extras, groups = _names(tree, "extras"), _names(tree, "dependency-groups")
    check_parts(path, parts.extras, extras, "--extra")
    check_parts(path, parts.groups or (), groups, "--group")
    _check_python(path, tree, profile)
    chosen = parts.groups if parts.groups is not None else _names(tree, "default-groups")
    return LockedSet(tuple(_members(rows, profile, (parts.extras, chosen), (extras, groups))))


_Parts = tuple[tuple[str, ...], tuple[str, ...]]


def _members(rows: list[dict[str, Any]], profile: Profile, chosen: _Parts, every: _Parts) -> Iterator[Locked]:
    for row in rows:
        marker, python = row.get("marker"), row.get("requires-python")
        if isinstance(python, str) and not fits(_python(profile), python):
            continue
        if not isinstance(marker, str) or marker_holds(marker, profile, *chosen):
            yield _locked(row, _from_source(row))
        elif any(words := [*every[0], *every[1]]) and marker_holds(marker, profile, *every):
            named = [word for word in words if word in marker]
            yield _locked(row, f"{ONLY}the extra or group {' or '.join(named or words)}")


def _locked(row: dict[str, Any], unless: str = "") -> Locked:
    version = row.get("version")
    return Locked(canonical(row["name"]), f"=={version}" if isinstance(version, str) else "", unless=unless)


def _from_source(row: dict[str, Any]) -> str:
    if as_table(row.get("directory")) or as_table(row.get("vcs")):
        return "it is installed from its source, and no wheel of it was found"
    return ""


def _names(tree: dict[str, Any], key: str) -> tuple[str, ...]:
    return tuple(name for name in as_list(tree.get(key)) if isinstance(name, str))


def _python(profile: Profile) -> str:
    major, minor = profile.python or (3, 11)
    return f"{major}.{minor}"


def _check_python(path: Path, tree: dict[str, Any], profile: Profile) -> None:
    wanted = tree.get("requires-python")
    if profile.python is not None and isinstance(wanted, str) and not fits(_python(profile), wanted):
        raise InputError(str(path), because=f"it is for Python {wanted}, and the wheels are for {_python(profile)}")
