"""Which distribution on PyPI ships a DLL for others."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.provider_index import ShippedDll, provider_index
from wheelfix.knowledge.providers import distributions, owners_of, parse_distributions, versions_with
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


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        pytest.param('name = "pyqt5-qt5"', 'name = "PyQt5_Qt5"', "not normalised", id="name"),
        pytest.param('folders = ["Lib/', 'folders = ["/Lib/', "not relative", id="folder"),
        pytest.param('name = "mkl"\n', 'name = "mkl"\nfolders = ["a"]\n', "folders without patterns", id="patterns"),
        pytest.param('name = "mkl"\n', 'name = "mkl"\nonly = "x"\n', "without folders", id="only"),
        pytest.param('why = "importing pyarrow loads them"\n', "", "does not say how", id="preloads"),
        pytest.param('name = "tcmlib"', 'name = "tbb"', "twice", id="twice"),
        pytest.param("cuda = 12\ntracks_cuda = true", "tracks_cuda = true", "without saying which", id="cuda"),
    ],
)
def test_a_contradictory_table_is_refused(old: str, new: str, fault: str) -> None:
    text = read_text("distributions.toml")
    assert old in text
    with pytest.raises(TableFault, match=fault):
        parse_distributions("distributions.toml", text.replace(old, new, 1))
