"""A small torch: its DLLs import what a builder's torch imports, its Python says what it was built with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.support.wheels import build_wheel
from tools.forge import forge_dll

CU117 = (
    *("cudart64_110.dll", "cublas64_11.dll", "cublasLt64_11.dll", "cufft64_10.dll", "curand64_10.dll"),
    *("nvrtc64_112_0.dll", "cupti64_2022.2.1.dll"),
)
"""What torch_cuda.dll of a build for CUDA 11.7 imports, as far as our toolkits have it."""


def torch_files(imports: Iterable[str] = CU117, cuda: str = "11.7") -> dict[str, bytes | str]:
    """The members of such a wheel, without its dist-info."""
    label = f"2.0.1+cu{cuda.replace('.', '')}"
    return {
        "torch/__init__.py": "import os\n",
        "torch/version.py": f"__version__ = '{label}'\ncuda = '{cuda}'\n",
        "torch/lib/torch_cuda.dll": forge_dll("torch_cuda.dll", imports=[(name, ["f"]) for name in imports]),
    }


def torch_wheel(
    folder: Path, imports: Iterable[str] = CU117, cuda: str = "11.7", more: Mapping[str, bytes | str] | None = None
) -> Path:
    """Such a wheel."""
    label = f"2.0.1+cu{cuda.replace('.', '')}"
    files = {**torch_files(imports, cuda), **(more or {})}
    return build_wheel(folder, "torch", label, files=files)
