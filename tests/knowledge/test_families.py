"""DLLs known by their names: families, toolchains, and what goes with what."""

from __future__ import annotations

import pytest

from tests.support.tables import named_cases
from wheelfix.knowledge.companions import (
    CompanionNeed,
    companions_of,
    needs_in_practice,
    program_of,
    runtime_need,
    runtime_needs,
)
from wheelfix.knowledge.cuda import cuda_libraries, cuda_table
from wheelfix.knowledge.families import (
    demangle,
    families,
    family_of,
    is_of_nvidia,
    is_openmp,
)
from wheelfix.knowledge.system import classify, python_runtime, runtime_needed, toolset_of_build
from wheelfix.model import Machine


@pytest.mark.parametrize(
    "name, family, version",
    [
        ("cudart64_110.dll", "cudart", "110"),
        ("cudnn64_8.dll", "cudnn", "8"),
        ("nvrtc64_120_0.alt.dll", "nvrtc", "120"),
        ("nvrtc-builtins64_117.dll", "nvrtc", ""),
        ("cupti64_2022.2.1.dll", "cupti", "2022.2.1"),
        ("mkl_vml_avx512.3.dll", "mkl", "3"),
        ("mkl_rt.dll", "mkl-legacy", ""),
    ],
)
def test_family_and_version_are_read_from_the_name(name, family, version):
    assert (family_of(name).id, family_of(name).version(name)) == (family, version)


@pytest.mark.parametrize("name", ["mkl.dll", "cudnn.dll", "mytorch.dll"])
def test_other_names_have_no_family(name):
    assert not family_of(name)


def test_a_mangled_name_is_recognised():
    name = "vcomp140-0f2ea95580b32bcfc81c235d5751ce78.dll"
    assert demangle(name) == "vcomp140.dll"
    assert family_of(name).id == "openmp-msvc"


def test_parts_of_one_release_belong_together():
    cudnn, name = family_of("cudnn64_8.dll"), "cudnn64_8.dll"
    assert cudnn.belong_together(name, "cudnn_ops_infer64_8.dll")
    assert not cudnn.belong_together(name, "cudnn64_8.dll")
    assert not cudnn.belong_together(name, "cudnn_ops64_9.dll")


def test_visual_studios_llvm_openmp_may_not_be_passed_on():
    family = family_of("libomp140.x86_64.dll")
    assert not family.redistribute
    assert "debug_nonredist" in family.note


def test_openmp_runtimes_are_counted_without_stubs():
    names = ["libiomp5md.dll", "libiompstubs5md.dll", "VCOMP140.DLL", "libomp.dll", "omptarget.dll", "libgomp-1.dll"]
    assert [name for name in names if is_openmp(name)] == [
        "libiomp5md.dll",
        "VCOMP140.DLL",
        "libomp.dll",
        "libgomp-1.dll",
    ]


def test_classify_names_the_family_of_a_vendors_dll():
    answer = classify("cudnn64_8.dll")
    assert (answer.kind, answer.detail) == ("vendor", "cuDNN, by NVIDIA")


def test_the_tables_of_cuda_know_names_of_nvidia_only():
    """They are not asked about others."""
    assert not [name for name in cuda_table().by_name if not is_of_nvidia(name)]
    vendors = {family.id: family.vendor for family in families()}
    assert {vendors[family] for family in cuda_libraries().rules} == {"NVIDIA"}
    assert not is_of_nvidia("libiomp5md.dll")
    assert not is_of_nvidia("kernel32.dll")


# ----------------------------------------------------------------------------------------------------------- toolchains
# Linker versions and C++ runtimes.


@pytest.mark.parametrize(
    "linker, needed",
    [((14, 44), (14, 44)), ((14, 50), (14, 50)), ((14, 0), None), ((2, 39), None)],
)
def test_what_a_linker_version_says_about_the_runtime(linker, needed):
    assert runtime_needed(linker) == needed


def test_pythons_own_runtime_is_known_for_few_releases():
    assert python_runtime((3, 11)) == ("3.11.9", (14, 38))
    assert python_runtime((3, 12)) is None


@pytest.mark.parametrize(
    "build, toolset",
    [(35207, (14, 44)), (27508, (14, 20)), (21005, None)],
)
def test_builds_of_compilers(build, toolset):
    assert toolset_of_build(build) == toolset


# ----------------------------------------------------------------------------------------------------------- companions
# What DLLs load by name at run time.


def required(name: str, **kind: str) -> set[str]:
    return {need.name for need in companions_of(name, **kind) if need.required}


CUDNN_8 = {f"cudnn_{part}_{half}64_8.dll" for part in ("ops", "cnn", "adv") for half in ("infer", "train")}


def test_cudnn_8_needs_its_six_parts():
    assert required("cudnn64_8.dll") == CUDNN_8


@named_cases(
    "version, strength",
    {
        "unknown release": (None, "expected"),
        "unreadable release": ("not a version", "expected"),
        "a number that is no release": ("6.14.11.8020", "expected"),
        "before 8.3": ("8.2.1.32", None),
        "after 8.3": ("8.9.4.25", "required"),
    },
)
def test_zlibwapi_depends_on_cudnns_release(version, strength):
    needs = [need for need in companions_of("cudnn64_8.dll", version=version) if need.name == "zlibwapi.dll"]
    assert [need.strength for need in needs] == ([strength] if strength else [])


def test_cudnn_9_links_zlib_itself_from_9_2_on():
    assert "zlibwapi.dll" in required("cudnn64_9.dll", version="9.1.0.70")
    assert not any(need.matches("zlibwapi.dll") for need in companions_of("cudnn64_9.dll", version="9.5.0"))


def test_cudnn_9_brings_later_parts_along():
    beside = [need for need in companions_of("cudnn64_9.dll") if need.strength == "beside"]
    assert [need.matches("cudnn_engines_tensor_ir64_9.dll") for need in beside] == [True]
    assert beside[0].severity is None
    assert beside[0].vendored_by_default


@pytest.mark.parametrize("v", ["1", "2", "3"])
def test_mkl(v):
    assert required(f"mkl_rt.{v}.dll") == {f"mkl_core.{v}.dll", f"mkl_intel_thread.{v}.dll"}
    assert required(f"mkl_intel_thread.{v}.dll") == {f"mkl_core.{v}.dll", "libiomp5md.dll"}
    assert required(f"mkl_tbb_thread.{v}.dll") == {f"mkl_core.{v}.dll", "tbb12.dll"}
    assert required(f"mkl_sequential.{v}.dll") == {f"mkl_core.{v}.dll"}
    assert required(f"mkl_core.{v}.dll") == {f"mkl_def.{v}.dll", f"mkl_vml_def.{v}.dll"}


def test_mkl_rt_is_content_with_any_threading_layer():
    layer = next(need for need in companions_of("mkl_rt.2.dll") if len(need.names) > 1)
    assert layer.met_by(["mkl_core.2.dll", "MKL_SEQUENTIAL.2.dll"]) == "MKL_SEQUENTIAL.2.dll"
    assert layer.met_by(["mkl_core.2.dll", "mkl_sequential.1.dll"]) is None


def test_statically_linked_mkl_asks_for_nothing():
    """torch_cpu.dll has the names of MKL's kernels as strings although MKL is linked into it."""
    assert companions_of("torch_cpu.dll") == ()


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


def test_the_text_of_what_happens_names_the_file():
    need = companions_of("cudnn64_8.dll")[0]
    assert "Could not locate cudnn_ops_infer64_8.dll." in need.without


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


@pytest.mark.parametrize(
    "package, name, expected",
    [
        ("pyzbar", "libzbar-64.dll", "120"),
        ("", "libzbar-64.dll", "120"),
        ("", "greenlet._greenlet", "140"),
        ("another", "_greenlet", ""),
        ("", "", ""),
    ],
)
def test_what_is_known_about_a_name(package, name, expected):
    assert runtime_need(package, name) == expected


def test_a_name_of_many_packages_tells_nothing_alone():
    """_core and _ext are modules of many packages; the table has only those of some."""
    names = {name for package, name in runtime_needs() if not package}
    assert not {"_ext", "_core", "_c", "lib", "_lib", "core"} & names


def test_torch_is_left_out():
    """Its builds for CUDA need more than the runtime."""
    assert not {"torch", "torchvision", "torchaudio"} & {package for package, _ in runtime_needs()}


@pytest.mark.parametrize(
    "name, program",
    [
        ("JVM.dll", "Java"),
        ("R.dll", "R"),
        ("xjvm.dll", None),
        ("WinHvPlatform.dll", "Windows Hypervisor Platform"),
    ],
)
def test_who_has_it(name, program):
    found = program_of(name)
    assert (found.name if found else None) == program
