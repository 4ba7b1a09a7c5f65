"""The repair command from end to end on a small wheel: what it does when nobody says otherwise."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from wheelfix.cli.main import main
from wheelfix.demo.example import kepler_cu117, write_roots, write_wheel

if TYPE_CHECKING:
    from pathlib import Path

SBOM = "torch-2.7.1+cu117.dist-info/sboms/wheelfix.cdx.json"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param([], True, id="by-default"),
        pytest.param(["--sbom"], True, id="asked-for"),
        pytest.param(["--no-sbom"], False, id="refused"),
    ],
)
def test_a_bill_of_materials_unless_told_otherwise(options: list[str], expected: bool, tmp_path: Path) -> None:
    """``--sbom`` and ``--no-sbom`` share one setting; the default was that of the second."""
    story = kepler_cu117()
    wheel = write_wheel(story, tmp_path / "dist")
    roots = [part for root in write_roots(story, tmp_path / "roots").values() for part in ("--root", str(root))]
    out = tmp_path / "out"
    assert main(["repair", str(wheel), "--no-discover", "--no-config", "-w", str(out), *roots, *options]) == 0
    with zipfile.ZipFile(out / wheel.name) as archive:
        assert (SBOM in archive.namelist()) is expected
