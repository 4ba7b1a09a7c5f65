"""The journal of a repair in place: written before anything changes, and enough to undo everything.

A wheel can install any file anywhere below an environment, so a journal is never looked for there: it lies in a folder
of the user, under a name made from the path of the dist-info folder that it is about. It is believed if RECORD is what
that repair found or wrote, and as far as it names files of that package with the hashes they must have.
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

from wheelfix.archive.names import ASIDE, normalise, unprintable, why_unsafe
from wheelfix.archive.record import MAX_SIZE, Record
from wheelfix.base.inputfiles import distrust, read_file
from wheelfix.base.parsing import parse_json
from wheelfix.base.values import dataclass
from wheelfix.errors import CannotRepair, EnvironmentFailure, InputError
from wheelfix.model import fold
from wheelfix.streams.output import AtomicFile, remove_stale
from wheelfix.streams.source import FileSource, sha256_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from wheelfix.model import Json

SCHEMA = "wheelfix.journal/2"
LIMIT = 64 << 20
"""No journal is larger than this."""


@dataclass(frozen=True, slots=True)
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
        raise EnvironmentFailure("there is no folder for journals of repairs", because=str(exc), hint=hint) from exc
    return own.absolute() / "journals"


@dataclass(frozen=True, slots=True)
class Journal:
    """What a repair changes; paths are relative to the environment."""

    record: bytes
    """RECORD as it was."""
    after: str
    """The SHA-256 of RECORD as the repair writes it."""
    added: tuple[tuple[str, str], ...]
    """New files with their SHA-256."""
    dropped: tuple[tuple[str, str], ...]
    """Files that were put aside, with theirs."""

    def write(self, place: JournalPlace) -> None:
        """Write the journal; CannotRepair if there is one already."""
        document = {
            "schema": SCHEMA,
            "place": place.identity,
            "record": base64.b64encode(self.record).decode("ascii"),
            "after": self.after,
            "added": [{"path": path, "sha256": sha256} for path, sha256 in self.added],
            "dropped": [{"path": path, "sha256": sha256} for path, sha256 in self.dropped],
        }
        place.journal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_first(place, (json.dumps(document, indent=2) + "\n").encode())

    def describes(self, record: Path) -> bool:
        """Whether RECORD is the one that the repair found or wrote; else the package was installed again since."""
        try:
            found = read_file(record, MAX_SIZE)
        except OSError:
            return False
        return found == self.record or hashlib.sha256(found).hexdigest() == self.after


@dataclass(frozen=True, slots=True)
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
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise _not_ours(path, f"its schema is not {SCHEMA}")
    if document.get("place") != place.identity:
        raise _not_ours(path, f"it is not about {place.info}")
    return _checked(document, path, place)


def _checked(document: dict[str, Json], path: Path, place: JournalPlace) -> Journal:
    record, after = document.get("record"), document.get("after")
    if not isinstance(record, str) or not _is_hash(after):
        raise _not_ours(path, "fields of a journal are missing")
    found = {}
    for key in ("added", "dropped"):
        entries, pairs = document.get(key), []
        for entry in entries if isinstance(entries, list) else [None]:
            name, sha256 = (entry.get("path"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
            if not isinstance(name, str) or not isinstance(sha256, str) or not _is_hash(sha256):
                raise _not_ours(path, f"a file in {key!r} has no path or no hash")
            pairs.append((name, sha256))
        found[key] = tuple(pairs)
    try:
        journal = Journal(base64.b64decode(record, validate=True), str(after), found["added"], found["dropped"])
        if journal.describes(place.info / "RECORD") and (why := why_not_undone(journal, place)):
            raise _not_ours(path, why)
    except ValueError as exc:
        raise _not_ours(path, f"its RECORD cannot be read ({exc})") from exc
    return journal


def why_not_undone(journal: Journal, place: JournalPlace) -> str:
    """Why a repair of the package as it is installed makes no such changes; empty if it may make them."""
    before = place.files(Record.parse(journal.record))
    now = before & place.files(Record.parse((place.info / "RECORD").read_bytes()))
    dropped = {fold(name) for name, _ in journal.dropped}
    for name, _ in journal.added:
        if why := place.why_not_added(name, now | (before & dropped)):
            return f"{name!r} {why}"
        if fold(name) in before - dropped:
            return f"{name!r} was there before the repair"
    return next((f"{name!r} {why}" for name, _ in journal.dropped if (why := place.why_not_changed(name))), "")


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _not_ours(path: Path, because: str) -> InputError:
    return InputError(f"{path} is not a journal of wheelfix", because=because)


def discard_stale(place: JournalPlace) -> None:
    """Remove a journal of an installation that is gone; CannotRepair if what it tells can still be undone."""
    if not os.path.lexists(place.journal):
        return
    journal = read_journal(place)
    changed = [place.prefix / name for name, _ in journal.added]
    changed += [set_aside(place.prefix / name) for name, _ in journal.dropped]
    record = place.info / "RECORD"
    touched = any(map(os.path.lexists, changed))
    if journal.describes(record) and (touched or read_file(record, MAX_SIZE) != journal.record):
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
    old = dict(journal.dropped)  # a file that was to be replaced may still be the old one
    for name, sha256 in journal.added:
        path = place.prefix / name
        if path.parent.is_dir():
            remove_stale(path.parent)
        replaced = name not in old or _is_unchanged(set_aside(path), old[name])  # else there is nothing to put back
        if replaced and _is_unchanged(path, sha256):
            path.unlink()
            removed.append(str(path))
        elif os.path.lexists(path) and not _is_unchanged(path, old.get(name, "")):
            kept.append(str(path))
    for name, sha256 in journal.dropped:
        path = place.prefix / name
        if _is_unchanged(set_aside(path), sha256) and not os.path.lexists(path):
            set_aside(path).replace(path)
            restored.append(str(path))
    remove_stale(place.info)  # a run that was killed may have left a RECORD that was not finished
    record = place.info / "RECORD"
    if read_file(record, MAX_SIZE) != journal.record:  # on a full disk an unchanged one need not be written
        write_whole(record, journal.record)
    place.journal.unlink()
    return Undone(tuple(removed), tuple(restored), tuple(kept))


def _is_unchanged(path: Path, sha256: str) -> bool:
    return path.is_file() and not path.is_symlink() and digest_of(path) == sha256


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


def digest_of(path: Path) -> str:
    """The SHA-256 of a file on disk, in hexadecimal."""
    with FileSource(path) as source:
        return sha256_of(source).hex()
