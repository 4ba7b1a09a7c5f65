"""Companions that only some releases of their parent need."""

from __future__ import annotations

import pytest

from tests.support.views import make_view
from tools.forge import forge_dll
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve


def strength(name: str, version: tuple[int, int, int, int] | None) -> str:
    """How much a cuDNN of that version needs zlibwapi.dll; empty when it does not ask for it."""
    view = make_view({f"Lib/site-packages/x/{name}": forge_dll(name, version=version)})
    edges = resolve(view, Profile()).edges
    return next((edge.strength for edge in edges if edge.name == "zlibwapi.dll"), "")


@pytest.mark.parametrize(
    "name, version, expected",
    [
        ("cudnn64_8.dll", (8, 2, 4, 15), ""),
        ("cudnn64_8.dll", (8, 3, 0, 98), "required"),
        ("cudnn64_8.dll", (8, 9, 7, 29), "required"),
        ("cudnn64_9.dll", (9, 1, 0, 70), "required"),
        ("cudnn64_9.dll", (9, 2, 0, 82), ""),
        ("cudnn64_9.dll", (9, 10, 2, 21), ""),
        ("cudnn64_8.dll", None, "expected"),
        ("cudnn64_8.dll", (6, 14, 11, 8020), "expected"),
    ],
)
def test_zlibwapi_is_needed_by_cudnn_8_3_to_9_1(name, version, expected):
    """The file's version was never asked, so that every cuDNN 8 and 9 was taken to need it perhaps."""
    assert strength(name, version) == expected


@pytest.mark.parametrize("product, number", [("11.8.89", "118"), ("12.4.127", "124"), ("12.6.85", "126")])
def test_nvrtc_asks_for_the_builtins_of_its_own_toolkit(product, number):
    """Of an nvrtc64_120_0.dll of CUDA 12.4 without built-ins, those of another release were asked for."""
    name = f"nvrtc64_{'112' if product[:2] == '11' else '120'}_0.dll"
    strings = {"ProductName": f"NVIDIA CUDA {product} NVRTC Library"}
    view = make_view({f"Lib/site-packages/x/{name}": forge_dll(name, version=(6, 14, 11, 1), version_strings=strings)})
    edges = resolve(view, Profile()).edges
    assert [edge.name for edge in edges if "builtins" in edge.name] == [f"nvrtc-builtins64_{number}.dll"]


@pytest.mark.parametrize("number, expected", [("8", "required"), ("9", "")])
def test_a_missing_cudnn_is_taken_to_be_a_current_one(number, expected):
    """zlibwapi.dll was optional for the scan, and stopped the repair as soon as cuDNN 8.9 was found."""
    edges = resolve(make_view({"Lib/site-packages/x/x.dll": f"imports cudnn64_{number}.dll"}), Profile()).edges
    assert next((edge.strength for edge in edges if edge.name == "zlibwapi.dll"), "") == expected
