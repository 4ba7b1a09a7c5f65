"""The journal of a repair in place: written before anything changes, and enough to undo everything.

It lies in the distribution's dist-info folder. The maker of the environment may have put anything there, so a journal
is believed only as far as it names files inside the environment, with the hashes they must have.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from wheelfix.errors import CannotRepair, InputError
from wheelfix.parsing import parse_json
from wheelfix.streams.output import AtomicFile, remove_stale
from wheelfix.streams.source import FileSource, sha256_of
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wheelfix.model import Json

JOURNAL = "wheelfix-journal.json"
SCHEMA = "wheelfix.journal/1"
LIMIT = 64 << 20
"""No journal is larger than this."""


@dataclass(frozen=True, slots=True)
class Journal:
    """What a repair changes; paths are relative to site-packages."""

    record: bytes
    """RECORD as it was."""
    added: tuple[tuple[str, str], ...]
    """New files with their SHA-256."""
    dropped: tuple[str, ...]
    """Files that were put aside."""

    def write(self, info: Path) -> None:
        """Write the journal into a dist-info folder; CannotRepair if one is there already."""
        document = {
            "schema": SCHEMA,
            "record": base64.b64encode(self.record).decode("ascii"),
            "added": [{"path": path, "sha256": sha256} for path, sha256 in self.added],
            "dropped": list(self.dropped),
        }
        _write_first(info / JOURNAL, (json.dumps(document, indent=2) + "\n").encode())


@dataclass(frozen=True, slots=True)
class Undone:
    """What taking a repair back did."""

    removed: tuple[str, ...]
    restored: tuple[str, ...]
    kept: tuple[str, ...]
    """Files that were changed since, and were left alone."""


def read_journal(info: Path, prefix: Path) -> Journal:
    """Read the journal of a dist-info folder; InputError if there is none, or if it is not one of ours."""
    path = info / JOURNAL
    try:
        if path.stat().st_size > LIMIT:
            raise _not_ours(path, f"it is larger than {LIMIT >> 20} MiB")
        document = parse_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as exc:
        raise InputError(f"there is nothing to undo: {path} is not there") from exc
    except (OSError, ValueError) as exc:
        raise InputError(f"cannot read {path}", because=str(exc)) from exc
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise _not_ours(path, f"its schema is not {SCHEMA}")
    journal = _checked(document, path)
    for name in (*(name for name, _ in journal.added), *journal.dropped):
        if not _inside(info.parent / name, prefix):
            raise _not_ours(path, f"it names {name}, which is not in the environment")
    return journal


def _checked(document: dict[str, Json], path: Path) -> Journal:
    record, added, dropped = (document.get(key) for key in ("record", "added", "dropped"))
    if not isinstance(record, str) or not isinstance(added, list) or not isinstance(dropped, list):
        raise _not_ours(path, "fields of a journal are missing")
    pairs = []
    for entry in added:
        name, sha256 = (entry.get("path"), entry.get("sha256")) if isinstance(entry, dict) else (None, None)
        if not isinstance(name, str) or not isinstance(sha256, str) or not re.fullmatch("[0-9a-f]{64}", sha256):
            raise _not_ours(path, "an added file has no path or no hash")
        pairs.append((name, sha256))
    names = [name for name in dropped if isinstance(name, str)]
    if len(names) != len(dropped):
        raise _not_ours(path, "a dropped file has no path")
    try:
        return Journal(base64.b64decode(record, validate=True), tuple(pairs), tuple(names))
    except ValueError as exc:
        raise _not_ours(path, f"its RECORD cannot be read ({exc})") from exc


def _inside(path: Path, prefix: Path) -> bool:
    """Whether a file lies in the environment, links followed."""
    if path.name in ("", ".", "..") or "\0" in str(path):
        return False
    try:
        return (path.parent.resolve() / path.name).is_relative_to(prefix.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def _not_ours(path: Path, because: str) -> InputError:
    return InputError(f"{path} is not a journal of wheelfix", because=because)


def take_back(info: Path, journal: Journal) -> Undone:
    """Remove what was added, restore what was dropped, and RECORD as it was; the journal goes last."""
    removed: list[str] = []
    restored: list[str] = []
    kept: list[str] = []
    for name, sha256 in journal.added:
        path = info.parent / name
        if path.parent.is_dir():
            remove_stale(path.parent)
        if not path.is_file():
            continue
        if digest_of(path) != sha256:
            kept.append(str(path))
            continue
        path.unlink()
        removed.append(str(path))
    for name in journal.dropped:
        path = info.parent / name
        if set_aside(path).exists():
            set_aside(path).replace(path)
            restored.append(str(path))
    remove_stale(info)  # a run that was killed may have left a RECORD that was not finished
    if (info / "RECORD").read_bytes() != journal.record:  # on a full disk an unchanged one need not be written
        write_whole(info / "RECORD", journal.record)
    (info / JOURNAL).unlink()
    return Undone(tuple(removed), tuple(restored), tuple(kept))


@contextlib.contextmanager
def journalled(info: Path, journal: Journal) -> Iterator[None]:
    """Make changes under a journal: if they fail or are interrupted, they are taken back at once."""
    journal.write(info)
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):  # what went wrong first is reported; the journal is still there
            take_back(info, journal)
        raise


def set_aside(path: Path) -> Path:
    """The name under which a dropped file waits for --undo."""
    return path.with_name(path.name + ".wheelfix-dropped")


def relative(path: Path, site: Path) -> str:
    """A path as RECORD and the journal spell it."""
    return Path(os.path.relpath(path, site)).as_posix()


def write_whole(path: Path, data: bytes) -> None:
    """Put bytes into a file, all of them or none."""
    with AtomicFile(path) as out:
        out.write(data)
        out.commit()


def _write_first(path: Path, data: bytes) -> None:
    """Put bytes into a file that must not be there yet: of two repairs at once one wins, and the other says so."""
    with AtomicFile(path) as out:
        out.write(data)
        out.sync()
        try:
            os.link(out.path, path)
        except FileExistsError as exc:
            raise repaired_before(path) from exc
        except OSError:  # a file system without links
            if path.exists():
                raise repaired_before(path) from None
            out.commit()


def repaired_before(path: Path) -> CannotRepair:
    """The refusal to repair twice."""
    return CannotRepair(
        f"{path.parent.name.removesuffix('.dist-info')} was repaired before",
        because=f"{path} is there",
        hint="take that back first: add --undo to the same command",
    )


def digest_of(path: Path) -> str:
    """The SHA-256 of a file on disk, in hexadecimal."""
    with FileSource(path) as source:
        return sha256_of(source).hex()
