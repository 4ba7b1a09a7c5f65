"""The command line as these tests use it: nothing but the wheel, and what it says as data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from wheelfix.cli.main import main

ALONE = ("--no-discover", "--no-config")
"""What this machine has installed or configured must not help."""


def scan(path: Path, folder: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Exit status and report of ``wheelfix scan``."""
    target = folder / "scan.json"
    status = main(["scan", str(path), *ALONE, "--format", "json", "-o", str(target), *options])
    return status, json.loads(target.read_text(encoding="utf-8"))["wheels"][0]


@dataclass(frozen=True, slots=True)
class Repaired:
    """A wheel that came out, and the plan behind it."""

    path: Path
    plan: dict[str, Any]

    @property
    def names(self) -> set[str]:
        """The DLLs that were added."""
        return {PurePosixPath(addition["target"]).name for addition in self.plan["additions"]}


def repair(path: Path, folder: Path, *options: str | Path) -> Repaired:
    """Repair a wheel with ``wheelfix repair``, which must succeed and leave the input as it is."""
    before = path.read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    target, out = folder / "plan.json", folder / "out"
    common = [*ALONE, "-w", str(out), "--format", "json", "-o", str(target)]
    assert main(["repair", str(path), *common, *map(str, options)]) == 0
    assert path.read_bytes() == before
    (reported,) = json.loads(target.read_text(encoding="utf-8"))["wheels"]
    return Repaired(out / reported["plan"]["output"], reported["plan"])
