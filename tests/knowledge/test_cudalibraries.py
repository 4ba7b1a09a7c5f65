"""The version of a CUDA library, as its DLL states it, and the toolkits that have it."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.cuda import (
    cuda_libraries,
    library_version,
    parse_cuda_libraries,
    toolkits_of,
    toolkits_of_file,
)
from wheelfix.knowledge.tables import TableFault
from wheelfix.model import FileVersion


def stated(number: int, text: str = "", product: str = "") -> FileVersion:
    strings = {"FileDescription": text, "ProductName": product}
    return FileVersion((6, 14, 11, number), strings={key: value for key, value in strings.items() if value})


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("curand64_10.dll", stated(10210, "NVIDIA CUDA RAND Library, Version 10.2.10.91"), (10, 2, 10, 91)),
        ("curand64_10.dll", stated(1030, "NVIDIA CUDA RAND Library, Version 10.3.0.86"), (10, 3, 0, 86)),
        ("cublasLt64_11.dll", stated(11103, "NVIDIA CUDA BLAS Light Library, Version 11.10.3.66"), (11, 10, 3, 66)),
        ("nvrtc64_112_0.dll", stated(9000, "NVIDIA NVRTC Library, Version 11.7.99"), (11, 7, 99)),
        ("nvfatbin_120_0.dll", FileVersion((32, 0, 15, 7543), strings={"FileDescription": "x, Version 575.43"}), ()),
        ("cudnn64_8.dll", FileVersion((8, 9, 5, 29)), (8, 9, 5, 29)),
        ("unknown.dll", FileVersion((1, 2, 3, 4)), (1, 2, 3, 4)),
        ("unknown.dll", FileVersion(), ()),
        ("curand64_10.dll", None, ()),
    ],
)
def test_library_version(name: str, version: FileVersion | None, expected: tuple[int, ...]) -> None:
    assert library_version(name, version) == expected


@pytest.mark.parametrize(
    ("name", "number", "expected"),
    [
        ("curand64_10.dll", 1030, (10, 3, 0)),
        ("cublas64_11.dll", 11103, (11, 10, 3)),  # 11.1.03 is not a version
        ("curand64_10.dll", 10210, (10, 2, 10)),  # not 10.21.0, which no toolkit has
        ("curand64_10.dll", 10999, ()),  # 10.9.99 or 10.99.9: neither is known
        ("cudart64_110.dll", 11070, (11, 7)),
        ("nvrtc64_112_0.dll", 9000, ()),
    ],
)
def test_the_number_alone(name: str, number: int, expected: tuple[int, ...]) -> None:
    assert library_version(name, stated(number)) == expected


def test_a_newer_library_compares_as_newer_although_its_file_version_is_smaller() -> None:
    assert library_version("curand64_10.dll", stated(1030)) > library_version("curand64_10.dll", stated(10210))


@pytest.mark.parametrize(
    ("name", "version", "toolkits"),
    [
        ("curand64_10.dll", (10, 2, 10, 91), {"11.7"}),
        ("curand64_10.dll", (10, 3, 0, 86), {"11.8"}),
        ("cufft64_10.dll", (10, 7, 2, 124), {"11.6"}),
        ("cufft64_10.dll", (10, 7, 2, 91), {"11.7"}),
        ("cufft64_10.dll", (10, 7, 2), set()),  # 11.6 or 11.7: the build decides
        ("cudart64_110.dll", (11, 7, 99), {"11.7"}),
        ("uv.dll", (1, 2, 3), set()),
    ],
)
def test_toolkits_of_a_version(name: str, version: tuple[int, ...], toolkits: set[str]) -> None:
    assert toolkits_of(name, version) == toolkits


def test_toolkits_of_a_file() -> None:
    assert toolkits_of_file("nvrtc64_112_0.dll", stated(9000, "", "NVIDIA CUDA 11.8.89 NVRTC Library")) == {"11.8"}
    assert toolkits_of_file("nvrtc64_112_0.dll", None) == frozenset()


def test_every_library_of_a_toolkit_has_a_version_that_its_name_admits() -> None:
    assert {"cublas", "cufft", "curand", "cusolver", "cusparse"} <= set(cuda_libraries().versions)
    for family, versions in cuda_libraries().versions.items():
        ordered = [versions[cuda] for cuda in sorted(versions, key=lambda text: tuple(map(int, text.split("."))))]
        # cuFFT 10.7.2 counts its builds by toolkit, and nvJPEG of 12.2 is numbered before that of 12.1.1.
        minors = [version[:3] for version in ordered]
        assert family == "nvjpeg" or minors == sorted(minors), family


def test_a_table_that_contradicts_itself_is_refused() -> None:
    text = """
[[library]]
id = "curand"
number = "guess"
source = "x"
[[toolkit]]
cuda = "99.1"
libraries = { nothing = "1.2.3" }
source = "x"
"""
    with pytest.raises(TableFault) as caught:
        parse_cuda_libraries("t", text)
    assert len(caught.value.faults) == 3
