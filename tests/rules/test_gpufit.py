"""The rules of binary compatibility."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.gpucode import container
from tools.forge import forge_dll
from wheelfix.pe.gpucode import GpuCode, read_gpu_code
from wheelfix.rules.gpufit import Fit, fit, fit_of_image, parse_arch
from wheelfix.streams.source import MemorySource


@pytest.mark.parametrize(
    "text, expected",
    [
        ("8.6", (8, 6, "")),
        ("SM_120", (12, 0, "")),
        ("ptx_90a", (9, 0, "a")),
        ("compute_100f", (10, 0, "f")),
        ("35", (3, 5, "")),
    ],
)
def test_architectures_are_read(text, expected):
    assert parse_arch(text) == expected


@pytest.mark.parametrize("text", ["", "Kepler", "8.6.1"])
def test_what_is_no_architecture_is_refused(text):
    with pytest.raises(ValueError, match="GPU architecture"):
        parse_arch(text)


@pytest.mark.parametrize(
    "archs, card, expected",
    [
        (["sm_86"], "sm_86", Fit.NATIVE),
        (["sm_80"], "sm_86", Fit.SAME_MAJOR),
        (["sm_86"], "sm_80", Fit.NONE),
        (["ptx_86"], "sm_120", Fit.PTX),
        (["ptx_90"], "sm_86", Fit.NONE),
        (["sm_90a"], "sm_90", Fit.NATIVE),
        (["ptx_90a"], "sm_100", Fit.NONE),
        (["sm_100f"], "sm_103", Fit.SAME_MAJOR),
        (["sm_103f"], "sm_100", Fit.NONE),
        (["ptx_100f"], "sm_120", Fit.NONE),
        (["sm_80", "ptx_80"], "sm_86", Fit.SAME_MAJOR),
        (["gfx1100"], "gfx1100", Fit.NATIVE),
        (["gfx1100"], "gfx1101", Fit.NONE),
        (["gfx11-generic"], "gfx1151", Fit.SAME_MAJOR),
        (["gfx11-generic"], "gfx1201", Fit.NONE),
        (["amdgcnspirv"], "gfx1201", Fit.PTX),
        (["spir64"], "intel_bmg-g21", Fit.PTX),
        (["intel_ats-m150"], "intel_acm-g10", Fit.SAME_MAJOR),
        (["intel_pvc"], "intel_acm-g10", Fit.NONE),
        (["sm_86"], "gfx1100", Fit.NONE),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else str(value),
)
def test_rules_of_binary_compatibility(archs, card, expected):
    assert fit(archs, card) is expected


@pytest.mark.parametrize(
    "version, card, expected",
    [
        ((7, 4), "sm_35", Fit.PTX),
        ((7, 5), "sm_35", Fit.NONE),
        ((99, 0), "sm_50", Fit.NONE),
        ((99, 0), "sm_90", Fit.PTX),
        (None, "sm_35", Fit.PTX),
    ],
)
def test_a_driver_must_know_the_version_of_ptx(version, card, expected):
    assert fit(["ptx_30"], card, {"ptx_30": version} if version else {}) is expected


def test_code_without_a_kernel_fits_no_card_however_large_the_dll_is():
    assert fit_of_image(GpuCode({"sm_75": 1}, kernels=False), 1 << 30, "sm_35") is Fit.LEFT_OVER


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=600), st.integers(0, 300))
def test_whatever_a_file_claims_has_an_answer(noise, at):
    good = container("sm_80", "ptx_80", "sm_120")
    spoiled = good[:at] + noise + good[at + len(noise) :]
    code = read_gpu_code(MemorySource(forge_dll("a.dll", sections={".nv_fatb": spoiled + good})))
    assert code is not None
    assert fit_of_image(code, 1 << 30, "sm_120") in Fit
