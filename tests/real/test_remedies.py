"""Every distribution that a remedy names exists on the index, with a wheel for Windows and the extras it asks for."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.diagnosis.remedy_commands import shown
from tests.support.tiers import require

if TYPE_CHECKING:
    from pathlib import Path

PYTORCH = "--index-url https://download.pytorch.org/whl/"


def pip_commands() -> set[str]:
    """Every pip command that a remedy can show."""
    return {command for command in shown() if "pip install" in command}


def requirements(command: str) -> list[str]:
    """What a command asks pip for."""
    words = re.findall(r'"[^"]*"|\S+', command.partition("&&")[0].partition("pip install")[2])
    return [word.strip('"') for word in words if not word.startswith("-")]


@pytest.mark.real
def test_what_remedies_install_can_be_installed_on_windows(tmp_path: Path) -> None:
    commands = sorted(command for command in pip_commands() if PYTORCH not in command)
    require(commands, "there are no commands to try")
    wanted = sorted({name for command in commands for name in requirements(command)})
    runs: dict[int, list[str]] = {}
    seen: Counter[str] = Counter()
    for one in wanted:  # pip takes one requirement of a project at a time, and many projects
        project = canonicalize_name(Requirement(one).name)
        runs.setdefault(seen[project], []).append(one)
        seen[project] += 1
    for names in runs.values():
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--no-deps"),
                *("--only-binary=:all:", "--platform", "win_amd64", "--python-version", "3.11"),
                *("--target", str(tmp_path / "target"), *names),
            ],
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"{names}: {done.stderr}"
        assert "does not provide the extra" not in done.stderr, done.stderr


@pytest.mark.real
def test_commands_for_pytorchs_index_are_whole() -> None:
    for command in pip_commands():
        if PYTORCH in command:
            assert re.fullmatch(r".*whl/(?:cpu|xpu|cu\d{3})", command), command
