"""The story of a builder with several toolkits: what is chosen for each DLL, and that no trap is taken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.oracle.torchcode import loading_code
from tests.real import builder
from tests.real.commands import repair, scan
from tests.real.vendors import Unpacked
from tests.support import tiers

if TYPE_CHECKING:
    from tests.real.builder import Machinery

pytestmark = pytest.mark.real

TORCH = "torch-2.4.0-cp311-cp311-win_amd64.whl"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machinery:
    """The builder's machine, laid out once."""
    unpacked = Unpacked(tmp_path_factory.mktemp("unpacked"))
    return builder.machine(unpacked, tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def broken(machine: Machinery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that was packed with nothing but its own DLLs."""
    return builder.wheel(tmp_path_factory.mktemp("dist"), machine, loading_code(tiers.wheel(TORCH)))


def named(roots: tuple[Path, ...]) -> list[str | Path]:
    """The roots as options."""
    return [word for root in roots for word in ("--root", root)]


def test_before_it_is_broken(broken: Path, tmp_path: Path) -> None:
    status, report = scan(broken, tmp_path)
    assert (status, report["verdict"]) == (1, "broken")
    assert report["first_failure"]["code"] == 126


@pytest.mark.parametrize("step", [1, -1], ids=["as-named", "reversed"])
def test_every_dll_comes_from_where_it_should(machine: Machinery, broken: Path, tmp_path: Path, step: int) -> None:
    done = repair(broken, tmp_path, *named(machine.roots[::step]), "--compression", "store")
    chosen = {
        addition["name"]: Path(addition["source"]["path"]).relative_to(machine.folder).as_posix()
        for addition in done.plan["additions"]
    }
    wrong = {name: path for name, path in chosen.items() if not path.startswith(machine.expected.get(name, "nowhere"))}
    assert wrong == {}
    assert set(chosen) == set(machine.expected)
    releases = {taken["toolkit"]: taken for taken in done.plan["releases"]}
    assert {name: taken["release"] for name, taken in releases.items()} == {
        "CUDA": "11.7",
        "oneMKL": "2025.3",
        "oneTBB": "2023.2",
    }
    assert [text.partition(":")[0] for text in releases["CUDA"]["refused"]] == ["CUDA 11.4", "CUDA 11.8", "CUDA 12.9"]
    status, report = scan(done.path, tmp_path)
    assert (status, report["first_failure"]) == (0, None)


def test_each_refusal_is_reported(machine: Machinery, broken: Path, tmp_path: Path) -> None:
    done = repair(broken, tmp_path, *named(machine.roots), "--compression", "store")
    reasons = {
        (addition["name"], Path(entry["path"]).relative_to(machine.folder).as_posix()): entry["reason"]
        for addition in done.plan["additions"]
        for entry in addition["rejected"]
    }
    assert "of CUDA 11.8; this wheel takes" in reasons["curand64_10.dll", "CUDA/v11.8/bin/curand64_10.dll"]
    assert "of CUDA 11.4; this wheel takes" in reasons["curand64_10.dll", "CUDA/v11.4/bin/curand64_10.dll"]
    assert "git-lfs pointer" in reasons["cudnn64_8.dll", "clone/cudnn64_8.dll"]
    archive = "cudnn-windows-x86_64-8.9.7.29_cuda12-archive/bin/cudnn64_8.dll"
    assert "for CUDA 12; the wheel is for CUDA 11.7" in reasons["cudnn64_8.dll", archive]
    old = "oneAPI-2023/mkl/2023.2.0/redist/intel64/mkl_intel_thread.2.dll"
    assert builder.NEW_SYMBOL in reasons["mkl_intel_thread.2.dll", old]
    assert "only forwards" in reasons["libiomp5md.dll", "conda/Library/bin/libiomp5md.dll"]
    assert "debug build" in reasons["uv.dll", "vcpkg/debug/bin/uv.dll"]
    assert "for x86" in reasons["zlibwapi.dll", "zlib/dll_x86/zlibwapi.dll"]
