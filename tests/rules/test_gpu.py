"""GPU code against a card, and CUDA releases against the card's last driver."""

from __future__ import annotations

import pytest

from tests.rules.subjects import LIB, SITE, codes, dll, edge, loads, run, subject, torch
from wheelfix.model import System
from wheelfix.rules.gpu import Fit, fit, parse_arch

CUDA = LIB + "torch_cuda.dll"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sm_86", (8, 6, "")),
        ("8.6", (8, 6, "")),
        ("SM_120", (12, 0, "")),
        ("12.0", (12, 0, "")),
        ("ptx_90a", (9, 0, "a")),
        ("compute_100f", (10, 0, "f")),
        ("35", (3, 5, "")),
    ],
)
def test_architectures_are_read(text: str, expected: tuple[int, int, str]) -> None:
    assert parse_arch(text) == expected


@pytest.mark.parametrize("text", ["", "sm_", "Kepler", "8.6.1"])
def test_what_is_no_architecture_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="GPU architecture"):
        parse_arch(text)


@pytest.mark.parametrize(
    ("archs", "card", "expected"),
    [
        (["sm_86"], "sm_86", Fit.NATIVE),
        (["sm_80"], "sm_86", Fit.SAME_MAJOR),
        (["sm_80"], "sm_89", Fit.SAME_MAJOR),
        (["sm_86"], "sm_80", Fit.NONE),
        (["sm_89"], "sm_90", Fit.NONE),
        (["sm_86", "sm_89"], "sm_120", Fit.NONE),
        (["ptx_86"], "sm_120", Fit.PTX),
        (["ptx_90"], "sm_86", Fit.NONE),
        (["ptx_86"], "sm_86", Fit.PTX),
        (["sm_90a"], "sm_90", Fit.NATIVE),
        (["sm_100f"], "sm_103", Fit.NONE),
        (["ptx_90a"], "sm_100", Fit.NONE),
        (["sm_80", "ptx_80"], "sm_86", Fit.SAME_MAJOR),
        (["sm_50", "sm_60", "sm_70"], "sm_35", Fit.NONE),
        ([], "sm_35", Fit.NONE),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else str(value),
)
def test_rules_of_binary_compatibility(archs: list[str], card: str, expected: Fit) -> None:
    assert fit(archs, card) is expected


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
    [("cudnn_cnn_infer64_8.dll", "a release of cuDNN"), ("kernels.dll", "CMAKE_CUDA_ARCHITECTURES=35")],
)
def test_the_remedy_fits_the_maker(name: str, hint: str) -> None:
    found = run(subject({LIB + name: dll()}, archs={LIB + name: ("sm_50",)}, gpu="sm_35"))
    assert [f"{item.code}:{item.severity}" for item in found] == ["WF501:warning"]
    assert hint in found[0].hint


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
