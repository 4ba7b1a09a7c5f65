"""``--driver``: does this driver run the wheel's CUDA, and compile its PTX?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import wheelfix
from tests.pe.test_gpucode import PTX, bundle, container, entry
from tests.support.gpucode import gpu_dll
from tests.support.wheels import build_wheel
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.base.values import replace
from wheelfix.cli.main import main
from wheelfix.demo.forge import forge_dll
from wheelfix.model import Severity

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = ScanOptions(roots=RootOptions(discover=False))
CODES = {"WF413", "WF414", "WF415", "WF416", "WF417", "WF501", "WF502", "WF507"}


def torch(folder: Path, version: str, cuda: bytes = b"") -> Path:
    data = cuda or gpu_dll("torch_cuda.dll", "sm_86")
    label = version.partition("+")[2].removeprefix("cu")
    files = {
        "torch/__init__.py": "",
        "torch/version.py": f"cuda = '{label[:-1]}.{label[-1]}'\n",
        "torch/lib/torch_cuda.dll": data,
    }
    return build_wheel(folder, "torch", version, files=files)


def found(wheel: Path, **options: object) -> dict[str, str]:
    report = wheelfix.scan(wheel, replace(OPTIONS, **options))
    return {item.code: item.message for item in report.findings if item.code in CODES}


@pytest.mark.parametrize(
    ("version", "driver", "code", "said"),
    [
        ("2.4.0+cu124", "551.86", "WF415", "driver 551.86 runs CUDA 12.4"),
        ("2.7.0+cu128", "551.86", "WF415", "minor version compatibility"),
        ("2.7.0+cu128", "572.16", "WF415", "driver 572.16 runs CUDA 12.8"),
        ("2.7.0+cu126", "551.86", "WF415", "only PTX of CUDA 12.4 and before"),
        ("2.7.0+cu128", "566.36", "WF415", "only PTX of CUDA 12.7 and before"),
        ("2.9.0+cu130", "580.88", "WF415", "driver 580.88 runs CUDA 13.0"),
        ("2.12.0+cu134", "581.57", "WF415", "only PTX of CUDA 13.0 and before"),
        ("2.9.0+cu130", "577.00", "WF414", "CUDA 13.0 needs driver 580 or later"),
        ("2.7.0+cu128", "526.98", "WF414", "needs driver 527.41 or later"),
        ("2.9.0+cu130", "551.86", "WF414", "CUDA 13.0 needs driver 580 or later"),
        ("2.0.1+cu118", "470.05", "WF415", "only PTX of CUDA 11.4 and before"),
    ],
)
def test_the_driver_and_the_release(tmp_path: Path, version: str, driver: str, code: str, said: str) -> None:
    answers = found(torch(tmp_path, version), driver=driver)
    assert list(answers) == [code]
    assert said in answers[code]


def test_without_the_question_there_is_no_answer(tmp_path: Path) -> None:
    assert found(torch(tmp_path, "2.9.0+cu130")) == {}


def test_a_wheel_without_cuda_says_so(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path, "pkg", "1.0", files={"pkg/x.dll": forge_dll("x.dll", exports=["f"])})
    assert "no CUDA release" in found(wheel, driver="551.86")["WF415"]


def test_ptx_that_the_driver_does_not_compile(tmp_path: Path) -> None:
    """PTX 8.7 came with CUDA 12.8: driver 551 runs the release, but not this code."""
    only_ptx = forge_dll(
        "torch_cuda.dll", exports=["f"], sections={".nv_fatb": container(entry(PTX, 120, form=(8, 7)))}
    )
    wheel = torch(tmp_path, "2.7.0+cu128", only_ptx)
    assert "driver 551.86 refuses it" in found(wheel, driver="551.86", gpu="sm_120")["WF416"]
    assert "WF416" not in found(wheel, driver="572.16", gpu="sm_120")


@pytest.mark.parametrize(
    ("card", "driver", "said"),
    [
        ("RTX 5090", "551.86", "driver 551.86 is older than the first for sm_120, 570"),
        ("RTX 5090", "572.16", ""),
        ("RTX 4090", "517.48", "is older than the first for sm_89, 520"),
        ("Tesla K40c", "474.44", ""),
        ("Tesla K40c", "551.86", "is newer than the last for sm_35 (Kepler), 470"),
        ("GTX 1080 Ti", "582.28", ""),
        ("GTX 1080 Ti", "591.44", "is newer than the last for sm_61 (Maxwell, Pascal or Volta), 580"),
        ("RX 7900 XTX", "551.86", ""),
    ],
)
def test_the_driver_and_the_card(tmp_path: Path, card: str, driver: str, said: str) -> None:
    wheel = torch(tmp_path, "2.0.1+cu118", gpu_dll("torch_cuda.dll", "sm_35", "sm_61", "sm_89", "sm_120"))
    answer = found(wheel, driver=driver, gpu=card).get("WF417", "")
    assert said in answer
    assert bool(said) is bool(answer)


def test_a_driver_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(torch(tmp_path, "2.4.0+cu124")), "--driver", "newest"]) == 2
    assert "--driver 551.86" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------------ other vendors


def backends(folder: Path) -> Path:
    """A package with a DLL for each of two vendors, as bitsandbytes."""
    files = {
        "pkg/lib_cuda.dll": gpu_dll("lib_cuda.dll", "sm_86"),
        "pkg/lib_rocm.dll": forge_dll("lib_rocm.dll", exports=["f"], sections={".hip_fat": bundle("gfx1100")}),
    }
    return build_wheel(folder, "pkg", "1.0", files=files)


@pytest.mark.parametrize("card", ["gfx1100", "RX 7900 XTX", "AMD Radeon RX 7900 XTX", "sm_86", "RTX 3060"])
def test_code_for_another_vendors_card_is_no_fault(tmp_path: Path, card: str) -> None:
    assert found(backends(tmp_path), gpu=card) == {}


def test_a_card_without_code(tmp_path: Path) -> None:
    (answer,) = found(backends(tmp_path), gpu="gfx1201").values()
    assert "lib_rocm.dll has code for gfx1100, none of which runs on gfx1201" in answer


def test_a_vendor_without_code(tmp_path: Path) -> None:
    answers = found(backends(tmp_path), gpu="Arc B580")
    assert list(answers) == ["WF501"]
    assert "intel_bmg-g21" in answers["WF501"]


def test_code_that_was_not_read_is_not_called_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.pe.test_gpucode import packed
    from wheelfix.pe import gpucode

    monkeypatch.setattr(gpucode, "zstd_reader", lambda: None)
    section = packed(bundle("gfx1100"), 3, gpucode.ZSTD, b"(\xb5/\xfd")
    files = {
        "pkg/lib_rocm.dll": forge_dll("lib_rocm.dll", exports=["f"], sections={".hip_fat": section}),
        "pkg/lib_cuda.dll": gpu_dll("lib_cuda.dll", "sm_86"),
    }
    wheel = build_wheel(tmp_path, "pkg", "1.0", files=files)
    answers = found(wheel, gpu="gfx1100")
    assert list(answers) == ["WF413"]
    assert answers["WF413"].startswith("could not tell whether lib_rocm.dll has code for gfx1100")


def test_a_card_that_is_mistyped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(backends(tmp_path)), "--gpu", "RX 7900 XTZ"]) == 2
    assert "RX 7900 XTX" in capsys.readouterr().err


def test_a_package_of_nvidias_own_dlls_is_compared_too(tmp_path: Path) -> None:
    """Story: the summary said that nvidia-nvjpeg-cu12 needs 527.41, ``--driver 452.39`` that no release is known."""
    files: dict[str, bytes | str] = {"nvidia/nvjpeg/bin/nvjpeg64_12.dll": gpu_dll("nvjpeg64_12.dll", "sm_86")}
    wheel = build_wheel(tmp_path, "nvidia_nvjpeg_cu12", "12.4.0.76", files=files)
    assert found(wheel, driver="452.39")["WF414"].startswith("CUDA 12 needs driver 527.41 or later")
    assert found(wheel, driver="551.86")["WF415"] == "driver 551.86 runs CUDA 12"


def test_dlls_for_several_cuda_majors_side_by_side(tmp_path: Path) -> None:
    """bitsandbytes has one DLL per CUDA release, and loads the one of the installed torch."""
    files: dict[str, bytes | str] = {"pkg/__init__.py": ""}
    for major in (12, 13):
        imports = {f"cublas64_{major}.dll": ["cublasCreate_v2"]}
        files[f"pkg/lib_cuda{major}.dll"] = gpu_dll(f"lib_cuda{major}.dll", "sm_86", imports=imports)
    wheel = build_wheel(tmp_path, "pkg", "1", files=files)
    report = wheelfix.scan(wheel, replace(OPTIONS, driver="551.86"))
    answers = {(item.code, item.subject): item.severity for item in report.findings if item.code in CODES}
    assert answers == {("WF414", "CUDA 13"): Severity.INFO, ("WF415", "CUDA 12"): Severity.INFO}
    alone = build_wheel(tmp_path, "alone", "1", files={path: data for path, data in files.items() if "12" not in path})
    found_alone = wheelfix.scan(alone, replace(OPTIONS, driver="551.86")).findings
    assert [item.severity for item in found_alone if item.code == "WF414"] == [Severity.ERROR]


def test_the_version_of_nvidias_package_tells_where_the_name_of_the_dll_does_not(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {"nvidia/curand/bin/curand64_10.dll": gpu_dll("curand64_10.dll", "sm_86")}
    wheel = build_wheel(tmp_path, "nvidia_curand_cu12", "10.3.10.19", files=files)
    assert found(wheel, driver="551.86")["WF415"] == "driver 551.86 runs CUDA 12"
    assert "WF414" in found(wheel, driver="452.39")
