"""Repair a package where it is installed: DLLs put beside, RECORD kept true, and a journal to take it all back.

The journal is written before anything is changed and lies in the distribution's dist-info folder, so that a repair that
was cut short can be undone too. It is named in RECORD, so that uninstalling removes it with the rest.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wheelfix.archive.output import AtomicFile
from wheelfix.archive.record import Record, Row, encode_digest, render
from wheelfix.errors import CannotRepair, EnvironmentFailure, InputError
from wheelfix.loader.places import open_environment
from wheelfix.loader.view import SITE_PACKAGES
from wheelfix.plan.make import make_plan, still_broken
from wheelfix.verbs.scan import chosen_distributions, examine_installed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.loader.places import Distribution, Environment
    from wheelfix.model import ScanReport
    from wheelfix.options import RepairOptions
    from wheelfix.plan.make import Planned
    from wheelfix.plan.model import Plan
    from wheelfix.roots.index import RootIndex

JOURNAL = "wheelfix-journal.json"
SCHEMA = "wheelfix.journal/1"


@dataclass(frozen=True, slots=True)
class InstalledRepair:
    """What was done to an installed distribution."""

    plan: Plan
    changed: bool
    added: tuple[str, ...]
    before: ScanReport
    after: ScanReport


@dataclass(frozen=True, slots=True)
class Undone:
    """What taking a repair back did."""

    removed: tuple[str, ...]
    restored: tuple[str, ...]
    kept: tuple[str, ...]
    """Files that were changed since, and were left alone."""


@dataclass(frozen=True, slots=True)
class _Change:
    """One file of a repair: where it goes, and what it must be."""

    path: Path
    row: str
    """Its path in RECORD."""
    sha256: str
    size: int


def repair_installed(
    prefix: Path, package: str, options: RepairOptions, index: RootIndex, *, dry_run: bool = False
) -> InstalledRepair:
    """Put the DLLs that an installed distribution lacks beside whoever needs them."""
    environment = open_environment(prefix)
    distribution = chosen_distributions(environment, (package,))[0]
    info = environment.disk_path(distribution.dist_info)
    before = examine_installed(environment, distribution, options.scan, index)
    if not dry_run and (info / JOURNAL).exists():
        raise CannotRepair(
            f"{distribution.name} was repaired before",
            because=f"{info / JOURNAL} is there",
            hint="take that back first: add --undo to the same command",
        )
    planned = make_plan(before, index, options)
    faults = still_broken(planned)
    if faults and not dry_run:
        raise CannotRepair(
            f"{distribution.name} in {prefix} cannot be repaired",
            because="; ".join(faults),
            hint="name where the DLLs lie with --root, or accept it with --allow-missing NAME",
        )
    changes = tuple(_changes(environment, planned))
    result = InstalledRepair(planned.plan, bool(changes), _shown(changes), before.report, planned.after.report)
    if dry_run or not (changes or planned.plan.drops):
        return replace(result, changed=False)
    with _environment_errors(prefix):
        _apply(environment, distribution, planned, changes, index)
    return replace(result, changed=True)


def _shown(changes: tuple[_Change, ...]) -> tuple[str, ...]:
    return tuple(str(change.path) for change in changes)


def _changes(environment: Environment, planned: Planned) -> Iterator[_Change]:
    for entry, addition in zip(planned.chosen, planned.plan.additions, strict=True):
        path = environment.disk_path(entry.path)
        yield _Change(path, _row_path(entry.path), addition.sha256, addition.size)


def _row_path(path: str) -> str:
    """How RECORD spells a path of the view: relative to site-packages."""
    if path.startswith(SITE_PACKAGES + "/"):
        return path[len(SITE_PACKAGES) + 1 :]
    return "../" * (SITE_PACKAGES.count("/") + 1) + path


def _apply(
    environment: Environment,
    distribution: Distribution,
    planned: Planned,
    changes: tuple[_Change, ...],
    index: RootIndex,
) -> None:
    info = environment.disk_path(distribution.dist_info)
    record = info / "RECORD"
    drops = [Path(drop.path) for drop in planned.plan.drops]
    taken = [change.path for change in changes if change.path.exists()]
    if taken:
        raise CannotRepair(f"{taken[0]} is there already", because="nothing that exists is overwritten")
    old = record.read_bytes()
    _write_journal(info, old, changes, drops)
    for entry, change in zip(planned.chosen, changes, strict=True):
        source = index.chunks(entry.file) if entry.file else _file_chunks(environment.disk_path(entry.own))
        _place(source, change)
    for path in drops:
        path.replace(_backup(path))
    rows = {row.path: row for row in Record.parse(old).rows}
    for path in drops:
        rows.pop(_relative(path, environment.site), None)
    for change in changes:
        digest = encode_digest(hashlib_of(change.path))
        rows[change.row] = Row(change.row, "sha256", digest, change.size)
    rows[f"{info.name}/{JOURNAL}"] = Row(f"{info.name}/{JOURNAL}", "", "", None)
    _write_whole(record, render(rows.values()))


def _relative(path: Path, site: Path) -> str:
    return Path(os.path.relpath(path, site)).as_posix()


def _backup(path: Path) -> Path:
    return path.with_name(path.name + ".wheelfix-dropped")


def _file_chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            yield piece


def hashlib_of(path: Path) -> bytes:
    """The SHA-256 of a file on disk."""
    digest = hashlib.sha256()
    for piece in _file_chunks(path):
        digest.update(piece)
    return digest.digest()


def _place(source: Iterator[bytes], change: _Change) -> None:
    """Copy one DLL under a temporary name, check it, and give it its own."""
    digest = hashlib.sha256()
    with AtomicFile(change.path) as out:
        for piece in source:
            digest.update(piece)
            out.write(piece)
        if change.sha256 and digest.hexdigest() != change.sha256:
            raise EnvironmentFailure(f"the source of {change.path.name} changed since it was planned", hint="run again")
        out.commit()


def _write_whole(path: Path, data: bytes) -> None:
    with AtomicFile(path) as out:
        out.write(data)
        out.commit()


def _write_journal(info: Path, record: bytes, changes: tuple[_Change, ...], drops: list[Path]) -> None:
    document = {
        "schema": SCHEMA,
        "record": base64.b64encode(record).decode("ascii"),
        "added": [{"path": _relative(change.path, info.parent), "sha256": change.sha256} for change in changes],
        "dropped": [_relative(path, info.parent) for path in drops],
    }
    _write_whole(info / JOURNAL, (json.dumps(document, indent=2) + "\n").encode())


# ---------------------------------------------------------------------------------------------------------- undo


def undo(prefix: Path, package: str) -> Undone:
    """Take a repair back: remove what it added, restore what it dropped, and RECORD as it was."""
    environment = open_environment(prefix)
    distribution = chosen_distributions(environment, (package,))[0]
    info = environment.disk_path(distribution.dist_info)
    journal = _read_journal(info / JOURNAL)
    removed: list[str] = []
    kept: list[str] = []
    restored: list[str] = []
    with _environment_errors(prefix):
        for entry in journal["added"]:
            path = info.parent / entry["path"]
            if not path.exists():
                continue
            if entry["sha256"] and hashlib_of(path).hex() != entry["sha256"]:
                kept.append(str(path))
                continue
            path.unlink()
            removed.append(str(path))
        for name in journal["dropped"]:
            path = info.parent / name
            if _backup(path).exists():
                _backup(path).replace(path)
                restored.append(str(path))
        _write_whole(info / "RECORD", base64.b64decode(journal["record"]))
        (info / JOURNAL).unlink()
    return Undone(tuple(removed), tuple(restored), tuple(kept))


def _read_journal(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        raise InputError(f"there is nothing to undo: {path} is not there") from exc
    except (OSError, ValueError) as exc:
        raise InputError(f"cannot read {path}", because=str(exc)) from exc
    wanted = {"schema", "record", "added", "dropped"}
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or not wanted <= set(document):
        raise InputError(f"{path} is no journal of ours", because=f"its schema is not {SCHEMA}")
    for entry in [*(item.get("path", "") for item in document["added"]), *document["dropped"]]:
        if Path(entry).is_absolute() or entry.count("..") > 4:
            raise InputError(f"{path} is no journal of ours", because=f"it names {entry}")
    return document


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
