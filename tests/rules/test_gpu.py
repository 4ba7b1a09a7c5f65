"""GPU code against a card, and CUDA releases against the card's last driver."""

from __future__ import annotations

from pathlib import Path

import pytest

import wheelfix
from tests.pe.test_gpucode import PTX, bundle, container, entry
from tests.rules.subjects import LIB, SITE, codes, dll, edge, loads, run, subject, torch
from tests.support.gpucode import gpu_dll
from tests.support.wheels import ALONE, build_wheel
from tools.forge import forge_dll
from wheelfix.base.values import replace
from wheelfix.exam.scan import scan
from wheelfix.model import Finding, Severity, System

CUDA = LIB + "torch_cuda.dll"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cudnn_cnn_infer64_8.dll", "cuDNN 8.7.0, the last"),
        ("cublas64_12.dll", "cuBLAS of CUDA 11.8, the last toolkit with code for sm_35"),
        ("cutensor.dll", "a release of cuTENSOR"),
        ("kernels.dll", "-DCMAKE_CUDA_ARCHITECTURES=35"),
    ],
)
def test_the_remedy_fits_the_maker(name, hint):
    found = run(subject({LIB + name: dll()}, archs={LIB + name: ("sm_50", "sm_60")}, gpu="sm_35"))
    too_old = ["WF503"] if name == "cublas64_12.dll" else []  # Kepler's last driver does not run CUDA 12
    assert [item.code for item in found] == ["WF501", *too_old]
    assert hint in found[0].hint


def test_new_cards_need_a_new_toolkit():
    path = LIB + "cublas64_11.dll"
    found = run(subject({path: dll()}, archs={path: ("sm_80", "sm_86")}, gpu="RTX 5070"))
    assert found[0].hint == "take cuBLAS of CUDA 12.8 or later, which has code for sm_120"


def test_a_wheel_without_any_gpu_code_is_not_passed():
    """Story: ``scan --gpu sm_86`` on a CPU build of torch said OK."""
    path = LIB + "torch_cpu.dll"
    found = run(subject({path: dll()}, events=[loads(path)], gpu="sm_86", torch=torch("")))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF507:warning"]
    assert "CPU build" in found[0].hint
    assert codes(subject({SITE + "x/_y.pyd": dll()}, gpu="sm_86")) == ["WF507:info"]
    assert codes(subject({SITE + "x/_y.pyd": dll()})) == []


NEW, OLD = LIB + "libkernels_cuda128.dll", LIB + "libkernels_cuda118.dll"


@pytest.mark.parametrize(
    ("loaded", "newer", "expected"),
    [
        (False, ("sm_120",), ["WF501:warning"]),
        (False, ("ptx_90",), ["WF502:info", "WF501:warning"]),
        (True, ("sm_120",), ["WF501:error"]),
        (False, ("sm_89",), ["WF501:error"]),
    ],
    ids=["another-backend-has-it", "another-has-ptx", "it-is-loaded", "nothing-in-the-wheel-has-it"],
)
def test_one_backend_of_several(loaded, newer, expected):
    events = [loads(OLD)] if loaded else []
    thing = subject({OLD: dll(), NEW: dll()}, events=events, archs={OLD: ("sm_86",), NEW: newer}, gpu="sm_120")
    assert sorted(codes(thing)) == sorted(expected)


def test_dlls_with_one_remedy_are_told_together():
    names = ["cudnn_adv_infer64_8.dll", "cudnn_cnn_infer64_8.dll", "cudnn_ops_infer64_8.dll"]
    archs = {LIB + name: ("sm_50", "ptx_90") if "cnn" in name else ("sm_50", "sm_86") for name in names}
    found = run(subject({path: dll() for path in archs}, archs=archs, gpu="K40c"))
    assert len(found) == 1
    assert found[0].message.startswith(
        "cudnn_adv_infer64_8.dll, cudnn_cnn_infer64_8.dll and cudnn_ops_infer64_8.dll have"
    )
    assert "have code for sm_50, sm_86 and ptx_90, none of which runs on sm_35; their kernels" in found[0].message
    assert found[0].evidence["archs"] == {"torch/lib/" + name: [*archs[LIB + name]] for name in names}


@pytest.mark.parametrize(
    ("ptx", "gpu", "expected", "said"),
    [
        ("ptx_35@7.4", "sm_37", ["WF502:info"], "and must be 470 or later"),
        (
            "ptx_35@7.8",
            "sm_37",
            ["WF501:error"],
            "470, does not compile its PTX 7.8, only that of CUDA 11.4",
        ),
        ("ptx_50@9.0", "sm_61", ["WF502:info"], "and must be 580 or later"),
        ("ptx_50@9.1", "sm_61", ["WF501:error"], "580, does not compile its PTX 9.1, only that of CUDA 13.0"),
        ("ptx_86@9.9", "sm_120", ["WF502:info"], "and a driver older than the toolkit cannot"),
        ("ptx_90@7.8", "sm_37", ["WF501:error"], "none of which runs on sm_37"),
    ],
)
def test_ptx_that_no_driver_of_the_card_compiles(ptx, gpu, expected, said):
    thing = subject({CUDA: dll()}, events=[loads(CUDA)], archs={CUDA: (ptx,)}, gpu=gpu)
    found = run(thing)
    assert [f"{item.code}:{item.severity}" for item in found] == expected
    assert said in found[0].message


@pytest.mark.parametrize(
    ("cuda", "gpu", "hint"),
    [
        ("12.4", "sm_120", "TORCH_CUDA_ARCH_LIST=12.0 and CUDA 12.8, the first toolkit"),
        ("12.1", "sm_35", "TORCH_CUDA_ARCH_LIST=3.5 and CUDA 11.8, the last toolkit"),
        ("11.8", "sm_35", "TORCH_CUDA_ARCH_LIST=3.5"),
    ],
)
def test_the_toolkit_must_know_the_card(cuda, gpu, hint):
    thing = subject({CUDA: dll()}, events=[loads(CUDA)], archs={CUDA: ("sm_86",)}, gpu=gpu, torch=torch(cuda))
    found = run(thing, "WF501")
    assert found[0].hint.endswith(hint) or hint in found[0].hint


@pytest.mark.parametrize(
    ("archs", "gpu", "expected"),
    [
        (("ptx_86",), "sm_89", ["WF502:info"]),
        (("sm_86",), "sm_89", []),
        (("sm_50",), None, []),
        ((), "sm_89", ["WF507:info"]),
        (None, "sm_89", ["WF507:info"]),
    ],
)
def test_when_there_is_nothing_to_say(archs, gpu, expected):
    known = {} if archs is None else {CUDA: archs}
    assert codes(subject({CUDA: dll()}, events=[loads(CUDA)], archs=known, gpu=gpu)) == expected


@pytest.mark.parametrize(
    ("archs", "size", "expected"),
    [
        (("sm_52",), 345_088, []),
        (("sm_52", "ptx_52"), 345_088, []),
        (("sm_52", "ptx_52"), 5 << 20, ["WF501:error"]),
        (("sm_50",), 345_088, ["WF501:error"]),
    ],
)
def test_what_nvcc_leaves_behind_is_no_kernel(archs, size, expected):
    path = LIB + "nvblas64_11.dll"
    assert codes(subject({path: dll(size=size)}, archs={path: archs}, gpu="sm_35")) == expected


@pytest.mark.parametrize(
    ("cuda", "gpu", "expected"),
    [
        ("11.8", "sm_35", []),
        ("12.1", "sm_35", ["WF503:error"]),
        ("12.1", "sm_61", []),
        ("13.0", "sm_61", []),
        ("13.0", "sm_86", []),
        ("10.2", "sm_21", ["WF503:error"]),
    ],
)
def test_the_last_driver_of_a_card(cuda, gpu, expected):
    known = {CUDA: (gpu,)}
    assert codes(subject({CUDA: dll()}, events=[loads(CUDA)], archs=known, torch=torch(cuda), gpu=gpu)) == expected


def test_the_release_is_known_from_dlls_too():
    path = SITE + "pkg/_k.pyd"
    names = ["cudart64_12.dll", "cusparse64_12.dll"]
    edges = [edge(path, name, System(name)) for name in names]
    found = run(subject({path: dll(*names)}, edges, events=[loads(path)], gpu="sm_37"))
    assert [item.subject for item in found if item.code == "WF503"] == ["CUDA 12"]
    assert any("needs driver 527.41 or later" in item.message for item in found)


TORCH_LIB = "torch/lib"
MANY = tuple(f"sm_{number}" for number in (50, 60, 70, 75, 80, 86, 90))


def findings(
    folder: Path, own: tuple[str, ...], library: tuple[str, ...], name: str = "cudnn64_8.dll"
) -> list[Finding]:
    files: dict[str, bytes | str] = {
        "torch/__init__.py": "",
        f"{TORCH_LIB}/torch_cuda.dll": gpu_dll("torch_cuda.dll", *own),
        f"{TORCH_LIB}/{name}": gpu_dll(name, *library),
    }
    wheel = build_wheel(folder, "torch", "2.0.0", files=files)
    return [finding for finding in scan(wheel).findings if finding.code == "WF504"]


def test_torch_for_an_old_card_with_a_cudnn_that_dropped_it(tmp_path):
    """sm_35-only torch_cuda with a cuDNN without sm_35 was only noticed with --gpu."""
    (found,) = findings(tmp_path, ("sm_35",), MANY)
    assert found.subject == f"{TORCH_LIB}/cudnn64_8.dll"
    assert "torch_cuda.dll for sm_35: no card runs both" in found.message
    assert found.severity.value == "warning"


@pytest.mark.parametrize(
    ("own", "library"),
    [
        pytest.param(("sm_35", "sm_86"), MANY, id="a card in common"),
        pytest.param(("sm_89",), ("sm_86",), id="machine code that runs on later minors"),
        pytest.param(("sm_120",), ("sm_80", "ptx_90"), id="PTX that the driver compiles"),
        pytest.param(("sm_35",), (*["sm_50"] * 100, "sm_35"), id="code behind the first entries"),
        pytest.param(("sm_35",), (), id="a library without code"),
    ],
)
def test_no_finding_where_some_card_runs_both(own, library, tmp_path):
    assert findings(tmp_path, own, library) == []


def test_a_dll_of_nobody_is_the_wheels_own(tmp_path):
    assert findings(tmp_path, ("sm_35",), MANY, "kernels.dll") == []


CODES = {"WF413", "WF414", "WF415", "WF416", "WF417", "WF501", "WF502", "WF507"}


def cuda_wheel(folder: Path, version: str, cuda: bytes = b"") -> Path:
    data = cuda or gpu_dll("torch_cuda.dll", "sm_86")
    label = version.partition("+")[2].removeprefix("cu")
    files = {
        "torch/__init__.py": "",
        "torch/version.py": f"cuda = '{label[:-1]}.{label[-1]}'\n",
        "torch/lib/torch_cuda.dll": data,
    }
    return build_wheel(folder, "torch", version, files=files)


def found(wheel: Path, **options: object) -> dict[str, str]:
    report = wheelfix.scan(wheel, replace(ALONE, **options))
    return {item.code: item.message for item in report.findings if item.code in CODES}


@pytest.mark.parametrize(
    ("version", "driver", "code", "said"),
    [
        ("2.4.0+cu124", "551.86", "WF415", "driver 551.86 runs CUDA 12.4"),
        ("2.7.0+cu128", "551.86", "WF415", "minor version compatibility"),
        ("2.7.0+cu126", "551.86", "WF415", "only PTX of CUDA 12.4 and before"),
        ("2.12.0+cu134", "581.57", "WF415", "only PTX of CUDA 13.0 and before"),
        ("2.9.0+cu130", "577.00", "WF414", "CUDA 13.0 needs driver 580 or later"),
        ("2.7.0+cu128", "526.98", "WF414", "needs driver 527.41 or later"),
        ("2.0.1+cu118", "470.05", "WF415", "only PTX of CUDA 11.4 and before"),
    ],
)
def test_the_driver_and_the_release(tmp_path, version, driver, code, said):
    answers = found(cuda_wheel(tmp_path, version), driver=driver)
    assert list(answers) == [code]
    assert said in answers[code]


def test_without_the_question_there_is_no_answer(tmp_path):
    assert found(cuda_wheel(tmp_path, "2.9.0+cu130")) == {}


def test_a_wheel_without_cuda_says_so(tmp_path):
    wheel = build_wheel(tmp_path, files={"pkg/x.dll": forge_dll("x.dll", exports=["f"])})
    assert "no CUDA release" in found(wheel, driver="551.86")["WF415"]


def test_ptx_that_the_driver_does_not_compile(tmp_path):
    """PTX 8.7 came with CUDA 12.8: driver 551 runs the release, but not this code."""
    only_ptx = forge_dll(
        "torch_cuda.dll", exports=["f"], sections={".nv_fatb": container(entry(PTX, 120, form=(8, 7)))}
    )
    wheel = cuda_wheel(tmp_path, "2.7.0+cu128", only_ptx)
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
def test_the_driver_and_the_card(tmp_path, card, driver, said):
    wheel = cuda_wheel(tmp_path, "2.0.1+cu118", gpu_dll("torch_cuda.dll", "sm_35", "sm_61", "sm_89", "sm_120"))
    answer = found(wheel, driver=driver, gpu=card).get("WF417", "")
    assert said in answer
    assert bool(said) is bool(answer)


def test_a_driver_that_is_none(tmp_path, run):
    assert "--driver 551.86" in run("scan", cuda_wheel(tmp_path, "2.4.0+cu124"), "--driver", "newest", code=2).err


# ------------------------------------------------------------------------------------------------------ other vendors


def backends(folder: Path) -> Path:
    """A package with a DLL for each of two vendors, as bitsandbytes."""
    files = {
        "pkg/lib_cuda.dll": gpu_dll("lib_cuda.dll", "sm_86"),
        "pkg/lib_rocm.dll": forge_dll("lib_rocm.dll", exports=["f"], sections={".hip_fat": bundle("gfx1100")}),
    }
    return build_wheel(folder, files=files)


@pytest.mark.parametrize("card", ["gfx1100", "RX 7900 XTX", "AMD Radeon RX 7900 XTX", "sm_86", "RTX 3060"])
def test_code_for_another_vendors_card_is_no_fault(tmp_path, card):
    assert found(backends(tmp_path), gpu=card) == {}


def test_a_card_without_code(tmp_path):
    (answer,) = found(backends(tmp_path), gpu="gfx1201").values()
    assert "lib_rocm.dll has code for gfx1100, none of which runs on gfx1201" in answer


def test_a_vendor_without_code(tmp_path):
    answers = found(backends(tmp_path), gpu="Arc B580")
    assert list(answers) == ["WF501"]
    assert "intel_bmg-g21" in answers["WF501"]


def test_code_that_was_not_read_is_not_called_absent(tmp_path, monkeypatch):
    from tests.pe.test_gpucode import packed
    from wheelfix.pe import gpucode

    monkeypatch.setattr(gpucode, "zstd_reader", lambda: None)
    section = packed(bundle("gfx1100"), 3, gpucode.ZSTD, b"(\xb5/\xfd")
    files = {
        "pkg/lib_rocm.dll": forge_dll("lib_rocm.dll", exports=["f"], sections={".hip_fat": section}),
        "pkg/lib_cuda.dll": gpu_dll("lib_cuda.dll", "sm_86"),
    }
    wheel = build_wheel(tmp_path, files=files)
    answers = found(wheel, gpu="gfx1100")
    assert list(answers) == ["WF413"]
    assert answers["WF413"].startswith("could not tell whether lib_rocm.dll has code for gfx1100")


@pytest.mark.parametrize(
    ("package", "version", "name"),
    [("nvjpeg", "12.4.0.76", "nvjpeg64_12.dll"), ("curand", "10.3.10.19", "curand64_10.dll")],
    ids=["the name of the DLL tells", "the version of the package tells"],
)
def test_a_package_of_nvidias_own_dlls_is_compared_too(tmp_path, package, version, name):
    """Story: the summary said that nvidia-nvjpeg-cu12 needs 527.41, ``--driver 452.39`` that no release is known."""
    files = {f"nvidia/{package}/bin/{name}": gpu_dll(name, "sm_86")}
    wheel = build_wheel(tmp_path, f"nvidia_{package}_cu12", version, files=files)
    assert found(wheel, driver="452.39")["WF414"].startswith("CUDA 12 needs driver 527.41 or later")
    assert found(wheel, driver="551.86")["WF415"] == "driver 551.86 runs CUDA 12"


def test_dlls_for_several_cuda_majors_side_by_side(tmp_path):
    """bitsandbytes has one DLL per CUDA release, and loads the one of the installed torch."""
    files = {"pkg/__init__.py": ""}
    for major in (12, 13):
        imports = {f"cublas64_{major}.dll": ["cublasCreate_v2"]}
        files[f"pkg/lib_cuda{major}.dll"] = gpu_dll(f"lib_cuda{major}.dll", "sm_86", imports=imports)
    wheel = build_wheel(tmp_path, "pkg", "1", files=files)
    report = wheelfix.scan(wheel, replace(ALONE, driver="551.86"))
    answers = {(item.code, item.subject): item.severity for item in report.findings if item.code in CODES}
    assert answers == {("WF414", "CUDA 13"): Severity.INFO, ("WF415", "CUDA 12"): Severity.INFO}
    alone = build_wheel(tmp_path, "alone", "1", files={path: data for path, data in files.items() if "12" not in path})
    found_alone = wheelfix.scan(alone, replace(ALONE, driver="551.86")).findings
    assert [item.severity for item in found_alone if item.code == "WF414"] == [Severity.ERROR]
