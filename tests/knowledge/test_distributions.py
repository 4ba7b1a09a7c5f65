"""Which distribution on PyPI brings a DLL."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from wheelfix.knowledge.distributions import distributions, folders_of, owners_of, parse_distributions
from wheelfix.knowledge.tables import TableFault, read_text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("c10.dll", {"torch"}),
        ("torch_cpu.dll", {"torch"}),
        ("mkl_core.2.dll", {"mkl"}),
        ("libiomp5md.dll", {"torch", "intel-openmp"}),
        ("tbb12.dll", {"tbb", "openvino"}),
        ("cudart64_110.dll", {"torch", "nvidia-cuda-runtime-cu11"}),
        ("cudnn_ops_infer64_8.dll", {"torch", "nvidia-cudnn-cu11", "nvidia-cudnn-cu12"}),
        ("cupti64_2022.2.1.dll", {"torch", "nvidia-cuda-cupti-cu11"}),
        ("cupti64_2022.4.1.dll", {"torch", "nvidia-cuda-cupti-cu12"}),
        ("shiboken6.abi3.dll", {"shiboken6"}),
        ("arrow_python.dll", {"pyarrow"}),
        ("pywintypes311.dll", {"pywin32"}),
        ("kernel32.dll", set()),
        ("my_own.dll", set()),
    ],
)
def test_owners(name: str, expected: set[str]) -> None:
    assert {owner.distribution for owner in owners_of(name)} == expected


def test_torch_has_its_dlls_loaded_and_mkl_has_not() -> None:
    assert owners_of("c10.dll")[0].preloads
    assert owners_of("c10.dll")[0].folder == "Lib/site-packages/torch/lib"
    assert not owners_of("mkl_core.2.dll")[0].preloads
    assert owners_of("mkl_core.2.dll")[0].folder == "Library/bin"


def test_cuda_dlls_come_with_some_builds_of_torch_only() -> None:
    torch = next(owner for owner in owners_of("cublas64_12.dll") if owner.distribution == "torch")
    assert "CUDA" in torch.only


def test_folders_of_a_distribution_by_any_spelling() -> None:
    assert folders_of("Nvidia_cuDNN.cu11") == ("Lib/site-packages/nvidia/cudnn/bin",)
    assert folders_of("numpy") == ()


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        pytest.param('name = "pyqt5-qt5"', 'name = "PyQt5_Qt5"', "not normalised", id="name"),
        pytest.param('folders = ["Library/bin"]', 'folders = ["/Library/bin"]', "not relative", id="folder"),
        pytest.param('why = "importing pyarrow loads them"\n', "", "does not say how", id="preloads"),
        pytest.param('"1" = "==2021.*"', '"1" = "2021"', "no set of versions", id="versions"),
        pytest.param('name = "tcmlib"', 'name = "tbb"', "twice", id="twice"),
        pytest.param("cuda = 12\ntracks_cuda = true", "tracks_cuda = true", "without saying which", id="cuda"),
    ],
)
def test_a_contradictory_table_is_refused(old: str, new: str, fault: str) -> None:
    text = read_text("distributions.toml")
    assert old in text
    with pytest.raises(TableFault, match=fault):
        parse_distributions("distributions.toml", text.replace(old, new, 1))


WHEELS = Path(os.environ.get("WHEELFIX_WHEELS", Path.home() / ".cache/wheelfix/wheels"))


@pytest.mark.real
@pytest.mark.parametrize(
    "start",
    [
        "torch-2.7.1",
        "mkl-2025",
        "mkl-2023",
        "tbb-",
        "nvidia_cudnn_cu11",
        "nvidia_cuda_cupti_cu11",
        "pyarrow",
        "pywin32",
    ],
)
def test_the_table_agrees_with_the_wheel(start: str) -> None:
    """Every DLL that the table gives to a distribution lies, in its wheel, in a folder that the table names."""
    wheel = next(iter(sorted(WHEELS.glob(f"{start}*.whl"))), None)
    if wheel is None:
        pytest.skip(f"no wheel {start}* in the cache")
    name = wheel.name.split("-")[0].replace("_", "-").lower()
    with zipfile.ZipFile(wheel) as archive:
        dlls = [path for path in archive.namelist() if path.lower().endswith(".dll")]
    own = [owner for owner in distributions() if owner.distribution == name]
    owned = [path for path in dlls if any(owner.brings(path.rpartition("/")[2]) for owner in own)]
    assert owned
    for path in owned:
        data = path.split(".data/data/")[-1]
        folder = (data if ".data/data/" in path else f"Lib/site-packages/{path}").rpartition("/")[0]
        # torch 2.8 and earlier have second copies of asmjit and fbgemm in torch/bin.
        assert folder in folders_of(name) or folder.endswith("torch/bin"), path
