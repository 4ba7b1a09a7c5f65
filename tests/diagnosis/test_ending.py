"""What ended the program comes first, and the warnings that it survived are said to be harmless."""

from __future__ import annotations

import pytest

import wheelfix
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.diagnosis.model import Diagnosis, DiagnosisOutcome
from wheelfix.diagnosis.symptoms.reader import read_log

HERMETIC = ScanOptions(roots=RootOptions(discover=False))
WARNINGS = {
    "triton": (
        "A matching Triton is not available, some optimizations will not be enabled.\n"
        "Error caught was: No module named 'triton'\n"
    ),
    "tensorflow": (
        "2022-08-11 14:21:29.345331: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] "
        "Could not load dynamic library 'cudart64_110.dll'; dlerror: cudart64_110.dll not found\n"
        "2022-08-11 14:21:29.345439: I tensorflow/stream_executor/cuda/cudart_stub.cc:29] Ignore above cudart dlerror "
        "if you do not have a GPU set up on your machine.\n"
    ),
    "torchvision": (
        "E:\\ai\\venv\\lib\\site-packages\\torchvision\\io\\image.py:13: UserWarning: Failed to load image Python "
        "extension: '[WinError 127] The specified procedure could not be found'If you don't plan on using image "
        "functionality from `torchvision.io`, you can ignore this warning.\n  warn(\n"
    ),
    "onnxruntime": (
        "2024-01-09 21:33:49.2971069 [W:onnxruntime:Default, onnxruntime_pybind_state.cc:747 onnxruntime::python::"
        "CreateExecutionProviderInstance] Failed to create CUDAExecutionProvider. Please reference "
        "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html#requirements to ensure all "
        "dependencies are met.\n"
    ),
    "xformers": (
        "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n"
        "    PyTorch 2.1.2+cu121 with CUDA 1201 (you have 2.1.2+cpu)\n"
        "    Python  3.10.11 (you have 3.10.8)\n"
    ),
    "driver": (
        "C:\\v\\Lib\\site-packages\\torch\\cuda\\__init__.py:141: UserWarning: CUDA initialization: The NVIDIA driver "
        "on your system is too old (found version 11040). Please update your GPU driver.\n"
        "  return torch._C._cuda_getDeviceCount() > 0\n"
    ),
    "bitsandbytes": (
        "C:\\v\\Lib\\site-packages\\bitsandbytes\\cextension.py:34: UserWarning: The installed version of bitsandbytes "
        "was compiled without GPU support. 8-bit optimizers and GPU quantization are unavailable.\n  warn(x)\n"
    ),
    "compiler": (
        "C:\\v\\Lib\\site-packages\\torch\\utils\\cpp_extension.py:382: UserWarning: Error checking compiler version "
        "for cl: [WinError 2] The system cannot find the file specified\n  warnings.warn(message)\n"
    ),
    "cmake": "-- Could NOT find Git (missing: GIT_EXECUTABLE)\n-- Found Python\n",
}
"""Warnings that stand at the beginning of many logs."""
ENDS = {
    "vc-runtime-too-old": (
        'Traceback (most recent call last):\n  File "D:\\app\\main.py", line 3, in <module>\n    import onnx\n'
        '  File "C:\\v\\Lib\\site-packages\\onnx\\__init__.py", line 77, in <module>\n'
        "    from onnx.onnx_cpp2py_export import ONNX_ML\nImportError: DLL load failed while importing "
        "onnx_cpp2py_export: A dynamic link library (DLL) initialization routine failed.\n"
    ),
    "torch-cpu-build": (
        'Traceback (most recent call last):\n  File "C:\\v\\Lib\\site-packages\\torch\\cuda\\__init__.py", line 284, '
        "in _lazy_init\nAssertionError: Torch not compiled with CUDA enabled\n"
    ),
    "cmake-minimum": (
        "-- Building for: Ninja\nCMake Error at CMakeLists.txt:1 (cmake_minimum_required):\n"
        "  Compatibility with CMake < 3.5 has been removed from CMake.\n\n-- Configuring incomplete, errors occurred!\n"
    ),
    "nvcc-unknown-arch": (
        "FAILED: kernel.cuda.o\nnvcc fatal   : Unsupported gpu architecture 'compute_35'\n"
        "ninja: build stopped: subcommand failed.\n"
    ),
    "numpy-abi": (
        'Traceback (most recent call last):\n  File "C:\\v\\Lib\\site-packages\\pandas\\__init__.py", line 22, in x\n'
        "ValueError: numpy.dtype size changed, may indicate binary incompatibility. "
        "Expected 96 from C header, got 88 from PyObject\n"
    ),
    "compile-failed": "FAILED: a.obj\nninja: build stopped: subcommand failed.\n",
    "": (
        'Traceback (most recent call last):\n  File "D:\\app\\main.py", line 12, in <module>\n'
        "    run(config[\"model\"])\nKeyError: 'model'\n"
    ),
}
"""What ended the program, by its cause; the last is not about DLLs."""


def diagnose(text: str) -> Diagnosis:
    return wheelfix.diagnose(text, options=HERMETIC)


def causes(text: str) -> list[str]:
    return [one.cause.id for one in diagnose(text).explained]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("warning", WARNINGS)
def test_a_warning_that_was_survived_is_not_the_cause(warning: str, end: str) -> None:
    found = diagnose(WARNINGS[warning] + ENDS[end])
    assert [one.cause.id for one in found.explained] == ([end] if end else [])
    assert [line.partition(":")[0] for line in found.harmless] in (["line 1"], ["line 2"])
    assert found.outcome is (DiagnosisOutcome.CAUSE if end else DiagnosisOutcome.UNKNOWN)


@pytest.mark.parametrize("warning", WARNINGS)
def test_a_warning_alone_is_explained(warning: str) -> None:
    found = diagnose(WARNINGS[warning])
    assert found.explained
    assert not found.harmless


NINJA = (
    "C:\\v\\Lib\\site-packages\\torch\\utils\\cpp_extension.py:495: UserWarning: Attempted to use ninja as the "
    "BuildExtension backend but we could not find ninja.. Falling back to using the slow distutils backend.\n"
    "  warnings.warn(msg.format('we could not find ninja.'))\n"
)
TENSORRT = (
    "[EP Error Please install TensorRT libraries as mentioned in the GPU requirements page, make sure they are\n"
    " when using ['TensorrtExecutionProvider', 'CUDAExecutionProvider', 'CPUExecutionProvider']\n"
    "Falling back to ['CUDAExecutionProvider', 'CPUExecutionProvider'] and retrying.\n"
)


@pytest.mark.parametrize("warning", [NINJA, TENSORRT], ids=["same-line", "two-lines-later"])
def test_an_error_after_which_the_program_takes_another_way_is_no_cause(warning: str) -> None:
    """Story: Ninja was named where the compiler was missing, and TensorRT where CUDA was."""
    assert causes(warning) == ([] if warning is NINJA else ["ort-tensorrt"])
    assert causes(warning + WARNINGS["compiler"]) == ["cl-not-found"]
    assert causes(warning + ENDS["torch-cpu-build"]) == ["torch-cpu-build"]


def test_a_library_that_prints_before_the_exception_comes_after_it() -> None:
    """Story: "CUDA extension not installed" of auto_gptq came before the exception that ended the program."""
    assert causes("CUDA extension not installed.\n" + ENDS["vc-runtime-too-old"]) == [
        "vc-runtime-too-old",
        "built-without-cuda",
    ]


def test_an_end_that_is_not_known_is_named() -> None:
    found = diagnose(WARNINGS["triton"] + ENDS[""])
    assert any("KeyError: 'model'" in note for note in found.notes)


def test_different_messages_are_different_errors() -> None:
    """Story: the second of two messages without a file was lost, and counted as the first one again."""
    text = "AssertionError: Torch not compiled with CUDA enabled\nCompatibility with CMake < 3.5 has been removed\n"
    assert causes(text) == ["torch-cpu-build", "cmake-minimum"]
    assert all(symptom.count == 1 for symptom in read_log(text).symptoms)


def test_the_last_traceback_ended_the_program() -> None:
    """Story: a node that could not be imported was answered, and not the error that the user asked about."""
    caught = ENDS["vc-runtime-too-old"]
    assert causes(caught + "IMPORT FAILED: node\n" + ENDS["torch-cpu-build"]) == [
        "torch-cpu-build",
        "vc-runtime-too-old",
    ]
    linked = "\nDuring handling of the above exception, another exception occurred:\n\n"
    assert causes(caught + linked + ENDS["numpy-abi"])[-1] == "vc-runtime-too-old"
    log = read_log(caught + linked + ENDS["numpy-abi"])
    assert log.ending is not None
    assert log.ending.start == 1, "what it was raised from belongs to it"


def test_an_operator_is_missing_because_a_library_was_not_loaded() -> None:
    """The warning names the reason; the exception at the end only follows from it."""
    frame = 'Traceback (most recent call last):\n  File "t.py", line 1, in x\n'
    text = f"{WARNINGS['torchvision']}{frame}RuntimeError: No such operator image::decode_png\n"
    assert causes(text)[0] == "torch-extension-mismatch"


def test_a_text_that_names_a_dll_is_not_said_to_be_without_one() -> None:
    found = diagnose("something about foo_bar.dll happened\n")
    assert "foo_bar.dll" in found.evidence[0].told
    assert any("foo_bar.dll" in note for note in found.notes)
