"""What is kept of files on servers: bounded, shared, and never believed without a look."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.server import running
from tests.support.repairs import snapshot
from tests.support.tiers import impossible
from wheelfix.base.options import RemoteOptions
from wheelfix.errors import EnvironmentFailure, UsageError
from wheelfix.remote.cache import _LARGEST_PART, MARK, Cache, Segments, Version, default_limit
from wheelfix.remote.client import Client

URL = "https://me:secret@example.org/x.whl?token=secret"


def test_parts_are_found_again(tmp_path):
    first = Segments(tmp_path / "x")
    first.add(100, b"a" * 50)
    first.add(150, b"b" * 50)
    again = Segments(tmp_path / "x")
    assert again.read(140, 160) == b"a" * 10
    assert again.read(150, 160) == b"b" * 10
    assert again.read(99, 120) == b""
    assert again.missing(0, 300) == [(0, 100), (200, 300)]


def test_large_parts_are_kept_in_pieces(tmp_path):
    parts = Segments(tmp_path / "x")
    parts.add(0, bytes(_LARGEST_PART + 5))
    assert parts.missing(0, _LARGEST_PART + 5) == []
    assert len(list((tmp_path / "x").iterdir())) == 2


def test_versions_do_not_mix(tmp_path):
    cache = Cache(tmp_path)
    cache.segments(URL, "", Version(10, '"a"', "")).add(0, b"old")
    assert cache.segments(URL, "", Version(10, '"b"', "")).read(0, 3) == b""
    assert cache.segments(URL, "", Version(10, '"a"', "")).read(0, 3) == b"old"
    nameless = Version(10, "", "")
    cache.segments(URL, "", nameless).add(0, b"old")
    assert cache.segments(URL, "", nameless).read(0, 3) == b""
    assert "secret" not in "".join(str(path) for path in tmp_path.rglob("*"))


def test_a_wheel_is_hashed_again(tmp_path):
    cache, data = Cache(tmp_path), b"a wheel"
    digest = hashlib.sha256(data).hexdigest()
    place = cache.place_for_wheel(URL, digest)
    place.parent.mkdir()
    place.write_bytes(data)
    assert cache.wheel(digest) == place
    place.write_bytes(b"altered")
    assert cache.wheel(digest) is None
    assert not place.exists()


def test_what_was_used_last_stays(tmp_path):
    with Cache(tmp_path, limit=250) as cache:
        for number in range(4):
            cache.segments(f"{URL}{number}/{number}", "", Version(9, f'"{number}"', "")).add(0, bytes(100))
            folder = max((tmp_path / "parts").iterdir(), key=lambda path: path.stat().st_mtime)
            os.utime(folder, (number, number))
    info = Cache(tmp_path, limit=250).info()
    assert (info.files, info.size) == (2, 200)
    kept = {path.stat().st_mtime for path in (tmp_path / "parts").iterdir()}
    assert kept == {2, 3}


def test_a_temporary_cache_is_gone(tmp_path):
    with Cache(keep=False) as cache:
        cache.segments(URL, "", Version(9, '"x"', "")).add(0, b"x")
        folder = cache.folder
        assert folder.exists()
    assert not folder.exists()


def test_the_command(tmp_path, monkeypatch, run):
    monkeypatch.setenv("WHEELFIX_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("WHEELFIX_CACHE_SIZE", "1G")
    Cache().segments(URL, "", Version(9, '"x"', "")).add(0, bytes(1000))
    assert (
        run("cache", "info").out
        == f"folder  {tmp_path}\nsize    1 kB of at most 1.07 GB\nholds   parts of 1 files, 0 whole wheels\n"
    )
    assert run("cache", "clear", "--format", "json").document["freed"] == 1000
    assert not list((tmp_path / "parts").iterdir())


def test_a_size_that_is_none(monkeypatch):
    monkeypatch.setenv("WHEELFIX_CACHE_SIZE", "plenty")
    with pytest.raises(UsageError, match="is not a size"):
        default_limit()


# --------------------------------------------------------------------------------------------- folders that do not work

DATA = random.Random(8).randbytes(3_000_000)


def client_of(folder: Path, said: list[str] | None = None) -> Client:
    return Client(RemoteOptions(cache_dir=folder), say=(said if said is not None else []).append)


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A small file system of its own; only root can make one."""
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True)
    if done.returncode:
        impossible(f"mount: {done.stderr.decode(errors='replace').strip()[:80]}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    said = []
    with running({"/x.whl": DATA}) as server, client_of(tmp_path / "file" / "cache", said) as client:
        source = client.wheel_at(f"{server.url}/x.whl").open()
        assert source.read_at(1000, 50) == DATA[1000:1050]
        folder = client.cache.folder
        assert folder.is_dir()
    assert not folder.exists()
    assert len(said) == 1
    assert "what is fetched is not kept" in said[0]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="not possible on this machine: there is no tmpfs")
@pytest.mark.parametrize("whole", [True, False])
def test_a_disk_that_is_full(tmp_path, whole, run):
    """The error names the folder, the reason and what to do; nothing half-written stays."""
    digest = hashlib.sha256(DATA).hexdigest()
    with mounted(tmp_path / "small", "size=1m") as folder, running({"/x.whl": DATA}) as server:
        with client_of(folder / "cache") as client:
            wheel = client.wheel_at(f"{server.url}/x.whl", sha256=digest)
            read = wheel.whole if whole else lambda: wheel.open().read_at(0, len(DATA))
            with pytest.raises(EnvironmentFailure) as caught:
                read()
        assert str(folder) in caught.value.what
        assert "No space left" in caught.value.because
        assert not [path for path in folder.rglob("*") if path.is_file() and path.name.endswith((".tmp", ".whl"))]
        run("cache", "clear", "--cache-dir", folder / "cache")


@pytest.mark.slow
def test_several_runs_share_a_folder_while_one_empties_it(tmp_path):
    """While other runs remove files, each one gets the right bytes."""
    failures = []
    ended = threading.Event()

    def read(url: str, seed: int) -> None:
        dice = random.Random(seed)
        try:
            with client_of(tmp_path) as client:
                source = client.wheel_at(url).open()
                for _ in range(15):
                    at, length = dice.randrange(len(DATA)), dice.randrange(1, 60_000)
                    assert source.read_at(at, length) == DATA[at : at + length]
        except BaseException as error:
            failures.append(error)

    def empty() -> None:
        while not ended.wait(0.01):
            Cache(tmp_path, limit=0).trim()

    with running({"/x.whl": DATA}) as server:
        readers = [threading.Thread(target=read, args=(f"{server.url}/x.whl", seed)) for seed in range(3)]
        remover = threading.Thread(target=empty)
        for thread in (remover, *readers):
            thread.start()
        for thread in readers:
            thread.join()
        ended.set()
        remover.join()
    assert failures == []


# ------------------------------------------------------------------------------------------- files of other people


def filled(folder: Path) -> Path:
    """A cache with a part and a wheel."""
    cache, data = Cache(folder), b"a wheel"
    cache.segments(URL, "", Version(9, '"x"', "")).add(0, bytes(1000))
    place = cache.place_for_wheel(URL, hashlib.sha256(data).hexdigest())
    place.parent.mkdir()
    place.write_bytes(data)
    return folder


@pytest.mark.parametrize("names", [["wheels/mine.whl"], ["parts/mine/a.txt"], ["wheels/" + "0" * 64 + ".whl"]])
@pytest.mark.parametrize(
    "command", [["cache", "clear"], ["cache", "info"], ["scan", "https://127.0.0.1:9/x-1.0-py3-none-any.whl"]]
)
def test_a_folder_with_other_files_is_refused(tmp_path, names, command, run):
    """--cache-dir named a folder of the user's: everything in its folders "wheels" and "parts" was removed."""
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"mine")
    before = snapshot(tmp_path)
    error = run(*command, "--cache-dir", tmp_path, code=2).err
    assert f"{tmp_path} is not used as a cache" in error
    assert "name a new or empty folder" in error
    with pytest.raises(UsageError):
        Cache(tmp_path, limit=0)
    assert snapshot(tmp_path) == before


def test_only_what_we_wrote_is_removed(tmp_path, run):
    filled(tmp_path)
    part = next(path for path in (tmp_path / "parts").iterdir())
    strange = [tmp_path / "wheels" / "mine.whl", tmp_path / "parts" / "mine.txt", part / "mine.txt", tmp_path / "mine"]
    strange += [tmp_path / "parts" / ("0" * 40), tmp_path / "wheels" / ("z" * 64 + ".whl")]
    for path in strange:
        path.write_bytes(b"mine")
    folder = tmp_path / "wheels" / ("1" * 64 + ".whl")
    folder.mkdir()
    (folder / "x").write_bytes(b"mine")
    run("cache", "clear", "--cache-dir", tmp_path)
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == sorted(
        [*strange, folder / "x", tmp_path / MARK]
    )
    assert Cache(tmp_path).info().size == 0
    filled_again = Cache(tmp_path, limit=0)
    filled_again.segments(URL, "", Version(9, '"x"', "")).add(0, bytes(1000))
    assert filled_again.trim() == 1000
    assert all(path.read_bytes() == b"mine" for path in strange)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
@pytest.mark.parametrize("name", ["parts", "wheels"])
def test_a_link_in_the_cache_is_not_followed(tmp_path, name, run):
    """A link named "parts" emptied the folder behind it."""
    target, cache = filled(tmp_path / "other"), filled(tmp_path / "cache")
    before = snapshot(target)
    shutil.rmtree(cache / name)
    (cache / name).symlink_to(target / name)
    run("cache", "clear", "--cache-dir", cache, code=2)
    with pytest.raises(UsageError, match="is a link"):
        Cache(cache)
    assert snapshot(target) == before


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_link_to_a_folder_of_parts_is_neither_emptied_nor_used(tmp_path):
    target, cache = filled(tmp_path / "other"), filled(tmp_path / "cache")
    part = next((cache / "parts").iterdir())
    for file in part.iterdir():
        file.unlink()
    part.rmdir()
    part.symlink_to(target / "parts" / part.name)
    before = snapshot(target)
    Cache(cache).clear()
    with pytest.raises(EnvironmentFailure, match="it is a link"):
        Cache(cache).segments(URL, "", Version(9, '"x"', ""))
    assert snapshot(target) == before


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
@pytest.mark.parametrize("kind", ["gone", "device", "pipe", "link", "folder", "huge"])
def test_a_part_that_is_not_a_regular_file_is_fetched_again(tmp_path, kind):
    """A link to /dev/zero was read until memory ended, a pipe waited for ever."""
    parts = Segments(tmp_path / "x")
    parts.add(0, b"a" * 10)
    again = Segments(tmp_path / "x")
    path = next((tmp_path / "x").iterdir())
    path.unlink()
    if kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        (tmp_path / "y").write_bytes(b"a" * 10)
        path.symlink_to(tmp_path / "y")
    elif kind == "folder":
        path.mkdir()
    elif kind == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 40)
    assert again.read(0, 10) == b""
    assert again.missing(0, 10) == [(0, 10)]
    again.add(0, b"a" * 10) if kind != "folder" else None
    assert again.read(0, 10) == (b"a" * 10 if kind != "folder" else b"")


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
def test_a_wheel_that_is_not_a_regular_file_is_not_used(tmp_path):
    cache, digest = Cache(tmp_path), "0" * 64
    place = cache.place_for_wheel(URL, digest)
    place.parent.mkdir()
    os.mkfifo(place)
    assert cache.wheel(digest) is None
    place.unlink()
    place.symlink_to("/dev/zero")
    assert cache.wheel(digest) is None
