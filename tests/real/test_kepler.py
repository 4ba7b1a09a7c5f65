"""The two builds for Kepler cards, repaired with the vendors' real DLLs: broken before, whole after, by every client.

Before, the wheels are those of ``tools.example``, their DLLs forged or compiled; what they import are functions
that the real DLLs export. After, everything that was vendored is NVIDIA's and Intel's own, out of their wheels on PyPI.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from tests.real import vendors
from tests.real.commands import repair, scan
from tests.real.compiled import compile_dll
from tests.real.vendors import CUDART, CUDNN, CUPTI, CUPY, MKL, MKL_IN_USE, OPENMP, Unpacked
from tests.support.clients import check_with_clients
from tests.support.parts import some
from tests.support.tiers import wheel, wheel_at_hand
from tests.support.wheels import library
from tools.example import ExampleBuild, kepler_cu114, kepler_cu117, write_roots, write_wheel
from wheelfix.pe.image import read_image
from wheelfix.streams.source import MemorySource

pytestmark = pytest.mark.real

LIB = "torch/lib/"
FIRST = {f"{name}.2.dll" for name in MKL_IN_USE} | {
    "libiomp5md.dll",
    "cupti64_2022.2.1.dll",
    "nvperf_host.dll",
}
CUDNN_PARTS = {f"cudnn_{part}_{use}64_8.dll" for part in ("ops", "cnn", "adv") for use in ("infer", "train")}
OF_WINDOWS = {
    *("kernel32.dll", "advapi32.dll", "user32.dll", "gdi32.dll", "ole32.dll", "oleaut32.dll", "ws2_32.dll"),
    *("bcrypt.dll", "setupapi.dll", "version.dll"),
}
OF_PYTHON_AND_RUNTIME = {"python311.dll", "vcruntime140.dll", "vcruntime140_1.dll", "msvcp140.dll"}


# ------------------------------------------------------------------------------------------------- the two wheels


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    return Unpacked(tmp_path_factory.mktemp("vendors"))


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory, unpacked: Unpacked) -> dict[str, Path]:
    """The first build, forged and compiled, with NVIDIA's own runtime in it; and the second."""
    cudart = unpacked.take(CUDART.file)["cudart64_110.dll"].read_bytes()
    story = kepler_cu117()
    story = replace(story, lib={**story.lib, "cudart64_110.dll": cudart})
    folder = tmp_path_factory.mktemp("kepler")
    return {
        "forged": write_wheel(story, folder / "forged"),
        "compiled": write_wheel(compiled(story, folder / "objects", keep={"cudart64_110.dll"}), folder / "compiled"),
        "second": write_wheel(kepler_cu114(), folder / "second"),
    }


def compiled(story: ExampleBuild, folder: Path, keep: set[str]) -> ExampleBuild:
    """The same story with DLLs that a compiler and a linker made: the same functions wanted and offered."""
    lib = dict(story.lib)
    for name, data in story.lib.items():
        image = read_image(MemorySource(data))
        if name not in keep:
            own = {item.dll: [str(symbol) for symbol in item.symbols] for item in image.imports}
            imports = {dll: symbols for dll, symbols in own.items() if "VCRUNTIME" not in dll and "-crt-" not in dll}
            lib[name] = compile_dll(folder, name, imports, sorted(image.exports.names))
    return replace(story, lib=lib)


def roots(files: Sequence[str]) -> list[str | Path]:
    """``--root`` with each of some wheels of the cache."""
    return [part for file in files for part in ("--root", wheel(file))]


# ------------------------------------------------------------------------------------------- looking for ourselves


def packed_bytes(path: Path, name: str) -> bytes:
    """The compressed bytes of a member as they lie in the archive."""
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        info = archive.getinfo(name)
        file.seek(info.header_offset + 26)
        lengths = struct.unpack("<HH", file.read(4))
        file.seek(info.header_offset + 30 + sum(lengths))
        return file.read(info.compress_size)


def assert_closed(path: Path, folder: Path) -> None:
    """With LIEF and nothing of ours: what a DLL of torch/lib imports is there and exports the wanted functions."""
    lief = pytest.importorskip("lief")
    config = lief.PE.ParserConfig()
    for part in ("exceptions", "reloc", "rsrc", "signature", "arm64x_binary"):
        setattr(config, f"parse_{part}", False)
    images = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith(LIB) and name.endswith(".dll"):
                archive.extract(name, folder)
                images[PurePosixPath(name).name.lower()] = lief.PE.parse(str(folder / name), config)
    offered = {name: image.get_export().entries if image.has_exports else () for name, image in images.items()}
    exported = {name: {str(entry.name) for entry in entries} for name, entries in offered.items()}
    for name, image in images.items():
        for table in image.imports:
            other = str(table.name).lower()
            if other in images:
                wanted = {str(entry.name) for entry in table.entries if not entry.is_ordinal}
                assert wanted <= exported[other], f"{name} wants of {other} what it has not"
            else:
                known = other.startswith("api-ms-win-") or other in OF_WINDOWS | OF_PYTHON_AND_RUNTIME
                assert known, f"{name} imports {other}"


# ------------------------------------------------------------------------ torch 2.7.1, CUDA 11.7: MKL, OpenMP, CUPTI


@pytest.mark.parametrize("make", ["forged", "compiled"])
def test_the_first_build_before(make, wheels, tmp_path):
    status, report = scan(wheels[make], tmp_path)
    assert (status, report["verdict"]) == (1, "broken")
    imported = {item["name"]: item["needed_by"] for item in report["missing"] if item["kind"] == "import"}
    assert imported == {
        "mkl_intel_thread.2.dll": ["torch/lib/torch_cpu.dll"],
        "libiomp5md.dll": ["torch/lib/torch_cpu.dll"],
        "cupti64_2022.2.1.dll": ["torch/lib/torch_cuda.dll"],
    }
    assert all(item["required"] and item["providers"] for item in report["missing"] if item["kind"] == "import")
    along = {item["name"] for item in report["missing"] if item["kind"] == "companion" and item["required"]}
    assert along == {"mkl_core.2.dll"}
    failure = report["first_failure"]
    assert failure["chain"][0] == "aoti_custom_ops.dll"
    assert failure["chain"][-2] == "torch_cpu.dll"
    assert failure["message"] == (
        "OSError: [WinError 126] The specified module could not be found. "
        'Error loading "…\\torch\\lib\\aoti_custom_ops.dll" or one of its dependencies.'
    )


@pytest.mark.parametrize("layout", some(["oneapi_by_component", "oneapi_with_bin"]))
def test_the_first_build_from_toolkits(layout, wheels, unpacked, tmp_path):
    cuda = vendors.cuda_toolkit(unpacked, tmp_path / "CUDA" / "v11.7")
    oneapi = getattr(vendors, layout)(unpacked, tmp_path / "oneAPI")
    done = repair(wheels["forged"], tmp_path, "--cuda", cuda, "--oneapi", oneapi, "--compression", "store")
    assert done.names == FIRST
    status, report = scan(done.path, tmp_path, "--verify")
    assert (status, report["first_failure"]) == (0, None)
    assert report["missing"] == []


def test_the_first_build_from_conda(wheels, unpacked, tmp_path):
    conda = vendors.conda_environment(unpacked, tmp_path / "envs" / "build")
    done = repair(wheels["forged"], tmp_path, "--conda", conda, "--compression", "store")
    assert done.names == FIRST
    origins = {PurePosixPath(item["target"]).name: item["source"]["origin"] for item in done.plan["additions"]}
    assert origins["mkl_core.2.dll"] == "conda package mkl 2025.3.0"
    assert origins["libiomp5md.dll"] == "conda package intel-openmp 2023.2.0"
    assert origins["cupti64_2022.2.1.dll"] == "conda package cuda-cupti 11.7.101"
    assert scan(done.path, tmp_path)[0] == 0


def test_the_first_build_straight_out_of_wheels(wheels, tmp_path):
    """No DLL is unpacked: its compressed bytes go from one archive into the other."""
    done = repair(wheels["compiled"], tmp_path, *roots([MKL.file, OPENMP.file, CUPTI.file]))
    assert done.names == FIRST
    for addition in done.plan["additions"]:
        source = addition["source"]
        assert packed_bytes(done.path, addition["target"]) == packed_bytes(Path(source["path"]), source["member"])
    status, report = scan(done.path, tmp_path, "--verify")
    assert (status, report["first_failure"]) == (0, None)
    assert_closed(done.path, tmp_path / "closed")


@pytest.mark.long
def test_installers_take_the_first_build_and_a_second_repair_changes_nothing(wheels, tmp_path):
    done = repair(wheels["compiled"], tmp_path, *roots([MKL.file, OPENMP.file, CUPTI.file]))
    check_with_clients(done.path, tmp_path / "clients")
    again = repair(done.path, tmp_path / "again", *roots([MKL.file, OPENMP.file, CUPTI.file]))
    assert again.path.read_bytes() == done.path.read_bytes()


# ------------------------------------------------------------------------------ torch 1.12, CUDA 11.4: cuDNN, NVTX


@pytest.fixture(scope="session")
def second_roots(tmp_path_factory: pytest.TempPathFactory) -> list[str | Path]:
    """cuDNN and NVTX out of NVIDIA's and CuPy's wheels, which CI does not download; there they are forged."""
    forged = write_roots(kepler_cu114(), tmp_path_factory.mktemp("forged-roots"))
    cudnn = roots([CUDNN.file]) if wheel_at_hand(CUDNN.file) else ["--cuda", forged["CUDA/v11.4"]]
    nvtx = roots([CUPY.file]) if wheel_at_hand(CUPY.file) else ["--root", forged["NvToolsExt"]]
    return [*cudnn, *nvtx, "--root", zlibwapi(tmp_path_factory.mktemp("zlib"))]


def zlibwapi(folder: Path) -> Path:
    """A folder with the DLL that cuDNN 8.3 to 9.1 loads by name, and that no wheel has."""
    (folder / "zlibwapi.dll").write_bytes(library("zlibwapi.dll:inflate"))
    return folder


def test_the_second_build_before(wheels, tmp_path):
    status, report = scan(wheels["second"], tmp_path)
    assert (status, report["verdict"]) == (1, "broken")
    imported = {item["name"]: item["needed_by"] for item in report["missing"] if item["kind"] == "import"}
    assert imported == {
        "cudnn64_8.dll": ["torch/lib/torch_cuda.dll"],
        "nvToolsExt64_1.dll": ["torch/lib/torch_cuda.dll"],
    }
    along = {item["name"] for item in report["missing"] if item["kind"] == "companion" and item["required"]}
    assert along == CUDNN_PARTS | {"zlibwapi.dll"}  # what the repair adds, too
    assert report["first_failure"]["chain"] == ["backend_with_compiler.dll", "torch_cuda.dll", "cudnn64_8.dll"]


def test_the_second_build_after(wheels, second_roots, tmp_path):
    done = repair(wheels["second"], tmp_path, *second_roots)
    assert done.names == CUDNN_PARTS | {"cudnn64_8.dll", "nvToolsExt64_1.dll", "zlibwapi.dll"}
    status, report = scan(done.path, tmp_path)
    assert (status, report["first_failure"]) == (0, None)
    for addition in done.plan["additions"]:
        source = addition["source"]
        if source["member"]:
            assert packed_bytes(done.path, addition["target"]) == packed_bytes(Path(source["path"]), source["member"])


def test_the_second_build_from_a_toolkit_with_cudnn_copied_into_it(wheels, unpacked, tmp_path):
    """People who copy cuDNN by hand copy it into CUDA's bin; what is vendored is all of it, and from there."""
    wheel(CUPY.file)
    cuda = vendors.cuda_toolkit(unpacked, tmp_path / "CUDA" / "v11.7")
    zlibwapi(vendors.lay_out(cuda / "bin", unpacked.take(CUDNN.file)))
    nvtx = vendors.lay_out(tmp_path / "NvToolsExt" / "bin" / "x64", unpacked.take(CUPY.file, ["nvToolsExt*.dll"]))
    done = repair(wheels["second"], tmp_path, "--cuda", cuda, "--root", nvtx.parent.parent, "--compression", "store")
    assert done.names == CUDNN_PARTS | {"cudnn64_8.dll", "nvToolsExt64_1.dll", "zlibwapi.dll"}
    assert scan(done.path, tmp_path)[0] == 0
    assert_closed(done.path, tmp_path / "closed")
