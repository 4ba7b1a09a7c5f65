"""DLLs known by their names: families, toolchains, and what goes with what."""

from __future__ import annotations

import pytest

from wheelfix.knowledge.companions import (
    CompanionNeed,
    companions_of,
    needs_in_practice,
    runtime_needs,
)
from wheelfix.knowledge.cuda import cuda_libraries, cuda_table
from wheelfix.knowledge.families import (
    families,
    family_of,
    is_of_nvidia,
)
from wheelfix.knowledge.system import classify, python_runtime
from wheelfix.model import Machine


def test_parts_of_one_release_belong_together():
    cudnn, name = family_of("cudnn64_8.dll"), "cudnn64_8.dll"
    assert cudnn.belong_together(name, "cudnn_ops_infer64_8.dll")
    assert not cudnn.belong_together(name, "cudnn64_8.dll")
    assert not cudnn.belong_together(name, "cudnn_ops64_9.dll")


def test_the_tables_of_cuda_know_names_of_nvidia_only():
    """They are not asked about others."""
    assert not [name for name in cuda_table().by_name if not is_of_nvidia(name)]
    vendors = {family.id: family.vendor for family in families()}
    assert {vendors[family] for family in cuda_libraries().rules} == {"NVIDIA"}
    assert not is_of_nvidia("libiomp5md.dll")
    assert not is_of_nvidia("kernel32.dll")


# ----------------------------------------------------------------------------------------------------------- toolchains
# Linker versions and C++ runtimes.


def test_pythons_own_runtime_is_known_for_few_releases():
    assert python_runtime((3, 11)) == ("3.11.9", (14, 38))
    assert python_runtime((3, 12)) is None


# ----------------------------------------------------------------------------------------------------------- companions
# What DLLs load by name at run time.


def test_a_release_that_cannot_be_read_decides_nothing():
    needs = companions_of("cudnn64_8.dll", version="not a version")
    assert [need.strength for need in needs if need.name == "zlibwapi.dll"] == ["expected"]


def test_cudnn_9_brings_later_parts_along():
    beside = [need for need in companions_of("cudnn64_9.dll") if need.strength == "beside"]
    assert [need.matches("cudnn_engines_tensor_ir64_9.dll") for need in beside] == [True]
    assert beside[0].severity is None
    assert beside[0].vendored_by_default


def test_mkl_rt_is_content_with_any_threading_layer():
    layer = next(need for need in companions_of("mkl_rt.2.dll") if len(need.names) > 1)
    assert layer.met_by(["mkl_core.2.dll", "MKL_SEQUENTIAL.2.dll"]) == "MKL_SEQUENTIAL.2.dll"
    assert layer.met_by(["mkl_core.2.dll", "mkl_sequential.1.dll"]) is None


@pytest.mark.parametrize(
    "cuda, first",
    [("11.7", "nvrtc-builtins64_117.dll"), (None, "nvrtc-builtins64_118.dll"), ("12.1", "nvrtc-builtins64_118.dll")],
)
def test_the_wheels_toolkit_decides_which_built_ins_come_first(cuda, first):
    need = companions_of("nvrtc64_112_0.dll", cuda=cuda)[0]
    assert need.required
    assert need.names[0] == first
    assert need.met_by(["nvrtc-builtins64_114.dll"]) == "nvrtc-builtins64_114.dll"


def test_a_toolkit_that_the_table_does_not_know_yet_still_has_built_ins():
    need = companions_of("nvrtc64_140_0.dll")[0]
    assert need.met_by(["nvrtc-builtins64_141.dll"]) == "nvrtc-builtins64_141.dll"
    assert need.met_by(["nvrtc64_140_0.dll"]) is None


def test_the_delay_imports_that_matter():
    assert needs_in_practice("mkl_intel_thread.2.dll", "libiomp5md.dll") is not None
    assert needs_in_practice("MKL_INTEL_THREAD.2.DLL", "MKL_CORE.2.dll") is not None
    assert needs_in_practice("caffe2_nvrtc.dll", "nvcuda.dll") is None


def every_need() -> list[CompanionNeed]:
    parents = [
        *(f"cudnn64_{v}.dll" for v in (8, 9)),
        *(f"mkl_{part}.{v}.dll" for part in ("rt", "core", "intel_thread", "tbb_thread") for v in (1, 2, 3)),
        *(f"nvrtc64_{v}_0.dll" for v in (102, 110, 111, 112, 120, 130)),
        "cupti64_2022.2.1.dll",
        "tbb12.dll",
        "libiomp5md.dll",
    ]
    return [need for parent in parents for need in companions_of(parent)]


def test_no_companion_is_something_that_may_not_be_vendored():
    for need in every_need():
        for name in need.names:
            assert classify(name, Machine.AMD64).kind == "vendor", name
            assert family_of(name).redistribute


def test_a_name_of_many_packages_tells_nothing_alone():
    """_core and _ext are modules of many packages; the table has only those of some."""
    names = {name for package, name in runtime_needs() if not package}
    assert not {"_ext", "_core", "_c", "lib", "_lib", "core"} & names
