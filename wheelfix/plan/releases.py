"""The needs of a wheel that one release of a toolkit has to meet together, and the release that it was built with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.view import base_name
from wheelfix.plan.needs import needers
from wheelfix.roots.choice.outcome import Need, Wanted
from wheelfix.roots.choice.release import group_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.loader.view import FileView
    from wheelfix.plan.needs import Lack
    from wheelfix.rules.context import Subject


def needs_by_group(found: Iterable[Lack], view: FileView, subject: Subject) -> dict[str, list[Need]]:
    """Return the needs for DLLs of toolkits, by group; what belongs to no toolkit is left out."""
    needs: dict[str, list[Need]] = {}
    for lack in found:
        group = group_of(lack.name)
        for name in lack.names if group else ():
            need = Need(name, subject.machine, needers(view, lack, name), subject.cuda.text)
            needs.setdefault(group, []).append(need)
    return needs


def wanted_release(group: str, subject: Subject) -> Wanted:
    """Return what the wheel was built with: its CUDA, or the release of the same libraries that it has already."""
    if group == "cuda":
        return subject.cuda
    for path in subject.images:
        version = subject.version(path) if group_of(base_name(path)) == group else None
        if version is not None and any(version.file):
            release = f"{version.file[0]}.{version.file[1]}"
            return Wanted(frozenset({release}), f"{base_name(path)} in it is of {release}")
    return Wanted()
