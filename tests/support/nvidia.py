"""Small DLLs that state their versions as NVIDIA's do, for toolkits of several releases."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tools.forge import forge_dll
from wheelfix.model import Symbol

TOOLKITS: dict[str, dict[str, str]] = {
    "11.4": {
        "cudart64_110.dll": "11.4.108",
        "cublas64_11.dll": "11.6.5.2",
        "cublasLt64_11.dll": "11.6.5.2",
        "cufft64_10.dll": "10.5.2.100",
        "curand64_10.dll": "10.2.5.120",
        "nvrtc64_112_0.dll": "11.4.120",
        "nvrtc-builtins64_114.dll": "",
    },
    "11.7": {
        "cudart64_110.dll": "11.7.99",
        "cublas64_11.dll": "11.10.3.66",
        "cublasLt64_11.dll": "11.10.3.66",
        "cufft64_10.dll": "10.7.2.91",
        "curand64_10.dll": "10.2.10.91",
        "nvrtc64_112_0.dll": "11.7.99",
        "nvrtc-builtins64_117.dll": "",
    },
    "11.8": {
        "cudart64_110.dll": "11.8.89",
        "cublas64_11.dll": "11.11.3.6",
        "cublasLt64_11.dll": "11.11.3.6",
        "cufft64_10.dll": "10.9.0.58",
        "curand64_10.dll": "10.3.0.86",
        "nvrtc64_112_0.dll": "11.8.89",
        "nvrtc-builtins64_118.dll": "",
    },
    "12.1": {
        "cudart64_12.dll": "12.1.105",
        "cublas64_12.dll": "12.1.3.1",
        "cublasLt64_12.dll": "12.1.3.1",
        "cufft64_11.dll": "11.0.2.54",
        "curand64_10.dll": "10.3.2.106",
        "nvrtc64_120_0.dll": "12.1.105",
        "nvrtc-builtins64_121.dll": "",
    },
    "12.9": {
        "cudart64_12.dll": "12.9.79",
        "cublas64_12.dll": "12.9.1.4",
        "cublasLt64_12.dll": "12.9.1.4",
        "cufft64_11.dll": "11.4.1.4",
        "curand64_10.dll": "10.3.10.19",
        "nvrtc64_120_0.dll": "12.9.86",
        "nvrtc-builtins64_129.dll": "",
    },
}
"""DLLs of ``bin`` with the version of the library, by release."""

CUPTI = {"11.4": "cupti64_2021.2.2.dll", "11.7": "cupti64_2022.2.1.dll", "11.8": "cupti64_2022.3.0.dll"}


def nvidia_dll(name: str, version: str, exports: Iterable[Symbol] = ("f",)) -> bytes:
    """A DLL whose version resource is written as NVIDIA writes it; without a version it has no resource."""
    if not version:
        return forge_dll(name, exports=tuple(exports))
    numbers = version.split(".")
    last = int("".join(numbers[:3]))
    product = "NVIDIA CUDA Library"
    if name.startswith("cudart"):
        last, product = int(numbers[0]) * 1000 + int(numbers[1]) * 10, f"NVIDIA CUDA {version} Runtime"
    elif name.startswith("nvrtc"):
        last, product = 9000, f"NVIDIA CUDA {version} NVRTC Library"
    return forge_dll(
        name,
        exports=tuple(exports),
        version=(6, 14, 11, last),
        version_strings={"ProductName": product, "FileDescription": f"NVIDIA CUDA Library, Version {version}"},
    )


def toolkit_files(release: str, *, cupti: bool = True) -> dict[str, bytes]:
    """The DLLs of a toolkit by path below its folder, as NVIDIA's installer leaves them."""
    files = {f"bin/{name}": nvidia_dll(name, version) for name, version in TOOLKITS[release].items()}
    if cupti and release in CUPTI:
        name = CUPTI[release]
        year, minor, patch = map(int, re.findall(r"\d+", name)[1:])
        files[f"extras/CUPTI/lib64/{name}"] = forge_dll(name, exports=("f",), version=(year, minor, patch, 0))
    return files
