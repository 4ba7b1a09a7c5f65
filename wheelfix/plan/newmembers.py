"""The bytes behind a plan's additions, as the writer wants them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from wheelfix.archive.changes import NewMember
from wheelfix.errors import EnvironmentFailure
from wheelfix.streams.source import FileSource, chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wheelfix.archive.directory import Member
    from wheelfix.archive.reader import Archive
    from wheelfix.model import ByteSource
    from wheelfix.plan.chosen import Chosen
    from wheelfix.plan.model import Plan
    from wheelfix.roots.lazy import LazyIndex


def new_members(chosen: Sequence[Chosen], plan: Plan, archive: Archive, roots: LazyIndex) -> tuple[NewMember, ...]:
    """The additions of a plan, in its order; what delvewheel renames is among them."""
    made = []
    for entry, addition in zip(chosen, plan.additions, strict=True):
        packed = roots.open().packed(entry.file) if entry.file else (archive, _member(archive, addition.source.member))
        path = None if packed or entry.file is None else roots.open().disk_path(entry.file)
        made.append(NewMember(addition.target, path=path, packed=packed, sha256=addition.sha256))
    return tuple(made)


@contextlib.contextmanager
def opened(new: NewMember) -> Iterator[ByteSource]:
    """The bytes of a member that comes from a file or from another archive."""
    if new.packed is not None:
        archive, member = new.packed
        yield archive.source(member)
    elif new.path is not None:
        with FileSource(new.path) as source:
            yield source


def bytes_of(new: NewMember) -> Iterator[bytes]:
    """The same from front to back; those of another archive are checked against their CRC."""
    if new.packed is not None:
        archive, member = new.packed
        yield from archive.chunks(member)
    elif new.path is not None:
        with FileSource(new.path) as source:
            yield from chunks(source)


def _member(archive: Archive, name: str) -> Member:
    member = archive.find(name)
    if member is None:
        raise EnvironmentFailure(f"{archive.path} changed while it was read", hint="run again")
    return member
