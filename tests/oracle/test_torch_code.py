"""The error that wheelfix predicts for a torch wheel is the very line that torch's own code raises on Windows.

torch's loading code comes from the real wheel, at test time; the DLLs around it are forged, so each fault is one that a
loader answers in a moment. Windows' CPython runs the code under Wine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.observe import torch_loads
from tests.oracle.torchcode import loading_code, version_file
from tests.oracle.winpython import WindowsPython
from tests.support.environments import lay
from tests.support.parts import some
from tests.support.tables import read_table
from tests.support.tiers import wheel
from tests.support.wheels import build_wheel
from tools.example import INIT, _torch_dll
from wheelfix.cli.main import main
from wheelfix.knowledge.winerrors import message_text

HERE = Path(__file__).parent
RELEASES = {
    "2.7.1": "torch-2.7.1-cp311-cp311-win_amd64.whl",
    "1.12.1": "torch-1.12.1-cp310-cp310-win_amd64.whl",
    "2.0.1": "torch-2.0.1-cp311-cp311-win_amd64.whl",
    "2.4.0": "torch-2.4.0-cp311-cp311-win_amd64.whl",
    "2.15.0": "torch-2.15.0-cp311-cp311-win_amd64.whl",
}
LIB = "torch/lib"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A small torch wheel; ``torchscenarios.toml`` says what the fields are."""

    id: str
    files: Mapping[str, str]
    texts: Mapping[str, str] = field(default_factory=dict)
    code: int = 0
    names: str = ""
    cuda: str | None = None
    only_in: Sequence[str] = ()
    options: Sequence[str] = ()
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


SCENARIOS = [Scenario(name, **row) for name, row in read_table(__file__, "torchscenarios.toml").items()]


def small_wheel(scenario: Scenario, release: str, code: str, folder: Path) -> Path:
    version = f"{release}+cu117" if scenario.cuda else release
    files = {"torch/__init__.py": code, "torch/version.py": version_file(version, scenario.cuda)}
    files |= {path: text.encode() for path, text in scenario.texts.items()}  # in words they would be images
    files |= {path.format(version=version): words for path, words in scenario.files.items()}
    return build_wheel(folder, "torch", version, files=files)


def predictions(wheels: Mapping[str, Path]) -> dict[str, dict[str, Any] | None]:
    """What ``wheelfix scan`` says will be raised, by scenario."""
    found = {}
    for options in dict.fromkeys(tuple(scenario.options) for scenario in SCENARIOS):
        asked = {str(wheels[scenario.id]): scenario.id for scenario in SCENARIOS if tuple(scenario.options) == options}
        command = [sys.executable, "-m", "wheelfix", "scan", *asked, "--format", "json", "--no-config", *options]
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", stdin=subprocess.DEVNULL)
        assert done.returncode in (0, 1), done.stderr
        for report in json.loads(done.stdout)["wheels"]:
            found[asked[report["path"]]] = report["first_failure"]
    return found


def install(path: Path, site_packages: Path, prefix: Path) -> None:
    """Unpack a wheel as an installer does; files of the data scheme go to the prefix."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            first, _, rest = name.partition("/")
            target = prefix / rest.removeprefix("data/") if first.endswith(".data") else site_packages / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))


def as_on_windows(raised: dict[str, Any], site_packages: str) -> str:
    """The line with the sentence that Windows has for the code, and with the unknown part of the path left out."""
    line = raised["line"].replace(raised["text"], message_text(raised["code"]), 1)
    # The message quotes paths as they are, its repr would double the backslashes.
    return line.replace(site_packages, "…")


@pytest.mark.real
@pytest.mark.wine_x64
@pytest.mark.slow
@pytest.mark.parametrize("release", some(RELEASES))
def test_torch_raises_the_predicted_line(release, python, tmp_path):
    code = loading_code(wheel(RELEASES[release]))
    wheels = {s.id: small_wheel(s, release, code, tmp_path / "dist" / s.id) for s in SCENARIOS}
    expected = predictions(wheels)
    for scenario in SCENARIOS:
        failure = expected[scenario.id]
        shows = scenario.code and (not scenario.only_in or release in scenario.only_in)
        assert (failure["code"] if failure else 0) == (scenario.code if shows else 0), scenario.id
        assert (failure["path"] if failure else "") == (f"{LIB}/{scenario.names}" if shows else ""), scenario.id

    raised = import_each(wheels, python.copy_to(tmp_path / "Python311"), tmp_path)
    assert raised == {name: failure["message"] if failure else None for name, failure in expected.items()}


def import_each(wheels: Mapping[str, Path], own: WindowsPython, folder: Path) -> dict[str, str | None]:
    """Install every wheel into a folder of its own and import it there; return the lines raised, by scenario."""
    variables = {}
    for scenario in SCENARIOS:
        install(wheels[scenario.id], folder / scenario.id, own.folder)
        for variable, files in scenario.environment.items():
            variables[variable] = own.see(lay(folder / variable, files))
    sites = {scenario.id: own.see(folder / scenario.id) for scenario in SCENARIOS}
    done = own.run([own.see(HERE / "import_torch.py"), *sites.values()], more=variables)
    assert done.code == 0, done.errors
    answers = json.loads(done.output.splitlines()[-1])
    return {
        name: as_on_windows(answer, site) if answer else None
        for (name, site), answer in zip(sites.items(), answers, strict=True)
    }


# -------------------------------------------------------------------------------------------------------- fetched torch
# A torch-like wheel for CUDA 11.7 without CUPTI, MKL, OpenMP and cuDNN 8, repaired from the package index alone.
#
# "Loads" means: a real loader, Wine's for x86_64, maps and binds every DLL of the repaired ``torch/lib`` as torch loads
# it. Nothing is computed: there is neither a driver nor a card.

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


@pytest.mark.real
@pytest.mark.wine_x64
@pytest.mark.slow
@pytest.mark.parametrize(
    "cudnn", [False, pytest.param(True, marks=pytest.mark.long)], ids=["mkl-cupti", "with-cudnn-8"]
)
def test_it_is_repaired_from_the_index_and_loads(
    tmp_path,
    capsys,
    x64,
    cudnn,
):
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


@pytest.mark.real
@pytest.mark.wine_x64
@pytest.mark.slow
@pytest.mark.long
def test_what_cudnn_8_needs_and_no_wheel_has_is_named(tmp_path, capsys):
    broken = torch_like(tmp_path / "dist", cudnn=True, zlib=False)
    words = ["--no-discover", "--fetch", "--dry-run", "--cache-dir", str(tmp_path / "cache")]
    assert main(["repair", str(broken), *words]) == 1
    assert "zlibwapi.dll" in capsys.readouterr().out
