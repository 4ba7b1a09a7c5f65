"""What a repair gives back."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from wheelfix.base.inputfiles import check_target, refuse_same
from wheelfix.base.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

    from wheelfix.base.options import RepairOptions
    from wheelfix.errors import WheelfixError
    from wheelfix.model import ScanReport
    from wheelfix.plan.model import Plan


class RepairOutcome(str, enum.Enum):
    """What became of a wheel."""

    REPAIRED = "repaired"
    UNCHANGED = "unchanged"
    PLANNED = "planned"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Repaired:
    """The result of one repair."""

    outcome: RepairOutcome
    plan: Plan
    output: Path | None
    """The wheel that came out; None for a dry run."""
    before: ScanReport | None
    """None when a lock was replayed, which scans nothing."""
    after: ScanReport | None
    size: int = 0
    faults: tuple[str, ...] = ()
    """For a dry run: why nothing would be written; empty when the wheel would be made."""


@dataclass(frozen=True, slots=True)
class FailedRepair:
    """A wheel that was not repaired, and why; the others are repaired all the same."""

    path: str
    error: WheelfixError


def target_of(path: Path, plan: Plan, options: RepairOptions) -> Path:
    """Where the repaired wheel goes; UsageError if that is an input, unless it is repaired in place."""
    refuse_input(path, plan.output, options)
    return (path.parent if options.wheel_dir is None else options.wheel_dir) / plan.output


def refuse_input(path: Path, name: str, options: RepairOptions) -> None:
    """UsageError if a wheel would be written over itself without ``--in-place``, or over another input."""
    if options.wheel_dir is not None:
        refuse_same(options.wheel_dir / name, path, "name another folder with --wheel-dir; repair has --in-place")
    elif name != path.name:
        check_target(path.parent / name)
