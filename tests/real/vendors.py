"""The vendors' own DLLs, out of their wheels on PyPI, laid out as their installers do it."""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from tests.real.listing import named
from tests.support.tiers import wheel

MKL, OPENMP = named("mkl", "2025.3.0"), named("intel_openmp", "2023.2.0")
CUPTI, CUDART = named("nvidia_cuda_cupti_cu11", "11.7.101"), named("nvidia_cuda_runtime_cu11", "11.7.99")
CUDNN, CUPY = named("nvidia_cudnn_cu11"), named("cupy_cuda11x")
MKL_IN_USE = (
    *("mkl_intel_thread", "mkl_core", "mkl_def", "mkl_mc3", "mkl_avx2", "mkl_avx512"),
    *("mkl_vml_def", "mkl_vml_mc3", "mkl_vml_avx2", "mkl_vml_avx512", "mkl_vml_cmpt"),
)
"""What one who multiplies matrices with Intel's threads uses of MKL 2025."""


class Unpacked:
    """DLLs taken out of wheels once, and linked to wherever a test wants them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, listed_file: str, patterns: Iterable[str] = ("*.dll",)) -> dict[str, Path]:
        """The DLLs of a wheel whose names match, by name."""
        wanted = tuple(patterns)
        place = self.folder / listed_file
        place.mkdir(parents=True, exist_ok=True)
        found = {}
        with zipfile.ZipFile(wheel(listed_file)) as archive:
            for info in archive.infolist():
                name = PurePosixPath(info.filename).name
                if name.endswith(".dll") and any(fnmatch.fnmatchcase(name, pattern) for pattern in wanted):
                    found[name] = place / name
                    if not found[name].exists():
                        with archive.open(info) as packed, found[name].open("wb") as file:
                            shutil.copyfileobj(packed, file, 1 << 20)
        return found


def lay_out(folder: Path, files: Mapping[str, Path]) -> Path:
    """Put files below a folder, by POSIX path; as links, because they are large."""
    for inside, source in files.items():
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)
    return folder


def mkl(unpacked: Unpacked) -> dict[str, Path]:
    """MKL as far as it is used, and some of the rest, which must stay behind: BLACS, another threading layer."""
    unused = ("mkl_blacs_msmpi_lp64", "mkl_sequential", "mkl_rt", "libimalloc")
    return unpacked.take(MKL.file, [f"{name}*.dll" for name in (*MKL_IN_USE, *unused)])


def cuda_toolkit(unpacked: Unpacked, folder: Path) -> Path:
    """CUDA 11.7 as NVIDIA's installer leaves it."""
    files = {f"bin/{name}": path for name, path in unpacked.take(CUDART.file).items()}
    files |= {f"extras/CUPTI/lib64/{name}": path for name, path in unpacked.take(CUPTI.file).items()}
    lay_out(folder, files)
    (folder / "version.json").write_text(json.dumps({"cuda": {"name": "CUDA SDK", "version": "11.7.1"}}))
    return folder


def oneapi_by_component(unpacked: Unpacked, folder: Path) -> Path:
    """OneAPI up to 2023: each component with a deep folder of its own."""
    openmp = unpacked.take(OPENMP.file, ["libiomp*.dll"])
    runtime = "compiler/2023.2.0/windows/redist/intel64_win/compiler"
    files = {f"mkl/2023.2.0/redist/intel64/{name}": path for name, path in mkl(unpacked).items()}
    return lay_out(folder, files | {f"{runtime}/{name}": path for name, path in openmp.items()})


def oneapi_with_bin(unpacked: Unpacked, folder: Path) -> Path:
    """OneAPI from 2024 on: ``bin`` in each component."""
    openmp = unpacked.take(OPENMP.file, ["libiomp*.dll"])
    files = {f"mkl/2025.3/bin/{name}": path for name, path in mkl(unpacked).items()}
    return lay_out(folder, files | {f"compiler/2025.3/bin/{name}": path for name, path in openmp.items()})


def conda_environment(unpacked: Unpacked, folder: Path) -> Path:
    """A conda environment that has it all in ``Library/bin``, with the records of who brought what."""
    packages = {
        ("mkl", "2025.3.0"): mkl(unpacked),
        ("intel-openmp", "2023.2.0"): unpacked.take(OPENMP.file, ["libiomp*.dll"]),
        ("cuda-cupti", "11.7.101"): unpacked.take(CUPTI.file),
    }
    (folder / "conda-meta").mkdir(parents=True)
    for (name, version), files in packages.items():
        lay_out(folder, {f"Library/bin/{dll}": path for dll, path in files.items()})
        record = {"name": name, "version": version, "build": "0", "files": [f"Library/bin/{dll}" for dll in files]}
        (folder / "conda-meta" / f"{name}-{version}-0.json").write_text(json.dumps(record))
    return folder
