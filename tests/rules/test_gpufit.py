"""The rules of binary compatibility."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.gpucode import container
from tools.forge import forge_dll
from wheelfix.pe.gpucode import GpuCode, read_gpu_code
from wheelfix.rules.gpufit import Fit, fit_of_image, parse_arch
from wheelfix.streams.source import MemorySource


@pytest.mark.parametrize("text", ["", "Kepler", "8.6.1"])
def test_what_is_no_architecture_is_refused(text):
    with pytest.raises(ValueError, match="GPU architecture"):
        parse_arch(text)


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
