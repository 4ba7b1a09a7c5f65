"""Repairing several wheels: in processes as one after the other, and never two into one file at once."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from wheelfix import workers
from wheelfix.demo.example import kepler_cu117, write_roots, write_wheel
from wheelfix.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.repairs.outcome import FailedRepair, Repaired
from wheelfix.repairs.repair import repair_all, targets_differ

if TYPE_CHECKING:
    from pathlib import Path


def options(tmp_path: Path, jobs: int) -> RepairOptions:
    roots = tuple(write_roots(kepler_cu117(), tmp_path / "roots").values())
    scan = ScanOptions(roots=RootOptions(roots=roots, discover=False), jobs=jobs)
    return RepairOptions(wheel_dir=tmp_path / "out", scan=scan)


def wheels(tmp_path: Path) -> list[Path]:
    first = write_wheel(kepler_cu117(), tmp_path)
    second = first.with_name(first.name.replace("-cp", "-1-cp", 1))
    shutil.copy(first, second)
    bad = tmp_path / "bad-1.0-py3-none-any.whl"
    bad.write_text("no zip")
    return [first, bad, second]


@pytest.mark.slow
def test_processes_write_what_one_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = wheels(tmp_path)
    alone = list(repair_all(paths, options(tmp_path, 1)))
    written = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    shutil.rmtree(tmp_path / "out")
    monkeypatch.setattr(workers, "WORTH_SECONDS", 0.0)
    found = list(repair_all(paths, options(tmp_path, 2)))
    assert [type(one) for one in found] == [Repaired, FailedRepair, Repaired]
    assert found[0] == alone[0]
    assert found[2] == alone[2]
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == written
    assert len(written) == 2


def test_two_wheels_of_one_name_are_repaired_one_after_the_other(tmp_path: Path) -> None:
    paths = [tmp_path / "a" / "x-1-py3-none-any.whl", tmp_path / "b" / "X-1-py3-none-any.whl"]
    chosen = options(tmp_path, 2)
    assert not targets_differ(paths, chosen)
    assert targets_differ(paths, replace(chosen, wheel_dir=None))
    assert targets_differ(paths[:1], chosen)
