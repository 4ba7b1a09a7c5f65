"""The bytes behind a plan's additions, as the writer wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.archive.edition import NewMember
from wheelfix.errors import EnvironmentFailure

if TYPE_CHECKING:
    from wheelfix.archive.members import Member
    from wheelfix.archive.reader import Archive
    from wheelfix.plan.make import Planned
    from wheelfix.roots.index import RootIndex


def new_members(planned: Planned, archive: Archive, index: RootIndex) -> tuple[NewMember, ...]:
    """The additions of a plan that go into the wheel as they are, without what delvewheel renames."""
    made = []
    for entry, addition in zip(planned.chosen, planned.plan.additions, strict=True):
        if addition.mangle:
            continue
        packed = index.packed(entry.file) if entry.file else (archive, _member(archive, addition.source.member))
        path = None if packed or entry.file is None else index.disk_path(entry.file)
        made.append(NewMember(addition.target, path=path, packed=packed, sha256=addition.sha256))
    return tuple(made)


def _member(archive: Archive, name: str) -> Member:
    member = archive.find(name)
    if member is None:
        raise EnvironmentFailure(f"{archive.path} changed while it was read", hint="run again")
    return member
