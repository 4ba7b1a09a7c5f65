"""A watch on archives that are replaced in place: Windows refuses to replace a file that is open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.archive import writer
from wheelfix.archive.reader import Archive
from wheelfix.streams.output import AtomicFile

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def watch_replacing(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> list[Archive]:
    """Assert that every archive of a wheel is closed when the wheel is replaced; return the archives as they open."""
    opened: list[Archive] = []
    load, commit = Archive._load, AtomicFile.commit

    def watch(self: Archive, known: frozenset[str]) -> None:
        opened.append(self)
        load(self, known)

    def replace(self: AtomicFile) -> None:
        if self.target == wheel:
            assert all(archive._source._file.closed for archive in opened if archive.path == wheel)
        commit(self)

    monkeypatch.setattr(writer, "_CLOSE_FIRST", True)
    monkeypatch.setattr(Archive, "_load", watch)
    monkeypatch.setattr(AtomicFile, "commit", replace)
    return opened
