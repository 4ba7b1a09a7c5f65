"""What is measured on: real wheels from the cache or from pip, and wheels made of them here.

Everything that is made is in one temporary folder. What would take long to make again is kept beside the real wheels.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from tools.forge import forge_dll
from wheelfix.archive.changes import WheelChanges
from wheelfix.archive.reader import Archive
from wheelfix.archive.record import Record, record_member
from wheelfix.archive.writer import write_wheel
from wheelfix.pe.image import read_image
from wheelfix.streams.source import InflatedSource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WHEELS = Path(os.environ.get("WHEELFIX_WHEELS") or Path.home() / ".cache" / "wheelfix" / "wheels")
TORCH = "torch-2.7.1-cp311-cp311-win_amd64.whl"
TORCHVISION = "torchvision-0.22.1-cp311-cp311-win_amd64.whl"
TORCHAUDIO = "torchaudio-2.7.1-cp311-cp311-win_amd64.whl"
NUMPY = "numpy-2.2.6-cp311-cp311-win_amd64.whl"
SCIPY = "scipy-1.15.3-cp311-cp311-win_amd64.whl"
WITH_CODE = (
    *(NUMPY, SCIPY, "pyglet-2.1.19-py3-none-any.whl", "blosc2-4.14.1-cp311-abi3-win_amd64.whl"),
    *("wxpython-4.3.2-cp311-cp311-win_amd64.whl", "Kivy-2.3.1-cp311-cp311-win_amd64.whl"),
)
"""Packages with much Python code about DLLs."""
ORDINARY = (
    *("pyzmq-27.3.0-cp311-cp311-win_amd64.whl", "psycopg2_binary-2.9.13-cp311-cp311-win_amd64.whl"),
    *("shapely-2.2.0-cp311-cp311-win_amd64.whl", "sentencepiece-0.2.3-cp311-cp311-win_amd64.whl"),
    "lxml-6.1.3-cp311-cp311-win_amd64.whl",
)
"""Small wheels in which nothing is wrong."""
OPENMP = "intel_openmp-2023.2.0-py2.py3-none-win_amd64.whl"
CUDNN = "nvidia_cudnn_cu11-8.9.4.25-py3-none-win_amd64.whl"
CUBLAS = "nvidia_cublas_cu11-11.10.3.66-py3-none-win_amd64.whl"
CUSPARSE = "nvidia_cusparse_cu11-11.7.5.86-py3-none-win_amd64.whl"
MKL = "mkl-2023.2.0-py2.py3-none-win_amd64.whl"
MKL_PARTS = [
    *("rt", "core", "intel_thread", "sequential", "tbb_thread"),
    *(cpu for kind in ("avx", "avx2", "avx512", "def", "mc", "mc3") for cpu in (kind, f"vml_{kind}")),
    "vml_cmpt",
]
IOMP = "torch/lib/libiomp5md.dll"
BIG_MEMBER = 1_400_000_000
DATE = (2024, 1, 1, 0, 0, 0)


class Material:
    """Makes what a job needs when it first asks for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._made: dict[str, Path] = {}

    def _once(self, name: str, make: Callable[[Path], None]) -> Path:
        if name not in self._made:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            make(path)
            self._made[name] = path
        return self._made[name]

    def wheel(self, name: str) -> Path:
        """Return a real wheel, downloaded with pip if the cache does not have it."""
        path = WHEELS / name
        if not path.is_file():
            _download(name, path)
        return path

    # --------------------------------------------------------------------------------------------- made of torch

    def torch_without_openmp(self) -> Path:
        """Return torch without its libiomp5md.dll, in a folder of its own."""
        return self._once(f"lacking/{TORCH}", lambda path: _without(self.wheel(TORCH), path))

    def openmp_folder(self) -> Path:
        """Return a folder with libiomp5md.dll, for tools that cannot read it out of a wheel."""
        return self._once("openmp", lambda path: _extract(self.wheel(OPENMP), path, "/libiomp5md.dll"))

    def lock(self, name: str, wheel: Path, root: Path, wheelfix: str) -> Path:
        """Return the lock of a repair of the wheel."""

        def make(path: Path) -> None:
            command = [wheelfix, "repair", str(wheel), "--root", str(root), "--no-discover", "--trust-record", "-q"]
            target = tempfile.mkdtemp(dir=self.folder)
            subprocess.run([*command, "-w", target, "--lock", str(path)], check=True)
            shutil.rmtree(target)

        return self._once(name, make)

    def big(self) -> Path:
        """Return a wheel of three gigabytes: torch without OpenMP, and two members of 1.4 GB like torch_cuda.dll."""
        return self._once(f"big/{TORCH}", lambda path: _enlarge(self.torch_without_openmp(), path))

    def prefixes(self, wheel: Path) -> Path:
        """Return the list of how far each DLL of a wheel must be inflated for its imports and exports."""
        return self._once(f"prefixes-{wheel.name}.json", lambda path: _measure_prefixes(wheel, path))

    # ------------------------------------------------------------------------------------------------ small and odd

    def small(self) -> Path:
        """Return a wheel of a hundred small members without libiomp5md.dll."""
        return self._once(
            "small/handful-1.0-cp311-cp311-win_amd64.whl", lambda path: write_plain(path, _handful(), "handful")
        )

    def needs_cuda(self, times: int = 0) -> Path:
        """Return a small wheel that needs cuBLAS and cuSPARSE; with ``times``, a larger one that needs OpenMP."""
        if times:
            name = f"growing-{times}/growing-1.0-cp311-cp311-win_amd64.whl"
            return self._once(name, lambda path: write_plain(path, _growing(times), "growing", store=True))
        name = "cuda/needscuda-1.0-cp311-cp311-win_amd64.whl"
        wanted = {"cublas64_11.dll": ["cublasCreate_v2"], "cusparse64_11.dll": ["cusparseCreate"]}
        files = {"needscuda/__init__.py": b"", "needscuda/_core.pyd": forge_dll("_core.pyd", imports=wanted)}
        return self._once(name, lambda path: write_plain(path, files, "needscuda"))

    def needs_mkl(self) -> Path:
        """Return a small wheel that needs oneMKL."""
        files = {
            "needsmkl/__init__.py": b"",
            "needsmkl/_core.pyd": forge_dll("_core.pyd", imports={"mkl_rt.2.dll": ["cblas_dgemm"]}),
        }
        return self._once(
            "mkl/needsmkl-1.0-cp311-cp311-win_amd64.whl", lambda path: write_plain(path, files, "needsmkl")
        )

    def mkl_folder(self) -> Path:
        """Return a folder with the DLLs of oneMKL that go together, 597 MB."""
        names = [f"/mkl_{part}.2.dll" for part in MKL_PARTS]
        return self._once("mkl-dlls", lambda path: _extract(self.wheel(MKL), path, *names))

    def cuda_folder(self) -> Path:
        """Return a folder with 727 MB of real CUDA DLLs."""

        def make(path: Path) -> None:
            _extract(self.wheel(CUBLAS), path, "/cublas64_11.dll", "/cublasLt64_11.dll")
            _extract(self.wheel(CUSPARSE), path, "/cusparse64_11.dll")

        return self._once("cuda-dlls", make)


def _download(name: str, path: Path) -> None:
    project, version, python, _, platform = name.removesuffix(".whl").split("-")
    number = python[2:].replace("3", "3.", 1) if python.startswith("cp") else "3.11"
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--platform", platform, "--python-version", number, "--dest", str(path.parent)]
    subprocess.run([*command, f"{project}=={version}"], check=True)


def _without(wheel: Path, path: Path) -> None:
    with Archive.open(wheel) as archive:
        own, gone = record_member(archive), archive.find(IOMP)
        assert own is not None
        assert gone is not None
        rows = tuple(row for row in Record.parse(archive.read(own)).rows if row.path != IOMP and row.digest)
        dist_info = own.name.removesuffix("/RECORD")
        write_wheel(archive, path, WheelChanges(dist_info=dist_info, drop=frozenset({gone}), rows=rows))


def _extract(wheel: Path, folder: Path, *endings: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if member.filename.endswith(endings):
                with archive.open(member) as source, (folder / member.filename.rpartition("/")[2]).open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)


def _enlarge(wheel: Path, path: Path) -> None:
    """Append two large members, one stored and one deflated, and a RECORD with their rows."""
    kept = path.with_suffix(".part")
    with Archive.open(wheel) as archive:
        own = record_member(archive)
        assert own is not None
        record, name = archive.read(own), own.name
        edition = WheelChanges(dist_info=name.removesuffix("/RECORD"), rows=Record.parse(record).rows)
        write_wheel(archive, kept, edition)
    block = random.Random(8).randbytes(64 << 20)
    rows = b""
    with zipfile.ZipFile(kept, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for member, method in (("torch_cuda.dll", zipfile.ZIP_STORED), ("torch_cuda_linalg.dll", zipfile.ZIP_DEFLATED)):
            info = zipfile.ZipInfo(f"torch/lib/{member}", DATE)
            info.compress_type, info.file_size = method, BIG_MEMBER
            head = forge_dll(member, imports={"c10.dll": [], "KERNEL32.dll": ["Sleep"]})
            digest = hashlib.sha256()
            with out.open(info, "w") as target:
                at = 0
                while at < BIG_MEMBER:
                    piece = head + block[len(head) :] if not at else block
                    piece = piece[: BIG_MEMBER - at]
                    digest.update(piece)
                    target.write(piece)
                    at += len(piece)
            rows += f"torch/lib/{member},sha256={_spelled(digest.digest())},{BIG_MEMBER}\n".encode()
    # The old RECORD is in the way of the new one; the writer of wheels puts it right.
    with Archive.open(kept) as archive:
        edition = WheelChanges(dist_info=name.removesuffix("/RECORD"), rows=Record.parse(record + rows).rows)
        write_wheel(archive, path, edition)
    kept.unlink()


def _measure_prefixes(wheel: Path, path: Path) -> None:
    members = []
    with Archive.open(wheel) as archive:
        for member in archive.members:
            if member.name.lower().endswith((".dll", ".pyd", ".exe")) and member.method == zipfile.ZIP_DEFLATED:
                source = archive.source(member)
                read_image(source)
                assert isinstance(source, InflatedSource)
                members.append([*archive.data_span(member), source.inflated])
    members.sort(key=lambda entry: -entry[2])
    path.write_text(json.dumps({"wheel": str(wheel), "members": members}), encoding="utf-8")


def _handful() -> dict[str, bytes]:
    files = {f"handful/part{n:02}.py": f"answer = {n}\n".encode() * 40 for n in range(96)}
    needs = {"libiomp5md.dll": ["omp_get_max_threads"], "KERNEL32.dll": ["Sleep"]}
    return {"handful/__init__.py": b"", "handful/_core.pyd": forge_dll("_core.pyd", imports=needs), **files}


def _growing(times: int) -> dict[str, bytes]:
    """Unchanged members of 64 MB each, so many times a hundred of small ones, and a need of one small DLL."""
    block = random.Random(times).randbytes(64 << 20)
    files = {f"growing/data{n}.bin": block for n in range(times)}
    files |= {f"growing/part{n:05}.py": b"answer = 42\n" for n in range(100 * times)}
    needs = {"libiomp5md.dll": ["omp_get_max_threads"]}
    return {"growing/__init__.py": b"", "growing/_core.pyd": forge_dll("_core.pyd", imports=needs), **files}


def write_plain(path: Path, files: Mapping[str, bytes], name: str, *, store: bool = False) -> None:
    """Write a small valid wheel for CPython 3.11 on Windows."""
    folder = f"{name}-1.0.dist-info"
    files = {
        **files,
        f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode(),
        f"{folder}/WHEEL": b"Wheel-Version: 1.0\nGenerator: benchmarks\n"
        b"Root-Is-Purelib: false\nTag: cp311-cp311-win_amd64\n",
    }
    rows = [f"{file},sha256={_spelled(hashlib.sha256(data).digest())},{len(data)}" for file, data in files.items()]
    record = "\n".join([*rows, f"{folder}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if store else zipfile.ZIP_DEFLATED) as out:
        for file, data in {**files, f"{folder}/RECORD": record}.items():
            info = zipfile.ZipInfo(file, DATE)
            info.compress_type = zipfile.ZIP_STORED if store else zipfile.ZIP_DEFLATED
            info.external_attr = 0o100644 << 16
            out.writestr(info, data)


def _spelled(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")
