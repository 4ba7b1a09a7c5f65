"""verify against pip, uv and installer, which are run on wheels made at random; so is repair, and ``wheel unpack``."""

from __future__ import annotations

import random
import shutil
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.archive.byhand import Entry, write_wheel_by_hand
from tests.archive.drafts import Draft, draft
from tests.archive.hostile import CASES
from tests.support.clients import find
from tests.support.installers import (
    CLIENTS,
    PROGRAMS,
    disagreements,
    install_with,
    pip_here,
    pip_program,
    verdict_of,
    wheel_unpack,
)
from tests.support.parts import every, parts
from tests.support.tables import named_cases
from tests.support.tiers import absent
from tests.support.wheels import ALONE
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.errors import WheelfixError
from wheelfix.exam.verify import verify
from wheelfix.repairs.repair import repair_wheel

QUICK = random.Random(5).sample(range(5000), 200)
"""Of the wheels of the slow test, those that every change is checked with."""


def compare(seeds: Iterable[int], folder: Path) -> Iterator[str]:
    """Give what verify and an installer do not agree upon."""
    for seed in seeds:
        made = draft(seed)
        path = made.write(folder / str(seed))
        # Whether pip can open this is decided by Python's zipfile: those of 2026 read it, earlier ones do not.
        if not ("extensible" in made.zip.get("zip64", {}) and opens(path)):
            found = disagreements(path, folder / "prefix")
            yield from (f"wheel {seed} ({', '.join(made.said)}): {text}" for text in found)
        shutil.rmtree(folder / str(seed))


def opens(path: Path) -> bool:
    """Whether this Python's zipfile reads the directory of a wheel."""
    try:
        zipfile.ZipFile(path).close()
    except zipfile.BadZipFile:
        return False
    return True


def repaired(seeds: Iterable[int], folder: Path) -> Iterator[str]:
    """Give what is wrong with wheels that repair wrote."""
    options = ScanOptions(roots=RootOptions(discover=False), jobs=1)
    for seed in seeds:
        made = draft(seed)
        path = made.write(folder / str(seed))
        try:
            result = repair_wheel(path, RepairOptions(wheel_dir=folder / str(seed) / "out", scan=options))
        except WheelfixError:
            continue
        assert result.output is not None
        if result.outcome == "repaired":
            yield from (f"wheel {seed} ({', '.join(made.said)}): {text}" for text in refusals(result.output, folder))
        shutil.rmtree(folder / str(seed))


def refusals(path: Path, folder: Path) -> Iterator[str]:
    """Give who refuses a wheel."""
    for client in CLIENTS:
        for program in PROGRAMS[client]:
            if refusal := install_with(program, path, folder / "prefix").refusal:
                yield f"{program}: {refusal}"
    verdict = verdict_of(path)
    if verdict.refused:
        yield f"verify: {verdict.text}"
    # A folder that is spelled otherwise than the file name is reported, and not renamed.
    if "wheel unpack" not in verdict.text and (refusal := wheel_unpack(path, folder / "unpacked")):
        yield f"wheel: {refusal}"
    shutil.rmtree(folder / "unpacked", ignore_errors=True)


def needs_clients() -> None:
    for client in CLIENTS:
        if find(client) is None:
            absent(f"there is no {client} here to install wheels with")
            pytest.skip(f"{client} is not installed")


@pytest.mark.parametrize("first, step", [(0, 10), pytest.param(1, 2, marks=pytest.mark.slow)])
def test_verify_agrees_with_the_installers(tmp_path, first, step):
    needs_clients()
    assert list(compare(QUICK[first::step], tmp_path)) == []


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("start", range(0, 5000, 100))
def test_verify_agrees_with_the_installers_on_many_wheels(tmp_path, start):
    needs_clients()
    assert list(compare(range(start, start + 100), tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("start", parts(0, 50, 50))
def test_what_repair_writes_is_taken_by_everybody(tmp_path, start):
    needs_clients()
    assert list(repaired(range(start, start + 50), tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("key", every(3, [key for key in CASES if key != "up-and-down"]))  # its place is another name
def test_verify_agrees_about_each_irregularity(tmp_path, key):
    needs_clients()
    case = CASES[key]
    path = write_wheel_by_hand(tmp_path / "wheel", case.entries, **case.options)
    assert list(disagreements(path, tmp_path / "prefix")) == []


@pytest.mark.slow
def test_pip_in_this_process_is_the_program(tmp_path):
    for seed in QUICK[:5]:
        path = draft(seed).write(tmp_path / str(seed))
        here, there = pip_here(path, tmp_path / f"{seed}-here"), pip_program(path, tmp_path / f"{seed}-there")
        assert bool(here) == bool(there), (seed, here, there)


# --------------------------------------------------------------------------------------- the classes, one by one

ROOT, OTHER = b"MZ of the root", b"MZ of the data folder"


def codes(folder: Path, *entries: Entry) -> set[str]:
    """Verify a wheel with these entries."""
    return {finding.code for finding in verify(write_wheel_by_hand(folder, entries)).findings}


@pytest.mark.parametrize(
    "one, other",
    [
        ("pkg-1.0.data/platlib/pkg/lib.dll", "pkg/lib.dll"),
        ("pkg-1.0.data/purelib/pkg/lib.dll", "pkg-1.0.data/platlib/pkg/lib.dll"),
        ("pkg-1.0.data/platlib/PKG/Lib.DLL", "pkg/lib.dll"),
        ("pkg-1.0.data/data/lib/SITE-PACKAGES/pkg/lib.dll", "pkg/lib.dll"),
        ("pkg-1.0.data/data/Include/pkg/x.h", "pkg-1.0.data/headers/x.h"),
        ("pkg-1.0.data/platlib/pkg/\u00c9.dll", "pkg/\u00e9.dll"),
        ("pkg-1.0.data/platlib/pkg/lib.dll/x", "pkg/lib.dll"),
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_two_members_that_become_one_file(tmp_path, one, other, swap):
    pair = [Entry(one, OTHER), Entry(other, ROOT)]
    assert "WF118" in codes(tmp_path, *(reversed(pair) if swap else pair))


@pytest.mark.parametrize(
    "one, other",
    [
        ("pkg-1.0.data/platlib/pkg/e\u0301.dll", "pkg/\u00e9.dll"),
        ("pkg-1.0.data/data/pkg/lib.dll", "pkg/lib.dll"),
        ("pkg-1.0.data/scripts/lib.dll", "pkg/lib.dll"),
    ],
)
def test_two_members_that_stay_two_files(tmp_path, one, other):
    assert codes(tmp_path, Entry(one, OTHER), Entry(other, ROOT)) == set()


def test_a_script_and_an_entry_point_of_one_name(tmp_path):
    points = Entry("pkg-1.0.dist-info/entry_points.txt", b"[console_scripts]\nRun = pkg:main\n")
    assert "WF118" in codes(tmp_path, Entry("pkg-1.0.data/scripts/run.exe", OTHER), points)
    assert codes(tmp_path, Entry("pkg-1.0.data/scripts/other.exe", OTHER), points) <= {"WF122"}


@pytest.mark.parametrize("name", ["pkg-1.0.data/x.py", "x.data/purelib/y.py", "x.data"])
def test_files_of_no_scheme(tmp_path, name):
    assert codes(tmp_path, Entry(name, OTHER)) == {"WF119"}


@named_cases(
    "name, flags", {"patched data": ("pkg/lib.dll", 0x20), "flags of UTF-8 that differ": ("pkg/\u00fc.dll", 0)}
)
@pytest.mark.parametrize("where", ["local", "central"])
def test_flags(tmp_path, name, flags, where):
    entry = Entry(name, ROOT)
    getattr(entry, where)["flags"] = flags
    assert verdict_of(write_wheel_by_hand(tmp_path, [entry])).refused


@pytest.mark.parametrize("comment", [b"PK\x05\x06", b"\xffPK\x01\x02\xff", b"x" * 30 + b"PK\x03\x04"])
def test_comments_that_look_like_archives(tmp_path, comment):
    assert verdict_of(write_wheel_by_hand(tmp_path, comment=comment)).refused


@pytest.mark.parametrize("folder", ["other-1.0.dist-info/METADATA", "PKG-1.0.dist-info/x", "x.dist-info"])
def test_several_dist_info_folders_are_not_repaired(tmp_path, folder):
    path = write_wheel_by_hand(tmp_path, [Entry(folder, b"x")])
    assert "WF126" in {finding.code for finding in verify(path).findings}
    with pytest.raises(WheelfixError, match="cannot be repaired"):
        repair_wheel(path, RepairOptions(wheel_dir=tmp_path / "out", scan=ALONE))


@pytest.mark.parametrize(
    "name, version, refused",
    [
        ("pkg", "1.0", set()),
        ("pkg", "v1.0", set()),
        ("pkg", "abc", {"pip", "uv"}),
        ("pkg", "\u0661.0", {"pip", "uv"}),
        ("my__pkg", "1.0", {"pip"}),
        ("_pkg", "1.0", {"uv"}),
        ("pkg!", "1.0", {"pip", "uv"}),
    ],
)
def test_names_and_versions_that_installers_refuse(tmp_path, name, version, refused):
    """The same everywhere in the wheel, so that nothing contradicts it."""
    stem = f"{name}-{version}"
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    made = Draft(name, version, dist_info=f"{stem}.dist-info", data=f"{stem}.data", metadata=text)
    assert verdict_of(made.write(tmp_path)).refused_by == refused


@pytest.mark.parametrize(
    "metadata, refused",
    [
        (b"\xef\xbb\xbfMetadata-Version: 2.1\nName: pkg\nVersion: 1.0\n", {"pip"}),
        (b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\nSummary: gr\xfc\xdfe\n", {"pip"}),
        (b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\nRequires-Dist: x>>1\n", {"pip"}),
        (b"Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\nRequires-Python: x\n", {"uv"}),
        (b"", {"pip", "uv"}),
    ],
)
def test_metadata_that_installers_refuse(tmp_path, metadata, refused):
    assert verdict_of(Draft(metadata=metadata).write(tmp_path)).refused_by == refused


@pytest.mark.parametrize("character", ["\u202e", "\u200b", "\x85", "\u2028"])
def test_characters_that_cannot_be_seen(tmp_path, character):
    assert codes(tmp_path, Entry(f"pkg/{character}.dll", ROOT)) >= {"WF113"}
