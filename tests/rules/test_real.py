"""Ordinary wheels from PyPI raise no alarm, and the broken ones exactly the right one."""

from __future__ import annotations

import dataclasses

import pytest

from tests.support import tiers
from wheelfix.archive.reader import Archive
from wheelfix.model import Severity
from wheelfix.options import ScanOptions
from wheelfix.pe.fatbin import read_gpu_code
from wheelfix.rules import run
from wheelfix.verbs.scan import examine_wheel, scan

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
def test_ordinary_wheels_raise_no_alarm(name: str) -> None:
    report = scan(tiers.wheel(name, optional=True))
    assert [item for item in report.findings if item.severity is not Severity.INFO] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("torch-2.7.1-cp311-cp311-win_amd64.whl", []),
        ("torch-2.4.1-cp311-cp311-win_amd64.whl", []),
        ("torch-2.4.0-cp311-cp311-win_amd64.whl", [("WF301", "error", "libomp140.x86_64.dll")]),
        ("torch-1.12.1-cp310-cp310-win_amd64.whl", [("WF104", "warning", "torch-1.12.1.dist-info/METADATA")]),
    ],
    ids=lambda value: value.split("-cp")[0] if isinstance(value, str) else "",
)
def test_official_torch_wheels(name: str, expected: list[tuple[str, str, str]]) -> None:
    report = scan(tiers.wheel(name, optional=True))
    alarms = [item for item in report.findings if item.severity is not Severity.INFO]
    assert [(item.code, str(item.severity), item.subject) for item in alarms] == expected


@pytest.mark.parametrize(
    ("name", "card", "expected"),
    [
        ("bitsandbytes-0.50.2-py3-none-win_amd64.whl", "sm_35", {"WF501"}),
        ("bitsandbytes-0.50.2-py3-none-win_amd64.whl", "sm_86", set()),
        ("cupy_cuda11x-11.6.0-cp311-cp311-win_amd64.whl", "sm_35", set()),
    ],
)
def test_gpu_code_of_real_wheels(name: str, card: str, expected: set[str]) -> None:
    with Archive.open(tiers.wheel(name, optional=True)) as archive:
        subject = examine_wheel(archive, ScanOptions()).subject
        asked = dataclasses.replace(subject, gpu=card, gpu_code=lambda path: read_gpu_code(subject.view.source(path)))
        assert {item.code for item in run(asked, ("WF5",))} == expected
