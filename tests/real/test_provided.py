"""DLLs that come from other distributions, in real wheels: alone, beside them, and beside ones that do not fit.

``python -m tests.real.fetch --sets`` downloads the wheels; ``-m "real and long"`` runs these tests.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.real.environments import SITE, environment, unpack, wheel_of
from tests.real.sets import EXAMPLES
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.exam.scan import scan, scan_all
from wheelfix.model import ScanReport, Verdict, canonical

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.real, pytest.mark.long]

OPTIONS = ScanOptions(roots=RootOptions(discover=False))
TORCH = "torch-2.9.1-cp311-cp311-win_amd64.whl"
VISION = "torchvision-0.24.1-cp311-cp311-win_amd64.whl"
QT5 = (
    "PyQt5-5.15.11-cp38-abi3-win_amd64.whl",
    "PyQt5_Qt5-5.15.2-py3-none-win_amd64.whl",
    "pyqt5_sip-12.20.0-cp311-cp311-win_amd64.whl",
)
OLD_RUNTIME = "PyQt5/Qt5/bin/msvcp140.dll"
"""msvcp140.dll 14.26, as PyQt5-Qt5 brings it."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("unpacked")


def in_environment(place: Path, *packages: str, import_order: tuple[str, ...] = ()) -> dict[str, ScanReport]:
    options = ScanOptions(roots=OPTIONS.roots, packages=packages, import_order=import_order)
    found = list(scan_all([place], options))
    assert all(isinstance(one, ScanReport) for one in found), found
    return {canonical(one.name): one for one in found if isinstance(one, ScanReport)}


def with_modules(place: Path, *modules: str) -> Path:
    """Add empty packages for what is imported before, and has nothing to do with DLLs."""
    for module in modules:
        (place / SITE / module).mkdir(exist_ok=True)
        (place / SITE / module / "__init__.py").touch()
    return place


ALONE = {
    "pyqt6_webengine-6.11.0-cp310-abi3-win_amd64.whl": {"pyqt6-webengine-qt6", "pyqt6-qt6"},
    "pyqt6_3d-6.11.0-cp310-abi3-win_amd64.whl": {"pyqt6-3d-qt6", "pyqt6-qt6"},
    "pyside6_addons-6.12.0-cp310-abi3-win_amd64.whl": {"pyside6-essentials", "shiboken6"},
    "Kivy-2.3.1-cp311-cp311-win_amd64.whl": {"kivy-deps-sdl2"},
    "itk_io-5.4.7-cp311-abi3-win_amd64.whl": {"itk-core"},
    "cadquery_ocp-8.0.1.1.0-cp311-cp311-win_amd64.whl": {"vtk"},
    "onnxruntime_genai-0.18.0-cp311-cp311-win_amd64.whl": {"onnxruntime"},
    "mkl_fft-2.3.2-0-cp311-cp311-win_amd64.whl": {"mkl"},
}


@pytest.mark.parametrize("file", ALONE, ids=lambda file: file.split("-")[0])
def test_a_wheel_alone_names_who_provides(file: str) -> None:
    report = scan(wheel_of(file), OPTIONS)
    assert report.verdict is not Verdict.BROKEN
    named = {name for one in report.provided for name in one.distributions}
    assert ALONE[file] <= {canonical(name.partition(" ")[0]) for name in named}


def test_torchcodec_has_the_dlls_of_torch_loaded_first() -> None:
    wheels = [wheel_of(EXAMPLES[0]), wheel_of(TORCH)]
    found = list(scan_all(wheels, ScanOptions(roots=OPTIONS.roots, together=True)))
    report = next(one for one in found if isinstance(one, ScanReport) and one.name == "torchcodec")
    assert report.verdict is not Verdict.BROKEN
    assert {"c10.dll", "torch_cpu.dll"} <= {one.name for one in report.provided if one.how == "file"}
    assert not {"c10.dll", "torch_cpu.dll", "torch.dll"} & {one.name for one in report.missing}


def test_without_the_folder_of_torch_its_extension_fails(tmp_path: Path, unpacked: Path) -> None:
    place = environment(tmp_path / "env", [unpack(wheel_of(file), unpacked) for file in (TORCH, VISION)])
    with_modules(place, "numpy", "PIL")
    assert in_environment(place, "torchvision")["torchvision"].verdict is not Verdict.BROKEN
    shutil.rmtree(place / SITE / "torch")
    report = in_environment(place, "torchvision")["torchvision"]
    assert report.verdict is Verdict.BROKEN
    assert report.first_failure is not None
    assert "No module named 'torch'" in report.first_failure.message


def test_an_old_runtime_beside_python_crashes_torch(tmp_path: Path, unpacked: Path) -> None:
    place = environment(tmp_path / "env", [unpack(wheel_of(TORCH), unpacked)])
    (place / "python.exe").touch()
    assert in_environment(place, "torch")["torch"].verdict is not Verdict.BROKEN
    shutil.copyfile(unpack(wheel_of(QT5[1]), unpacked) / SITE / OLD_RUNTIME, place / "msvcp140.dll")
    report = in_environment(place, "torch")["torch"]
    assert "WF321" in {item.code for item in report.findings}
    assert report.first_failure is not None
    assert report.first_failure.code == 1114


def test_pyqt5_before_torch_crashes_torch(tmp_path: Path, unpacked: Path) -> None:
    """Both orders are tried; the one that fails and the one that works are named."""
    files = (TORCH, *QT5)
    place = environment(tmp_path / "env", [unpack(wheel_of(file), unpacked) for file in files])
    warned = [item for item in in_environment(place, "torch")["torch"].findings if item.code == "WF322"]
    assert [item.evidence["works"][0] for item in warned] == ["torch"]
    assert "pyqt5" in str(warned[0].evidence["fails"])
    asked = in_environment(place, "torch", import_order=("PyQt5", "torch"))["torch"]
    assert asked.verdict is Verdict.BROKEN
    assert asked.first_failure is not None
    assert asked.first_failure.code == 1114
    assert in_environment(place, "torch", import_order=("torch", "PyQt5"))["torch"].verdict is not Verdict.BROKEN


@pytest.mark.parametrize("file", EXAMPLES[1:3], ids=lambda file: file.split("-")[0])
def test_dlls_of_the_cuda_build_of_torch_are_said_to_be_so(file: str) -> None:
    (item,) = [
        item
        for item in scan(wheel_of(file), OPTIONS).findings
        if item.code == "WF319" and "c10_cuda.dll" in item.message
    ]
    assert "only a torch that was built for CUDA" in item.message


def test_torch_says_which_mkl_it_relies_on() -> None:
    report = scan(wheel_of(EXAMPLES[3]), OPTIONS)
    (one,) = [one for one in report.provided if one.name == "mkl_intel_thread.1.dll"]
    assert (one.how, one.distributions, one.specifier) == ("requirement", ("mkl",), "<=2021.4.0,>=2021.1.1")
