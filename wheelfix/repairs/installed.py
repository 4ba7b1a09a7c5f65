"""Repair a package where it is installed: DLLs are added, RECORD is kept correct, and a journal can undo everything.

The journal is written before anything is changed. A repair that fails or is interrupted is taken back at once; one that
was killed can be undone later. The journal lies outside of the environment, where no wheel can install one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.record import MAX_SIZE, Record, Row, encode_digest, render
from wheelfix.base.inputfiles import open_regular, read_file
from wheelfix.base.values import dataclass, replace
from wheelfix.errors import CannotRepair, EnvironmentFailure
from wheelfix.exam.scan import chosen_distributions, examine_installed
from wheelfix.loader.places import open_environment
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.model import fold
from wheelfix.plan import advice
from wheelfix.plan.make import make_plan, still_broken
from wheelfix.repairs.journal import (
    Journal,
    JournalPlace,
    Undone,
    digest_of,
    discard_stale,
    journalled,
    read_journal,
    set_aside,
    take_back,
    why_not_undone,
    write_whole,
)
from wheelfix.streams.output import AtomicFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wheelfix.base.options import RepairOptions
    from wheelfix.loader.installations import Distribution
    from wheelfix.loader.places import Environment
    from wheelfix.model import ScanReport
    from wheelfix.plan.make import Planned
    from wheelfix.plan.model import Plan
    from wheelfix.roots.lazy import LazyIndex


@dataclass(frozen=True, slots=True)
class InstalledRepair:
    """What was done to an installed distribution."""

    plan: Plan
    changed: bool
    added: tuple[str, ...]
    before: ScanReport
    after: ScanReport


@dataclass(frozen=True, slots=True)
class _Change:
    """One file of a repair: where it goes, and what it must be."""

    path: Path
    row: str
    """Its path in RECORD."""
    sha256: str
    size: int


def repair_installed(
    prefix: Path, package: str, options: RepairOptions, roots: LazyIndex, *, dry_run: bool = False
) -> InstalledRepair:
    """Put the missing DLLs of an installed distribution beside the files that need them."""
    environment = open_environment(prefix)
    distribution = chosen_distributions(environment, (package,))[0]
    place = _place_of(environment, distribution)
    before = examine_installed(environment, distribution, options.scan, roots)
    if not dry_run:
        discard_stale(place)
    planned = make_plan(before, roots, options, preview=dry_run)
    lasting = still_broken(planned, options)
    if lasting and not dry_run:
        raise advice.cannot_repair(f"{distribution.name} in {prefix}", lasting, planned.plan)
    changes = tuple(_changes(environment, planned))
    result = InstalledRepair(planned.plan, bool(changes), _shown(changes), before.report, planned.after.report)
    if dry_run or not (changes or planned.plan.drops):
        return replace(result, changed=False)
    with _environment_errors(prefix):
        _apply(environment, place, planned, changes, roots)
    return replace(result, changed=True)


def _place_of(environment: Environment, distribution: Distribution) -> JournalPlace:
    foreign = (fold(path) for one in environment.distributions if one != distribution for path in one.paths)
    return JournalPlace(environment.prefix, environment.disk_path(distribution.dist_info), frozenset(foreign))


def _shown(changes: tuple[_Change, ...]) -> tuple[str, ...]:
    return tuple(str(change.path) for change in changes)


def _changes(environment: Environment, planned: Planned) -> Iterator[_Change]:
    for entry, addition in zip(planned.chosen, planned.plan.additions, strict=True):
        path = environment.disk_path(entry.path)
        sha256 = addition.sha256 if entry.file else digest_of(environment.disk_path(entry.own))
        yield _Change(path, _row_path(entry.path), sha256, addition.size)


def _row_path(path: str) -> str:
    """How RECORD spells a path of the view: relative to site-packages."""
    if path.startswith(SITE_PACKAGES + "/"):
        return path[len(SITE_PACKAGES) + 1 :]
    return "../" * (SITE_PACKAGES.count("/") + 1) + path


def _apply(
    environment: Environment, place: JournalPlace, planned: Planned, changes: tuple[_Change, ...], roots: LazyIndex
) -> None:
    record = place.info / "RECORD"
    drops = [Path(drop.path) for drop in planned.plan.drops]
    replaced = [path for path in drops if any(change.path == path for change in changes)]
    taken = [change.path for change in changes if change.path.exists() and change.path not in replaced]
    taken += [path for path in map(set_aside, drops) if os.path.lexists(path)]
    if taken:
        raise CannotRepair(f"{taken[0]} is there already", because="nothing that exists is overwritten")
    old = read_file(record, MAX_SIZE)
    new = render(_rows(old, environment, changes, drops))
    added = tuple((place.relative(change.path), change.sha256) for change in changes)
    dropped = tuple((place.relative(path), digest_of(path)) for path in drops)
    journal = Journal(old, hashlib.sha256(new).hexdigest(), added, dropped)
    if why := why_not_undone(journal, place):
        raise CannotRepair(f"{place.info.name.removesuffix('.dist-info')} is not changed", because=f"{why}: no --undo")
    with journalled(place, journal):
        for path in replaced:
            path.replace(set_aside(path))
        for entry, change in zip(planned.chosen, changes, strict=True):
            source = roots.open().chunks(entry.file) if entry.file else _file_chunks(environment.disk_path(entry.own))
            _put(source, change)
        for path in drops:
            if path not in replaced:
                path.replace(set_aside(path))
        write_whole(record, new)


def _rows(old: bytes, environment: Environment, changes: tuple[_Change, ...], drops: list[Path]) -> Iterable[Row]:
    """The rows of the new RECORD: without what was dropped, with what was added."""
    rows = {row.path: row for row in Record.parse(old).rows}
    for path in drops:
        rows.pop(Path(os.path.relpath(path, environment.site)).as_posix(), None)
    for change in changes:
        rows[change.row] = Row(change.row, "sha256", encode_digest(bytes.fromhex(change.sha256)), change.size)
    return rows.values()


def _file_chunks(path: Path) -> Iterator[bytes]:
    with open_regular(path) as file:
        while piece := file.read(1 << 20):
            yield piece


def _put(source: Iterator[bytes], change: _Change) -> None:
    """Copy one DLL under a temporary name, check it, and give it its own."""
    digest = hashlib.sha256()
    with AtomicFile(change.path, in_place=True) as out:
        for piece in source:
            digest.update(piece)
            out.write(piece)
        if digest.hexdigest() != change.sha256:
            raise EnvironmentFailure(f"the source of {change.path.name} changed since it was planned", hint="run again")
        out.commit()


def undo(prefix: Path, package: str) -> Undone:
    """Take a repair back: remove what it added, restore what it dropped, and RECORD as it was."""
    environment = open_environment(prefix)
    place = _place_of(environment, chosen_distributions(environment, (package,))[0])
    journal = read_journal(place)
    with _environment_errors(prefix):
        return take_back(place, journal)


@contextlib.contextmanager
def _environment_errors(prefix: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise EnvironmentFailure(
            f"cannot change {exc.filename or prefix}",
            because=exc.strerror or str(exc),
            hint="close programs that use the environment and check permissions; --undo takes back what was done",
        ) from exc
