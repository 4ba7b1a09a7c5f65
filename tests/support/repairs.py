"""Repairs in tests: with what is in some roots and nothing of this machine, and what came out of them."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

from tools.example import ExampleBuild, kepler_cu117, write_roots, write_wheel
from wheelfix.base.options import RepairOptions, RootOptions, ScanOptions
from wheelfix.plan.model import Repaired
from wheelfix.repairs.repair import repair_wheel


def hermetic(*roots: Path, trusted_roots: Path | None = None, **more: Any) -> ScanOptions:
    """A scan that knows these roots alone."""
    more.setdefault("jobs", 1)
    return ScanOptions(roots=RootOptions(roots=roots, discover=False, trusted_roots=trusted_roots), **more)


def with_roots(*roots: Path, **more: Any) -> RepairOptions:
    """A repair with what is in these roots."""
    return RepairOptions(scan=hermetic(*roots), **more)


def repaired(wheel: Path, *roots: Path, dry_run: bool = False, **more: Any) -> Repaired:
    """Repair a wheel into ``out`` beside it, with what is in these roots."""
    more.setdefault("wheel_dir", wheel.parent / "out")
    more.setdefault("scan", hermetic(*roots))
    return repair_wheel(wheel, RepairOptions(**more), dry_run=dry_run)


def contents(made: Path | Repaired) -> dict[str, bytes]:
    """The members of a wheel, or of the one that came out of a repair."""
    path = made.output if isinstance(made, Repaired) else made
    assert path is not None
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def added(result: Repaired) -> list[str]:
    """What a plan adds."""
    return [addition.target for addition in result.plan.additions]


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def kepler(folder: Path, story: ExampleBuild | None = None) -> tuple[Path, dict[str, Path]]:
    """A torch in which DLLs are missing, and the roots that have them."""
    story = story or kepler_cu117()
    return write_wheel(story, folder / "dist"), write_roots(story, folder / "roots")


def check_record_independently(path: Path) -> None:
    """RECORD against the bytes with nothing but the standard library."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert len(names) == len(set(names))
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        rows = {row[0]: row for row in csv.reader(io.StringIO(archive.read(record).decode()))}
        assert set(rows) == {name for name in names if not name.endswith("/")}
        assert names[-1] == record
        for name, (_, digest, size) in rows.items():
            if name != record:
                data = archive.read(name)
                value = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert (digest, size) == (f"sha256={value}", str(len(data)))
