"""Vendors' toolkits: where they are, which folder is one, and what torch searches."""

import pytest

from tests.roots.trees import folders, grow, link, windows
from tests.support.tables import named_cases
from wheelfix.roots.gather import explore, named_root
from wheelfix.roots.host import Host, RegistryKey
from wheelfix.roots.toolkits import (
    CUDA,
    CUDA_REGISTRY,
    CUDNN,
    MSVC,
    ONEAPI,
    VISUAL_STUDIO_REGISTRY,
    known_toolkit,
    searched_nvtx,
    searched_toolkit,
)

V102 = {
    "version.txt": "CUDA Version 10.2.89\n",
    "bin/cudart64_102.dll": b"MZ",
    "extras/CUPTI/lib64/cupti64_102.dll": b"MZ",
}
V117 = {
    "version.json": '{"cuda": {"name": "CUDA SDK", "version": "11.7.1"}}',
    "bin/cudart64_110.dll": b"MZ",
    "bin/nvcc.exe": b"MZ",
    "extras/CUPTI/lib64/cupti64_2022.2.1.dll": b"MZ",
    "nvvm/bin/nvvm64_40_0.dll": b"MZ",
    "lib/x64/cudart.lib": b"!",
}
V130 = {
    "version.json": '{"cuda": {"name": "CUDA SDK", "version": "13.0.20250905"}}',
    "bin/nvcc.exe": b"MZ",
    "bin/x64/cudart64_13.dll": b"MZ",
    "extras/CUPTI/lib64/cupti64_2025.3.0.dll": b"MZ",
    "nvvm/bin/x64/nvvm70.dll": b"MZ",
}
V134 = {
    "version.json": '{"cuda": {"version": "13.4.0"}}',
    "bin/x64/cudart64_13.dll": b"MZ",
    "bin/x64/cupti64_2026.3.0.dll": b"MZ",
    "extras/CUPTI/lib/x64/nvperf_host.dll": b"MZ",
}
ARCHIVE = {"lib/cudart64_110.dll": b"MZ", "lib/nvrtc-builtins64_114.dll": b"MZ"}
ODD_CASE = {"BIN/CUDART64_110.DLL": b"MZ", "Extras/cupti/LIB64/CUPTI64_2022.2.1.DLL": b"MZ"}


@named_cases(
    "files, version, expected",
    {
        "10.2 with version.txt": (V102, "10.2", ["bin", "extras/CUPTI/lib64"]),
        "11.7": (V117, "11.7.1", ["bin", "extras/CUPTI/lib64", "nvvm/bin"]),
        "13.0, a date in the version": (V130, "13.0", ["bin/x64", "extras/CUPTI/lib64", "nvvm/bin/x64"]),
        "13.4": (V134, "13.4.0", ["bin/x64", "extras/CUPTI/lib/x64"]),
        "redistributable archive": (ARCHIVE, "11.4", ["lib"]),
        "other case": (ODD_CASE, "", ["BIN", "Extras/cupti/LIB64"]),
    },
)
def test_layouts(tmp_path, files, version, expected):
    root = CUDA.recognise(grow(tmp_path / "toolkit", files))
    assert root.kind == "cuda"
    assert root.version == version
    assert folders(root) == expected


@pytest.mark.parametrize("text", ["{", '{"cuda": 3}', '{"cuda": {}}', "[" * 5000])
def test_broken_version_json_falls_back_to_the_folder_name(tmp_path, text):
    folder = grow(tmp_path / "v11.7", {"version.json": text, "bin/cudart64_110.dll": b"MZ"})
    root = CUDA.recognise(folder)
    assert root.version == "11.7"
    assert root.notes == ("version.json cannot be read; the version was taken from names",)


def test_cudnn_copied_by_hand_is_noted(tmp_path):
    folder = grow(tmp_path / "v11.7", {**V117, "bin/cudnn64_8.dll": b"MZ"})
    root = CUDA.recognise(folder)
    assert root.notes == ("cuDNN was copied into bin",)


@named_cases(
    "files",
    {
        "a toolkit for Linux": {"bin/nvcc": b"x", "lib64/libcudart.so": b"x"},
        "some other program": {"bin/zlib1.dll": b"MZ"},
        "no DLLs at all": {"version.json": '{"cuda": {"version": "12.4.1"}}'},
    },
)
def test_not_a_toolkit(tmp_path, files):
    assert CUDA.recognise(grow(tmp_path, files)) is None


def test_found_through_variables_registry_and_default_folder_once_each(tmp_path):
    default = tmp_path / "Program Files" / "NVIDIA GPU Computing Toolkit" / "CUDA"
    v117 = grow(default / "v11.7", V117)
    v130 = grow(default / "v13.0", V130)
    elsewhere = grow(tmp_path / "D" / "cuda10", V102)
    keys = {
        CUDA_REGISTRY: RegistryKey(subkeys=("v10.2", "v13.0")),
        CUDA_REGISTRY + r"\v10.2": RegistryKey({"InstallDir": str(elsewhere)}),
        CUDA_REGISTRY + r"\v13.0": RegistryKey({"InstallDir": str(v130)}),
    }
    env = {"CUDA_PATH": f'"{v117}"', "CUDA_PATH_V11_7": str(v117), "CUDA_PATH_V9_0": str(tmp_path / "gone")}
    found = explore(windows(tmp_path, env, registry=keys.get))

    assert [(root.path, root.version, root.learned) for root in found[0]] == [
        (v117, "11.7.1", "environment variable CUDA_PATH"),
        (elsewhere, "10.2", "registry"),
        (v130, "13.0", "registry"),
    ]
    assert found[0][0].notes == ("also environment variable CUDA_PATH_V11_7", "also default path")
    assert [(remark.learned, remark.reason) for remark in found[1]] == [
        ("environment variable CUDA_PATH_V9_0", "no such folder")
    ]


def test_a_relative_variable_never_means_the_current_folder(tmp_path, monkeypatch):
    grow(tmp_path / "v11.7", V117)
    monkeypatch.chdir(tmp_path)
    assert explore(windows(tmp_path, {"CUDA_PATH": "v11.7"}))[0] == ()


HEADER = "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 4\n#define CUDNN_PATCHLEVEL 0\n"


@named_cases(
    "name, files, version, expected",
    {
        "archive of 8": (
            "cudnn-windows-x86_64-8.9.7.29_cuda11-archive",
            ["bin/cudnn64_8.dll", "bin/cudnn_ops_infer64_8.dll", "lib/x64/cudnn.lib"],
            "8.9.7.29",
            [("bin", "11")],
        ),
        "older archive": ("cudnn-11.4-windows-x64-v8.2.4.15", ["bin/cudnn64_8.dll"], "8.2.4.15", [("bin", "11.4")]),
        "archive from 9.18": (
            "cudnn-windows-x86_64-9.18.0.77_cuda12-archive",
            ["bin/x64/cudnn64_9.dll", "lib/x64/cudnn.lib"],
            "9.18.0.77",
            [("bin/x64", "12")],
        ),
        "installer of 8": ("v8.9", ["bin/cudnn64_8.dll"], "8.9", [("bin", "")]),
        "installer of 9": (
            "v9.4",
            ["bin/11.8/cudnn64_9.dll", "bin/12.6/cudnn64_9.dll"],
            "9.4",
            [("bin/12.6", "12.6"), ("bin/11.8", "11.8")],
        ),
        "newest installer": (
            "v9.24",
            ["bin/12.9/x64/cudnn64_9.dll", "bin/13.2/x64/cudnn64_9.dll"],
            "9.24",
            [("bin/13.2/x64", "13.2"), ("bin/12.9/x64", "12.9")],
        ),
    },
)
def test_layouts_of_cudnn(tmp_path, name, files, version, expected):
    root = CUDNN.recognise(grow(tmp_path / name, files))
    assert root.version == version
    assert [(entry.path, entry.cuda) for entry in root.folders] == expected


@pytest.mark.parametrize("where", ["include/cudnn_version.h", "include/12.6/cudnn_version.h"])
def test_the_header_knows_the_patch(tmp_path, where):
    root = CUDNN.recognise(grow(tmp_path / "v9.4", {"bin/12.6/cudnn64_9.dll": b"MZ", where: HEADER}))
    assert root.version == "9.4.0"


def test_a_toolkit_with_cudnn_copied_into_it_is_no_cudnn(tmp_path):
    assert CUDNN.recognise(grow(tmp_path, ["bin/cudnn64_8.dll", "bin/cudart64_110.dll"])) is None


def test_found_by_variable_and_default_folder(tmp_path):
    installed = tmp_path / "Program Files" / "NVIDIA" / "CUDNN"
    grow(installed, ["v8.9/bin/cudnn64_8.dll", "v9.4/bin/12.6/cudnn64_9.dll", "v9.13/bin/13.0/cudnn64_9.dll"])
    unpacked = grow(tmp_path / "cudnn", ["bin/cudnn64_8.dll"])
    found = explore(windows(tmp_path, {"CUDNN_PATH": str(unpacked)}))[0]
    assert [(root.version, root.learned) for root in found] == [
        ("", "environment variable CUDNN_PATH"),
        ("9.13", "default path"),
        ("9.4", "default path"),
        ("8.9", "default path"),
    ]


FILE = "bin/x64/nvToolsExt64_1.dll"


def test_default_folder(tmp_path):
    grow(tmp_path / "Program Files" / "NVIDIA Corporation" / "NvToolsExt", [FILE])
    (root,) = explore(windows(tmp_path))[0]
    assert (root.kind, root.learned, folders(root)) == ("nvtoolsext", "default path", ["bin/x64"])


def test_variable_comes_first_and_a_wrong_one_is_remarked(tmp_path):
    grow(tmp_path / "Program Files" / "NVIDIA Corporation" / "NvToolsExt", [FILE])
    grow(tmp_path / "empty", ["readme.txt"])
    found = explore(windows(tmp_path, {"NVTOOLSEXT_PATH": str(tmp_path / "empty")}))
    assert [root.learned for root in found[0]] == ["default path"]
    assert found[1][0].reason == "not NvToolsExt: a folder with nvToolsExt64_*.dll in bin\\x64"


UNTIL_2023 = [
    "mkl/latest/redist/intel64/mkl_core.2.dll",
    "compiler/latest/windows/redist/intel64_win/compiler/libiomp5md.dll",
    "tbb/latest/redist/intel64/vc14/tbb12.dll",
]
SINCE_2024 = ["mkl/latest/bin/mkl_core.2.dll", "compiler/latest/bin/libiomp5md.dll", "umf/latest/bin/umf.dll"]


@named_cases(
    "files, expected",
    {
        "up to 2023": (
            UNTIL_2023,
            [
                "mkl/latest/redist/intel64",
                "compiler/latest/windows/redist/intel64_win/compiler",
                "tbb/latest/redist/intel64/vc14",
            ],
        ),
        "from 2024": (SINCE_2024, ["mkl/latest/bin", "compiler/latest/bin", "umf/latest/bin"]),
        "unified": (["2024.2/bin/mkl_core.2.dll", "2025.0/bin/mkl_core.2.dll"], ["2025.0/bin", "2024.2/bin"]),
        "several versions without latest": (
            ["mkl/2023.2.0/redist/intel64/mkl_core.2.dll", "mkl/2025.3/bin/mkl_core.2.dll"],
            ["mkl/2025.3/bin", "mkl/2023.2.0/redist/intel64"],
        ),
    },
)
def test_installations(tmp_path, files, expected):
    root = ONEAPI.recognise(grow(tmp_path / "oneAPI", files))
    assert root.kind == "oneapi"
    assert folders(root) == expected


def test_latest_is_a_link_and_counts_once_with_the_version_it_leads_to(tmp_path):
    base = grow(
        tmp_path / "oneAPI",
        ["mkl/2022.1.0/redist/intel64/mkl_core.2.dll", "mkl/2023.2.0/redist/intel64/mkl_core.2.dll"],
    )
    link(base / "mkl" / "latest", base / "mkl" / "2023.2.0")
    root = ONEAPI.recognise(base)
    assert [(entry.path, entry.version) for entry in root.folders] == [
        ("mkl/latest/redist/intel64", "2023.2.0"),
        ("mkl/2022.1.0/redist/intel64", "2022.1.0"),
    ]
    assert root.version == "2023.2.0"


@named_cases(
    "name, files, version, expected",
    {
        "MKLROOT": ("2023.2.0", ["redist/intel64/mkl_core.2.dll"], "2023.2.0", ["redist/intel64"]),
        "mkl": ("mkl", ["2023.2.0/redist/intel64/mkl_core.2.dll"], "2023.2.0", ["2023.2.0/redist/intel64"]),
        "CMPLR_ROOT": (
            "2023.2.1",
            ["windows/redist/intel64_win/compiler/libiomp5md.dll"],
            "2023.2.1",
            ["windows/redist/intel64_win/compiler"],
        ),
    },
)
def test_components(tmp_path, name, files, version, expected):
    root = ONEAPI.recognise(grow(tmp_path / name, files))
    assert (root.version, folders(root)) == (version, expected)


def test_other_programs_with_a_bin_are_not_oneapi(tmp_path):
    assert ONEAPI.recognise(grow(tmp_path / "2024.1", ["bin/zlib1.dll"])) is None


def test_a_component_inside_the_installation_is_told_once(tmp_path):
    base = grow(tmp_path / "Program Files (x86)" / "Intel" / "oneAPI", ["mkl/2023.2.0/redist/intel64/mkl_core.2.dll"])
    env = {"MKLROOT": str(base / "mkl" / "2023.2.0"), "ONEAPI_ROOT": str(base)}
    (root,) = explore(windows(tmp_path, env))[0]
    assert root.path == base
    assert root.learned == "environment variable ONEAPI_ROOT"
    assert f"environment variable MKLROOT names {base / 'mkl' / '2023.2.0'} in it" in root.notes


REDIST = [
    "14.44.35112/x64/Microsoft.VC143.CRT/msvcp140.dll",
    "14.44.35112/x64/Microsoft.VC143.OpenMP/vcomp140.dll",
    "14.44.35112/onecore/x64/Microsoft.VC143.CRT/msvcp140.dll",
    "14.44.35112/debug_nonredist/x64/Microsoft.VC143.OpenMP.LLVM/libomp140.x86_64.dll",
    "14.29.30133/x64/Microsoft.VC142.CRT/msvcp140.dll",
    "v143/vc_redist.x64.exe",
]


@named_cases("prefix", {"Visual Studio": "VC/Redist/MSVC/", "VC": "Redist/MSVC/", "Redist": ""})
def test_versions_newest_first_and_what_is_not_redistributable(tmp_path, prefix):
    root = MSVC.recognise(grow(tmp_path, [prefix + name for name in REDIST]))
    assert root.version == "14.44.35112"
    assert [(entry.path.removeprefix(prefix), entry.redistributable) for entry in root.folders] == [
        ("14.44.35112/x64/Microsoft.VC143.CRT", True),
        ("14.44.35112/x64/Microsoft.VC143.OpenMP", True),
        ("14.29.30133/x64/Microsoft.VC142.CRT", True),
        ("14.44.35112/debug_nonredist/x64/Microsoft.VC143.OpenMP.LLVM", False),
    ]


def test_one_version_as_the_developer_prompt_names_it(tmp_path):
    folder = grow(tmp_path / "MSVC", REDIST) / "14.29.30133"
    (root,) = explore(windows(tmp_path, {"VCTOOLSREDISTDIR": f"{folder}/"}))[0]
    assert (root.kind, root.version, root.learned) == ("msvc", "14.29.30133", "environment variable VCToolsRedistDir")


def test_one_folder_of_it_named_by_itself_keeps_its_terms(tmp_path):
    base = grow(tmp_path, REDIST) / "14.44.35112"
    free = named_root(base / "x64" / "Microsoft.VC143.OpenMP", Host())
    bound = named_root(base / "debug_nonredist" / "x64" / "Microsoft.VC143.OpenMP.LLVM", Host())
    assert [entry.redistributable for root in (free, bound) for entry in root.folders] == [True, False]


def test_default_folders(tmp_path):
    files = ["VC/Redist/MSVC/" + name for name in REDIST]
    grow(tmp_path / "Program Files" / "Microsoft Visual Studio" / "2022" / "Community", files)
    grow(tmp_path / "Program Files" / "Microsoft Visual Studio" / "18" / "Professional", files)
    old = grow(tmp_path / "Program Files (x86)" / "Microsoft Visual Studio" / "2017" / "BuildTools", files)
    keys = {VISUAL_STUDIO_REGISTRY: RegistryKey({"15.0": str(old)})}
    found = explore(windows(tmp_path, registry=keys.get))[0]
    assert [(root.path.parent.name, root.learned) for root in found] == [
        ("2017", "registry"),
        ("2022", "default path"),
        ("18", "default path"),
    ]


CUDART = "cudart64_110.dll"


def test_the_variable_of_the_very_release_comes_before_the_default_folder(tmp_path):
    named = grow(tmp_path / "elsewhere", [f"bin/{CUDART}", "bin/cudnn64_8.dll"])
    grow(tmp_path / "Program Files/NVIDIA GPU Computing Toolkit/CUDA/v11.7", [f"bin/{CUDART}"])
    found = searched_toolkit("11.7", windows(tmp_path, {"CUDA_PATH_V11_7": str(named)}))
    assert (found.label, found.dlls) == (f"CUDA_PATH_V11_7={named}", {CUDART, "cudnn64_8.dll"})
    default = searched_toolkit("11.7", windows(tmp_path))
    assert default.dlls == {CUDART}


def test_other_releases_and_other_variables_do_not_count(tmp_path):
    toolkit = grow(tmp_path / "CUDA/v11.7", [f"bin/{CUDART}"])
    host = windows(tmp_path, {"CUDA_PATH": str(toolkit), "CUDA_PATH_V11_8": str(toolkit)})
    assert searched_toolkit("11.7", host) is None
    known = known_toolkit("11.7", host)  # an assumed toolkit may lie anywhere
    assert known.label == str(toolkit)
    assert known_toolkit("11.4", host) is None


def test_a_variable_that_leads_nowhere_is_believed_as_torch_does(tmp_path):
    grow(tmp_path / "Program Files/NVIDIA GPU Computing Toolkit/CUDA/v11.7", [f"bin/{CUDART}"])
    assert searched_toolkit("11.7", windows(tmp_path, {"CUDA_PATH_V11_7": str(tmp_path / "gone")})) is None


def test_nvtx_has_a_folder_of_its_own(tmp_path):
    assert searched_nvtx(windows(tmp_path)) is None
    grow(tmp_path / "Program Files/NVIDIA Corporation/NvToolsExt", ["bin/x64/nvToolsExt64_1.dll"])
    found = searched_nvtx(windows(tmp_path))
    assert found.dlls == {"nvtoolsext64_1.dll"}
    other = grow(tmp_path / "other", ["bin/x64/nvToolsExt64_1.dll"])
    named = searched_nvtx(windows(tmp_path, {"NVTOOLSEXT_PATH": str(other)}))
    assert named.label == f"NVTOOLSEXT_PATH={other}"
