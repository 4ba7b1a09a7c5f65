"""Which wheels of some folders are installed on the target: one of each distribution."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.names import FileName
from wheelfix.exam.examine import machine_of_tags
from wheelfix.loader.profile import python_of_tags
from wheelfix.loader.requirements import newest_fitting
from wheelfix.model import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from wheelfix.exam.locked import Locked
    from wheelfix.loader.profile import Profile
    from wheelfix.remote.ranges import WheelPath


def wheels_in(folder: Path) -> list[Path]:
    """Return the wheels that lie in a folder, sorted; none for one in which distributions are installed."""
    if any(folder.glob("*.dist-info")):
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() == ".whl" and path.is_file())


def file_name(path: WheelPath) -> FileName:
    """Return the parts of the name of a wheel, on disk or on a server."""
    return FileName.parse(path if isinstance(path, Path) else Path(path.name))


def choose_wheels(
    wheels: Iterable[Path],
    profile: Profile,
    locked: tuple[Locked, ...] | None,
    asked_for: Callable[[], dict[str, str]] = dict,
) -> list[Path]:
    """Of each distribution the one wheel that an installer on the target takes; of a lock only what it names.

    Of several versions the newest that is asked for counts.
    """
    wanted = {one.name: one for one in locked} if locked is not None else None
    found: dict[str, dict[str, Path]] = {}
    for path in wheels:
        file = file_name(path)
        name = canonical(file.name)
        if not _fits(file.tags, profile):
            continue
        if wanted is None or (name in wanted and wanted[name].fits(file.version)):
            versions = found.setdefault(name, {})
            known = versions.get(file.version)
            if known is None or _rank(file.tags, profile) > _rank(file_name(known).tags, profile):
                versions[file.version] = path
    chosen = []
    specifiers = asked_for() if any(len(versions) > 1 for versions in found.values()) else {}
    for name, versions in found.items():
        newest = newest_fitting(versions, specifiers.get(name, "")) or newest_fitting(versions, "") or max(versions)
        chosen.append(versions[newest])
    return chosen


def _fits(tags: tuple[str, ...], profile: Profile) -> bool:
    """Whether a wheel can be installed on the target."""
    if all(tag.endswith("-any") for tag in tags):
        return True
    if machine_of_tags(tags) is not profile.machine:
        return False
    python = python_of_tags(tags)
    return python is None or profile.python is None or python == profile.python


def _rank(tags: tuple[str, ...], profile: Profile) -> tuple[bool, bool]:
    return machine_of_tags(tags) is profile.machine, python_of_tags(tags) == profile.python


def best_of(name: str, specifier: str, wheels: Sequence[WheelPath], profile: Profile) -> WheelPath | None:
    """The newest wheel of a distribution that fits the target and what is asked for."""
    own = [path for path in wheels if isinstance(path, Path) and canonical(file_name(path).name) == name]
    return next(iter(choose_wheels(own, profile, None, lambda: {name: specifier})), None)
