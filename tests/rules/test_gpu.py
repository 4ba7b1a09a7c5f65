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
        ("cublas64_12.dll", "of CUDA 11.8 or before"),
        ("cutensor.dll", "a release of cuTENSOR"),
        ("kernels.dll", "-DCMAKE_CUDA_ARCHITECTURES=35"),
    ],
)
def test_the_remedy_fits_the_maker(name: str, hint: str) -> None:
    found = run(subject({LIB + name: dll()}, archs={LIB + name: ("sm_50", "sm_60")}, gpu="sm_35"))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF501:warning"]
    assert hint in found[0].hint


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
        ((), "sm_89", []),
        (None, "sm_89", []),
    ],
)
def test_when_there_is_nothing_to_say(archs: tuple[str, ...] | None, gpu: str | None, expected: list[str]) -> None:
    known = {} if archs is None else {CUDA: archs}
    assert codes(subject({CUDA: dll()}, events=[loads(CUDA)], archs=known, gpu=gpu)) == expected


@pytest.mark.parametrize(("size", "expected"), [(345_088, []), (5 << 20, ["WF501:warning"])])
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
    assert codes(subject({CUDA: dll()}, events=[loads(CUDA)], torch=torch(cuda), gpu=gpu)) == expected


def test_the_release_is_known_from_dlls_too() -> None:
    path = SITE + "pkg/_k.pyd"
    names = ["cudart64_12.dll", "cusparse64_12.dll"]
    edges = [edge(path, name, System(name)) for name in names]
    found = run(subject({path: dll(*names)}, edges, events=[loads(path)], gpu="sm_37"))
    assert [item.subject for item in found] == ["CUDA 12"]
