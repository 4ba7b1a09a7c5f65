"""A torch-like wheel for CUDA 11.7 without CUPTI, MKL, OpenMP and cuDNN 8, repaired from the package index alone.

"Loads" means: a real loader, Wine's for x86_64, maps and binds every DLL of the repaired ``torch/lib`` as torch loads
it. Nothing is computed: there is neither a driver nor a card.
"""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.oracle.observe import torch_loads
from tests.support.wheels import build_wheel
from wheelfix.cli.main import main
from wheelfix.demo.example import INIT, _torch_dll

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.wine import Wine

pytestmark = [pytest.mark.real, pytest.mark.wine_x64, pytest.mark.slow]

LIB = "torch/lib"
CUPTI = "cupti64_2022.2.1.dll"
CUDNN = {"cudnn64_8.dll": ["cudnnCreate"]}


def torch_like(folder: Path, cudnn: bool, zlib: bool = True) -> Path:
    """Write the wheel: its own DLLs import what the real ones of such a build import, by names that vendors export."""
    cpu = {"mkl_intel_thread.2.dll": ["mkl_blas_caxpy"], "libiomp5md.dll": ["omp_get_max_threads"]}
    cuda = {"cudart64_110.dll": ["cudaMalloc"], CUPTI: ["cuptiActivityEnable"], **(CUDNN if cudnn else {})}
    own = {
        "c10.dll": _torch_dll("c10.dll", {}, ["c10_error"]),
        "torch_cpu.dll": _torch_dll("torch_cpu.dll", {"c10.dll": ["c10_error"], **cpu}, ["at_empty"]),
        "torch_cuda.dll": _torch_dll("torch_cuda.dll", {"torch_cpu.dll": ["at_empty"], **cuda}, ["at_cuda"]),
        "torch.dll": _torch_dll("torch.dll", {"torch_cpu.dll": ["at_empty"], "torch_cuda.dll": ["at_cuda"]}, []),
    }
    if cudnn and zlib:  # cuDNN 8 loads it when it computes; torch's wheels have it, and no other wheel on PyPI
        own["zlibwapi.dll"] = _torch_dll("zlibwapi.dll", {}, ["deflate", "inflate"])
    files = {"torch/__init__.py": INIT, "torch/version.py": "__version__ = '2.0.1+cu117'\ncuda = '11.7'\n"}
    files |= {f"{LIB}/{name}": data for name, data in own.items()}
    return build_wheel(folder, "torch", "2.0.1+cu117", files=files)


@pytest.mark.parametrize(
    "cudnn", [False, pytest.param(True, marks=pytest.mark.long)], ids=["mkl-cupti", "with-cudnn-8"]
)
def test_it_is_repaired_from_the_index_and_loads(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    x64: Wine,
    cudnn: bool,
) -> None:
    broken = torch_like(tmp_path / "dist", cudnn)
    before = torch_loads(x64, broken, tmp_path / "before")
    assert before["torch_cpu.dll"] == before["torch_cuda.dll"] == before["torch.dll"] == 126
    words = ["--no-discover", "--fetch", "-w", str(tmp_path / "out"), "--cache-dir", str(tmp_path / "cache")]
    assert main(["repair", str(broken), *words, "--format", "json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)["wheels"]
    additions = report["plan"]["additions"]
    names = {one["name"] for one in additions}
    assert names >= {CUPTI, "cudart64_110.dll", "libiomp5md.dll", "mkl_intel_thread.2.dll", "mkl_core.2.dll"}
    assert len([name for name in names if name.startswith("cudnn")]) == (7 if cudnn else 0)
    assert {one["source"]["trust"] for one in additions} <= {"table", "signature"}
    repaired = tmp_path / "out" / broken.name
    fetched = sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file())
    packed = {info.filename: info.compress_size for info in zipfile.ZipFile(repaired).infolist()}
    taken = sum(packed[one["target"]] for one in additions)
    assert fetched <= 1.3 * taken, (fetched, taken)
    assert main(["scan", str(repaired), "--no-discover", "-q"]) == 0
    after = torch_loads(x64, repaired, tmp_path / "after")
    assert {name: code for name, code in after.items() if code} == {}, after


@pytest.mark.long
def test_what_cudnn_8_needs_and_no_wheel_has_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = torch_like(tmp_path / "dist", cudnn=True, zlib=False)
    words = ["--no-discover", "--fetch", "--dry-run", "--cache-dir", str(tmp_path / "cache")]
    assert main(["repair", str(broken), *words]) == 1
    assert "zlibwapi.dll" in capsys.readouterr().out
