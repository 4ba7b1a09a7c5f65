"""Repairs that are killed or asked to stop at random moments, and several at once in one place.

``python -m tests.faults.killing`` does the former at length.
"""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.faults.workshop import (
    REPOSITORY,
    Run,
    assert_no_traceback,
    digest,
    environment,
    installed,
    large,
    leftovers,
    small,
    snapshot,
    wheelfix,
)
from wheelfix.errors import Exit


def shoot(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.killing", *arguments],
        cwd=REPOSITORY,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,  # a run that hangs fails
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither fork nor these signals")
@pytest.mark.parametrize("signal", ["KILL", "TERM"])
def test_a_few_of_each_kind(signal):
    shoot("--runs", "8", "--signal", signal, "--modes", "fresh,over,in-place,env")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither fork nor these signals")
@pytest.mark.long
@pytest.mark.parametrize("signal", ["KILL", "TERM", "HUP", "INT"])
def test_many(signal):
    shoot("--runs", "24", "--signal", signal, "--seed", "2")


# ------------------------------------------------------------------------------------------------------------- together
# Several repairs at once into one folder: each wheel is whole, nobody removes what another is writing.


def all_at_once(commands: list[list[str]]) -> list[Run]:
    """Start all command lines, then wait for all."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "wheelfix", *command],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    runs = []
    for process in started:
        out, err = process.communicate(timeout=600)
        runs.append(Run(process.returncode, out, err))
        assert_no_traceback(runs[-1])
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, pytest.param(8, marks=pytest.mark.long)])
def test_the_same_wheel_into_one_folder(tmp_path, count):
    bench = small(tmp_path)
    original = digest(bench.wheel)
    runs = all_at_once([bench.command()] * count)
    assert [run.code for run in runs] == [Exit.OK] * count
    made = snapshot(bench.out)
    assert list(made) == [bench.wheel.name]
    assert wheelfix("verify", str(bench.target)).code == Exit.OK
    assert digest(bench.wheel) == original
    shutil.rmtree(bench.out)
    assert wheelfix(*bench.command()).code == Exit.OK
    assert snapshot(bench.out) == made


@pytest.mark.slow
def test_four_different_wheels_into_one_folder(tmp_path):
    benches = [large(tmp_path / str(number), megabytes=6) for number in range(4)]
    out = tmp_path / "out"
    commands = []
    for number, bench in enumerate(benches):
        wheel = bench.wheel.rename(bench.wheel.with_name(f"pkg-1.0-{number}-cp311-cp311-win_amd64.whl"))
        commands.append(["repair", str(wheel), *bench.root_options, "-w", str(out)])
    assert [run.code for run in all_at_once(commands)] == [Exit.OK] * 4
    assert len(snapshot(out)) == 4
    assert wheelfix("verify", str(out)).code in (Exit.OK, Exit.FINDINGS)
    assert leftovers(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, pytest.param(8, marks=pytest.mark.long)])
def test_the_same_wheel_in_place(tmp_path, count):
    """The second process finds the wheel replaced, or repaired: either way it is whole."""
    bench = small(tmp_path)
    command = ["repair", str(bench.wheel), *bench.root_options, "--in-place"]
    codes = [run.code for run in all_at_once([command] * count)]
    assert Exit.OK in codes
    assert set(codes) <= {Exit.OK, Exit.ENVIRONMENT}
    assert wheelfix("verify", str(bench.wheel)).code == Exit.OK
    assert list(snapshot(bench.wheel.parent)) == [bench.wheel.name]


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, pytest.param(8, marks=pytest.mark.long)])
def test_the_same_environment(tmp_path, count):
    bench = small(tmp_path)
    prefix = installed(bench)
    before = snapshot(prefix)
    command = ["repair", "--env", str(prefix), "--package", "torch", *bench.root_options]
    codes = sorted(run.code for run in all_at_once([command] * count))
    assert codes[0] == Exit.OK
    assert set(codes[1:]) <= {Exit.OK, Exit.FINDINGS}
    undone = wheelfix(*command, "--undo")
    assert undone.code == Exit.OK
    assert snapshot(prefix) == before
