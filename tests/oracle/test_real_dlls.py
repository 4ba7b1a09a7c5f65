"""Real vendor DLLs, vendored by ``wheelfix repair`` and loaded as torch loads them: 126 before, success after."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from tests.oracle.observe import torch_loads
from tests.oracle.torchcode import loading_code, version_file
from tests.support.tiers import wheel
from tests.support.views import make_view
from tests.support.wheels import build_wheel
from wheelfix.demo.forge import forge_dll
from wheelfix.model import Image

if TYPE_CHECKING:
    from pathlib import Path

    from tests.oracle.wine import Wine

pytestmark = [pytest.mark.real, pytest.mark.wine_x64, pytest.mark.slow]

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
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def member(path: Path, name: str) -> bytes:
    """The bytes of a DLL in a wheel, wherever it lies there."""
    with zipfile.ZipFile(path) as archive:
        return archive.read(next(found for found in archive.namelist() if found.rpartition("/")[2] == name))


def some_exports(data: bytes, count: int = 3) -> list[str]:
    """A few names that a DLL really exports."""
    image = make_view({"a.dll": data}).image("a.dll")
    assert isinstance(image, Image)
    return sorted(image.exports.names)[:count]


def torch_files() -> dict[str, bytes | str]:
    """What makes a wheel a torch: the loading code of a real one, and a version."""
    return {"torch/__init__.py": loading_code(wheel(TORCH)), "torch/version.py": version_file("2.4.0", None)}


@pytest.mark.parametrize("name", VENDORS)
def test_a_vendored_dll_loads(name: str, x64: Wine, tmp_path: Path) -> None:
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


def test_fbgemm_of_torch_2_4_0_fails_as_predicted_and_loads_when_helped(x64: Wine, tmp_path: Path) -> None:
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
    options: list[str | Path] = [
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
    assert isinstance(image, Image)
    return [(needed.dll, needed.symbols) for needed in image.imports]
