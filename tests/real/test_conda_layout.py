"""A conda environment made of real files: the DLLs of mkl and OpenMP in ``Library/bin``, listed in ``conda-meta``.

conda's channels are not used: the files are those of the wheels, laid out and recorded as conda does.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.real.environments import environment, unpack, wheel_of
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.exam.scan import scan_all
from wheelfix.model import ScanReport, Severity, Verdict

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.long]

MKL_2021 = ("mkl-2021.4.0-py2.py3-none-win_amd64.whl", "intel_openmp-2023.2.0-py2.py3-none-win_amd64.whl")
MKL_2026 = ("mkl-2026.2.0-py2.py3-none-win_amd64.whl", "intel_openmp-2026.2.0-py2.py3-none-win_amd64.whl")
TORCH = ("torch-2.3.0-cp311-cp311-win_amd64.whl", *MKL_2021, "tbb-2021.13.1-py3-none-win_amd64.whl")
FFT = (
    *("mkl_fft-2.3.2-0-cp311-cp311-win_amd64.whl", "numpy-2.4.6-cp311-cp311-win_amd64.whl", *MKL_2026),
    "tbb-2023.2.0-py3-none-win_amd64.whl",
)


def conda_environment(prefix: Path, wheels: tuple[str, ...], unpacked: Path) -> Path:
    """Lay the files of wheels out as conda does; packages that have DLLs only are known by ``conda-meta`` alone."""
    for wheel in wheels:
        part = unpack(wheel_of(wheel), unpacked)
        environment(prefix, [part])
        files = [file.relative_to(part).as_posix() for file in part.rglob("*") if file.is_file()]
        name, version = wheel.split("-")[:2]
        if not any(file.endswith(".pyd") for file in files):
            shutil.rmtree(prefix / f"Lib/site-packages/{name}-{version}.dist-info")
        _record(prefix, name, version, files)
    _record(prefix, "python", "3.11.7", ["python.exe"])
    (prefix / "python.exe").write_bytes(b"MZ")
    return prefix


def _record(prefix: Path, name: str, version: str, files: list[str]) -> None:
    meta = prefix / "conda-meta"
    meta.mkdir(exist_ok=True)
    about = {"name": name.replace("_", "-"), "version": version, "build": "0", "files": files}
    (meta / f"{name}-{version}-0.json").write_text(json.dumps(about), encoding="utf-8")


@pytest.mark.parametrize(
    ("wheels", "subject", "gone"),
    [
        pytest.param(TORCH, "torch", "mkl_intel_thread.1.dll", id="torch"),
        pytest.param(TORCH, "torch", "mkl_core.1.dll", id="torch, delay-loaded"),
        pytest.param(FFT, "mkl_fft", "mkl_rt.3.dll", id="mkl_fft"),
    ],
)
def test_dlls_in_library_bin(tmp_path: Path, wheels: tuple[str, ...], subject: str, gone: str) -> None:
    prefix = conda_environment(tmp_path / "env", wheels, tmp_path)
    whole = scanned(prefix)
    assert {report.verdict for report in whole.values()} == {Verdict.OK}
    (prefix / "Library/bin" / gone).unlink()
    report = scanned(prefix)[subject]
    assert report.verdict is Verdict.BROKEN
    assert {item.subject for item in report.findings if item.severity is Severity.ERROR} == {gone}


def scanned(prefix: Path) -> dict[str, ScanReport]:
    found = scan_all([prefix], ScanOptions(roots=RootOptions(discover=False)))
    return {one.name: one for one in found if isinstance(one, ScanReport)}
