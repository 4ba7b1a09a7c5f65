"""Repairs that are killed or asked to stop at random moments; ``python -m tests.faults.killing`` does it at length."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.faults.workshop import REPOSITORY, environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither fork nor these signals"),
]


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


@pytest.mark.parametrize("signal", ["KILL", "TERM"])
def test_a_few_of_each_kind(signal: str) -> None:
    shoot("--runs", "8", "--signal", signal, "--modes", "fresh,over,in-place,env")


@pytest.mark.long
@pytest.mark.parametrize("signal", ["KILL", "TERM", "HUP", "INT"])
def test_many(signal: str) -> None:
    shoot("--runs", "24", "--signal", signal, "--seed", "2")
