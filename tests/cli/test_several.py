"""Commands on several wheels in worker processes: Ctrl-C, a killed worker, the same output as one process."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.patience import wall_patience
from tests.support.wheels import build_wheel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheels that take a while to verify: 40 MB each, of which each packs to 6 MB."""
    made = tmp_path_factory.mktemp("wheels")
    piece = random.Random(1).randbytes(150_000) + bytes(850_000)
    first = build_wheel(made, "pkg00", "1.0", files={"pkg/data.bin": piece * 40})
    for number in range(1, 12):
        first.with_name(first.name.replace("pkg00", f"pkg{number:02}")).write_bytes(first.read_bytes())
    return made


def start(folder: Path, tmp: Path, *words: str) -> subprocess.Popen[str]:
    tmp.mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "wheelfix", "verify", str(folder), *words],
        env={**os.environ, "TMPDIR": str(tmp)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def children(process: int) -> list[int]:
    """Return the worker processes, once there are two."""
    listed = Path(f"/proc/{process}/task/{process}/children")
    for _ in range(3000):
        found = [int(word) for word in listed.read_text().split()]
        if len(found) == 2:
            return found
        time.sleep(0.02)
    raise AssertionError("no workers")


@pytest.mark.parametrize("group", [True, False], ids=["all", "starter"])
def test_ctrl_c_ends_all_within_a_second_and_leaves_nothing(folder: Path, tmp_path: Path, group: bool) -> None:
    process = start(folder, tmp_path / "tmp", "-j", "2")
    workers = children(process.pid)
    time.sleep(0.3 if group else 0.05)
    began = time.monotonic()
    (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert time.monotonic() - began < wall_patience(1.5)
    assert (process.returncode, errors) == (130, "wheelfix: interrupted\n")
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_killed_worker_costs_its_wheel(folder: Path, tmp_path: Path) -> None:
    process = start(folder, tmp_path / "tmp", "-j", "2", "-q")
    victim = children(process.pid)[0]
    assert process.stdout is not None
    process.stdout.readline()  # the workers work
    os.kill(victim, signal.SIGKILL)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 4
    assert errors.count("its worker process was killed (signal 9)") == 1
    assert "try it alone, with -j 1" in errors
    assert len(output.splitlines()) == 10  # of the other eleven, one was read above
