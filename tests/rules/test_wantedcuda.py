"""Which CUDA a wheel was built with, by what it says and by what it uses."""

from __future__ import annotations

import pytest

from tests.rules.subjects import SITE, dll, edge, subject, torch, wheel
from wheelfix.rules.context import wanted_cuda

MODULE = SITE + "pkg/_x.pyd"


def told(version: str, *imports: str, products: dict[str, str] | None = None) -> tuple[str, str]:
    """Release or major, and what tells it, for a package that imports these DLLs and has those with a product name."""
    images = {MODULE: dll(*imports)} | {SITE + f"pkg/{name}": dll() for name in products or {}}
    named = {SITE + f"pkg/{name}": text for name, text in (products or {}).items()}
    edges = [edge(MODULE, name) for name in imports]
    found = wanted_cuda(subject(images, edges, wheel=wheel("pkg", version), products=named))
    return found.text, found.because


@pytest.mark.parametrize(
    ("version", "imports", "products", "expected"),
    [
        ("1.0+cu118", (), {}, ("11.8", "its version 1.0+cu118")),
        ("1.0", ("cupti64_2022.2.1.dll", "cublas64_11.dll"), {}, ("11.7", "it uses cupti64_2022.2.1.dll")),
        (
            "1.0",
            ("curand64_10.dll",),
            {"cudart64_110.dll": "NVIDIA CUDA 11.7.99 Runtime"},
            ("11.7", "the DLLs in it are of CUDA 11.7"),
        ),
        ("1.0", ("cublas64_12.dll", "cufft64_11.dll"), {}, ("12", "it uses cublas64_12.dll, cufft64_11.dll")),
        ("1.0", ("cublas64_12.dll", "cublas64_11.dll"), {}, ("", "")),  # two backends: neither speaks for the wheel
        ("1.0", ("kernel32.dll",), {}, ("", "")),
    ],
    ids=["label", "cupti", "present", "names", "two", "none"],
)
def test_what_tells_the_release(
    version: str, imports: tuple[str, ...], products: dict[str, str], expected: tuple[str, str]
) -> None:
    assert told(version, *imports, products=products) == expected


def test_the_version_of_nvidias_own_wheel_tells_it_without_a_look_at_the_dll() -> None:
    """The version resource of cuFFT lies behind 280 MB; of a scan by name it was nearly all that was read."""
    path = SITE + "nvidia/cufft/bin/cufft64_11.dll"
    own = subject({path: dll("nvJitLink_120_0.dll")}, [], wheel=wheel("nvidia_cufft_cu12", "11.4.1.4"))
    assert wanted_cuda(own).text == "12.9"
    other = subject({path: dll("nvJitLink_120_0.dll")}, [], wheel=wheel("cufft_cu12", "11.4.1.4"))
    assert wanted_cuda(other).text == "12"
    unknown = subject({path: dll("nvJitLink_120_0.dll")}, [], wheel=wheel("nvidia_other_cu12", "1.30"))
    assert wanted_cuda(unknown).text == "12"


def test_torch_itself_says_it() -> None:
    thing = subject({MODULE: dll()}, [], torch=torch("11.4"), wheel=wheel("torch", "1.12+cu117"))
    assert thing.cuda.text == "11.4"
    assert thing.cuda.because == "torch/version.py says 11.4"
