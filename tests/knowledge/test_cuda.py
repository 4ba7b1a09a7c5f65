"""CUDA versions and file names, and NVIDIA's cards."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.cards import (
    build_flags,
    close_names,
    named_cards,
)
from wheelfix.knowledge.cuda import (
    cuda_libraries,
    cuda_majors_for,
    cuda_table,
    cupti_names,
    expected_name,
    library_version,
    release,
    toolkits_of_file,
)
from wheelfix.model import FileVersion


@pytest.mark.parametrize("text", ["cuda", "11"])
def test_release_refuses_what_is_no_version(text):
    with pytest.raises(ValueError, match="not a CUDA version"):
        release(text)


def test_every_release_from_11_on_has_a_runtime_and_a_cupti():
    table = cuda_table()
    for major, minor in table.releases:
        assert expected_name("cudart", f"{major}.{minor}")
        assert major < 11 or cupti_names(f"{major}.{minor}")


def test_no_name_of_the_table_begins_otherwise_than_the_names_that_are_looked_up():
    assert all(cuda_majors_for(name) for name in cuda_table().by_name)
    assert cuda_majors_for("CUDART64_12.DLL") == {12}
    assert not cuda_majors_for("kernel32.dll")


def stated(number: int, text: str = "", product: str = "") -> FileVersion:
    strings = {"FileDescription": text, "ProductName": product}
    return FileVersion((6, 14, 11, number), strings={key: value for key, value in strings.items() if value})


@pytest.mark.parametrize(
    "name, version, expected",
    [
        ("cublasLt64_11.dll", stated(11103, "NVIDIA CUDA BLAS Light Library, Version 11.10.3.66"), (11, 10, 3, 66)),
        ("nvrtc64_112_0.dll", stated(9000, "NVIDIA NVRTC Library, Version 11.7.99"), (11, 7, 99)),
        ("nvfatbin_120_0.dll", FileVersion((32, 0, 15, 7543), strings={"FileDescription": "x, Version 575.43"}), ()),
        ("cudnn64_8.dll", FileVersion((8, 9, 5, 29)), (8, 9, 5, 29)),
        ("curand64_10.dll", None, ()),
    ],
)
def test_library_version(name, version, expected):
    assert library_version(name, version) == expected


@pytest.mark.parametrize(
    "name, number, expected",
    [
        ("curand64_10.dll", 1030, (10, 3, 0)),
        ("cublas64_11.dll", 11103, (11, 10, 3)),  # 11.1.03 is not a version
        ("curand64_10.dll", 10210, (10, 2, 10)),  # not 10.21.0, which no toolkit has
        ("curand64_10.dll", 10999, ()),  # 10.9.99 or 10.99.9: neither is known
        ("cudart64_110.dll", 11070, (11, 7)),
        ("nvrtc64_112_0.dll", 9000, ()),
    ],
)
def test_the_number_alone(name, number, expected):
    assert library_version(name, stated(number)) == expected


def test_toolkits_of_a_file():
    assert toolkits_of_file("nvrtc64_112_0.dll", stated(9000, "", "NVIDIA CUDA 11.8.89 NVRTC Library")) == {"11.8"}
    assert toolkits_of_file("nvrtc64_112_0.dll", None) == frozenset()


def test_every_library_of_a_toolkit_has_a_version_that_its_name_admits():
    assert {"cublas", "cufft", "curand", "cusolver", "cusparse"} <= set(cuda_libraries().versions)
    for family, versions in cuda_libraries().versions.items():
        ordered = [versions[cuda] for cuda in sorted(versions, key=lambda text: tuple(map(int, text.split("."))))]
        # cuFFT 10.7.2 counts its builds by toolkit, and nvJPEG of 12.2 is numbered before that of 12.1.1.
        minors = [version[:3] for version in ordered]
        assert family == "nvjpeg" or minors == sorted(minors), family


# ---------------------------------------------------------------------------------------------------------------- cards
# Graphics cards and who still serves them.


def test_build_flags():
    assert build_flags((12, 0)) == ("TORCH_CUDA_ARCH_LIST=12.0", "-DCMAKE_CUDA_ARCHITECTURES=120")


def test_what_a_maker_says_counts_more_than_the_list():
    """The list has an old chip under this name, too; NVIDIA's page has one."""
    (card,) = named_cards("GeForce GT 1030")
    assert card.archs == ("sm_61",)


def test_the_series_may_be_left_out():
    assert [card.name for card in named_cards("4090")] == ["GeForce RTX 4090"]
    assert {card.archs for card in named_cards("580")} == {("sm_20",), ("gfx803",)}
    assert named_cards("") == ()


def test_names_that_are_close():
    assert close_names("RTX 5071")[0].startswith("GeForce RTX 507")
    assert close_names("Voodoo 2") == ()
