"""A survey that is killed, and a cluster that loses a worker: the same tables, row for row."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.surveys import forged_wheel, start_survey, tables_of
from tools.survey_kills import cluster

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signal")]
ROOT = Path(__file__).parents[2]
SMALL_PARTS = """\
import sys
from wheelfix.cli.main import main
from wheelfix.survey import run
run.PART_WHEELS = 5
sys.exit(main(["survey", *sys.argv[1:]]))
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for number in range(60):
        forged_wheel(folder, f"pkg{number:03}", padding=400_000)
    (folder / "bad-1.0-cp311-cp311-win_amd64.whl").write_bytes(b"no zip")
    return folder


@pytest.fixture(scope="module")
def expected(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[object, ...]]]:
    out = tmp_path_factory.mktemp("plain") / "out"
    process = start_survey(wheels, "-o", out, "-j", 2)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    found = tables_of(out)
    assert len(found["wheels"]) == 61
    return found


def test_killed_twice_and_resumed(wheels, tmp_path, expected):
    out = tmp_path / "out"
    command = [sys.executable, "-c", SMALL_PARTS, str(wheels), "-o", str(out), "-j", "2"]
    for parts in (2, 6):
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        wait_for(lambda parts=parts: len(list(out.glob("part=*"))) >= parts)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=True)
    skipped = re.search(r"(\d+) done before", done.stderr)
    assert int(skipped[1]) >= 6 * 5
    assert tables_of(out) == expected
    assert not list(out.glob(".wheelfix*"))


def wait_for(condition: object, seconds: float = 60) -> None:
    for _ in range(int(seconds / 0.02)):
        if condition():  # type: ignore[operator]
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def test_a_cluster_that_loses_a_worker(wheels, tmp_path, expected):
    pytest.importorskip("distributed")
    out = tmp_path / "out"
    with cluster(tmp_path) as (address, workers):
        command = [sys.executable, "-c", SMALL_PARTS, str(wheels), "-o", str(out), "--engine", "dask"]
        process = subprocess.Popen([*command, "--scheduler", address], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: len(list(out.glob("part=*"))) >= 2)
        workers[0].kill()
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said
    assert tables_of(out) == expected


def test_a_scheduler_that_does_not_answer(wheels, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    from wheelfix.errors import EnvironmentFailure
    from wheelfix.survey import run
    from wheelfix.survey.wheelrows import OPTIONS, wheel_sources

    monkeypatch.setattr(run, "PATIENCE", 0.5)
    engine = run.dask_engine(OPTIONS, "tcp://127.0.0.1:9")
    with pytest.raises(EnvironmentFailure, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        list(engine(list(wheel_sources([str(wheels)]))))
