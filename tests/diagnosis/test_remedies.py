"""Remedies are promises: the commands that can be run here are run on a made case, and their effect is seen."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

import wheelfix
from tests.support.environments import install, lay
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.cli.main import main
from wheelfix.demo.example import kepler_cu117, write_roots, write_wheel
from wheelfix.diagnosis.model import DiagnosisOutcome

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.diagnosis.symptoms.model import Remedy

STORY = kepler_cu117()
ERROR = (
    r'OSError: [WinError 126] x Error loading "C:\envs\ml\Lib\site-packages\torch\lib\aoti_custom_ops.dll" '
    "or one of its dependencies.\n"
)


def options(roots: dict[str, Path]) -> ScanOptions:
    return ScanOptions(roots=RootOptions(roots=tuple(roots.values()), discover=False))


def run(remedy: Remedy, *more: str) -> int:
    """Run a remedy's command as a shell would."""
    program, *arguments = shlex.split(remedy.command)
    assert program == "wheelfix"
    return main([*arguments, *more])


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """torch for CUDA 11.7 without MKL, OpenMP and CUPTI, installed."""
    return lay(install(write_wheel(STORY, tmp_path / "dist"), tmp_path / "env"), {"python.exe": b"MZ"})


def wheelfix_commands(found: wheelfix.Diagnosis) -> list[Remedy]:
    return [remedy for remedy in found.remedies if remedy.command.startswith("wheelfix repair")]


@pytest.mark.parametrize("number", [0, 1])
def test_each_repair_of_an_environment_removes_the_cause(prefix: Path, tmp_path: Path, number: int) -> None:
    roots = write_roots(STORY, tmp_path / "roots")
    before = wheelfix.diagnose(ERROR, environment=prefix, options=options(roots))
    assert before.outcome is DiagnosisOutcome.CAUSE
    assert run(wheelfix_commands(before)[number], "--no-discover") == 0
    after = wheelfix.diagnose(environment=prefix, options=options(roots))
    assert after.outcome is DiagnosisOutcome.NO_FAULT, after.explained


@pytest.mark.parametrize("number", [0, 1])
def test_each_repair_of_a_wheel_removes_the_cause(tmp_path: Path, number: int) -> None:
    roots = write_roots(STORY, tmp_path / "roots")
    wheel = write_wheel(STORY, tmp_path / "dist")
    before = wheelfix.diagnose(ERROR, wheel=wheel, options=options(roots))
    assert run(wheelfix_commands(before)[number], "--no-discover", "-w", str(tmp_path / "out")) == 0
    (repaired,) = (tmp_path / "out").glob("*.whl")
    assert wheelfix.diagnose(wheel=repaired, options=options(roots)).outcome is DiagnosisOutcome.NO_FAULT


def test_advice_about_a_wheel_is_not_given_where_the_files_were_looked_at(prefix: Path) -> None:
    text = "ImportError: DLL load failed while importing _elsewhere: The specified module could not be found."
    found = wheelfix.diagnose(text, environment=prefix, options=ScanOptions(roots=RootOptions(discover=False)))
    assert not any(" dist\\" in remedy.command for remedy in found.remedies)


def test_advice_to_look_is_not_given_to_those_who_did(prefix: Path) -> None:
    hermetic = ScanOptions(roots=RootOptions(discover=False))
    found = wheelfix.diagnose(
        "Could not load library cudnn_xyz64_8.dll. Error code 126", environment=prefix, options=hermetic
    )
    assert not any(remedy.command.startswith("wheelfix diagnose") for remedy in found.remedies)
    assert not any("with --env" in note for note in found.notes)
