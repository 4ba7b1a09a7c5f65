"""The journal: believed as far as it stays inside the environment; changes that fail are taken back at once."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from wheelfix.errors import CannotRepair, InputError
from wheelfix.repairs import journal as module
from wheelfix.repairs.journal import JOURNAL, SCHEMA, Journal, journalled, read_journal, set_aside, take_back

if TYPE_CHECKING:
    from pathlib import Path

HASH = hashlib.sha256(b"new").hexdigest()


@pytest.fixture
def info(tmp_path: Path) -> Path:
    """A dist-info folder of an environment ``env``, with a file beside it that must survive everything."""
    folder = tmp_path / "env" / "Lib" / "site-packages" / "pkg-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "RECORD").write_bytes(b"pkg/a.py,,\n")
    (folder.parent / "pkg").mkdir()
    (folder.parent / "pkg" / "old.dll").write_bytes(b"old")
    (tmp_path / "precious").write_bytes(b"new")
    return folder


def snapshot(info: Path) -> dict[str, bytes]:
    top = info.parents[3]
    return {path.relative_to(top).as_posix(): path.read_bytes() for path in top.rglob("*") if path.is_file()}


def write(info: Path, **changes: Any) -> None:
    document = {"schema": SCHEMA, "record": "", "added": [], "dropped": [], **changes}
    (info / JOURNAL).write_text(json.dumps(document))


def prefix(info: Path) -> Path:
    return info.parents[2]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"added": [{"path": "../../../precious", "sha256": HASH}]}, id="up-and-out"),
        pytest.param({"added": [{"path": "/etc/passwd", "sha256": HASH}]}, id="absolute"),
        pytest.param({"added": [{"path": "pkg/old.dll", "sha256": ""}]}, id="no-hash"),
        pytest.param({"added": [{"path": "pkg/old.dll"}]}, id="hash-missing"),
        pytest.param({"added": ["pkg/old.dll"]}, id="no-object"),
        pytest.param({"added": [{"path": 7, "sha256": HASH}]}, id="path-is-a-number"),
        pytest.param({"added": [{"path": "pkg/..", "sha256": HASH}]}, id="dots"),
        pytest.param({"added": [{"path": "pkg/x\0y", "sha256": HASH}]}, id="nul"),
        pytest.param({"dropped": ["../../../precious"]}, id="dropped-outside"),
        pytest.param({"dropped": [None]}, id="dropped-is-nothing"),
        pytest.param({"dropped": "pkg"}, id="dropped-is-text"),
        pytest.param({"record": "§"}, id="record-is-no-base64"),
        pytest.param({"record": None}, id="record-missing"),
    ],
)
def test_a_hostile_journal_is_refused_and_nothing_is_touched(info: Path, changes: dict[str, Any]) -> None:
    write(info, **changes)
    before = snapshot(info)
    with pytest.raises(InputError, match="not a journal of wheelfix"):
        read_journal(info, prefix(info))
    assert snapshot(info) == before


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, "[]", '"x"', "\ufeff{}"], ids=["empty", "deep", "list", "text", "bom"]
)
def test_what_is_no_journal_is_an_input_error(info: Path, text: str) -> None:
    (info / JOURNAL).write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        read_journal(info, prefix(info))


@pytest.mark.skipif(os.name != "posix", reason="links need rights on Windows")
def test_a_link_that_leads_out_is_not_followed(info: Path, tmp_path: Path) -> None:
    (info.parent / "away").symlink_to(tmp_path)
    write(info, added=[{"path": "away/precious", "sha256": HASH}])
    with pytest.raises(InputError, match="not in the environment"):
        read_journal(info, prefix(info))


def test_what_is_written_is_read_back_and_taken_back(info: Path) -> None:
    before = snapshot(info)
    journal = Journal(b"pkg/a.py,,\n", (("pkg/new.dll", HASH),), ("pkg/old.dll",))
    with journalled(info, journal):
        (info.parent / "pkg" / "new.dll").write_bytes(b"new")
        old = info.parent / "pkg" / "old.dll"
        old.replace(set_aside(old))
        (info / "RECORD").write_bytes(b"changed")
    assert read_journal(info, prefix(info)) == journal
    undone = take_back(info, journal)
    assert len(undone.removed) == len(undone.restored) == 1
    assert snapshot(info) == before


def test_a_record_that_a_killed_run_has_not_finished_is_removed(info: Path) -> None:
    before = snapshot(info)
    journal = Journal((info / "RECORD").read_bytes(), (), ())
    with journalled(info, journal):
        (info / ".wheelfix-0123.tmp").write_bytes(b"half a RECORD")
    take_back(info, journal)
    assert snapshot(info) == before


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "ctrl-c"])
def test_changes_that_fail_are_taken_back_at_once(info: Path, error: BaseException) -> None:
    before = snapshot(info)

    def work() -> None:
        with journalled(info, Journal(b"pkg/a.py,,\n", (("pkg/new.dll", HASH), ("pkg/never.dll", HASH)), ())):
            (info.parent / "pkg" / "new.dll").write_bytes(b"new")
            raise error

    with pytest.raises(type(error)):
        work()
    assert snapshot(info) == before


def test_a_journal_stays_when_taking_back_fails_too(info: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module, "take_back", fail)

    def work() -> None:
        with journalled(info, Journal(b"", (), ())):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert (info / JOURNAL).is_file()


def test_of_two_at_once_one_wins(info: Path) -> None:
    Journal(b"first", (), ()).write(info)
    with pytest.raises(CannotRepair, match="repaired before"):
        Journal(b"second", (), ()).write(info)
    assert read_journal(info, prefix(info)).record == b"first"
    assert sorted(path.name for path in info.iterdir()) == ["RECORD", JOURNAL]


def test_without_hard_links_it_is_renamed(info: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", no_links)
    Journal(b"first", (), ()).write(info)
    with pytest.raises(CannotRepair, match="repaired before"):
        Journal(b"second", (), ()).write(info)
    assert read_journal(info, prefix(info)).record == b"first"
