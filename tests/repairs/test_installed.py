"""Repairing a package where it is installed, and taking that back."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.environments import install, lay
from tests.support.repairs import hermetic, kepler, snapshot, with_roots
from tests.support.tables import named_cases
from wheelfix.archive.record import Record
from wheelfix.base.values import as_tree
from wheelfix.errors import CannotRepair, EnvironmentFailure, InputError
from wheelfix.exam.scan import scan_all
from wheelfix.model import ScanReport, Verdict, fold
from wheelfix.plan.model import Repaired
from wheelfix.repairs import installed as module
from wheelfix.repairs.installed import (
    SCHEMA,
    Journal,
    JournalFile,
    JournalPlace,
    discard_stale,
    journalled,
    read_journal,
    repair_installed,
    set_aside,
    take_back,
    undo,
)
from wheelfix.report.canvas import TextStyle
from wheelfix.report.repairs import render_plan

INFO = "Lib/site-packages/torch-2.7.1+cu117.dist-info"


@pytest.fixture
def prefix(tmp_path):
    """A Windows-like environment with the Kepler wheel unpacked into it, and roots with what is missing from it."""
    wheel, _ = kepler(tmp_path)
    return lay(install(wheel, tmp_path / "env with ümlaut"), {"python.exe": b"MZ"})


def repair(prefix: Path, **more: Any) -> Repaired:
    roots = (prefix.parent / "roots" / name for name in ("CUDA/v11.7", "oneAPI"))
    return repair_installed(prefix, "torch", with_roots(*roots), **more)


def scan_environment(prefix):
    (report,) = scan_all([prefix], hermetic(packages=("torch",)))
    assert isinstance(report, ScanReport)
    return report


def test_an_installed_package_is_made_whole_and_undone(prefix):
    before = snapshot(prefix)
    assert scan_environment(prefix).verdict is Verdict.BROKEN
    result = repair(prefix)
    assert result.outcome == "repaired"
    assert (prefix / "Lib/site-packages/torch/lib/cupti64_2022.2.1.dll").is_file()
    report = scan_environment(prefix)
    assert report.first_failure is None

    rows = {row.path for row in Record.parse((prefix / INFO / "RECORD").read_bytes()).rows}
    on_disk = {
        path.relative_to(prefix / "Lib/site-packages").as_posix() for path in prefix.rglob("Lib/**/*") if path.is_file()
    }
    assert on_disk == rows

    taken_back = undo(prefix, "torch")
    assert not taken_back.kept
    assert snapshot(prefix) == before


def test_a_second_repair_asks_to_undo_the_first(prefix):
    repair(prefix)
    with pytest.raises(CannotRepair, match="repaired before"):
        repair(prefix)


def test_a_dry_run_touches_nothing(prefix):
    before = snapshot(prefix)
    result = repair(prefix, dry_run=True)
    assert result.outcome == "planned"
    assert result.added
    assert snapshot(prefix) == before
    reported = " ".join(render_plan(Repaired(result.plan, "planned"), TextStyle(unicode=False)).split())
    assert reported.endswith("Without --dry-run the installed package is changed as shown.")


def test_undo_leaves_files_alone_that_were_changed_since(prefix):
    repair(prefix)
    changed = prefix / "Lib/site-packages/torch/lib/libiomp5md.dll"
    changed.write_bytes(b"mine")
    assert undo(prefix, "torch").kept == (str(changed),)
    assert changed.read_bytes() == b"mine"


def test_nothing_to_undo_is_said(prefix):
    with pytest.raises(InputError, match="nothing to undo"):
        undo(prefix, "torch")


def test_a_journal_that_a_wheel_has_installed_means_nothing(prefix):
    """A repair was refused because of it, with the advice to undo, which removed python.exe."""
    stranger = prefix / "Lib/site-packages/other/o.dll"
    stranger.parent.mkdir()
    stranger.write_bytes(b"MZ")
    digest = hashlib.sha256(b"MZ").hexdigest()
    names = [{"path": path, "sha256": digest} for path in ("other/o.dll", "../../python.exe")]
    document = {"schema": "wheelfix.journal/1", "record": "", "added": names, "dropped": []}
    (prefix / INFO / "wheelfix-journal.json").write_text(json.dumps(document))
    before = snapshot(prefix)
    with pytest.raises(InputError, match="nothing to undo"):
        undo(prefix, "torch")
    assert snapshot(prefix) == before
    assert repair(prefix).outcome == "repaired"
    undo(prefix, "torch")
    assert snapshot(prefix) == before


def test_a_package_that_was_installed_again_is_repaired_again(prefix):
    """The journal of the first repair is no reason to refuse the second one."""
    record = (prefix / INFO / "RECORD").read_bytes()
    for path in repair(prefix).added:
        Path(path).unlink()
    (prefix / INFO / "RECORD").write_bytes(record + b"torch/new.py,,\n")
    (prefix / "Lib/site-packages/torch/new.py").write_bytes(b"")
    with pytest.raises(InputError, match="installed again"):
        undo(prefix, "torch")
    assert repair(prefix).outcome == "repaired"
    undo(prefix, "torch")


def test_a_package_that_is_not_there_is_named(prefix):
    with pytest.raises(InputError, match="numpy is not installed"):
        repair_installed(prefix, "numpy", with_roots())


HASH = hashlib.sha256(b"new").hexdigest()
RECORD = b"pkg/a.py,,\npkg/lib/b.dll,,\npkg-1.0.dist-info/RECORD,,\n../../Library/bin/c.dll,,\n"
CHANGED = RECORD + b"../../Library/bin/new.dll,,\n"
AFTER = hashlib.sha256(CHANGED).hexdigest()
NOW = hashlib.sha256(RECORD).hexdigest()
SITE = "Lib/site-packages"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JournalPlace:
    """A distribution in ``env``, with files of others that have the hash of what a repair adds."""
    monkeypatch.setenv("WHEELFIX_STATE_DIR", str(tmp_path / "state"))
    site = tmp_path / "env" / "Lib" / "site-packages"
    for name in ("pkg/lib/b.dll", "other/o.dll", "pkg-1.0.dist-info/x.dll", "../../python.exe", "../../python311.dll"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(b"new")
    (site / "pkg-1.0.dist-info" / "RECORD").write_bytes(RECORD)
    (site / "pkg" / "old.dll").write_bytes(b"old")
    (tmp_path / "precious").write_bytes(b"new")
    return JournalPlace(
        tmp_path / "env",
        site / "pkg-1.0.dist-info",
        frozenset({fold(f"{SITE}/{name}") for name in ("pkg/theirs.dll", "other/o.dll")}),
    )


def write(place: JournalPlace, changes: dict[str, Any]) -> None:
    place.journal.parent.mkdir(parents=True, exist_ok=True)
    place.journal.write_text(json.dumps({"schema": SCHEMA, **as_tree(journal(place)), **changes}))


def journal(place: JournalPlace, *, record: bytes = RECORD, **more: Any) -> Journal:
    return Journal(place.identity, base64.b64encode(record).decode(), AFTER, **more)


def added(path: object, sha256: object = HASH) -> dict[str, Any]:
    return {"added": [{"path": path, "sha256": sha256}]}


CHANGES = {
    # Other names that lead elsewhere are in tests/archive/test_names.py; a stream shows that they are asked about.
    "up-and-out": added("../precious"),
    "up-and-down": added(f"{SITE}/pkg/../other/o.dll"),
    "backslashes": added("Lib\\site-packages\\pkg\\lib\\b.dll"),
    "stream": added(f"{SITE}/pkg/lib/b.dll:x.dll"),
    "bidi": added(f"{SITE}/pkg/lib/\u202eb.dll"),
    "of-another-package": added(f"{SITE}/other/o.dll"),
    "of-another-distribution-in-the-same-folder": added(f"{SITE}/pkg/Theirs.dll"),
    "python": added("python.exe"),
    "python-dll": added("python311.dll"),
    "beside-a-folder-of-the-package": added("Library/other/c.dll"),
    "at-the-root-where-the-package-has-nothing": added(f"{SITE}/x.dll"),
    "no-dll": added(f"{SITE}/pkg/a.py"),
    "of-the-package-itself": added(f"{SITE}/pkg/lib/b.dll"),
    "in-dist-info": added(f"{SITE}/pkg-1.0.dist-info/x.dll"),
    "record": added(f"{SITE}/PKG-1.0.dist-info/RECORD"),
    "no-hash": added(f"{SITE}/pkg/lib/b.dll", ""),
    "short-hash": added(f"{SITE}/pkg/lib/b.dll", HASH[:63]),
    "hash-missing": {"added": [{"path": f"{SITE}/pkg/lib/b.dll"}]},
    "no-object": {"added": [f"{SITE}/pkg/lib/b.dll"]},
    "nothing": {"added": None},
    "path-is-a-number": added(7),
    "dropped-outside": {"dropped": [{"path": "../precious", "sha256": HASH}]},
    "dropped-of-another-package": {"dropped": [{"path": f"{SITE}/other/o.dll", "sha256": HASH}]},
    "dropped-without-hash": {"dropped": [f"{SITE}/pkg/old.dll"]},
    "dropped-is-text": {"dropped": "pkg"},
    "record-is-no-base64": {"record": "§"},
    "record-missing": {"record": None},
    "another-record-with-folders-of-others": {
        "record": base64.b64encode(RECORD + b"other/x.py,,\n").decode(),
        "after": NOW,
        **added(f"{SITE}/other/p.dll"),
    },
    "no-hash-of-the-record": {"after": "0"},
    "of-another-place": {"place": "/elsewhere"},
    "of-an-older-version": {"schema": "wheelfix.journal/1"},
}


@named_cases("changes", CHANGES)
def test_a_hostile_journal_is_refused_and_nothing_is_touched(place, changes):
    write(place, changes)
    before = snapshot(place.prefix.parent)
    with pytest.raises(InputError, match="not a journal of wheelfix"):
        read_journal(place)
    assert snapshot(place.prefix.parent) == before


@named_cases("text", {"empty": "", "deep": "[" * 100_000, "list": "[]", "text": '"x"', "bom": "\ufeff{}"})
def test_what_is_no_journal_is_an_input_error(place, text):
    place.journal.parent.mkdir(parents=True)
    place.journal.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        read_journal(place)


def test_a_folder_of_journals_in_the_environment_is_refused(place, monkeypatch):
    monkeypatch.setenv("WHEELFIX_STATE_DIR", str(place.prefix / "share"))
    with pytest.raises(EnvironmentFailure, match="where a wheel can install files") as caught:
        journal(place).write(place)
    assert "WHEELFIX_STATE_DIR" in caught.value.hint


@pytest.mark.skipif(os.name != "posix", reason="links and permissions are others on Windows")
def test_what_others_can_write_is_not_believed(place, tmp_path):
    write(place, {})
    place.journal.chmod(0o666)
    with pytest.raises(InputError, match="every user of this machine can write to it"):
        read_journal(place)
    place.journal.chmod(0o600)
    place.journal.rename(tmp_path / "moved")
    place.journal.symlink_to(tmp_path / "moved")
    with pytest.raises(InputError, match="it is a link"):
        read_journal(place)


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_links_are_not_followed(place, tmp_path):
    (place.info.parent / "pkg" / "away").symlink_to(tmp_path)
    write(place, added(f"{SITE}/pkg/away/precious.dll"))
    with pytest.raises(InputError, match="behind a link"):
        read_journal(place)
    (place.info.parent / "pkg" / "link.dll").symlink_to(tmp_path / "precious")
    write(place, added(f"{SITE}/pkg/link.dll"))
    assert take_back(place, read_journal(place)).kept
    assert (tmp_path / "precious").is_file()
    assert (place.info.parent / "pkg" / "link.dll").is_symlink()


def test_what_is_written_is_read_back_and_taken_back(place):
    before = snapshot(place.prefix.parent)
    old, new = place.info.parent / "pkg" / "old.dll", place.prefix / "Library" / "bin" / "new.dll"
    added = JournalFile(place.relative(new), HASH)
    dropped = JournalFile(place.relative(old), hashlib.sha256(b"old").hexdigest())
    made = journal(place, added=(added,), dropped=(dropped,))
    with journalled(place, made):
        new.parent.mkdir(parents=True)
        new.write_bytes(b"new")
        old.replace(set_aside(old))
        (place.info / "RECORD").write_bytes(CHANGED)
    assert read_journal(place) == made
    undone = take_back(place, made)
    assert len(undone.removed) == len(undone.restored) == 1
    assert snapshot(place.prefix.parent) == before


def test_a_file_that_poses_as_set_aside_is_not_put_back(place):
    old = place.info.parent / "pkg" / "old.dll"
    set_aside(old).write_bytes(b"from a wheel")
    write(place, {"dropped": [{"path": place.relative(old), "sha256": HASH}]})
    before = snapshot(place.prefix.parent)
    assert take_back(place, read_journal(place)).restored == ()
    assert snapshot(place.prefix.parent) == {
        name: data for name, data in before.items() if not name.startswith("state/")
    }


def test_a_file_without_a_predecessor_to_put_back_stays(place):
    """The journal says that b.dll was replaced, but nothing was set aside: found by the fuzzer."""
    name = f"{SITE}/pkg/lib/b.dll"
    write(place, {**added(name), "dropped": [{"path": name, "sha256": HASH}]})
    assert take_back(place, read_journal(place)).removed == ()
    assert (place.prefix / name).read_bytes() == b"new"


def test_a_package_that_was_installed_again_is_left_alone(place):
    """Its wheel may have brought the very file that was added before."""
    write(place, added(f"{SITE}/pkg/new.dll"))
    (place.info.parent / "pkg" / "new.dll").write_bytes(b"new")
    (place.info / "RECORD").write_bytes(RECORD + b"pkg/more.py,,\n")
    before = snapshot(place.prefix.parent)
    with pytest.raises(InputError, match="was installed again since it was repaired"):
        take_back(place, read_journal(place))
    assert snapshot(place.prefix.parent) == before
    discard_stale(place)
    assert not place.journal.exists()


def test_a_record_that_a_killed_run_has_not_finished_is_removed(place):
    before = snapshot(place.prefix.parent)
    made = journal(place)
    with journalled(place, made):
        (place.info / ".wheelfix-0123.tmp").write_bytes(b"half a RECORD")
    take_back(place, made)
    assert snapshot(place.prefix.parent) == before


@named_cases("error", {"full": OSError(28, "No space left on device"), "ctrl-c": KeyboardInterrupt()})
def test_changes_that_fail_are_taken_back_at_once(place, error):
    before = snapshot(place.prefix.parent)

    def work() -> None:
        files = tuple(JournalFile(f"{SITE}/pkg/{name}.dll", HASH) for name in ("new", "never"))
        with journalled(place, journal(place, added=files)):
            (place.info.parent / "pkg" / "new.dll").write_bytes(b"new")
            raise error

    with pytest.raises(type(error)):
        work()
    assert snapshot(place.prefix.parent) == before


def test_a_journal_stays_when_taking_back_fails_too(place, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module, "take_back", fail)

    def work() -> None:
        with journalled(place, journal(place)):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert place.journal.is_file()


@named_cases("links", {"linked": True, "renamed": False})
def test_of_two_at_once_one_wins(place, monkeypatch, links):
    def no_links(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    journal(place, record=b"first,,\n").write(place)
    with pytest.raises(CannotRepair, match="repaired before"):
        journal(place, record=b"second,,\n").write(place)
    assert read_journal(place).before == b"first,,\n"
    assert [path.name for path in place.journal.parent.iterdir()] == [place.journal.name]
