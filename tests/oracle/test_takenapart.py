"""Repairs held to what they promise: each module of the repaired wheel loads alone, in a process of its own.

A few of what ``python -m tests.oracle.takenapart`` and ``python -m tests.oracle.builtwheels`` play by the hundred.
"""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.oracle import builtwheels, takenapart
from tests.oracle.takenapart import LAYOUTS, repaired, take_out, ways
from tests.support.parts import every, some
from tests.support.tiers import wheel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.wine import Wine
    from tests.oracle.winpython import WindowsPython

SEEDS = (3, 11, 19)
REAL = (
    ("gmpy2-2.3.2-cp311-cp311-win_amd64.whl", "all", "beside"),
    ("shapely-2.2.0-cp311-cp311-win_amd64.whl", "half", "auto"),
    ("psycopg2_binary-2.9.13-cp311-cp311-win_amd64.whl", "all", "libs"),
    ("tables-3.11.1-cp311-abi3-win_amd64.whl", "all", "auto"),
)


@pytest.mark.wine
@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_built_packages_load_after_their_repair(seed: int, layout: str, native: Wine) -> None:
    result = builtwheels.play(native, seed, layout)
    assert not result.failed
    assert result.loaded or result.refused


@pytest.mark.wine_x64
@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("package", every(2, REAL), ids="-".join)
def test_real_packages_load_after_their_repair(package: tuple[str, str, str], x64: Wine, python: WindowsPython) -> None:
    name, way, layout = package
    path = wheel(name)
    result = takenapart.play(x64, path, way, ways(path)[way], layout, python.folder, most=2)
    assert not result.refused
    assert not result.failed
    assert result.loaded


@pytest.mark.wine_x64
@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("layout", some(["beside", "libs"]))
def test_windows_python_imports_a_repaired_package(
    layout: str, x64: Wine, python: WindowsPython, tmp_path: Path
) -> None:
    path = wheel("gmpy2-2.3.2-cp311-cp311-win_amd64.whl")
    made = repaired(take_out(path, ways(path)["all"], tmp_path), layout, tmp_path / "out")
    assert not isinstance(made, str), made
    own = python.copy_to(tmp_path / "Python311")
    with zipfile.ZipFile(made) as archive:
        archive.extractall(own.site_packages)
    done = own.run(["-c", "import gmpy2; print(gmpy2.mpz(2) ** 80)"])
    assert done.output.strip() == str(2**80), done.errors
