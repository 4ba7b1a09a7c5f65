"""GPU code against a card, and CUDA releases against the card's last driver."""

from __future__ import annotations

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, loads, run, subject, torch
from wheelfix.errors import UsageError
from wheelfix.model import System

CUDA = LIB + "torch_cuda.dll"


def test_a_dll_without_code_for_the_card() -> None:
    thing = subject(
        {CUDA: dll()}, events=[loads(CUDA)], archs={CUDA: ("sm_86", "sm_89")}, gpu="sm_120", torch=torch("12.4")
    )
    found = run(thing)
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF501:error"]
    assert "torch_cuda.dll has code for sm_86 and sm_89, none of which runs on sm_120" in found[0].message
    assert "TORCH_CUDA_ARCH_LIST=12.0" in found[0].hint


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cudnn_cnn_infer64_8.dll", "cuDNN 8.7.0, the last"),
        ("cublas64_12.dll", "cuBLAS of CUDA 11.8, the last toolkit with code for sm_35"),
        ("cutensor.dll", "a release of cuTENSOR"),
        ("kernels.dll", "-DCMAKE_CUDA_ARCHITECTURES=35"),
    ],
)
def test_the_remedy_fits_the_maker(name: str, hint: str) -> None:
    found = run(subject({LIB + name: dll()}, archs={LIB + name: ("sm_50", "sm_60")}, gpu="sm_35"))
    too_old = ["WF503"] if name == "cublas64_12.dll" else []  # Kepler's last driver does not run CUDA 12
    assert [item.code for item in found] == ["WF501", *too_old]
    assert hint in found[0].hint


def test_new_cards_need_a_new_toolkit() -> None:
    path = LIB + "cublas64_11.dll"
    found = run(subject({path: dll()}, archs={path: ("sm_80", "sm_86")}, gpu="RTX 5070"))
    assert found[0].hint == "take cuBLAS of CUDA 12.8 or later, which has code for sm_120"


def test_a_wheel_without_any_gpu_code_is_not_passed() -> None:
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
def test_one_backend_of_several(loaded: bool, newer: tuple[str, ...], expected: list[str]) -> None:
    events = [loads(OLD)] if loaded else []
    thing = subject({OLD: dll(), NEW: dll()}, events=events, archs={OLD: ("sm_86",), NEW: newer}, gpu="sm_120")
    assert sorted(codes(thing)) == sorted(expected)


def test_dlls_with_one_remedy_are_told_together() -> None:
    names = ["cudnn_adv_infer64_8.dll", "cudnn_cnn_infer64_8.dll", "cudnn_ops_infer64_8.dll"]
    archs = {LIB + name: ("sm_50", "ptx_90") if "cnn" in name else ("sm_50", "sm_86") for name in names}
    found = run(subject({path: dll() for path in archs}, archs=archs, gpu="K40c"))
    assert len(found) == 1
    assert found[0].message.startswith(
        "cudnn_adv_infer64_8.dll, cudnn_cnn_infer64_8.dll and cudnn_ops_infer64_8.dll have"
    )
    assert "sm_50, sm_86 and ptx_90, none of which runs on sm_35; their kernels" in found[0].message
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
def test_ptx_that_no_driver_of_the_card_compiles(ptx: str, gpu: str, expected: list[str], said: str) -> None:
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
def test_the_toolkit_must_know_the_card(cuda: str, gpu: str, hint: str) -> None:
    thing = subject({CUDA: dll()}, events=[loads(CUDA)], archs={CUDA: ("sm_86",)}, gpu=gpu, torch=torch(cuda))
    found = run(thing, "WF501")
    assert found[0].hint.endswith(hint) or hint in found[0].hint


@pytest.mark.parametrize("gpu", ["K40c", "3.5", "compute_35", "Tesla K40m"])
def test_cards_go_by_many_names(gpu: str) -> None:
    found = run(subject({CUDA: dll()}, events=[loads(CUDA)], archs={CUDA: ("sm_86",)}, gpu=gpu), "WF501")
    assert "none of which runs on sm_35" in found[0].message


def test_an_unknown_card_is_the_users_mistake() -> None:
    with pytest.raises(UsageError):
        run(subject({CUDA: dll()}, gpu="Voodoo 2"))


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
def test_when_there_is_nothing_to_say(archs: tuple[str, ...] | None, gpu: str | None, expected: list[str]) -> None:
    known = {} if archs is None else {CUDA: archs}
    assert codes(subject({CUDA: dll()}, events=[loads(CUDA)], archs=known, gpu=gpu)) == expected


@pytest.mark.parametrize(("size", "expected"), [(345_088, []), (5 << 20, ["WF501:error"])])
def test_what_nvcc_leaves_behind_is_no_kernel(size: int, expected: list[str]) -> None:
    path = LIB + "nvblas64_11.dll"
    assert codes(subject({path: dll(size=size)}, archs={path: ("sm_52",)}, gpu="sm_35")) == expected


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
def test_the_last_driver_of_a_card(cuda: str, gpu: str, expected: list[str]) -> None:
    known = {CUDA: (gpu,)}
    assert codes(subject({CUDA: dll()}, events=[loads(CUDA)], archs=known, torch=torch(cuda), gpu=gpu)) == expected


def test_the_release_is_known_from_dlls_too() -> None:
    path = SITE + "pkg/_k.pyd"
    names = ["cudart64_12.dll", "cusparse64_12.dll"]
    edges = [edge(path, name, System(name)) for name in names]
    found = run(subject({path: dll(*names)}, edges, events=[loads(path)], gpu="sm_37"))
    assert [item.subject for item in found if item.code == "WF503"] == ["CUDA 12"]
