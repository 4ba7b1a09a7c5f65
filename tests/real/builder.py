"""A builder's machine: several toolkits, two layouts of oneAPI, conda, cuDNN as zip and as installed, and traps.

Real DLLs of NVIDIA's and Intel's wheels where these are small; forged ones, with versions stated as the vendors state
them, where they are not or where PyPI has none (CUDA 11.4, cuBLAS, cuDNN, MKL).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.real.listing import named
from tests.real.vendors import CUDART, CUPTI, OPENMP, Unpacked, lay_out
from tests.support.environments import lay
from tests.support.nvidia import TOOLKITS, nvidia_dll
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix.pe.image import read_image
from wheelfix.streams.source import FileSource

CUDART_118, CUPTI_118 = named("nvidia_cuda_runtime_cu11", "11.8.89"), named("nvidia_cuda_cupti_cu11", "11.8.87")
CUDART_12 = named("nvidia_cuda_runtime_cu12")
TBB_OLD, TBB_NEW = named("tbb", "2021.13.1"), named("tbb", "2023.2.0")

CUDNN_PARTS = tuple(
    f"cudnn{part}64_8.dll"
    for part in ("", "_ops_infer", "_ops_train", "_cnn_infer", "_cnn_train", "_adv_infer", "_adv_train")
)
MKL_PARTS = tuple(
    f"mkl_{part}.2.dll"
    for part in (
        *("intel_thread", "core", "def", "mc3", "avx2", "avx512"),
        *("vml_def", "vml_mc3", "vml_avx2", "vml_avx512"),
    )
)
NEW_SYMBOL = "mkl_blas_cgemm3m_batch_strided"
"""What the wheel calls, and what MKL has only in the newer of the two releases."""
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 123\n"


@dataclass(frozen=True, slots=True)
class Machinery:
    """The machine: its folders, and for each DLL of the wheel the folder that it has to come from."""

    folder: Path
    roots: tuple[Path, ...]
    expected: Mapping[str, str]
    """DLL name to the beginning of its path below the folder."""


def exports(path: Path, count: int = 3) -> list[str]:
    """A few names that a DLL on disk exports."""
    with FileSource(path) as source:
        image = read_image(source)
    return sorted(image.exports.names)[:count]


def toolkits(unpacked: Unpacked, folder: Path) -> None:
    """CUDA 11.4, 11.7, 11.8 and 12.9 side by side, as NVIDIA's installers leave them."""
    real = {"11.7": (CUDART.file, CUPTI.file), "11.8": (CUDART_118.file, CUPTI_118.file), "12.9": (CUDART_12.file, "")}
    for release in ("11.4", "11.7", "11.8", "12.9"):
        root = folder / "CUDA" / f"v{release}"
        cudart, cupti = real.get(release, ("", ""))
        lay_out(root / "bin", unpacked.take(cudart) if cudart else {})  # with cudart32_110.dll, for x86
        lay_out(root / "extras/CUPTI/lib64", unpacked.take(cupti) if cupti else {})
        absent = {name: version for name, version in TOOLKITS[release].items() if not (root / "bin" / name).exists()}
        lay(root, {f"bin/{name}": nvidia_dll(name, version) for name, version in absent.items()})
        lay(root, {"version.json": json.dumps({"cuda": {"name": "CUDA SDK", "version": f"{release}.0"}})})
    # An older cuDNN that somebody copied into the newest toolkit of the major.
    lay(folder / "CUDA/v11.8/bin", {name: cudnn(name, (8, 7, 0, 84)) for name in CUDNN_PARTS})


def cudnn(name: str, version: tuple[int, int, int, int]) -> bytes:
    """A part of cuDNN."""
    return forge_dll(name, exports=("f",), version=version)


def cudnn_folders(folder: Path) -> None:
    """CuDNN 8.9.7 as unpacked zips for CUDA 11 and 12, cuDNN 9 as its installer leaves it, and a clone without LFS."""
    for major in (11, 12):
        archive = folder / f"cudnn-windows-x86_64-8.9.7.29_cuda{major}-archive"
        lay(archive / "bin", {name: cudnn(name, (8, 9, 7, 29)) for name in CUDNN_PARTS})
        # The same release for two majors differs in its bytes alone.
        lay(archive / "bin", {"cudnn64_8.dll": cudnn("cudnn64_8.dll", (8, 9, 7, 29)) + bytes(major)})
    for cuda in ("11.8", "12.6"):
        lay(folder / "CUDNN/v9.4" / "bin" / cuda, {"cudnn64_9.dll": cudnn("cudnn64_9.dll", (9, 4, 0, 58))})
    lay(folder / "clone", dict.fromkeys(CUDNN_PARTS, POINTER))


def mkl(version: tuple[int, int, int, int], symbols: tuple[str, ...]) -> dict[str, bytes]:
    """MKL of one release."""
    return {name: forge_dll(name, exports=(*symbols, f"of_{version[0]}"), version=version) for name in MKL_PARTS}


def oneapi(unpacked: Unpacked, folder: Path) -> None:
    """OneAPI in the layout up to 2023 and in that from 2024 on."""
    old, new = folder / "oneAPI-2023", folder / "oneAPI"
    openmp = unpacked.take(OPENMP.file, ["libiomp5md.dll"])
    lay_out(old / "compiler/2023.2.0/windows/redist/intel64_win/compiler", openmp)
    lay_out(old / "tbb/2021.13.1/redist/intel64/vc14", unpacked.take(TBB_OLD.file, ["tbb12.dll", "tbbmalloc.dll"]))
    lay(old / "mkl/2023.2.0/redist/intel64", mkl((2023, 2, 1, 0), ("f",)))
    lay_out(new / "tbb/2023.2/bin", unpacked.take(TBB_NEW.file, ["tbb12.dll", "tbbmalloc.dll"]))
    lay(new / "mkl/2025.3/bin", mkl((2025, 3, 1, 0), ("f", NEW_SYMBOL)))


def others(folder: Path) -> None:
    """A conda environment, vcpkg with its debug half, zlib for two processors, and NVTX."""
    lay(
        folder / "conda",
        {
            "conda-meta/history": "",
            # llvm-openmp's, which only forwards
            "Library/bin/libiomp5md.dll": "forwards omp_get_num_threads to libomp.omp_get_num_threads",
            "Library/bin/libomp.dll": "exports omp_get_num_threads",
            "Library/bin/uv.dll": "version 1.44.2.0",
        },
    )
    lay(folder / "vcpkg/debug/bin", {"uv.dll": "imports vcruntime140d.dll:memcpy; version 1.48.0.0"})
    lay(folder / "zlib/dll_x86", {"zlibwapi.dll": "for x86"})
    lay(folder / "zlib/dll_x64", {"zlibwapi.dll": ""})
    lay(folder / "NvToolsExt/bin/x64", {"nvToolsExt64_1.dll": ""})


ROOTS = (
    *("CUDA/v11.8", "CUDA/v11.4", "CUDA/v12.9", "CUDA/v11.7"),
    *("cudnn-windows-x86_64-8.9.7.29_cuda12-archive", "clone", "cudnn-windows-x86_64-8.9.7.29_cuda11-archive"),
    *("CUDNN/v9.4", "oneAPI-2023", "oneAPI", "conda", "vcpkg/debug/bin", "zlib/dll_x86", "zlib/dll_x64", "NvToolsExt"),
)


def machine(unpacked: Unpacked, folder: Path) -> Machinery:
    """Lay out the machine below a folder."""
    toolkits(unpacked, folder)
    cudnn_folders(folder)
    oneapi(unpacked, folder)
    others(folder)
    expected = dict.fromkeys(TOOLKITS["11.7"], "CUDA/v11.7/bin")
    expected |= dict.fromkeys(("cupti64_2022.2.1.dll", "nvperf_host.dll"), "CUDA/v11.7/extras/CUPTI/lib64")
    expected |= dict.fromkeys(CUDNN_PARTS, "cudnn-windows-x86_64-8.9.7.29_cuda11-archive/bin")
    expected |= dict.fromkeys(MKL_PARTS, "oneAPI/mkl/2025.3/bin")
    expected["libiomp5md.dll"] = "oneAPI-2023/compiler/2023.2.0"
    expected["tbb12.dll"] = "oneAPI/tbb/2023.2/bin"
    expected["uv.dll"] = "conda/Library/bin"
    expected["zlibwapi.dll"] = "zlib/dll_x64"
    expected["nvToolsExt64_1.dll"] = "NvToolsExt/bin/x64"
    return Machinery(folder, tuple(folder / root for root in ROOTS), expected)


def wheel(folder: Path, where: Machinery, loading_code: str) -> Path:
    """A torch for CUDA 11.7 that was packed with nothing but its own DLLs."""
    base = where.folder
    real = {
        "cudart64_110.dll": exports(base / "CUDA/v11.7/bin/cudart64_110.dll"),
        "cupti64_2022.2.1.dll": exports(base / "CUDA/v11.7/extras/CUPTI/lib64/cupti64_2022.2.1.dll"),
    }
    forged = ("cublas64_11.dll", "cufft64_10.dll", "curand64_10.dll", "nvrtc64_112_0.dll", "cudnn64_8.dll")
    cuda = {**real, **{name: ["f"] for name in (*forged, "cublasLt64_11.dll", "nvToolsExt64_1.dll")}}
    tbb = exports(base / "oneAPI/tbb/2023.2/bin/tbb12.dll")
    old = set(exports(base / "oneAPI-2023/tbb/2021.13.1/redist/intel64/vc14/tbb12.dll", 10_000))
    cpu = {
        "mkl_intel_thread.2.dll": [NEW_SYMBOL],
        "libiomp5md.dll": ["omp_get_num_threads"],
        "tbb12.dll": [name for name in tbb if name in old],
        "uv.dll": ["f"],
    }
    files = {
        "torch/__init__.py": loading_code,
        "torch/version.py": "__version__ = '2.0.1+cu117'\ncuda = '11.7'\n",
        "torch/lib/torch_cpu.dll": forge_dll("torch_cpu.dll", imports=cpu, exports=("f",)),
        "torch/lib/torch_cuda.dll": forge_dll("torch_cuda.dll", imports={"torch_cpu.dll": ["f"], **cuda}),
    }
    return build_wheel(folder, "torch", "2.0.1+cu117", files=files)
