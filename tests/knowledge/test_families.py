"""DLLs known by their names."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.cuda import cuda_libraries, cuda_table
from wheelfix.knowledge.families import (
    demangle,
    families,
    family_of,
    is_of_nvidia,
    is_openmp,
    is_test_artifact,
)
from wheelfix.knowledge.system import classify


@pytest.mark.parametrize(
    ("name", "family", "version"),
    [
        ("cudart64_110.dll", "cudart", "110"),
        ("cublasLt64_11.dll", "cublas", "11"),
        ("cudnn64_8.dll", "cudnn", "8"),
        ("cudnn_engines_runtime_compiled64_9.dll", "cudnn", "9"),
        ("nvrtc64_112_0.dll", "nvrtc", "112"),
        ("nvrtc64_120_0.alt.dll", "nvrtc", "120"),
        ("nvrtc-builtins64_117.dll", "nvrtc", ""),
        ("cupti64_2022.2.1.dll", "cupti", "2022.2.1"),
        ("nvToolsExt64_1.dll", "nvtx", "1"),
        ("mkl_core.2.dll", "mkl", "2"),
        ("mkl_vml_avx512.3.dll", "mkl", "3"),
        ("mkl_rt.dll", "mkl-legacy", ""),
        ("libiomp5md.dll", "openmp-intel", ""),
        ("libomp140.x86_64.dll", "openmp-msvc-llvm", ""),
        ("vcomp140.dll", "openmp-msvc", "140"),
        ("tbb12.dll", "tbb", "12"),
        ("torch_cpu.dll", "torch", ""),
        ("aoti_custom_ops.dll", "torch-tests", ""),
        ("uv.dll", "uv", ""),
        ("zlibwapi.dll", "zlibwapi", ""),
    ],
)
def test_family_and_version_are_read_from_the_name(name: str, family: str, version: str) -> None:
    member = family_of(name)
    assert member is not None
    assert (member.family.id, member.version) == (family, version)


@pytest.mark.parametrize("name", ["kernel32.dll", "zlib1.dll", "mkl.dll", "cudnn.dll", "mytorch.dll"])
def test_other_names_have_no_family(name: str) -> None:
    assert family_of(name) is None


def test_a_mangled_name_is_recognised() -> None:
    name = "vcomp140-0f2ea95580b32bcfc81c235d5751ce78.dll"
    member = family_of(name)
    assert demangle(name) == "vcomp140.dll"
    assert member is not None
    assert member.family.id == "openmp-msvc"


def test_parts_of_one_release_belong_together() -> None:
    cudnn = family_of("cudnn64_8.dll")
    assert cudnn is not None
    assert cudnn.together() == ("cudnn*64_8.dll",)
    assert cudnn.belongs_with("cudnn_ops_infer64_8.dll")
    assert not cudnn.belongs_with("cudnn64_8.dll")
    assert not cudnn.belongs_with("cudnn_ops64_9.dll")


def test_visual_studios_llvm_openmp_may_not_be_passed_on() -> None:
    member = family_of("libomp140.x86_64.dll")
    assert member is not None
    assert not member.family.redistribute
    assert "debug_nonredist" in member.family.note


def test_no_vendor_family_may_be_renamed() -> None:
    assert [family.id for family in families() if family.rename] == []


def test_openmp_runtimes_are_counted_without_stubs() -> None:
    names = ["libiomp5md.dll", "libiompstubs5md.dll", "VCOMP140.DLL", "libomp.dll", "omptarget.dll", "libgomp-1.dll"]
    assert [name for name in names if is_openmp(name)] == [
        "libiomp5md.dll",
        "VCOMP140.DLL",
        "libomp.dll",
        "libgomp-1.dll",
    ]


def test_test_artifacts() -> None:
    assert is_test_artifact("backend_with_compiler.dll")
    assert not is_test_artifact("c10.dll")


def test_classify_names_the_family_of_a_vendors_dll() -> None:
    answer = classify("cudnn64_8.dll")
    assert (answer.kind, answer.family, answer.detail) == ("vendor", "cudnn", "cuDNN, by NVIDIA")


def test_the_tables_of_cuda_know_names_of_nvidia_only() -> None:
    """They are not asked about others."""
    assert not [name for name in cuda_table().by_name if not is_of_nvidia(name)]
    vendors = {family.id: family.vendor for family in families()}
    assert {vendors[family] for family in cuda_libraries().rules} == {"NVIDIA"}
    assert not is_of_nvidia("libiomp5md.dll")
    assert not is_of_nvidia("kernel32.dll")
