"""Which CUDA release a package is made for, and how well it fits."""

from __future__ import annotations

import pytest

from wheelfix.roots.release import cuda_compatibility, cuda_of_package


@pytest.mark.parametrize(
    ("package", "version", "cuda"),
    [
        ("nvidia-cuda-cupti-cu11", "11.7.101", "11.7"),
        ("nvidia_cuda_nvrtc_cu12", "12.4.127", "12.4"),
        ("nvidia-nvjitlink-cu12", "12.4.127", "12.4"),
        ("cuda-cudart", "12.6.77", "12.6"),
        ("cudatoolkit", "11.3.1", "11.3"),
        ("nvidia-cublas-cu11", "11.10.3.66", "11"),
        ("nvidia-cudnn-cu12", "9.1.0.70", "12"),
        ("cupy-cuda11x", "11.6.0", "11"),
        ("cupy-cuda117", "10.6.0", "11"),
        ("torch", "2.0.1+cu117", "11.7"),
        ("libcublas", "12.4.5.8", ""),
        ("nvidia-cuda-runtime", "0.0.1", ""),
        ("mkl", "2023.2.0", ""),
        ("", "", ""),
    ],
)
def test_release_of_a_package(package: str, version: str, cuda: str) -> None:
    assert cuda_of_package(package, version) == cuda


@pytest.mark.parametrize(
    ("told", "wanted", "fit"),
    [
        ("11.7", "11.7", 3),
        ("11.7", "11.7.1", 3),
        ("11.8", "11.7", 2),
        ("11", "11.7", 2),
        ("", "11.7", 1),
        ("11.7", "", 1),
        ("x", "11.7", 1),
        ("12.4", "11.7", 0),
    ],
)
def test_fit(told: str, wanted: str, fit: int) -> None:
    assert cuda_compatibility(told, wanted) == fit
