"""Repairs held to what they promise: each module of the repaired wheel loads alone, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.oracle import builtwheels, takenapart
from tests.oracle.observe import torch_loads
from tests.oracle.takenapart import LAYOUTS, dlls_of, repaired, some_of, take_out
from tests.oracle.torchcode import loading_code, version_file
from tests.support.parts import every, some
from tests.support.tiers import wheel
from tests.support.views import make_view
from tests.support.wheels import build_wheel
from tools.forge import forge_dll

SEEDS = (3, 11, 19)
REAL = (  # one of so many DLLs is taken out
    ("gmpy2-2.3.2-cp311-cp311-win_amd64.whl", 1, "beside"),
    ("shapely-2.2.0-cp311-cp311-win_amd64.whl", 2, "auto"),
    ("psycopg2_binary-2.9.13-cp311-cp311-win_amd64.whl", 1, "libs"),
    ("tables-3.11.1-cp311-abi3-win_amd64.whl", 1, "auto"),
)


@pytest.mark.wine
@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_built_packages_load_after_their_repair(seed, layout, native):
    result = builtwheels.play(native, seed, layout)
    assert not result.failed
    assert result.loaded or result.refused


@pytest.mark.wine_x64
@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("package", every(2, REAL), ids=str)
def test_real_packages_load_after_their_repair(package, x64, python):
    name, share, layout = package
    path = wheel(name)
    result = takenapart.play(x64, path, some_of(dlls_of(path), share), layout, python.folder)
    assert not result.refused
    assert not result.failed
    assert result.loaded


@pytest.mark.wine_x64
@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("layout", some(["beside", "libs"]))
def test_windows_python_imports_a_repaired_package(layout, x64, python, tmp_path):
    path = wheel("gmpy2-2.3.2-cp311-cp311-win_amd64.whl")
    made = repaired(take_out(path, dlls_of(path), tmp_path), layout, tmp_path / "out")
    assert not isinstance(made, str), made
    own = python.copy_to(tmp_path / "Python311")
    with zipfile.ZipFile(made) as archive:
        archive.extractall(own.site_packages)
    done = own.run(["-c", "import gmpy2; print(gmpy2.mpz(2) ** 80)"])
    assert done.output.strip() == str(2**80), done.errors


# ------------------------------------------------------------------------------------------------------------ real dlls
# Real vendor DLLs, vendored by ``wheelfix repair`` and loaded as torch loads them: 126 before, success after.

LIB = "torch/lib"
TORCH = "torch-2.4.0-cp311-cp311-win_amd64.whl"
SMALL = ("asmjit.dll", "c10.dll", "fbgemm.dll", "libiomp5md.dll", "torch_global_deps.dll", "uv.dll")
"""The DLLs of torch that load within a second; torch_cpu.dll takes half a minute under emulation."""
VENDORS = {
    "libiomp5md.dll": "intel_openmp-2023.2.0-py2.py3-none-win_amd64.whl",
    "mkl_sequential.2.dll": "mkl-2023.2.0-py2.py3-none-win_amd64.whl",
    "tbb12.dll": "tbb-2021.13.1-py3-none-win_amd64.whl",
    "cupti64_2022.2.1.dll": "nvidia_cuda_cupti_cu11-11.7.101-py3-none-win_amd64.whl",
}


def wheelfix(*arguments: str | Path) -> dict[str, Any]:
    """Run a command for its JSON."""
    command = [sys.executable, "-m", "wheelfix", *map(str, arguments), "--format", "json", "--no-config"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", stdin=subprocess.DEVNULL)
    assert done.returncode == (0 if arguments[0] == "repair" else done.returncode), done.stderr
    return json.loads(done.stdout)


def member(path: Path, name: str) -> bytes:
    """The bytes of a DLL in a wheel, wherever it lies there."""
    with zipfile.ZipFile(path) as archive:
        return archive.read(next(found for found in archive.namelist() if found.rpartition("/")[2] == name))


def some_exports(data: bytes, count: int = 3) -> list[str]:
    """A few names that a DLL really exports."""
    image = make_view({"a.dll": data}).image("a.dll")
    return sorted(image.exports.names)[:count]


def torch_files() -> dict[str, bytes | str]:
    """What makes a wheel a torch: the loading code of a real one, and a version."""
    return {"torch/__init__.py": loading_code(wheel(TORCH)), "torch/version.py": version_file("2.4.0", None)}


@pytest.mark.real
@pytest.mark.wine_x64
@pytest.mark.slow
@pytest.mark.parametrize("name", VENDORS)
def test_a_vendored_dll_loads(name, x64, tmp_path):
    source = wheel(VENDORS[name])
    symbols = some_exports(member(source, name))
    needer = forge_dll("aoti_custom_ops.dll", imports={name: symbols})
    broken = build_wheel(
        tmp_path / "dist", "torch", "2.4.0", files={**torch_files(), f"{LIB}/aoti_custom_ops.dll": needer}
    )

    assert torch_loads(x64, broken, tmp_path / "before") == {"aoti_custom_ops.dll": 126}
    failure = wheelfix("scan", broken)["wheels"][0]["first_failure"]
    assert (failure["code"], failure["chain"]) == (126, ["aoti_custom_ops.dll", name])

    # Without companions, because MKL's kernels are half a gigabyte and the loader does not ask for them.
    wheelfix("repair", broken, "--root", source, "--no-discover", "--companions", "none", "-w", tmp_path / "out")
    codes = torch_loads(x64, tmp_path / "out" / broken.name, tmp_path / "after")
    assert name in codes
    assert set(codes.values()) == {0}


@pytest.mark.real
@pytest.mark.wine_x64
@pytest.mark.slow
def test_fbgemm_of_torch_2_4_0_fails_as_predicted_and_loads_when_helped(x64, tmp_path):
    """The wheel of 2.4.0 forgot ``libomp140.x86_64.dll``, which only machines with Visual Studio have."""
    real = wheel(TORCH)
    parts = {f"{LIB}/{name}": member(real, name) for name in SMALL}
    broken = build_wheel(tmp_path / "dist", "torch", "2.4.0", files={**torch_files(), **parts})

    codes = torch_loads(x64, broken, tmp_path / "before")
    failure = wheelfix("scan", broken)["wheels"][0]["first_failure"]
    assert failure["chain"] == ["fbgemm.dll", "libomp140.x86_64.dll"]
    assert {name: code for name, code in codes.items() if code} == {"fbgemm.dll": failure["code"]}

    root = tmp_path / "root"
    root.mkdir()
    wanted = next(needed for needed in imports_of(parts[f"{LIB}/fbgemm.dll"]) if needed[0].startswith("libomp140"))
    (root / wanted[0]).write_bytes(forge_dll(wanted[0], exports=wanted[1]))
    # Microsoft does not let anybody pass it on, so it is vendored only on request.
    options = [
        "--root",
        root,
        "--no-discover",
        "--include",
        "libomp140.x86_64.dll",
        "-w",
        tmp_path / "out",
    ]
    wheelfix("repair", broken, *options)
    codes = torch_loads(x64, tmp_path / "out" / broken.name, tmp_path / "after")
    assert "libomp140.x86_64.dll" in codes
    assert set(codes.values()) == {0}


def imports_of(data: bytes) -> list[tuple[str, tuple[str | int, ...]]]:
    """What a DLL imports, and from whom."""
    image = make_view({"a.dll": data}).image("a.dll")
    return [(needed.dll, needed.symbols) for needed in image.imports]
