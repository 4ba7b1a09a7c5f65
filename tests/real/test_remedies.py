"""Every distribution that a remedy names exists on the index, with a wheel for Windows and the extras it asks for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tiers import require
from wheelfix.diagnosis.symptoms import explain_symptoms, read_symptoms
from wheelfix.diagnosis.symptoms.causes import cause_table

CORPUS = Path(__file__).parents[2] / "fixtures" / "errors"
PYTORCH = "--index-url https://download.pytorch.org/whl/"


def pip_commands() -> set[str]:
    """The pip commands of all texts of the corpus, and those of the table that have no hole."""
    found = {
        step.command
        for text in CORPUS.glob("*.txt")
        for cause in explain_symptoms(read_symptoms(text.read_bytes()))
        for step in cause.next_steps
    }
    found |= {step.command for cause in cause_table().causes.values() for step in cause.next_steps}
    return {command for command in found if "pip install" in command and "{" not in command}


def requirements(command: str) -> list[str]:
    """What a command asks pip for."""
    words = re.findall(r'"[^"]*"|\S+', command.partition("&&")[0].partition("pip install")[2])
    return [word.strip('"') for word in words if not word.startswith("-")]


@pytest.mark.real
def test_what_remedies_install_can_be_installed_on_windows(tmp_path: Path) -> None:
    commands = sorted(command for command in pip_commands() if PYTORCH not in command)
    require(commands, "there are no commands to try")
    wanted = sorted({name for command in commands for name in requirements(command)})
    for name in wanted:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--no-deps"),
                *("--only-binary=:all:", "--platform", "win_amd64", "--python-version", "3.11"),
                *("--target", str(tmp_path / "target"), name),
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{name}: {done.stderr}"
        assert "does not provide the extra" not in done.stderr, name


@pytest.mark.real
def test_commands_for_pytorchs_index_are_whole() -> None:
    for command in pip_commands():
        if PYTORCH in command:
            assert re.fullmatch(r".*whl/(?:cpu|xpu|cu\d{3})", command), command
