"""Environments of conda and pip as roots, and whose their files are."""

from __future__ import annotations

import json

from tests.roots.trees import folders, grow, windows
from tests.support.tables import named_cases
from wheelfix.roots.gather import explore
from wheelfix.roots.index import RootIndex
from wheelfix.roots.toolkits import CONDA, PIP


def meta(name: str, version: str, *files: str) -> str:
    """A record of conda-meta."""
    return json.dumps({"name": name, "version": version, "files": list(files)})


ENVIRONMENT = {
    "conda-meta/history": "",
    "conda-meta/mkl-2024.2.2-h1.json": meta(
        "mkl", "2024.2.2", "Library/bin/mkl_core.2.dll", "Library/bin/mkl_rt.2.dll"
    ),
    "conda-meta/llvm-openmp-18.1-h2.json": meta("llvm-openmp", "18.1", "Library\\bin\\libomp.dll"),
    "conda-meta/tzdata-2024-h3.json": meta("tzdata", "2024", "share/zoneinfo/UTC"),
    "conda-meta/broken-1-0.json": '{".dll"',
    "Library/bin/mkl_core.2.dll": b"MZ",
    "Library/bin/mkl_rt.2.dll": b"MZ",
    "Library/bin/libomp.dll": b"MZ",
    "Library/bin/stray.dll": b"MZ",
    "vcruntime140.dll": b"MZ",
}


def test_the_active_environment_knows_its_packages(tmp_path):
    prefix = grow(tmp_path / "envs" / "torch", ENVIRONMENT)
    (root,) = explore(windows(tmp_path, {"CONDA_PREFIX": str(prefix)}))[0]
    assert (root.kind, root.learned, root.last_resort) == ("conda", "environment variable CONDA_PREFIX", False)
    assert folders(root) == ["Library/bin", "."]

    index = RootIndex([root])
    found = {name: index.candidates(name)[0] for name in ("MKL_CORE.2.DLL", "libomp.dll", "stray.dll")}
    assert [(file.package, file.version_hint, file.origin) for file in found.values()] == [
        ("mkl", "2024.2.2", "conda package mkl 2024.2.2"),
        ("llvm-openmp", "18.1", "conda package llvm-openmp 18.1"),
        ("", "", "conda"),
    ]


def test_the_cache_is_a_last_resort_and_tells_packages_by_folder(tmp_path):
    base = tmp_path / "home" / "miniforge3"
    grow(base, {"conda-meta/history": "", "Library/bin/zlib.dll": b"MZ"})
    grow(base / "pkgs", ["cuda-cupti-12.4.127-h1_2/Library/bin/cupti64_2024.1.1.dll", "cache/readme.txt"])
    environment, cache = explore(windows(tmp_path, home=tmp_path / "home"))[0]
    assert environment.last_resort
    assert cache.last_resort
    assert cache.learned == "package cache, default path"
    (file,) = RootIndex([cache]).candidates("cupti64_2024.1.1.dll")
    assert (file.package, file.version_hint) == ("cuda-cupti", "12.4.127")


def test_an_unpacked_package(tmp_path):
    folder = grow(
        tmp_path / "mkl",
        {"info/index.json": json.dumps({"name": "mkl", "version": "2023.2.0"}), "Library/bin/mkl_core.2.dll": b"MZ"},
    )
    root = CONDA.recognise(folder)
    (file,) = RootIndex([root]).candidates("mkl_core.2.dll")
    assert (root.version, file.package, file.version_hint) == ("2023.2.0", "mkl", "2023.2.0")


def test_cuda_13_packages_lie_one_folder_deeper(tmp_path):
    root = CONDA.recognise(grow(tmp_path, {"conda-meta/history": "", "Library/bin/x64/cudart64_13.dll": b"MZ"}))
    assert folders(root) == ["Library/bin/x64"]


def test_a_folder_of_other_things_is_not_conda(tmp_path):
    assert CONDA.recognise(grow(tmp_path, ["a-1-0/Library/bin/x.dll"])) is None


def test_a_conda_python_that_was_started_by_its_path_sees_its_own_dlls(tmp_path):
    """Without CONDA_PREFIX its Library/bin was no root."""
    prefix = grow(tmp_path / "envs" / "torch", ENVIRONMENT)
    (root,) = explore(windows(tmp_path, prefixes=((prefix, "the running Python"),)))[0]
    assert (root.kind, root.learned, root.last_resort) == ("conda", "the running Python", False)
    assert "Library/bin" in folders(root)


SITE = "Lib/site-packages"
NVIDIA = {
    f"{SITE}/nvidia/cuda_cupti/extras/CUPTI/lib64/cupti64_2022.2.1.dll": b"MZ",
    f"{SITE}/nvidia_cuda_cupti_cu11-11.7.101.dist-info/RECORD": (
        "nvidia/cuda_cupti/extras/CUPTI/lib64/cupti64_2022.2.1.dll,sha256=x,1\nnvidia/__init__.py,,\n"
    ),
    f"{SITE}/nvidia/cublas/lib/x64/cublas64_11.dll": b"MZ",
    f"{SITE}/nvidia/cudnn/bin/cudnn64_8.dll": b"MZ",
    f"{SITE}/nvidia/cuda_nvcc/nvvm/bin/nvvm64_40_0.dll": b"MZ",
    f"{SITE}/nvidia/cu13/bin/x86_64/cudart64_13.dll": b"MZ",
}
INTEL = {
    "Library/bin/mkl_core.2.dll": b"MZ",
    f"{SITE}/mkl-2023.2.0.dist-info/RECORD": '../../Library/bin/mkl_core.2.dll,sha256=x,1\n"a,b.py",,\n',
}


def test_nvidia_packages(tmp_path):
    root = PIP.recognise(grow(tmp_path, NVIDIA))
    assert [(entry.path.removeprefix(f"{SITE}/nvidia/"), entry.cuda) for entry in root.folders] == [
        ("cu13/bin/x86_64", "13"),
        ("cublas/lib/x64", ""),
        ("cuda_cupti/extras/CUPTI/lib64", ""),
        ("cuda_nvcc/nvvm/bin", ""),
        ("cudnn/bin", ""),
    ]
    (file,) = RootIndex([root]).candidates("cupti64_2022.2.1.dll")
    assert (file.package, file.version_hint) == ("nvidia-cuda-cupti-cu11", "11.7.101")


def test_intel_packages_lie_in_library_bin(tmp_path):
    root = PIP.recognise(grow(tmp_path, INTEL))
    assert folders(root) == ["Library/bin"]
    assert root is not None
    (file,) = RootIndex([root]).candidates("mkl_core.2.dll")
    assert file.origin == "wheel mkl 2023.2.0"


@named_cases(
    "files, expected",
    {
        "user site": (["Python311/site-packages/nvidia/cudnn/bin/cudnn64_8.dll"], 1),
        "POSIX prefix": (["lib/python3.11/site-packages/nvidia/cudnn/bin/cudnn64_8.dll"], 1),
        "pip --target": (["mkl-2023.2.0.dist-info/RECORD", "Library/bin/mkl_core.2.dll"], 1),
        "msvc-runtime": ([f"{SITE}/x.py", "Scripts/msvcp140.dll", "msvcp140.dll"], 2),
        "Python itself": ([f"{SITE}/x.py", "python311.dll", "vcruntime140.dll", "Scripts/tool.dll"], 0),
        "nothing for us": ([f"{SITE}/numpy/core/x.pyd"], 0),
        "no environment": (["nvidia/cudnn/bin/cudnn64_8.dll"], 0),
    },
)
def test_environments(tmp_path, files, expected):
    assert len(folders(PIP.recognise(grow(tmp_path, files)))) == expected


def test_conda_and_pip_share_an_environment_without_telling_a_folder_twice(tmp_path):
    prefix = grow(tmp_path / "env", {**NVIDIA, **INTEL, "conda-meta/history": ""})
    found = explore(windows(tmp_path, {"CONDA_PREFIX": str(prefix)}, prefixes=((prefix, "the running Python"),)))[0]
    assert [(root.kind, "Library/bin" in folders(root)) for root in found] == [("conda", True), ("pip", False)]
