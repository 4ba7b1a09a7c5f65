"""A small torch-like wheel with missing DLLs, and small vendor folders that have them: for the demo and the tests.

Every DLL is forged byte by byte and real enough for a loader; nothing of a vendor is in it. The story is that of two
builds that were made for Kepler cards: the error names a test artefact, the true needers are torch_cpu and torch_cuda.

``python -m tools.example`` packs both into the file that ``wheelfix demo`` unpacks.
"""

from __future__ import annotations

import base64
import hashlib
import json
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from tools.forge import forge_dll
from wheelfix.base.values import field, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

EPOCH = (2024, 1, 1, 0, 0, 0)
PACKED = Path(__file__).parents[1] / "wheelfix" / "cli" / "example.zip"

INIT = '''\
"""A stand-in for torch: loads every DLL of its lib folder, as the real one does on Windows."""
import ctypes, glob, os, sys, sysconfig
from .version import __version__, cuda

lib = os.path.join(os.path.dirname(__file__), "lib")
folders = [
    lib,
    os.path.join(sys.exec_prefix, "Library", "bin"),
    os.path.join(sysconfig.get_config_var("userbase") or "", "Library", "bin"),
    os.path.join(sys.exec_prefix, "bin"),
]
if sys.platform == "win32":
    for folder in filter(os.path.isdir, folders):
        os.add_dll_directory(folder)
    for name in ("vcruntime140.dll", "msvcp140.dll", "vcruntime140_1.dll"):
        ctypes.CDLL(name)
    kernel32 = ctypes.WinDLL("kernel32.dll", use_last_error=True)
    kernel32.LoadLibraryExW.restype = ctypes.c_void_p
    for dll in glob.glob(os.path.join(lib, "*.dll")):
        if kernel32.LoadLibraryExW(dll, None, 0x00001100) is None:
            error = ctypes.WinError(ctypes.get_last_error())
            error.strerror += f' Error loading "{dll}" or one of its dependencies.'
            raise error
'''

C_RUNTIME = {"VCRUNTIME140.dll": ["memcpy"], "api-ms-win-crt-heap-l1-1-0.dll": ["malloc"], "KERNEL32.dll": ["Sleep"]}


@frozen
class ExampleBuild:
    """One broken build: the wheel's own DLLs, and the vendors' folders that have what is missing."""

    version: str
    cuda: str
    lib: Mapping[str, bytes]
    """DLLs of ``torch/lib`` by name."""
    roots: Mapping[str, Mapping[str, bytes]]
    """Folder trees by the name of the root: relative path to content."""
    missing: tuple[str, ...]
    """What ``import torch`` misses."""
    blamed: str
    """The file that the error names."""
    extra: Mapping[str, bytes] = field(default_factory=dict)


def _torch_dll(name: str, imports: Mapping[str, list[str]], exports: list[str]) -> bytes:
    return forge_dll(name, imports={**C_RUNTIME, **imports}, exports=exports, version=(0, 0, 0, 0), linker=(14, 29))


def _vendor(
    name: str,
    company: str,
    version: tuple[int, int, int, int],
    exports: list[str],
    delay_imports: Mapping[str, list[str]] | None = None,
) -> bytes:
    strings = {"CompanyName": company, "FileVersion": ".".join(map(str, version)), "OriginalFilename": name}
    return forge_dll(
        name,
        imports={"KERNEL32.dll": ["Sleep"]},
        exports=exports,
        version=version,
        version_strings=strings,
        delay_imports=delay_imports or {},
    )


def _common(torch_cpu: Mapping[str, list[str]], torch_cuda: Mapping[str, list[str]]) -> dict[str, bytes]:
    """The DLLs that every torch build has, with what this one needs besides."""
    return {
        "c10.dll": _torch_dll("c10.dll", {}, ["c10_error"]),
        "torch_cpu.dll": _torch_dll("torch_cpu.dll", {"c10.dll": ["c10_error"], **torch_cpu}, ["at_empty"]),
        "torch_cuda.dll": _torch_dll(
            "torch_cuda.dll", {"c10.dll": ["c10_error"], "torch_cpu.dll": ["at_empty"], **torch_cuda}, ["at_cuda"]
        ),
        "torch.dll": _torch_dll("torch.dll", {"torch_cpu.dll": ["at_empty"], "torch_cuda.dll": ["at_cuda"]}, []),
        "torch_python.dll": _torch_dll(
            "torch_python.dll", {"torch_cpu.dll": ["at_empty"], "python311.dll": ["PyObject_Call"]}, ["initModule"]
        ),
        "shm.dll": _torch_dll("shm.dll", {"torch_cpu.dll": ["at_empty"], "c10.dll": ["c10_error"]}, []),
    }


_MKL_PARTS = (
    *("mkl_def", "mkl_mc3", "mkl_avx2", "mkl_avx512"),
    *("mkl_vml_def", "mkl_vml_mc3", "mkl_vml_avx2", "mkl_vml_avx512", "mkl_vml_cmpt"),
)
_CUDNN_PARTS = tuple(f"cudnn_{part}_{use}" for part in ("ops", "cnn", "adv") for use in ("infer", "train"))


def _oneapi() -> dict[str, bytes]:
    mkl, intel = (2023, 2, 0, 0), "Intel Corporation"
    folder = "mkl/2023.2.0/redist/intel64/"
    files = {f"{folder}{part}.2.dll": _vendor(f"{part}.2.dll", intel, mkl, ["kernel"]) for part in _MKL_PARTS}
    files[f"{folder}mkl_core.2.dll"] = _vendor("mkl_core.2.dll", intel, mkl, ["mkl_serv_malloc"])
    files[f"{folder}mkl_intel_thread.2.dll"] = _vendor(
        "mkl_intel_thread.2.dll",
        intel,
        mkl,
        ["mkl_blas_sgemm"],
        delay_imports={"mkl_core.2.dll": ["mkl_serv_malloc"], "libiomp5md.dll": ["__kmpc_fork_call"]},
    )
    omp = "compiler/2023.2.0/windows/redist/intel64_win/compiler/libiomp5md.dll"
    files[omp] = _vendor("libiomp5md.dll", intel, (5, 0, 2023, 428), ["__kmpc_fork_call", "omp_get_max_threads"])
    return files


def _toolkit(version: str, build: str, bin_files: Mapping[str, bytes], cupti: str) -> dict[str, bytes]:
    nvidia = "NVIDIA Corporation"
    names = json.dumps({"cuda": {"name": "CUDA SDK", "version": build}}).encode()
    major, minor = map(int, version.split("."))
    number = f"{major}{minor}"
    release = (6, 14, 11, 1000 * major + 10 * minor)
    return {
        "version.json": names,
        "bin/cudart64_110.dll": _vendor("cudart64_110.dll", nvidia, release, ["cudaMalloc"]),
        "bin/nvrtc64_112_0.dll": _vendor("nvrtc64_112_0.dll", nvidia, release, ["nvrtcCompileProgram"]),
        f"bin/nvrtc-builtins64_{number}.dll": _vendor(f"nvrtc-builtins64_{number}.dll", nvidia, release, ["f"]),
        f"extras/CUPTI/lib64/{cupti}": _vendor(cupti, nvidia, release, ["cuptiActivityEnable"]),
        "extras/CUPTI/lib64/nvperf_host.dll": _vendor("nvperf_host.dll", nvidia, release, ["NVPW_Init"]),
        **bin_files,
    }


def kepler_cu117() -> ExampleBuild:
    """torch 2.7.1 built with CUDA 11.7: MKL, OpenMP and CUPTI are missing; ``aoti_custom_ops.dll`` gets the blame."""
    lib = _common(
        {"mkl_intel_thread.2.dll": ["mkl_blas_sgemm"], "libiomp5md.dll": ["omp_get_max_threads"]},
        {"cudart64_110.dll": ["cudaMalloc"], "cupti64_2022.2.1.dll": ["cuptiActivityEnable"]},
    )
    toolkit = _toolkit("11.7", "11.7.1", {}, "cupti64_2022.2.1.dll")
    lib["aoti_custom_ops.dll"] = _torch_dll("aoti_custom_ops.dll", {"torch_cpu.dll": ["at_empty"]}, [])
    lib["cudart64_110.dll"] = toolkit["bin/cudart64_110.dll"]
    return ExampleBuild(
        version="2.7.1+cu117",
        cuda="11.7",
        lib=lib,
        roots={"CUDA/v11.7": toolkit, "oneAPI": _oneapi()},
        missing=("cupti64_2022.2.1.dll", "libiomp5md.dll", "mkl_intel_thread.2.dll"),
        blamed="aoti_custom_ops.dll",
    )


def kepler_cu114() -> ExampleBuild:
    """torch 1.12 built with CUDA 11.4: cuDNN and NVTX are missing; ``backend_with_compiler.dll`` gets the blame."""
    nvidia, cudnn = "NVIDIA Corporation", (6, 14, 11, 11040)
    lib = _common({}, {"cudnn64_8.dll": ["cudnnCreate"], "nvToolsExt64_1.dll": ["nvtxRangePushA"]})
    lib["backend_with_compiler.dll"] = _torch_dll(
        "backend_with_compiler.dll", {"torch_cpu.dll": ["at_empty"], "torch_cuda.dll": ["at_cuda"]}, []
    )
    parts = {f"bin/{part}64_8.dll": _vendor(f"{part}64_8.dll", nvidia, cudnn, ["part"]) for part in _CUDNN_PARTS}
    parts["bin/cudnn64_8.dll"] = _vendor("cudnn64_8.dll", nvidia, cudnn, ["cudnnCreate"])
    parts["bin/zlibwapi.dll"] = _vendor("zlibwapi.dll", "", (1, 2, 3, 0), ["inflate"])
    nvtx = {"bin/x64/nvToolsExt64_1.dll": _vendor("nvToolsExt64_1.dll", nvidia, (1, 0, 0, 0), ["nvtxRangePushA"])}
    return ExampleBuild(
        version="1.12.0+cu114",
        cuda="11.4",
        lib=lib,
        roots={
            "CUDA/v11.4": _toolkit("11.4", "11.4.4", parts, "cupti64_2021.2.2.dll"),
            "NvToolsExt": nvtx,
        },
        missing=("cudnn64_8.dll", "nvToolsExt64_1.dll"),
        blamed="backend_with_compiler.dll",
    )


def wheel_files(story: ExampleBuild) -> dict[str, bytes]:
    """The members of a story's wheel besides dist-info."""
    version = f"__version__ = '{story.version}'\ncuda = '{story.cuda}'\n"
    files = {"torch/__init__.py": INIT.encode(), "torch/version.py": version.encode()}
    files.update({f"torch/lib/{name}": data for name, data in sorted(story.lib.items())})
    extension = forge_dll(
        "_C.cp311-win_amd64.pyd",
        imports={"torch_python.dll": ["initModule"], "python311.dll": ["PyModule_Create2"]},
        exports=["PyInit__C"],
    )
    files["torch/_C.cp311-win_amd64.pyd"] = extension
    files.update(story.extra)
    return files


def write_wheel(story: ExampleBuild, folder: Path) -> Path:
    """Write a story's wheel, whole and with a correct RECORD."""
    stem = f"torch-{story.version}"
    info = f"{stem}.dist-info"
    members = wheel_files(story)
    members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: torch\nVersion: {story.version}\n".encode()
    members[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: wheelfix-example\nRoot-Is-Purelib: false\nTag: cp311-cp311-win_amd64\n"
    )
    rows = [f"{name},{_digest(data)},{len(data)}" for name, data in members.items()]
    members[f"{info}/RECORD"] = ("\n".join([*rows, f"{info}/RECORD,,"]) + "\n").encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-cp311-cp311-win_amd64.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, data)
    return path


def write_roots(story: ExampleBuild, folder: Path) -> dict[str, Path]:
    """Lay out the vendors' folders of a story; their paths by name."""
    made: dict[str, Path] = {}
    for name, tree in story.roots.items():
        root = folder / name
        for path, data in tree.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        made[name] = root
    return made


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def pack(target: Path) -> None:
    """Write the files of both stories, each below its name, as ``wheelfix demo`` lays them out."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, story in (("cu117", kepler_cu117()), ("cu114", kepler_cu114())):
            write_wheel(story, Path(folder, name, "dist"))
            write_roots(story, Path(folder, name, "roots"))
        for path in sorted(Path(folder).rglob("*.*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), EPOCH)
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    pack(PACKED)
