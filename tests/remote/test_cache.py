"""What is kept of files on servers: bounded, shared, and never believed without a look."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

import pytest

from wheelfix.cli.main import main
from wheelfix.errors import UsageError
from wheelfix.remote.cache import Cache, default_limit
from wheelfix.remote.ranges import Version
from wheelfix.remote.segments import LARGEST, Segments

if TYPE_CHECKING:
    from pathlib import Path

URL = "https://me:secret@example.org/x.whl?token=secret"


def test_parts_are_found_again(tmp_path: Path) -> None:
    first = Segments(tmp_path / "x")
    first.add(100, b"a" * 50)
    first.add(150, b"b" * 50)
    again = Segments(tmp_path / "x")
    assert again.read(140, 160) == b"a" * 10
    assert again.read(150, 160) == b"b" * 10
    assert again.read(99, 120) == b""
    assert again.missing(0, 300) == [(0, 100), (200, 300)]


def test_large_parts_are_kept_in_pieces(tmp_path: Path) -> None:
    parts = Segments(tmp_path / "x")
    parts.add(0, bytes(LARGEST + 5))
    assert parts.missing(0, LARGEST + 5) == []
    assert len(list((tmp_path / "x").iterdir())) == 2


def test_a_part_that_another_run_removed_is_missing(tmp_path: Path) -> None:
    parts = Segments(tmp_path / "x")
    parts.add(0, b"a" * 10)
    again = Segments(tmp_path / "x")
    for file in (tmp_path / "x").iterdir():
        file.unlink()
    assert again.read(0, 10) == b""
    assert again.missing(0, 10) == [(0, 10)]


def test_versions_do_not_mix(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.segments(URL, "", Version(10, '"a"', "")).add(0, b"old")
    assert cache.segments(URL, "", Version(10, '"b"', "")).read(0, 3) == b""
    assert cache.segments(URL, "", Version(10, '"a"', "")).read(0, 3) == b"old"
    nameless = Version(10, "", "")
    cache.segments(URL, "", nameless).add(0, b"old")
    assert cache.segments(URL, "", nameless).read(0, 3) == b""
    assert "secret" not in "".join(str(path) for path in tmp_path.rglob("*"))


def test_a_wheel_is_hashed_again(tmp_path: Path) -> None:
    cache, data = Cache(tmp_path), b"a wheel"
    digest = hashlib.sha256(data).hexdigest()
    place = cache.place_for_wheel(URL, digest)
    place.parent.mkdir()
    place.write_bytes(data)
    assert cache.wheel(digest) == place
    place.write_bytes(b"altered")
    assert cache.wheel(digest) is None
    assert not place.exists()


def test_what_was_used_last_stays(tmp_path: Path) -> None:
    with Cache(tmp_path, limit=250) as cache:
        for number in range(4):
            cache.segments(f"{URL}{number}/{number}", "", Version(9, f'"{number}"', "")).add(0, bytes(100))
            folder = max((tmp_path / "parts").iterdir(), key=lambda path: path.stat().st_mtime)
            os.utime(folder, (number, number))
    info = Cache(tmp_path, limit=250).info()
    assert (info.files, info.size) == (2, 200)
    kept = {path.stat().st_mtime for path in (tmp_path / "parts").iterdir()}
    assert kept == {2, 3}


def test_a_temporary_cache_is_gone(tmp_path: Path) -> None:
    with Cache(keep=False) as cache:
        cache.segments(URL, "", Version(9, '"x"', "")).add(0, b"x")
        folder = cache.folder
        assert folder.exists()
    assert not folder.exists()


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WHEELFIX_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("WHEELFIX_CACHE_SIZE", "1G")
    Cache().segments(URL, "", Version(9, '"x"', "")).add(0, bytes(1000))
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out == (
        f"folder  {tmp_path}\nsize    1 kB of at most 1.07 GB\nholds   parts of 1 files, 0 whole wheels\n"
    )
    assert main(["cache", "clear", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["freed"] == 1000
    assert not list((tmp_path / "parts").iterdir())


def test_a_size_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHEELFIX_CACHE_SIZE", "plenty")
    with pytest.raises(UsageError, match="is not a size"):
        default_limit()
