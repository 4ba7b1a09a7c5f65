"""Every torch beside every torchvision and torchaudio: the missing symbols must be those that LIEF finds.

``python -m tests.real.fetch --sets`` downloads what CI does not have; ``-m "real and long"`` runs the whole matrix.
"""

from __future__ import annotations

import functools
from pathlib import Path

import lief
import pytest
from _pytest.mark.structures import ParameterSet

from tests.real.environments import CANNOT_LOAD, EXTENSIONS, SITE, TAGS, TORCH, environment, unpack, wheel_of
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.exam.scan import scan
from wheelfix.model import EdgeKind, Verdict, dll_key

pytestmark = pytest.mark.real

EVERY_CHANGE = {("2.7.1", "torchvision-0.22.1"), ("2.4.0", "torchvision-0.22.1")}

Lacks = "frozenset[tuple[str, str, str]]"
"""File, DLL and symbol."""


def matrix() -> list[ParameterSet]:
    pairs = [(version, other) for version in TORCH for other in EXTENSIONS]
    return [
        pytest.param(*pair, marks=() if pair in EVERY_CHANGE else (pytest.mark.long,), id="-".join(pair))
        for pair in pairs
    ]


@functools.cache
def exports(folder: Path) -> dict[str, frozenset[str]]:
    """What each DLL of torch exports, as LIEF reads it."""
    found = {}
    for path in sorted((folder / SITE / "torch/lib").glob("*.dll")):
        image = lief.PE.parse(str(path))
        assert isinstance(image, lief.PE.Binary)
        table = image.get_export()
        found[path.name.lower()] = frozenset(str(entry.name) for entry in table.entries) if table else frozenset()
    return found


@functools.cache
def imports(folder: Path) -> dict[str, list[tuple[str, list[str]]]]:
    """What each image of an extension imports by name, as LIEF reads it."""
    found = {}
    for path in sorted((folder / SITE).rglob("*")):
        if path.suffix in (".pyd", ".dll"):
            image = lief.PE.parse(str(path))
            assert isinstance(image, lief.PE.Binary)
            name = path.relative_to(folder / SITE).as_posix()
            found[name] = [
                (table.name.lower(), [str(entry.name) for entry in table.entries if not entry.is_ordinal])
                for table in image.imports
            ]
    return found


def differences(torch: Path, other: Path) -> Lacks:
    """The symbols that the images of an extension import from torch and torch does not export."""
    own = exports(torch)
    return frozenset(
        (file, dll, symbol)
        for file, tables in imports(other).items()
        for dll, symbols in tables
        for symbol in symbols
        if dll in own and symbol not in own[dll]
    )


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("unpacked")


@pytest.mark.parametrize("version, other", matrix())
def test_what_is_missing_is_what_a_second_reader_finds(version, other, unpacked):
    torch = unpack(wheel_of(f"torch-{version}-{TAGS}"), unpacked)
    extension = unpack(wheel_of(f"{other}-{TAGS}"), unpacked)
    place = environment(unpacked / f"env-{version}-{other}", [torch, extension])
    for module in ("numpy", "PIL", "requests"):  # without DLLs of torch, but imported before
        (place / SITE / module).mkdir(exist_ok=True)
        (place / SITE / module / "__init__.py").touch()
    name = other.partition("-")[0]
    report = scan(place, ScanOptions(packages=(name,), roots=RootOptions(discover=False)))

    expected = differences(torch, extension)
    found = frozenset(
        (edge.importer.removeprefix(f"{SITE.as_posix()}/"), dll_key(edge.name), str(symbol))
        for edge in report.resolution.edges
        if edge.kind is EdgeKind.IMPORT and dll_key(edge.name) in exports(torch)
        for symbol in edge.unexported
    )
    assert found == expected
    # torchaudio goes on without its modules for FFmpeg, of which each needs another release.
    decisive = {file for file, _, _ in expected if "ffmpeg" not in base(file)}
    broken = bool(decisive) or version in CANNOT_LOAD
    assert (report.verdict is Verdict.BROKEN) == broken
    if decisive and version not in CANNOT_LOAD:
        assert report.first_failure.code == 127


def base(file: str) -> str:
    return file.rpartition("/")[2]
