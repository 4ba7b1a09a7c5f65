"""Who ships a DLL or a module, and how that is said."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from tools.make_compiled_modules import compiled_modules, table
from wheelfix.knowledge.cuda import cuda_part
from wheelfix.knowledge.families import families
from wheelfix.knowledge.provider_index import ShippedDll, Ships, provider_index
from wheelfix.knowledge.providers import (
    conda_package,
    distributions,
    is_compiled,
    module_owners,
    owners_of,
    parse_compiled_modules,
    pip_packages,
    shippers,
    versions_with,
    who_ships,
)
from wheelfix.knowledge.tables import read_text
from wheelfix.model import Machine


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
        ("sdl2.dll", {"kivy-deps-sdl2"}),
        (
            "qt6webenginecore.dll",
            {"pyqt6-webengine-qt6", "pyqt6-webenginesubwheel-qt6", "pyside6-addons", "pyside6-webengine", "pyside6"},
        ),
        ("qt6madeup.dll", set()),
        ("avcodec-61.dll", {"pyqt6-qt6", "pyside6-addons"}),
        ("avcodec-57.dll", set()),
        ("mkl_core.9.dll", set()),
        ("msvcp140.dll", {"msvc-runtime"}),
        ("c10_cuda.dll", {"torch"}),
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


@pytest.mark.parametrize("name", ["cublas64_12.dll", "c10_cuda.dll", "torch_cuda.dll"])
def test_cuda_dlls_come_with_some_builds_of_torch_only(name: str) -> None:
    torch = next(owner for owner in owners_of(name) if owner.distribution == "torch")
    assert "CUDA" in torch.only


def test_the_folder_is_that_of_the_newest_version_that_has_the_dll() -> None:
    (msvc,) = owners_of("msvcp140.dll")
    newest = provider_index().looked_at("msvc-runtime")[-1].version
    assert msvc.folder in {dll.folder for dll in provider_index().shipped_by("msvc-runtime", newest) or ()}
    assert owners_of("qt6core.dll")[0].folder == "Lib/site-packages/PyQt6/Qt6/bin"


def test_what_is_credited_to_a_distribution_is_in_its_wheels() -> None:
    """Wide patterns once credited any name such as qt6xyz.dll to five distributions."""
    for owner in distributions():
        if not owner.folders:
            assert provider_index().looked_at(owner.distribution), owner.distribution


LOOKED_AT = ("1.0", "1.5", "2.0", "2.5", "3.0")


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (("1.0", "1.5", "2.0", "2.5", "3.0"), ""),
        (("2.0", "2.5"), "==2.*"),
        (("1.0", "1.5"), "==1.*"),
        (("1.0", "1.5", "2.0", "2.5"), "<3"),
        (("3.0",), ">=3"),
        (("2.0", "2.5", "3.0"), ">=2"),
        (("2.5", "3.0"), ">=2.5"),
        (("1.5", "2.0"), ">=1.5,<=2.0"),
        (("1.0",), "==1.0"),
        (("1.0", "2.0"), "<=2.0,!=1.5"),
        (("1.0", "3.0"), "!=1.5,!=2.0,!=2.5"),
        (("1.0", "1.5", "2.5", "3.0"), "!=2.0"),
    ],
)
def test_the_versions_that_have_a_dll(versions: tuple[str, ...], expected: str) -> None:
    assert versions_with([ShippedDll("a.dll", "a", "", versions, LOOKED_AT)]) == expected


def test_a_dll_that_moved_to_another_folder() -> None:
    old = ShippedDll("a.dll", "a", "old", LOOKED_AT[:3], LOOKED_AT)
    new = ShippedDll("a.dll", "a", "new", LOOKED_AT[3:], LOOKED_AT)
    assert versions_with([old, new]) == ""


def test_a_module_that_newer_releases_no_longer_have():
    # ctranslate2 3.24.0 imports pkg_resources first; a distribution of that name was taken for unknown.
    assert module_owners()["pkg_resources"] == ("setuptools",)


@pytest.mark.parametrize("module", ["numpy._core._multiarray_umath", "PIL._imaging", "lxml.etree", "x._C", "x.y_cuda"])
def test_compiled_modules_are_known(module: str) -> None:
    assert is_compiled(module)


@pytest.mark.parametrize("module", ["numpy", "_C", "numpy.linalg", "x.core", "", "."])
def test_other_modules_are_not(module: str) -> None:
    assert not is_compiled(module)


def test_the_tool_lists_what_a_wheel_has() -> None:
    members = [
        "pkg/sub/_fast.cp311-win_amd64.pyd",
        "pkg/_abi.pyd",
        "pkg-1.data/platlib/other/_x.abi3.pyd",
        "_top.cp311-win_amd64.pyd",
        "pkg/plain.py",
    ]
    found = compiled_modules(members)
    assert found == {"pkg.sub._fast", "pkg._abi", "other._x"}
    assert parse_compiled_modules(table(found, "2026-01-01")) == {
        "other": frozenset({"_x"}),
        "pkg": frozenset({"_abi", "sub._fast"}),
    }


@pytest.mark.parametrize(
    ("name", "cuda", "expected"),
    [
        pytest.param(
            "cupti64_2022.2.1.dll",
            "11.7",
            (
                "CUDA Toolkit 11.7, folder extras\\CUPTI\\lib64",
                "PyPI: nvidia-cuda-cupti-cu11==11.7.*",
                "conda-forge: cuda-cupti",
            ),
            id="cupti",
        ),
        pytest.param(
            "cudart64_110.dll",
            None,
            ("CUDA Toolkit 11.0 to 11.8, folder bin", "PyPI: nvidia-cuda-runtime-cu11", "conda-forge: cuda-cudart"),
            id="cudart without a toolkit",
        ),
        pytest.param(
            "cudart64_12.dll",
            "11.7",
            ("CUDA Toolkit 12.0 to 12.9, folder bin", "PyPI: nvidia-cuda-runtime-cu12", "conda-forge: cuda-cudart"),
            id="cudart of another toolkit",
        ),
        pytest.param(
            "mkl_intel_thread.2.dll",
            None,
            (
                "Intel oneMKL 2022 to 2025, folder redist\\intel64 (to 2023) or bin",
                "PyPI: mkl>=2022,<2026",
                "conda-forge: mkl>=2022,<2026",
            ),
            id="mkl",
        ),
        pytest.param("never-heard-of.dll", None, (), id="unknown"),
    ],
)
def test_who_ships(name: str, cuda: str | None, expected: tuple[str, ...]) -> None:
    assert who_ships(name, cuda=cuda) == expected


def test_the_c_runtime_is_the_redistributable_of_the_machine() -> None:
    assert who_ships("msvcp140.dll")[0].endswith("vc_redist.x64.exe")
    assert who_ships("msvcp140.dll", machine=Machine.ARM64)[0].endswith("vc_redist.arm64.exe")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("vcruntime140d.dll", "build for release"),
        ("nvcuda.dll", "never part of a wheel"),
        ("libffi-8.dll", "cannot count on"),
        ("libomp140.x86_64.dll", "may not be passed on"),
        ("api-ms-win-made-up-l1-1-0.dll", "newer Windows"),
    ],
)
def test_what_cannot_be_had_says_why(name: str, part: str) -> None:
    assert any(part in phrase for phrase in who_ships(name))
    assert pip_packages(name) == ()


@pytest.mark.parametrize(
    ("name", "cuda", "expected"),
    [
        ("curand64_10.dll", "12.1", ("nvidia-curand-cu12==10.3.2.106",)),
        ("curand64_10.dll", "11.7", ("nvidia-curand-cu11==10.2.10.91",)),
        ("curand64_10.dll", "12", ("nvidia-curand-cu12",)),
        ("cufft64_10.dll", "11.7", ()),  # PyPI has only that of 11.8, which is not taken for 11.7
        ("cublas64_12.dll", None, ("nvidia-cublas-cu12",)),
        ("cudnn64_8.dll", "11.7", ("nvidia-cudnn-cu11==8.*",)),
        ("nvrtc-builtins64_117.dll", None, ("nvidia-cuda-nvrtc-cu11==11.7.*",)),
        ("mkl_core.1.dll", None, ("mkl==2021.*",)),
        ("cupti64_2022.4.0.dll", None, ("nvidia-cuda-cupti-cu12==12.0.90",)),  # 12.0.146 has another
        ("cupti64_2023.2.0.dll", "12.1", ("nvidia-cuda-cupti-cu12==12.2.60",)),
        ("mkl_core.9.dll", None, ()),
        ("mkl_core.3.dll", None, ("mkl>=2026",)),
        ("libiomp5md.dll", None, ("intel-openmp",)),
        ("qt6madeup.dll", None, ()),
        ("qt6chartsqml.dll", None, ("pyqt6-charts-qt6>=6.5.2,!=6.6.3", "pyside6-addons", "pyside6>=6.2.0,<=6.2.4")),
        ("avcodec-57.dll", None, ()),
        ("zlib1.dll", None, ()),
        ("nvinfer_10.dll", None, ()),
        ("sdl2.dll", None, ("kivy-deps-sdl2",)),
        ("vtkcommoncore-9.6.2.dll", None, ("vtk==9.6.2",)),
        ("c10_cuda.dll", None, ()),
        ("zlibwapi.dll", None, ()),
    ],
)
def test_what_pip_would_install(name: str, cuda: str | None, expected: tuple[str, ...]) -> None:
    assert pip_packages(name, cuda=cuda) == expected


@pytest.mark.no_cover
def test_every_requirement_has_the_dll() -> None:
    """nvidia-cuda-cupti-cu12==12.0.* was named for cupti64_2022.4.0.dll, which its newest version does not have."""
    index = provider_index()
    owners = {owner.distribution for owner in distributions()}
    checked = 0
    for number, line in enumerate(read_text("provider_dlls.txt").splitlines()):
        name, *shipped = line.split("\t")
        if number % 10 and not owners & {entry.partition(":")[0] for entry in shipped}:
            continue  # of those that no entry of distributions.toml ships every tenth is enough
        name = name.replace("{py}", "311").replace("{py.}", "3.11")
        for cuda in (None, "12.1") if "nvidia-" in line else (None,):
            for text in pip_packages(name, cuda=cuda):
                wanted = Requirement(text)
                assert index.ships(wanted.name, str(wanted.specifier), name).ships is Ships.YES, (name, cuda, text)
                checked += 1
    assert checked > 500


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cudnn64_9.dll", "libcudnn"),
        ("uv.dll", "libuv"),
        ("vcomp140.dll", "vcomp14"),
        ("torch_cpu.dll", None),
        ("x.dll", None),
    ],
)
def test_conda_packages(name: str, expected: str | None) -> None:
    assert conda_package(name) == expected


@pytest.mark.parametrize(
    ("name", "cuda", "expected"),
    [
        ("cudart64_110.dll", "11.7", True),
        ("nppig64_11.dll", "11.7", True),
        ("cudart64_12.dll", "11.7", False),
        ("cupti64_2022.2.1.dll", "11.7", False),
        ("cudnn64_8.dll", "11.7", False),
        ("cudart64_13.dll", "13.0", False),
    ],
)
def test_what_lies_in_the_toolkits_bin_folder(name: str, cuda: str, expected: bool) -> None:
    assert cuda_part(name, cuda) is expected


def test_every_family_has_someone_who_ships_it() -> None:
    assert {family.id for family in families()} == {name for shipper in shippers() for name in shipper.families}
