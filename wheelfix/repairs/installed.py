"""Repair a package where it is installed: DLLs are added, RECORD is kept correct, and a journal can undo everything.

The journal is written before anything is changed. A repair that fails or is interrupted is taken back at once; one that
was killed can be undone later. The journal lies outside of the environment, where no wheel can install one. It is
believed if RECORD is what that repair found or wrote, and as far as it names files of that package with the hashes they
must have.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.archive.changes import NewMember
from wheelfix.archive.names import ASIDE, normalise, unprintable, why_unsafe
from wheelfix.archive.record import MAX_SIZE, Record, Row, encode_digest, render
from wheelfix.base.inputfiles import distrust, read_file
from wheelfix.base.parsing import parse_json
from wheelfix.base.values import as_tree, from_tree, frozen
from wheelfix.errors import CannotRepair, EnvironmentFailure, InputError
from wheelfix.exam.scan import chosen_distributions, examine_installed
from wheelfix.loader.places import Environment, open_environment
from wheelfix.model import fold
from wheelfix.plan.lock import is_hash
from wheelfix.plan.make import Planned, cannot_repair, make_plan, still_broken
from wheelfix.plan.model import Repaired
from wheelfix.repairs.rewrite import bytes_of, write_planned
from wheelfix.roots.index import open_index
from wheelfix.streams.output import AtomicFile, remove_stale
from wheelfix.streams.source import file_sha256

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from wheelfix.base.options import RepairOptions
    from wheelfix.loader.places import Distribution
    from wheelfix.roots.index import RootIndex

SCHEMA = "wheelfix.journal/2"
LIMIT = 64 << 20
"""No journal is larger than this."""


@frozen
class JournalPlace:
    """What a journal is about: an installed distribution."""

    prefix: Path
    info: Path
    """Its dist-info folder."""
    foreign: Collection[str] = ()
    """Files of other distributions, relative to the prefix and folded."""

    @property
    def journal(self) -> Path:
        """Where its journal is: in a folder of this user, outside of the environment."""
        folder = journal_folder()
        if folder.resolve().is_relative_to(self.prefix.resolve()):
            raise EnvironmentFailure(
                f"{folder} cannot have journals of repairs",
                because=f"it lies in {self.prefix}, where a wheel can install files",
                hint="name a folder outside of the environment in WHEELFIX_STATE_DIR",
            )
        digest = hashlib.sha256(self.identity.encode("utf-8", "surrogatepass")).hexdigest()
        return folder / f"{re.sub('[^A-Za-z0-9._-]', '_', self.info.name)[:80]}-{digest[:32]}.json"

    @property
    def identity(self) -> str:
        """The dist-info folder, in one spelling."""
        return os.path.normcase(os.path.realpath(self.info))

    def relative(self, path: Path) -> str:
        """A file as the journal names it; CannotRepair if it is not in the environment."""
        try:
            return path.relative_to(self.prefix).as_posix()
        except ValueError:
            because = f"it is not in {self.prefix}, so that this could not be undone"
            raise CannotRepair(f"{path} is not changed", because=because) from None

    def files(self, record: Record) -> frozenset[str]:
        """The files of a distribution with such a RECORD, relative to the prefix and folded."""
        site = self.info.parent.relative_to(self.prefix).as_posix()
        paths = (posixpath.normpath(f"{site}/{normalise(row.path)}") for row in record.rows)
        return frozenset(map(fold, paths))

    def why_not_added(self, name: str, files: Collection[str]) -> str:
        """Why no repair of a distribution with these files has added a file; empty if one may have."""
        if why := self.why_not_changed(name):
            return why
        if not name.lower().endswith(".dll"):
            return "is not a DLL"
        folders, own = set(map(posixpath.dirname, files)), posixpath.dirname(fold(name))
        shared = ("", posixpath.dirname(fold(self.relative(self.info))))  # a folder in one of these is anybody's
        folder = own
        while folder not in folders and folder not in shared:
            folder = posixpath.dirname(folder)
        if folder not in folders or (folder in shared and folder != own):
            return f"is not in a folder of {self.info.name}"
        return ""

    def why_not_changed(self, name: str) -> str:
        """Why no repair of this distribution has changed a file; empty if one may have."""
        if why_unsafe(name) or unprintable(name) or normalise(name) != name:
            return "is not a path in the environment"
        if fold(name).startswith(f"{fold(self.relative(self.info))}/"):
            return f"is in {self.info.name}"
        if fold(name) in self.foreign:
            return "belongs to another distribution"
        straight = os.path.join(os.path.realpath(self.prefix), *name.split("/")[:-1])  # noqa: PTH118
        if os.path.normcase(os.path.realpath((self.prefix / name).parent)) != os.path.normcase(straight):
            return "is behind a link"
        return ""


def journal_folder() -> Path:
    """The folder of journals: below WHEELFIX_STATE_DIR, or where this user's settings are.

    ``pip install --user`` writes below ``~/.local``, so that the folder for states in there would be a bad choice.
    """
    said = os.environ.get("WHEELFIX_STATE_DIR")
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CONFIG_HOME")
    try:
        own = Path(said).expanduser() if said else Path(base or Path.home() / ".config") / "wheelfix"
    except RuntimeError as exc:
        hint = "name one in WHEELFIX_STATE_DIR"
        raise EnvironmentFailure("there is no folder for journals of repairs", because=exc, hint=hint) from exc
    return own.absolute() / "journals"


@frozen
class JournalFile:
    """A file that a repair adds or puts aside."""

    path: str
    """Relative to the environment."""
    sha256: str


@frozen
class Journal:
    """What a repair changes."""

    place: str
    """The dist-info folder."""
    record: str
    """RECORD as it was, as base64."""
    after: str
    """The SHA-256 of RECORD as the repair writes it."""
    added: tuple[JournalFile, ...] = ()
    dropped: tuple[JournalFile, ...] = ()
    """Files that were put aside."""

    @property
    def before(self) -> bytes:
        """RECORD as it was; ValueError if the journal does not have it."""
        return base64.b64decode(self.record, validate=True)

    def write(self, place: JournalPlace) -> None:
        """Write the journal; CannotRepair if there is one already."""
        place.journal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_first(place, (json.dumps({"schema": SCHEMA, **as_tree(self)}, indent=2) + "\n").encode())

    def describes(self, record: Path) -> bool:
        """Whether RECORD is the one that the repair found or wrote; else the package was installed again since."""
        try:
            found = read_file(record, MAX_SIZE)
        except OSError:
            return False
        return found == self.before or hashlib.sha256(found).hexdigest() == self.after


@frozen
class Undone:
    """What taking a repair back did."""

    removed: tuple[str, ...]
    restored: tuple[str, ...]
    kept: tuple[str, ...]
    """Files that were changed since, and were left alone."""


def read_journal(place: JournalPlace) -> Journal:
    """Read the journal of a distribution; InputError if there is none, or if it is not one of ours."""
    path = place.journal
    try:
        path.lstat()
        if why := distrust(path):
            raise _not_ours(path, why)
        document = parse_json(read_file(path, LIMIT, links=False).decode("utf-8"))
    except FileNotFoundError as exc:
        because = f"this user has not repaired {place.info.name.removesuffix('.dist-info')} there"
        hint = "install the package again to revert what others, or older versions of wheelfix, have done"
        raise InputError("there is nothing to undo", because=because, hint=hint) from exc
    except (OSError, ValueError) as exc:
        raise InputError(f"cannot read {path}", because=str(exc)) from exc
    if not isinstance(document, dict) or document.pop("schema", None) != SCHEMA:
        raise _not_ours(path, f"its schema is not {SCHEMA}")
    try:
        journal = from_tree(Journal, document)
        hashes = [one.sha256 for one in (*journal.added, *journal.dropped)]
        if journal.place != place.identity:
            raise ValueError(f"it is not about {place.info}")
        if not all(map(is_hash, (journal.after, *hashes))):
            raise ValueError("a file has no hash")
        if journal.describes(place.info / "RECORD") and (why := why_not_undone(journal, place)):
            raise ValueError(why)
    except ValueError as exc:
        raise _not_ours(path, str(exc)) from exc
    return journal


def why_not_undone(journal: Journal, place: JournalPlace) -> str:
    """Why a repair of the package as it is installed makes no such changes; empty if it may make them."""
    before = place.files(Record.parse(journal.before))
    now = before & place.files(Record.parse((place.info / "RECORD").read_bytes()))
    dropped = {fold(one.path) for one in journal.dropped}
    for one in journal.added:
        if why := place.why_not_added(one.path, now | (before & dropped)):
            return f"{one.path!r} {why}"
        if fold(one.path) in before - dropped:
            return f"{one.path!r} was there before the repair"
    return next((f"{one.path!r} {why}" for one in journal.dropped if (why := place.why_not_changed(one.path))), "")


def _not_ours(path: Path, because: str) -> InputError:
    return InputError(f"{path} is not a journal of wheelfix", because=because)


def discard_stale(place: JournalPlace) -> None:
    """Remove a journal of an installation that is gone; CannotRepair if what it tells can still be undone."""
    if not os.path.lexists(place.journal):
        return
    journal = read_journal(place)
    changed = [place.prefix / one.path for one in journal.added]
    changed += [set_aside(place.prefix / one.path) for one in journal.dropped]
    record = place.info / "RECORD"
    touched = any(map(os.path.lexists, changed))
    if journal.describes(record) and (touched or read_file(record, MAX_SIZE) != journal.before):
        raise repaired_before(place)
    place.journal.unlink()


def take_back(place: JournalPlace, journal: Journal) -> Undone:
    """Remove what was added, restore what was dropped, and RECORD as it was; the journal goes last.

    Only a file with the hash that this repair gave it is removed or put back; what exists is not overwritten.
    """
    if not journal.describes(place.info / "RECORD"):
        name = place.info.name.removesuffix(".dist-info")
        raise InputError("there is nothing to undo", because=f"{name} was installed again since it was repaired")
    removed: list[str] = []
    restored: list[str] = []
    kept: list[str] = []
    old = {one.path: one.sha256 for one in journal.dropped}  # a file that was to be replaced may still be the old one
    for one in journal.added:
        path, name = place.prefix / one.path, one.path
        if path.parent.is_dir():
            remove_stale(path.parent)
        replaced = name not in old or _is_unchanged(set_aside(path), old[name])  # else there is nothing to put back
        if replaced and _is_unchanged(path, one.sha256):
            path.unlink()
            removed.append(str(path))
        elif os.path.lexists(path) and not _is_unchanged(path, old.get(name, "")):
            kept.append(str(path))
    for one in journal.dropped:
        path = place.prefix / one.path
        if _is_unchanged(set_aside(path), one.sha256) and not os.path.lexists(path):
            set_aside(path).replace(path)
            restored.append(str(path))
    remove_stale(place.info)  # a run that was killed may have left a RECORD that was not finished
    record = place.info / "RECORD"
    if read_file(record, MAX_SIZE) != journal.before:  # on a full disk an unchanged one need not be written
        write_whole(record, journal.before)
    place.journal.unlink()
    return Undone(tuple(removed), tuple(restored), tuple(kept))


def _is_unchanged(path: Path, sha256: str) -> bool:
    return path.is_file() and not path.is_symlink() and file_sha256(path) == sha256


@contextlib.contextmanager
def journalled(place: JournalPlace, journal: Journal) -> Iterator[None]:
    """Make changes under a journal: if they fail or are interrupted, they are taken back at once."""
    journal.write(place)
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):  # what went wrong first is reported; the journal is still there
            take_back(place, journal)
        raise


def set_aside(path: Path) -> Path:
    """The name under which a dropped file waits for --undo."""
    return path.with_name(path.name + ASIDE)


def write_whole(path: Path, data: bytes) -> None:
    """Put bytes into a file, all of them or none."""
    with AtomicFile(path, in_place=True) as out:
        out.write(data)
        out.commit()


def _write_first(place: JournalPlace, data: bytes) -> None:
    """Put bytes into a file that must not be there yet: of two repairs at once one wins, and the other says so."""
    path = place.journal
    with AtomicFile(path, in_place=True) as out:
        out.write(data)
        out.sync()
        try:
            os.link(out.path, path)
        except FileExistsError as exc:
            raise repaired_before(place) from exc
        except OSError:  # a file system without links
            if path.exists():
                raise repaired_before(place) from None
            out.commit()


def repaired_before(place: JournalPlace) -> CannotRepair:
    """The refusal to repair twice."""
    return CannotRepair(
        f"{place.info.name.removesuffix('.dist-info')} was repaired before",
        because=f"{place.journal} is there",
        hint="take that back first: add --undo to the same command",
    )


def repair_installed(prefix: Path, package: str, options: RepairOptions, *, dry_run: bool = False) -> Repaired:
    """Put the missing DLLs of an installed distribution beside the files that need them."""
    environment = open_environment(prefix)
    distribution = chosen_distributions(environment, (package,))[0]
    place = _place_of(environment, distribution)
    with open_index(options.scan.roots, options.scan.remote) as roots:
        before = examine_installed(environment, distribution, options.scan, roots)
        if not dry_run:
            discard_stale(place)
        planned = make_plan(before, roots, options, preview=dry_run)
        lasting = still_broken(planned, options)
        if lasting and not dry_run:
            raise cannot_repair(f"{distribution.name} in {prefix}", lasting, planned, fetch=options.scan.remote.fetch)
        outcome = "planned" if dry_run else "repaired" if planned.chosen or planned.plan.drops else "unchanged"
        if outcome == "repaired":
            with _environment_errors(prefix):
                _apply(environment, place, planned, roots)
    added = tuple(str(environment.disk_path(entry.path)) for entry in planned.chosen)
    return Repaired(planned.plan, outcome, None, before.report, planned.after.report, added=added)


def _place_of(environment: Environment, distribution: Distribution) -> JournalPlace:
    foreign = (fold(path) for one in environment.distributions if one != distribution for path in one.paths)
    return JournalPlace(environment.prefix, environment.disk_path(distribution.dist_info), frozenset(foreign))


def _row_path(environment: Environment, path: Path) -> str:
    """How RECORD spells a file: relative to site-packages."""
    return Path(os.path.relpath(path, environment.site)).as_posix()


def _apply(environment: Environment, place: JournalPlace, planned: Planned, roots: RootIndex) -> None:
    record = place.info / "RECORD"
    added = {environment.disk_path(entry.path): entry for entry in planned.chosen}
    hashes = {path: one.sha256 for path, one in zip(added, planned.plan.additions, strict=True)}
    drops = [Path(drop.path) for drop in planned.plan.drops]
    taken = [path for path in added if path.exists() and path not in drops]
    taken += [path for path in map(set_aside, drops) if os.path.lexists(path)]
    if taken:
        raise CannotRepair(f"{taken[0]} is there already", because="nothing that exists is overwritten")
    old = read_file(record, MAX_SIZE)
    new = render(_rows(old, environment, planned, drops))
    journal = Journal(
        place.identity,
        base64.b64encode(old).decode(),
        hashlib.sha256(new).hexdigest(),
        tuple(JournalFile(place.relative(path), sha256) for path, sha256 in hashes.items()),
        tuple(JournalFile(place.relative(path), file_sha256(path)) for path in drops),
    )
    if why := why_not_undone(journal, place):
        raise CannotRepair(f"{place.info.name.removesuffix('.dist-info')} is not changed", because=f"{why}: no --undo")
    with journalled(place, journal):
        for path in added.keys() & drops:
            path.replace(set_aside(path))
        for path, entry in added.items():
            here = environment.disk_path(entry.own or entry.path)
            source = roots.chunks(entry.file) if entry.file else bytes_of(NewMember(entry.own, path=here))
            write_planned(source, path, hashes[path], f"the source of {path.name}", in_place=True)
        for path in drops:
            if path not in added:
                path.replace(set_aside(path))
        write_whole(record, new)


def _rows(old: bytes, environment: Environment, planned: Planned, drops: list[Path]) -> Iterable[Row]:
    """The rows of the new RECORD: without what was dropped, with what was added."""
    rows = {row.path: row for row in Record.parse(old).rows}
    for path in drops:
        rows.pop(_row_path(environment, path), None)
    for entry, addition in zip(planned.chosen, planned.plan.additions, strict=True):
        name = _row_path(environment, environment.disk_path(entry.path))
        rows[name] = Row(name, "sha256", encode_digest(bytes.fromhex(addition.sha256)), addition.size)
    return rows.values()


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
            because=exc,
            hint="close programs that use the environment and check permissions; --undo takes back what was done",
        ) from exc
