"""GPU code and CUDA in the report for people, compared whole at fixed width."""

from __future__ import annotations

import dataclasses

import pytest

from tests.report.samples import clean_wheel
from wheelfix.model import CudaSummary, Finding, GpuFit, Image, Machine, ScannedImage, ScanReport, Severity
from wheelfix.report.canvas import TextStyle
from wheelfix.report.text import FITS, render_scan, spell_archs
from wheelfix.rules.gpufit import Fit

LOOK = TextStyle(80, colour=False, unicode=False)
CODE = {
    "torch/lib/cudnn_cnn_infer64_8.dll": ("sm_50", "sm_86", "ptx_90"),
    "torch/lib/cudnn_ops_infer64_8.dll": ("sm_50", "sm_86", "ptx_90"),
    "torch/lib/torch_cuda.dll": ("sm_35",),
    "torch/lib/kernels118.dll": ("sm_30", "sm_86"),
    "torch/lib/kernels121.dll": ("sm_30", "sm_86"),
    "torch/lib/front.dll": (),
}
FOUND = {
    "torch/lib/cudnn_cnn_infer64_8.dll": "none",
    "torch/lib/cudnn_ops_infer64_8.dll": "none",
    "torch/lib/torch_cuda.dll": "native",
    "torch/lib/kernels118.dll": "same-major",
    "torch/lib/kernels121.dll": "same-major",
}


def report(card: str | None = None, *, asked: bool = True, findings: tuple[Finding, ...] = ()) -> ScanReport:
    """A report on these images, with the paragraph on CUDA."""
    images = tuple(
        ScannedImage(
            path,
            Image(Machine.AMD64, 1000),
            archs=archs if asked else None,
            gpu=GpuFit(card, "sm_35", FOUND[path]) if card and archs else None,
        )
        for path, archs in CODE.items()
    )
    archs = ("sm_30", "sm_35", "sm_50", "sm_86", "ptx_90") if asked else None
    story = CudaSummary("11.7", "452.39", "Made for CUDA 11.7. " + "It goes on for more than one line. " * 2)
    return dataclasses.replace(clean_wheel(), images=images, archs=archs, cuda=story, findings=findings)


def part(text: str) -> str:
    """What stands between the facts and the verdict."""
    return text.partition("modules\n")[2].partition("\nVerdict")[0]


def test_one_line_for_dlls_of_one_family_with_the_same_code() -> None:
    assert (
        part(render_scan(report(), LOOK))
        == """
CUDA
  Made for CUDA 11.7. It goes on for more than one line. It goes on for more
  than one line.

GPU code  SASS is machine code, PTX is compiled by the driver; 86 stands for sm_86
  cuDNN, 2 DLLs            SASS 50 86, PTX 90
  torch_cuda.dll           SASS 35
  kernels118.dll and 1 more  SASS 30 86
  all together: SASS 30 35 50 86, PTX 90
""".replace("DLLs            ", "DLLs              ").replace("cuda.dll           ", "cuda.dll             ")
    )


def test_every_dll_has_its_answer_for_a_card() -> None:
    assert (
        part(render_scan(report("K40c"), LOOK)).partition("line.\n\n")[2]
        == """\
GPU code for sm_35 (K40c)
  native      torch_cuda.dll
              SASS 35
  same major  kernels118.dll, kernels121.dll
              SASS 30 86
  nothing     cudnn_cnn_infer64_8.dll, cudnn_ops_infer64_8.dll
              SASS 50 86, PTX 90
"""
    )


def test_the_architecture_is_not_said_twice() -> None:
    assert "\nGPU code for sm_35\n" in render_scan(report("sm_35"), LOOK)


def test_nobody_asked() -> None:
    text = render_scan(report(asked=False), LOOK)
    assert "GPU code" not in text
    assert "CUDA" not in text


def test_a_contradiction_brings_the_paragraph_on_cuda() -> None:
    finding = Finding("WF407", "cuda-tag-mismatch", Severity.WARNING, "x", "the label is wrong")
    text = render_scan(report(asked=False, findings=(finding,)), LOOK)
    assert "\nCUDA\n  Made for CUDA 11.7." in text
    assert "GPU code" not in text


def test_asked_but_there_is_none() -> None:
    bare = dataclasses.replace(report(), images=clean_wheel().images, archs=(), cuda=None)
    assert "\nGPU code  none of the DLLs has any\n" in render_scan(bare, LOOK)


@pytest.mark.parametrize(
    ("archs", "expected"),
    [
        (("sm_50", "sm_90a", "ptx_90a"), "SASS 50 90a, PTX 90a"),
        (("ptx_86",), "PTX 86"),
        ((), ""),
    ],
)
def test_architectures_in_short(archs: tuple[str, ...], expected: str) -> None:
    assert spell_archs(archs) == expected


def test_there_is_a_word_for_every_fit() -> None:
    assert set(FITS) == {fit.value for fit in Fit}
