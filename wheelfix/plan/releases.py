"""The needs of a wheel that one release of a toolkit has to meet together, and the release that it was built with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.loader.view import base_name
from wheelfix.plan.needs import needers
from wheelfix.roots.choice.outcome import DllRequest, Wanted
from wheelfix.roots.choice.release import group_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wheelfix.exam.needs import Need
    from wheelfix.loader.view import FileView
    from wheelfix.rules.context import Subject


def requests_by_group(found: Iterable[Need], view: FileView, subject: Subject) -> dict[str, list[DllRequest]]:
    """Return what is asked of toolkits, by group; what belongs to no toolkit is left out."""
    requests: dict[str, list[DllRequest]] = {}
    for need in found:
        group = group_of(need.name)
        for name in need.names if group else ():
            request = DllRequest(name, subject.machine, needers(view, need, name), subject.cuda.text)
            requests.setdefault(group, []).append(request)
    return requests


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
