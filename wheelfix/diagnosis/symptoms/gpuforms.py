"""Forms of the libraries of CUDA, of MKL and OpenMP, and of cards without code or driver."""

from __future__ import annotations

import re

from wheelfix.diagnosis.symptoms.form import form
from wheelfix.diagnosis.symptoms.symptom import Confidence

_CARD_BACKWARDS = re.compile(r"\s([\w -]{1,60})")


def _card_before(text: str) -> dict[str, str]:
    """Return the name of the card that a text ends with."""
    found = _CARD_BACKWARDS.match(text[::-1])
    card = found[1][::-1].lstrip(" -") if found else ""
    return {"d_card": card} if len(card) > 1 else {}


GPU_FORMS = (
    # cuDNN's own loader
    form("could-not-locate", "could not locate", r"Could not locate (?P<dlls>{DLL})", 126),
    form(
        "could-not-locate",
        "could not load library",
        r"Could not load library\s*{Q}?(?P<dlls>[\w.+-]{1,120}?\.dll){Q}?[.,:]?\s*Error code:?\s*(?P<code>\d{1,10})",
    ),
    form(
        "cudnn-sublibrary",
        "load symbol",
        r"(?:Could not|Cannot) load symbol (?P<d_symbol>\w{1,300})[.,]?(?:\s*Error code:?\s*(?P<code>\d{1,10}))?",
        confidence=Confidence.LIKELY,
        weak=True,
    ),
    form(
        "cudnn-sublibrary",
        "cudnn_status_sublibrary",
        r"CUDNN_STATUS_SUBLIBRARY_(?P<d_status>LOADING_FAILED)",
    ),
    form(
        "cudnn-version",
        "cudnn_status_sublibrary",
        r"CUDNN_STATUS_SUBLIBRARY_(?P<d_status>VERSION_MISMATCH)",
    ),
    form(
        "cudnn-version",
        "cudnn version incompatibility|loaded runtime cudnn library",
        r"compiled\s+(?:against|with):?\s*\(?(?P<d_built>{TRIPLE})(?!\d)\)?"
        r"[^\r\n]{0,80}?found runtime version\s*\(?(?P<d_running>{TRIPLE})",
    ),
    form(
        "cudnn-version",
        "loaded runtime cudnn library",
        r"Loaded runtime CuDNN library:\s*(?P<d_running>[\d.]{1,60})\s*"
        r"but source was compiled with:\s*(?P<d_built>[\d.]{1,60})",
    ),
    # Intel MKL
    form("mkl-cannot-load", "mkl fatal error|mkl error", r"MKL (?:FATAL )?ERROR\s*:(?P<dlls>[^\r\n]{0,300})", 126),
    # NVIDIA's run-time compiler
    form(
        "nvrtc-builtins",
        "nvrtc-builtins",
        r"(?:failed to open|make sure that|could not (?:open|find|load))\s*(?P<dlls>nvrtc-builtins[\w.-]{0,60}?\.dll)",
        126,
    ),
    # Intel's and LLVM's OpenMP; a Japanese runtime prints the same number
    form(
        "omp-duplicate",
        "omp: error #15|omp: エラー #15",
        r"OMP:\s*(?:Error|エラー)\s*#15\s*[:：]\s*(?P<dlls>[^\r\n]{0,300})",
    ),
    # GPU code for other cards
    form(
        "no-kernel-image",
        "with cuda capability",
        r"with CUDA capability (?P<d_capability>sm_\d{1,4}[a-z]?) is not compatible",
        before=_card_before,
    ),
    form(
        "no-kernel-image",
        "supports cuda capabilities",
        r"supports CUDA capabilities (?P<d_supported>(?:(?:sm|compute)_\d{1,4}[a-z]?[\s.,]*){1,60})",
    ),
    form(
        "no-kernel-image",
        "kernel image|no_binary_for_gpu|cudaerrornokernelimage",
        r"no kernel image is available|cudaErrorNoKernelImageForDevice|CUDA_ERROR_NO_BINARY_FOR_GPU"
        r"|device kernel image is invalid",
    ),
    form(
        "driver-too-old",
        "driver version is insufficient|system_driver_mismatch|unsupported toolchain",
        r"CUDA driver version is insufficient for CUDA runtime version|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"
        r"|PTX was compiled with an unsupported toolchain",
    ),
    form(
        "driver-too-old",
        "driver on your system is too old",
        r"driver on your system is too old \(found version (?P<d_running>\d{1,10})\)",
    ),
)
