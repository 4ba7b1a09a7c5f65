"""Hints for the CUDA DLLs of real GPU packages: they name wheels of the right CUDA, which the index has, with the DLL.

The names are those in the import tables of the releases, or that they load by name (``build_info.py`` of TensorFlow,
the table of cuda-pathfinder); the CUDA major is what the release says about itself, or what the names themselves say.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

from tests.diagnosis.remedy_commands import shown
from tests.real.environments import EXAMPLES, SITE, environment, unpack, wheel_of
from tests.support.tiers import require
from tools.package_index import IndexFile, PackageIndex
from tools.remote_wheel import read_contents
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.exam.scan import scan, scan_all
from wheelfix.knowledge.cuda import cuda_majors_for
from wheelfix.knowledge.providers import pip_packages
from wheelfix.model import ScanReport, Verdict, canonical, dll_key

CUDA_11 = ("cublas64_11.dll", "cublasLt64_11.dll", "cudart64_110.dll", "cufft64_10.dll", "curand64_10.dll")
CUDA_12 = ("cublas64_12.dll", "cublasLt64_12.dll", "cudart64_12.dll", "cufft64_11.dll")
SOLVERS = ("cusolver64_11.dll",)
RELEASES = {
    "ctranslate2 3.24.0": ("11", ("cublas64_11.dll", "cudnn_ops_infer64_8.dll")),
    "ctranslate2 4.8.4": ("12", ("cublas64_12.dll", "cudnn_ops64_9.dll")),
    "cupy-cuda11x 11.6.0": ("11", (*CUDA_11, *SOLVERS, "cusparse64_11.dll", "nvrtc64_112_0.dll")),
    "cupy-cuda12x 13.6.0": (
        "12",
        ("cublas64_12.dll", "cufft64_11.dll", "curand64_10.dll", *SOLVERS, "cusparse64_12.dll", "nvrtc64_120_0.dll"),
    ),
    "cupy-cuda13x 14.2.0": (
        "13",
        (
            *("cublas64_13.dll", "cufft64_12.dll", "curand64_10.dll", "cusolver64_12.dll"),
            *("cusparse64_12.dll", "nvrtc64_130_0.dll"),
        ),
    ),
    "onnxruntime-gpu 1.18.1": ("11", (*CUDA_11[:2], "cudart64_110.dll", "cufft64_10.dll", "cudnn64_8.dll")),
    "onnxruntime-gpu 1.22.0": ("12", (*CUDA_12, "cudnn64_9.dll")),
    "onnxruntime-gpu 1.31.1": ("13", ("cublas64_13.dll", "cublasLt64_13.dll", "cufft64_12.dll", "cudnn64_9.dll")),
    "tensorflow-gpu 2.9.3": ("11", (*CUDA_11, *SOLVERS, "cusparse64_11.dll", "cudnn64_8.dll")),
    "tensorflow-gpu 2.10.1": ("11", (*CUDA_11, *SOLVERS, "cusparse64_11.dll", "cudnn64_8.dll")),
    "bitsandbytes 0.45.5": ("12", ("cublas64_12.dll", "cublasLt64_12.dll", "cudart64_12.dll")),
    "cuda-pathfinder 1.8.6, CUDA 12": ("12", ("cudart64_12.dll", "nvrtc64_120_0.dll", "nvJitLink_120_0.dll")),
    "cuda-pathfinder 1.8.6, CUDA 13": ("13", ("cudart64_13.dll", "nvrtc64_130_0.dll", "nvJitLink_130_0.dll")),
}


def hints() -> list[tuple[str, str]]:
    """Every DLL with the CUDA major it is asked for, none twice."""
    return sorted({(name, major) for major, names in RELEASES.values() for name in names})


@pytest.mark.parametrize("name, major", hints())
def test_the_hint_is_for_the_right_cuda(name, major):
    """In CUDA 13 the distributions lose their suffix; cuDNN's keep it."""
    requirement = pip_packages(name, cuda=major)
    assert len(requirement) == 1
    distribution = Requirement(requirement[0]).name
    assert distribution.endswith(f"-cu{major}") or (major == "13" and "-cu1" not in distribution)


@pytest.mark.parametrize("name", sorted({name for name, _ in hints() if len(cuda_majors_for(name)) == 1}))
def test_a_name_that_belongs_to_one_cuda_needs_no_more(name):
    (major,) = cuda_majors_for(name)
    assert pip_packages(name) == pip_packages(name, cuda=str(major))


@pytest.mark.real
@pytest.mark.parametrize("name, major", hints())
def test_the_wheel_that_a_hint_names_is_on_the_index_and_has_the_dll(name, major):
    requirement = pip_packages(name, cuda=major)[0]
    assert dll_key(name) in {path.rpartition("/")[2] for path in dlls_of_newest(requirement)}, requirement


@functools.cache
def dlls_of_newest(requirement: str) -> tuple[str, ...]:
    """The DLLs in the newest wheel for Windows that a requirement allows."""
    wanted, index = Requirement(requirement), PackageIndex()
    files = {version: file for file in index.files(wanted.name) if (version := _version(file)) is not None}
    fitting = [version for version in files if wanted.specifier.contains(version)]
    assert fitting, f"{requirement}: no wheel for Windows on the index"
    return read_contents(index, files[max(fitting)]).dlls


def _version(file: IndexFile) -> Version | None:
    if not file.name.endswith("win_amd64.whl"):
        return None
    return parse_wheel_filename(file.name)[1]


# ------------------------------------------------------------------------------------------------------------- remedies
# Every distribution that a remedy names exists on the index, with a wheel for Windows and the extras it asks for.

PYTORCH = "--index-url https://download.pytorch.org/whl/"
BUILDS = "--no-build-isolation"
"""A command with it builds from source what the user was building."""


def pip_commands() -> set[str]:
    """Every pip command that a remedy can show."""
    return {command for command in shown() if "pip install" in command}


def requirements(command: str) -> list[str]:
    """What a command asks pip for."""
    words = re.findall(r'"[^"]*"|\S+', command.partition("&&")[0].partition("pip install")[2])
    return [word.strip('"') for word in words if not word.startswith("-")]


@pytest.mark.real
def test_what_remedies_install_can_be_installed_on_windows(tmp_path):
    commands = sorted(command for command in pip_commands() if PYTORCH not in command and BUILDS not in command)
    require(commands, "there are no commands to try")
    wanted = sorted({name for command in commands for name in requirements(command)})
    runs = {}
    seen = Counter()
    for one in wanted:  # pip takes one requirement of a project at a time, and many projects
        project = canonicalize_name(Requirement(one).name)
        runs.setdefault(seen[project], []).append(one)
        seen[project] += 1
    for names in runs.values():
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", "--no-deps"),
                *("--only-binary=:all:", "--platform", "win_amd64", "--python-version", "3.11"),
                *("--target", str(tmp_path / "target"), *names),
            ],
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"{names}: {done.stderr}"
        assert "does not provide the extra" not in done.stderr, done.stderr


@pytest.mark.real
def test_what_remedies_build_is_on_the_index():
    for name in {name for command in pip_commands() if BUILDS in command for name in requirements(command)}:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "index", "versions", name], capture_output=True, timeout=600
        )
        assert done.returncode == 0, f"{name}: {done.stderr.decode()}"


@pytest.mark.real
def test_commands_for_pytorchs_index_are_whole():
    for command in pip_commands():
        if PYTORCH in command:
            assert re.fullmatch(r".*whl/(?:cpu|xpu|cu\d{3})", command), command


# ------------------------------------------------------------------------------------------------------------- provided
# DLLs that come from other distributions, in real wheels: alone, beside them, and beside ones that do not fit.
#
# ``python -m tests.real.fetch --sets`` downloads the wheels; ``-m "real and long"`` runs these tests.

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


@pytest.mark.real
@pytest.mark.long
@pytest.mark.parametrize("file", ALONE, ids=lambda file: file.split("-")[0])
def test_a_wheel_alone_names_who_provides(file):
    report = scan(wheel_of(file), OPTIONS)
    assert report.verdict is not Verdict.BROKEN
    named = {name for one in report.provided for name in one.distributions}
    assert ALONE[file] <= {canonical(name.partition(" ")[0]) for name in named}


@pytest.mark.real
@pytest.mark.long
def test_torchcodec_has_the_dlls_of_torch_loaded_first():
    wheels = [wheel_of(EXAMPLES[0]), wheel_of(TORCH)]
    found = list(scan_all(wheels, ScanOptions(roots=OPTIONS.roots, together=True)))
    report = next(one for one in found if isinstance(one, ScanReport) and one.name == "torchcodec")
    assert report.verdict is not Verdict.BROKEN
    assert {"c10.dll", "torch_cpu.dll"} <= {one.name for one in report.provided if one.how == "file"}
    assert not {"c10.dll", "torch_cpu.dll", "torch.dll"} & {one.name for one in report.missing}


@pytest.mark.real
@pytest.mark.long
def test_without_the_folder_of_torch_its_extension_fails(tmp_path, unpacked):
    place = environment(tmp_path / "env", [unpack(wheel_of(file), unpacked) for file in (TORCH, VISION)])
    with_modules(place, "numpy", "PIL")
    assert in_environment(place, "torchvision")["torchvision"].verdict is not Verdict.BROKEN
    shutil.rmtree(place / SITE / "torch")
    report = in_environment(place, "torchvision")["torchvision"]
    assert report.verdict is Verdict.BROKEN
    assert "No module named 'torch'" in report.first_failure.message


@pytest.mark.real
@pytest.mark.long
def test_an_old_runtime_beside_python_crashes_torch(tmp_path, unpacked):
    place = environment(tmp_path / "env", [unpack(wheel_of(TORCH), unpacked)])
    (place / "python.exe").touch()
    assert in_environment(place, "torch")["torch"].verdict is not Verdict.BROKEN
    shutil.copyfile(unpack(wheel_of(QT5[1]), unpacked) / SITE / OLD_RUNTIME, place / "msvcp140.dll")
    report = in_environment(place, "torch")["torch"]
    assert "WF321" in {item.code for item in report.findings}
    assert report.first_failure.code == 1114


@pytest.mark.real
@pytest.mark.long
def test_pyqt5_before_torch_crashes_torch(tmp_path, unpacked):
    """Both orders are tried; the one that fails and the one that works are named."""
    files = (TORCH, *QT5)
    place = environment(tmp_path / "env", [unpack(wheel_of(file), unpacked) for file in files])
    warned = [item for item in in_environment(place, "torch")["torch"].findings if item.code == "WF322"]
    assert [item.evidence["works"][0] for item in warned] == ["torch"]
    assert "pyqt5" in str(warned[0].evidence["fails"])
    asked = in_environment(place, "torch", import_order=("PyQt5", "torch"))["torch"]
    assert asked.verdict is Verdict.BROKEN
    assert asked.first_failure.code == 1114
    assert in_environment(place, "torch", import_order=("torch", "PyQt5"))["torch"].verdict is not Verdict.BROKEN


@pytest.mark.real
@pytest.mark.long
@pytest.mark.parametrize("file", EXAMPLES[1:3], ids=lambda file: file.split("-")[0])
def test_dlls_of_the_cuda_build_of_torch_are_said_to_be_so(file):
    (item,) = [
        item
        for item in scan(wheel_of(file), OPTIONS).findings
        if item.code == "WF319" and "c10_cuda.dll" in item.message
    ]
    assert "only a torch that was built for CUDA" in item.message


@pytest.mark.real
@pytest.mark.long
def test_torch_says_which_mkl_it_relies_on():
    report = scan(wheel_of(EXAMPLES[3]), OPTIONS)
    (one,) = [one for one in report.provided if one.name == "mkl_intel_thread.1.dll"]
    assert (one.how, one.distributions, one.specifier) == ("requirement", ("mkl",), "<=2021.4.0,>=2021.1.1")
