"""Ordinary wheels from PyPI raise no alarm, and the broken ones exactly the right one."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.support import tiers
from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from wheelfix.base.options import ScanOptions
from wheelfix.exam.scan import scan
from wheelfix.model import Severity

pytestmark = pytest.mark.real

CLEAN = [
    "cryptography-50.0.2-cp311-abi3-win_amd64.whl",
    "gevent-26.9.0-cp311-cp311-win_amd64.whl",
    "grpcio-1.85.1-cp311-cp311-win_amd64.whl",
    "h5py-3.16.0-cp311-cp311-win_amd64.whl",
    "lxml-6.1.3-cp311-cp311-win_amd64.whl",
    "matplotlib-3.11.2-cp311-cp311-win_amd64.whl",
    "msvc_runtime-14.44.35112-cp311-cp311-win_amd64.whl",
    "numpy-2.2.6-cp311-cp311-win_amd64.whl",
    "numpy-2.4.6-cp311-cp311-win32.whl",
    "numpy-2.5.4-cp312-cp312-win_arm64.whl",
    "nvidia_cuda_cupti_cu11-11.7.101-py3-none-win_amd64.whl",
    "nvidia_cuda_nvrtc_cu11-11.7.99-py3-none-win_amd64.whl",
    "nvidia_cuda_runtime_cu11-11.7.99-py3-none-win_amd64.whl",
    "onnxruntime-1.31.1-cp311-cp311-win_amd64.whl",
    "opencv_python_headless-5.0.0.93-cp37-abi3-win_amd64.whl",
    "pandas-3.1.1-cp311-cp311-win_amd64.whl",
    "pillow-13.0.0-cp311-cp311-win_amd64.whl",
    "psycopg2_binary-2.9.13-cp311-cp311-win_amd64.whl",
    "pyarrow-26.0.1-cp311-cp311-win_amd64.whl",
    "pywin32-312-cp311-cp311-win_amd64.whl",
    "pyzmq-27.3.0-cp311-cp311-win_amd64.whl",
    "rasterio-1.4.4-cp311-cp311-win_amd64.whl",
    "scikit_learn-1.9.1-cp311-cp311-win_amd64.whl",
    "scipy-1.15.3-cp311-cp311-win_amd64.whl",
    "shapely-2.2.0-cp311-cp311-win_amd64.whl",
    "tokenizers-0.23.3-cp310-abi3-win_amd64.whl",
    "torchvision-0.22.1-cp311-cp311-win_amd64.whl",
]


@pytest.mark.parametrize("name", CLEAN, ids=lambda name: "-".join(name.split("-")[:2]))
def test_ordinary_wheels_raise_no_alarm(name):
    report = scan(tiers.wheel(name))
    assert [item for item in report.findings if item.severity is not Severity.INFO] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, expected",
    [
        ("torch-2.7.1-cp311-cp311-win_amd64.whl", []),
        ("torch-2.4.1-cp311-cp311-win_amd64.whl", []),
        ("torch-2.4.0-cp311-cp311-win_amd64.whl", [("WF301", "error", "libomp140.x86_64.dll")]),
        ("torch-1.12.1-cp310-cp310-win_amd64.whl", [("WF104", "warning", "torch-1.12.1.dist-info/METADATA")]),
    ],
    ids=lambda value: value.split("-cp")[0] if isinstance(value, str) else "",
)
def test_official_torch_wheels(name, expected):
    report = scan(tiers.wheel(name))
    alarms = [item for item in report.findings if item.severity is not Severity.INFO]
    assert [(item.code, str(item.severity), item.subject) for item in alarms] == expected


# ---------------------------------------------------------------------------------------- versions that do not fit

MKL_2023, MKL_2025 = "mkl-2023.2.0-py2.py3-none-win_amd64.whl", "mkl-2025.3.0-py2.py3-none-win_amd64.whl"
OPENMP_2023 = "intel_openmp-2023.2.0-py2.py3-none-win_amd64.whl"


def mixed(folder: Path, **parts: str) -> Path:
    """A wheel put together from files of others: name without ending to the wheel it comes from."""
    files = {"pkg/__init__.py": b""}
    for name, source in parts.items():
        with zipfile.ZipFile(tiers.wheel(source)) as archive:
            (member,) = (item for item in archive.namelist() if item.endswith(f"/{name.replace('__', '.')}.dll"))
            files[f"pkg/{name.replace('__', '.')}.dll"] = archive.read(member)
    return build_wheel(folder, "pkg", "1.0", "py3-none-win_amd64", files)


@named_cases(
    "parts, code, said",
    {
        "mkl-of-one-release": ({"mkl_cdft_core__2": MKL_2023, "mkl_vml_cmpt__2": MKL_2023}, "", ""),
        "mkl-of-two": (
            {"mkl_cdft_core__2": MKL_2023, "mkl_vml_cmpt__2": MKL_2025},
            "WF408",
            "mkl_cdft_core.2.dll 2023.2 and mkl_vml_cmpt.2.dll 2025.3",
        ),
        "openmp-of-that-time": ({"mkl_intel_thread__2": MKL_2023, "libiomp5md": OPENMP_2023}, "", ""),
        "openmp-too-old": (
            {"mkl_intel_thread__2": MKL_2025, "libiomp5md": OPENMP_2023},
            "WF412",
            "libiomp5md.dll is from 2023-04, mkl_intel_thread.2.dll is MKL 2025.3",
        ),
    },
)
def test_parts_of_real_releases(parts, code, said, tmp_path):
    report = scan(mixed(tmp_path, **parts), ScanOptions(select=("WF408", "WF412"), versions=True))
    assert [(item.code, said in item.message) for item in report.findings] == ([(code, True)] if code else [])


@pytest.mark.parametrize(
    "name, said",
    [
        ("pandas-2.0.3-cp311-cp311-win32.whl", "30 more were built with NumPy 1 headers"),
        ("pandas-3.1.1-cp311-cp311-win_amd64.whl", ""),
        ("scikit_learn-1.9.1-cp311-cp311-win_amd64.whl", ""),
        ("h5py-3.16.0-cp311-cp311-win_amd64.whl", "_npystrings.cp311-win_amd64.pyd needs NumPy 2.0 or later"),
        ("numpy-2.4.6-cp313-cp313t-win_amd64.whl", ""),
    ],
    ids=lambda value: value.split("-cp")[0] if value.endswith(".whl") else "",
)
def test_modules_and_their_numpy(name, said):
    report = scan(tiers.wheel(name), ScanOptions(select=("WF401", "WF410", "WF411")))
    assert [said in item.message for item in report.findings] == ([True] if said else [])


def test_which_numpy_modules_were_built_for():
    report = scan(tiers.wheel("numpy-2.4.6-cp313-cp313t-win_amd64.whl"), ScanOptions(versions=True))
    found = {image.path.rpartition("/")[2].partition(".")[0]: image.numpy for image in report.images}
    random, tests = found["_pcg64"], found["_multiarray_tests"]
    assert (random.headers, random.oldest, tests.oldest) == (2, "1.23", "2.4")


@pytest.mark.parametrize(
    "name, said",
    [
        (
            "pandas-3.1.1-cp311-cp311-win_amd64.whl",
            "14.40, aggregations.cp311-win_amd64.pyd was linked by toolset 14.51",
        ),
        (
            "scipy-1.8.1-cp310-cp310-win_amd64.whl",
            "_ufuncs_cxx.cp310-win_amd64.pyd has objects compiled by toolset 14.29",
        ),
        (
            "pyside6_essentials-6.12.0-cp310-abi3-win_amd64.whl",
            "is used only if no other msvcp140.dll is loaded before it",
        ),
        ("numpy-2.2.6-cp311-cp311-win_amd64.whl", ""),
    ],
    ids=lambda value: value.split("-cp")[0] if value.endswith(".whl") else "",
)
def test_runtimes_in_wheels_and_their_users(name, said):
    report = scan(tiers.wheel(name), ScanOptions(select=("WF409",)))
    assert [(said in item.message, str(item.severity)) for item in report.findings] == (
        [(True, "info")] if said else []
    )
