"""GPU code against a card, and CUDA releases against the card's last driver."""

from __future__ import annotations

from pathlib import Path

import pytest

import wheelfix
from tests.pe.test_gpucode import PTX, bundle, container, entry
from tests.rules.subjects import LIB, SITE, codes, dll, edge, linked, loads, run, subject, torch
from tests.support.gpucode import gpu_dll
from tests.support.tables import named_cases
from tests.support.wheels import ALONE, build_wheel
from tools.forge import forge_dll
from wheelfix.base.values import replace
from wheelfix.exam.scan import scan
from wheelfix.model import Finding, Severity, System

CUDA = LIB + "torch_cuda.dll"


@pytest.mark.parametrize(
    "name, archs, cuda, gpu, hint",
    [
        ("cudnn_cnn_infer64_8.dll", ("sm_50", "sm_60"), None, "sm_35", "cuDNN 8.7.0, the last"),
        (
            "cublas64_12.dll",
            ("sm_50", "sm_60"),
            None,
            "sm_35",
            "cuBLAS of CUDA 11.8, the last toolkit with code for sm_35",
        ),
        ("kernels.dll", ("sm_50", "sm_60"), None, "sm_35", "-DCMAKE_CUDA_ARCHITECTURES=35"),
        (
            "cublas64_11.dll",
            ("sm_80", "sm_86"),
            None,
            "RTX 5070",
            "take cuBLAS of CUDA 12.8 or later, which has code for sm_120",
        ),
        ("torch_cuda.dll", ("sm_86",), "12.4", "sm_120", "ARCH_LIST=12.0 and CUDA 12.8, the first toolkit"),
        ("torch_cuda.dll", ("sm_86",), "12.1", "sm_35", "ARCH_LIST=3.5 and CUDA 11.8, the last toolkit"),
    ],
)
def test_the_remedy_fits_the_maker_and_the_toolkit_knows_the_card(name, archs, cuda, gpu, hint):
    loading = torch(cuda) if cuda else None
    found = run(subject({LIB + name: dll()}, archs={LIB + name: archs}, gpu=gpu, torch=loading))
    too_old = name == "cublas64_12.dll" or cuda == "12.1"  # Kepler's last driver does not run CUDA 12
    assert sorted(item.code for item in found) == ["WF501", *["WF503"] * too_old]
    assert any(hint in item.hint for item in found if item.code == "WF501")


def test_a_wheel_without_any_gpu_code_is_not_passed():
    """Story: ``scan --gpu sm_86`` on a CPU build of torch said OK."""
    path = LIB + "torch_cpu.dll"
    found = run(subject({path: dll()}, events=[loads(path)], gpu="sm_86", torch=torch("")))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF507:warning"]
    assert "CPU build" in found[0].hint
    assert codes(subject({SITE + "x/_y.pyd": dll()}, gpu="sm_86")) == ["WF507:info"]
    assert codes(subject({SITE + "x/_y.pyd": dll()})) == []


NEW, OLD = LIB + "libkernels_cuda128.dll", LIB + "libkernels_cuda118.dll"


@named_cases(
    "loaded, newer, expected",
    {
        "another-backend-has-it": (False, ("sm_120",), ["WF501:warning"]),
        "another-has-ptx": (False, ("ptx_90",), ["WF502:info", "WF501:warning"]),
        "it-is-loaded": (True, ("sm_120",), ["WF501:error"]),
        "nothing-in-the-wheel-has-it": (False, ("sm_89",), ["WF501:error"]),
    },
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
    "ptx, gpu, expected, said",
    [
        ("ptx_35@7.4", "sm_37", ["WF502:info"], "and must be 470 or later"),
        (
            "ptx_35@7.8",
            "sm_37",
            ["WF501:error"],
            "470, does not compile its PTX 7.8, only that of CUDA 11.4",
        ),
        ("ptx_86@9.9", "sm_120", ["WF502:info"], "and a driver older than the toolkit cannot"),
        ("ptx_90@7.8", "sm_37", ["WF501:error"], "none of which runs on sm_37"),
    ],
)
def test_ptx_that_no_driver_of_the_card_compiles(ptx, gpu, expected, said):
    thing = subject({CUDA: dll()}, events=[loads(CUDA)], archs={CUDA: (ptx,)}, gpu=gpu)
    found = run(thing)
    assert [f"{item.code}:{item.severity}" for item in found] == expected
    assert said in found[0].message


@named_cases(
    "archs, gpu, more, expected",
    {
        "PTX": (("ptx_86",), "sm_89", {}, ["WF502:info"]),
        "no code": ((), "sm_89", {}, ["WF507:info"]),
        "what nvcc leaves behind": (("sm_52",), "sm_35", {"size": 345_088}, []),
        "kernels in a large DLL": (("sm_52", "ptx_52"), "sm_35", {"size": 5 << 20}, ["WF501:error"]),
        "a kernel in a small one": (("sm_50",), "sm_35", {"size": 345_088}, ["WF501:error"]),
        "the last driver runs CUDA 11": (("sm_35",), "sm_35", {"cuda": "11.8"}, []),
        "not CUDA 12": (("sm_35",), "sm_35", {"cuda": "12.1"}, ["WF503:error"]),
        "Fermi": (("sm_21",), "sm_21", {"cuda": "10.2"}, ["WF503:error"]),
    },
)
def test_code_card_and_last_driver(archs, gpu, more, expected):
    image, known = dll(size=more.get("size", 4096)), {} if archs is None else {CUDA: archs}
    loading = torch(more["cuda"]) if "cuda" in more else None
    assert codes(subject({CUDA: image}, events=[loads(CUDA)], archs=known, torch=loading, gpu=gpu)) == expected


def test_the_release_is_known_from_dlls_too():
    path = SITE + "pkg/_k.pyd"
    edges = [edge(path, name, System(name)) for name in ("cudart64_12.dll", "cusparse64_12.dll")]
    (found,) = run(linked(*edges, loaded=[path], gpu="sm_37"), "WF503")
    assert found.subject == "CUDA 12"
    assert "needs driver 527.41 or later" in found.message


TORCH_LIB = "torch/lib"
MANY = tuple(f"sm_{number}" for number in (50, 60, 70, 75, 80, 86, 90))


def findings(
    folder: Path, own: tuple[str, ...], library: tuple[str, ...], name: str = "cudnn64_8.dll"
) -> list[Finding]:
    files = {
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


@named_cases(
    "own, library, name",
    {
        "a card in common": (("sm_35", "sm_86"), MANY, "cudnn64_8.dll"),
        "PTX that the driver compiles": (("sm_120",), ("sm_80", "ptx_90"), "cudnn64_8.dll"),
        "code behind the first entries": (("sm_35",), (*["sm_50"] * 100, "sm_35"), "cudnn64_8.dll"),
        "a library without code": (("sm_35",), (), "cudnn64_8.dll"),
        "the wheel's own": (("sm_35",), MANY, "kernels.dll"),
    },
)
def test_no_finding_where_some_card_runs_both(own, library, name, tmp_path):
    assert findings(tmp_path, own, library, name) == []


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
    "version, driver, code, said",
    [
        ("2.4.0+cu124", "551.86", "WF415", "driver 551.86 runs CUDA 12.4"),
        ("2.7.0+cu128", "551.86", "WF415", "minor version compatibility"),
        ("2.7.0+cu126", "551.86", "WF415", "only PTX of CUDA 12.4 and before"),
        ("2.9.0+cu130", "577.00", "WF414", "CUDA 13.0 needs driver 580 or later"),
    ],
)
def test_the_driver_and_the_release(tmp_path, version, driver, code, said):
    answers = found(cuda_wheel(tmp_path, version), driver=driver)
    assert list(answers) == [code]
    assert said in answers[code]


def test_without_the_question_or_without_cuda_there_is_no_answer(tmp_path):
    assert found(cuda_wheel(tmp_path, "2.9.0+cu130")) == {}
    wheel = build_wheel(tmp_path, files={"pkg/x.dll": ""})
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
    "card, driver, said",
    [
        ("RTX 5090", "551.86", "driver 551.86 is older than the first for sm_120, 570"),
        ("RTX 5090", "572.16", ""),
        ("Tesla K40c", "551.86", "is newer than the last for sm_35 (Kepler), 470"),
        ("GTX 1080 Ti", "582.28", ""),
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


@pytest.mark.parametrize(
    "card, said",
    [
        *((card, "") for card in ("gfx1100", "RX 7900 XTX", "AMD Radeon RX 7900 XTX", "sm_86", "RTX 3060")),
        ("gfx1201", "lib_rocm.dll has code for gfx1100, none of which runs on gfx1201"),
        ("Arc B580", "intel_bmg-g21"),
    ],
)
def test_code_for_another_vendors_card_is_no_fault(tmp_path, card, said):
    answers = found(backends(tmp_path), gpu=card)
    assert list(answers) == ["WF501"] * bool(said)
    assert all(said in answer for answer in answers.values())


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


@named_cases(
    "package, version, name",
    {
        "the name of the DLL tells": ("nvjpeg", "12.4.0.76", "nvjpeg64_12.dll"),
        "the version of the package tells": ("curand", "10.3.10.19", "curand64_10.dll"),
    },
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
