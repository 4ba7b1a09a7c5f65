"""Wheels made by attackers, through the command line: a finding or a clear error, in bounded time and memory.

Every irregularity of ``tests/archive/hostile.py`` and every attack of ``attacks.py`` goes through scan, verify and
repair. What a repair makes of it is compared with what ``zipfile`` reads.
"""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.archive.byhand import build_zip, wheel_entries
from tests.archive.hostile import CASES
from tests.faults.attacks import ATTACKS, NAME, write
from tests.faults.workshop import digest, leftovers, snapshot
from tests.support.parts import every
from tests.support.patience import patience
from wheelfix.archive.names import why_unsafe
from wheelfix.errors import Exit

if sys.platform == "win32":
    pytest.skip("time and memory are measured with POSIX' means", allow_module_level=True)

from tests.faults.confined import Helper, Watched

pytestmark = pytest.mark.slow
MEGABYTES = 250
SECONDS = 25
"""Processor time; the slowest attack takes nine on a slow machine."""
LIKE_ANOTHER = {
    "100000-members",
    "65535-members",
    "50000-dist-infos",
    "record-of-100-mb-of-newlines",
    "metadata-folded",
}
"""Crowds that take long and do little that those which every change runs do not."""
FINISHED = {Exit.OK, Exit.FINDINGS, Exit.BAD_INPUT}


@pytest.fixture(scope="module")
def helper() -> Iterator[Helper]:
    with Helper() as started:
        yield started


def attack(helper: Helper, wheel: Path) -> dict[str, Watched]:
    """Let all three commands loose on a wheel; nothing may change but the target folder."""
    box = wheel.parents[1]
    work = box / "a" / "b" / "work"
    work.mkdir(parents=True)
    before = snapshot(box)
    runs = {
        "scan": helper.run("scan", str(wheel), "--no-discover", "--no-config", cwd=work),
        "verify": helper.run("verify", str(wheel), "--no-config", cwd=work),
        "repair": helper.run("repair", str(wheel), "--no-discover", "--no-config", "-q", "-w", "out", cwd=work),
    }
    for command, run in runs.items():
        assert run.code in FINISHED, (command, run)
        assert run.megabytes < MEGABYTES, (command, run.megabytes)
        assert run.seconds < SECONDS or run.seconds < patience(SECONDS), (command, run.seconds)
        if run.code == Exit.BAD_INPUT:
            assert run.err.startswith("wheelfix: error: "), command
    after = snapshot(box)
    made = {path for path in after if path not in before}
    assert made <= {f"a/b/work/out/{NAME}"}
    assert {path: after[path] for path in before} == before
    assert leftovers(box) == []
    assert not [name for name in ("/evil.py", "/etc/evil.py") if os.path.lexists(name)]
    return runs


def must_be_clean(wheel: Path) -> None:
    """Hold a wheel that we wrote against what an attacker would want in it."""
    with zipfile.ZipFile(wheel) as archive:
        entries = archive.infolist()
        assert archive.testzip() is None
        assert len({entry.filename for entry in entries}) == len(entries)
        for entry in entries:
            assert not why_unsafe(entry.filename)
            assert "\\" not in entry.orig_filename
            assert entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            assert not entry.flag_bits & 0x09
        assert archive.comment == b""


@pytest.mark.parametrize("name", every(4, CASES))
def test_an_irregular_archive(helper, name, tmp_path):
    case = CASES[name]
    wheel = tmp_path / "dist" / NAME
    wheel.parent.mkdir()
    wheel.write_bytes(build_zip(wheel_entries(case.entries), **case.options))
    runs = attack(helper, wheel)
    if case.kind:
        assert runs["verify"].code != Exit.OK
        reported = runs["verify"].out + runs["verify"].err
        assert "WF1" in reported or runs["verify"].code == Exit.BAD_INPUT
    made = tmp_path / "a" / "b" / "work" / "out" / NAME
    if made.exists() and digest(made) != digest(wheel):  # what harms nobody is not rewritten
        must_be_clean(made)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LIKE_ANOTHER else []) for name in ATTACKS]
)
def test_an_attack(helper, name, tmp_path):
    attack(helper, write(name, tmp_path / "dist"))
