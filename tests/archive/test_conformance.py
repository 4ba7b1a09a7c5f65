"""Every irregularity by its kind, and whether the right people are said to refuse it."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.archive.byhand import Entry, deflate, write_wheel_by_hand
from tests.archive.hostile import CASES, TESTED_WITH, TEXT, refused_by
from tests.support.installers import pip_here
from tests.support.parts import every
from tests.support.tiers import require
from wheelfix.archive.conformance import check_archive
from wheelfix.archive.faults import KINDS, RECORD_KINDS
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import check_record

if TYPE_CHECKING:
    from collections.abc import Iterator

BESIDES = {
    "end-in-comment": {"pip"},  # pip takes the inner, empty archive, and then misses dist-info
    "beyond": {"pypi"},  # PyPI reads headers one after the other and never follows the offset
    "zip64-missing": {"pip"},  # zipfile reads on to the end of the stream
}
"""Cases in which our answer is knowingly not the letter of what happens."""


@pytest.mark.parametrize("key", CASES)
def test_the_fault_is_found_and_those_who_refuse_it_are_named(tmp_path: Path, key: str) -> None:
    case = CASES[key]
    path = write_wheel_by_hand(tmp_path, case.entries, **case.options)
    with Archive.open(path) as archive:
        faults = check_archive(archive)
        record = check_record(archive, hashes=True, jobs=1)
    kinds = {fault.kind for fault in faults}
    assert kinds <= KINDS.keys()
    assert {fault.kind for fault in record} <= RECORD_KINDS.keys()
    if case.kind == "":
        assert faults == ()
    elif case.kind == "damaged":
        assert ("member-unreadable", "a.txt") in {(fault.kind, fault.path) for fault in record}
    else:
        assert case.kind in kinds
    assert all(fault.message for fault in faults)
    if case.kind != "damaged":
        named = {who for fault in faults for who in fault.rejected_by}
        assert named ^ refused_by(key) == BESIDES.get(key, set())


def test_the_compression_ratio_that_pypi_refuses(tmp_path: Path) -> None:
    zeros = bytes(65 << 20)
    path = write_wheel_by_hand(tmp_path, [Entry("zeros.bin", zeros, packed=deflate(zeros, 9))])
    with Archive.open(path) as archive:
        faults = check_archive(archive)
    assert [(fault.kind, fault.rejected_by) for fault in faults] == [("zip-bomb", ("pypi",))]


def test_order_in_the_file_need_not_be_that_of_the_directory(tmp_path: Path) -> None:
    path = write_wheel_by_hand(tmp_path, [Entry("a.txt", TEXT), Entry("b.txt", TEXT)], shuffle=True)
    with Archive.open(path) as archive:
        assert check_archive(archive) == ()
        assert check_record(archive, hashes=True) == ()
        assert archive.members[-1].name == "a.txt"


# ------------------------------------------------------------------------------ the table against real programs


def _version(tool: str) -> str:
    try:
        return metadata.version(tool)
    except metadata.PackageNotFoundError:
        return ""


def _needs(tool: str) -> None:
    reason = f"the table was made with {tool} {TESTED_WITH[tool]}, here is {_version(tool) or 'none'}"
    require(_version(tool) == TESTED_WITH[tool], reason)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder and the address under which it is served to this machine."""
    folder = tmp_path_factory.mktemp("served")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize("key", every(3, CASES))
def test_uv_refuses_just_these(served: tuple[Path, str], key: str) -> None:
    _needs("uv")
    folder, address = served
    case = CASES[key]
    path = write_wheel_by_hand(folder / key, case.entries, **case.options)
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
    options = ["--no-deps", "--no-index", "--no-cache", "--python", sys.executable]
    codes = [
        subprocess.run(
            [uv, "pip", "install", *options, "--target", str(folder / key / str(number)), where],
            capture_output=True,
            check=False,
        ).returncode
        for number, where in enumerate((str(path), f"{address}/{key}/{path.name}"))
    ]
    assert any(codes) == ("uv" in refused_by(key))


@pytest.mark.slow
@pytest.mark.parametrize("key", CASES)
def test_pip_refuses_just_these(tmp_path: Path, key: str) -> None:
    _needs("pip")
    case = CASES[key]
    path = write_wheel_by_hand(tmp_path, case.entries, **case.options)
    refused = pip_here(path, tmp_path / "t")  # in a process of its own it takes a second; test_agreement compares both
    assert bool(refused) == ("pip" in refused_by(key))
