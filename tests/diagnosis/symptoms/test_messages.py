"""Messages in fixed words are understood, build errors say that they are such, and lines like them are left alone."""

from __future__ import annotations

import re

import pytest

from wheelfix.diagnosis.symptoms import explain_symptoms, read_symptoms
from wheelfix.diagnosis.symptoms.messages import messages, parse_messages
from wheelfix.knowledge.tables import TableFault

TEXTS = {
    "torch-source-shadows": "ModuleNotFoundError: No module named 'torch._C'",
    "torch-cpu-build": "AssertionError: Torch not compiled with CUDA enabled",
    "torchvision-mismatch": "RuntimeError: operator torchvision::nms does not exist",
    "qt-platform-plugin": 'Could not load the Qt platform plugin "windows" in "" even though it was found.',
    "bitsandbytes-cuda": "RuntimeError: CUDA Setup failed despite GPU being available. Please run the following",
    "bitsandbytes-cpu": "'NoneType' object has no attribute 'cadam32bit_grad_fp32'",
    "torchcodec-ffmpeg": "RuntimeError: Could not load libtorchcodec. Likely causes:",
    "cuda-library-by-name": "RuntimeError: Library cublas64_12.dll is not found or cannot be loaded",
    "delvewheel-missing": "FileNotFoundError: Unable to find library: vcomp140.dll",
    "bundle-python-dll": r"Failed to load Python DLL 'C:\Temp\_MEI193002\python312.dll'.",
    "xformers-mismatch": "xFormers can't load C++/CUDA extensions. xFormers was built for:",
    "no-nvidia-driver": "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
    "wheel-not-supported": "ERROR: torch-2.1.0-cp311-cp311-win_amd64.whl is not a supported wheel on this platform.",
    "oracle-client": 'DPI-1047: Cannot locate a 64-bit Oracle Client library: "The specified module could not be',
    "odbc-driver": "[Microsoft][ODBC Driver Manager] Driver could not be loaded due to system error 126 (IM003)",
    "dotnet-framework": r"RuntimeError: Failed to resolve Python.Runtime.Loader.Initialize from C:\Python.Runtime.dll",
    "compiled-part-missing": "ModuleNotFoundError: No module named 'pydantic_core._pydantic_core'",
    "usb-backend": "usb.core.NoBackendError: No backend available",
    "cuda-home": "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
    "cuda-toolset": "CMake Error at CMakeDetermineCompilerId.cmake:676 (message): No CUDA toolset found.",
    "windows-sdk": "LINK : fatal error LNK1104: cannot open file 'kernel32.lib'",
    "header-missing": "src.h(33): fatal error C1083: Cannot open include file: 'sqlcipher/sqlite3.h': No such file",
    "library-missing": "LINK : fatal error LNK1181: cannot open input file 'm.lib'",
    "cmake-missing": "CMake must be installed to build the following extensions: _dlib_pybind11",
    "ort-cpu-package": "Specified provider 'CUDAExecutionProvider' is not in available provider names.",
    "opencl-platform": "pyopencl._cl.LogicError: clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR",
    "rust-missing": "error: can't find Rust compiler",
    "distutils-msvccompiler": "AttributeError: module 'distutils' has no attribute '_msvccompiler'",
    "cmake-minimum": "Compatibility with CMake < 3.5 has been removed from CMake.",
    "builtin-clz": "arena.h(15): error C2365: '__builtin_clz': redefinition",
    "path-too-long": "[WinError 206] The filename or extension is too long: 'C:\\b'",
    "nvcc-vs-version": "host_config.h(164): fatal error C1189: #error: -- unsupported Microsoft Visual Studio version!",
    "nvcc-unknown-arch": "nvcc fatal   : Unsupported gpu architecture 'compute_120'",
    "cuda-mismatch": "The detected CUDA version (12.4) mismatches the version that was used to compile PyTorch (11.8).",
    "gpu-too-old-for-torch": "GPU0 Tesla K40c. PyTorch no longer supports this GPU because it is too old.",
    "cl-not-found": "error: Microsoft Visual C++ 14.0 or greater is required.",
    "pthread-header": "fatal error C1083: Cannot open include file: 'pthread.h': No such file or directory",
    "c10d-unresolved": "error LNK2019: unresolved external symbol c10d::Work::wait",
    "command-line-too-long": "The command line is too long.",
    "charmap-codec": "UnicodeEncodeError: 'charmap' codec can't encode character '\\u2192'",
    "cuda-path-spaces": "'C:\\Program' is not recognized as an internal or external command,",
}


def test_every_message_has_a_case() -> None:
    assert set(TEXTS) == {message.id for message in messages()}


@pytest.mark.parametrize("name", TEXTS)
def test_a_message_is_understood_within_a_log(name: str) -> None:
    log = f"12:00 some line\n  {TEXTS[name]}\nanother line\n"
    (cause,) = explain_symptoms(read_symptoms(log))
    assert cause.id == name
    assert len(cause.next_steps) == 1
    assert not re.search(r"\{\w+\}", " ".join([cause.summary, cause.what_is_known, cause.next_steps[0].command]))
    message = next(one for one in messages() if one.id == name)
    assert cause.what_is_known.startswith("This is an error of a build") == message.build


@pytest.mark.parametrize(
    ("arch", "known"),
    [("compute_120", "CUDA 12.8 is the first"), ("compute_35", "11.8 the last"), ("sm_999", "A newer toolkit")],
)
def test_which_toolkit_knows_an_architecture(arch: str, known: str) -> None:
    (cause,) = explain_symptoms(read_symptoms(f"nvcc fatal : Unsupported gpu architecture '{arch}'"))
    assert known in cause.what_is_known


@pytest.mark.parametrize(
    "text",
    [
        "ModuleNotFoundError: No module named 'torch'",
        "CUDA is available",
        "operator aten::nms does not exist",
        "Unable to find the library of dreams",
        "the sentence is too long",
        "detected CUDA version 12.4",
        "KeyError: 'qt'",
    ],
)
def test_neighbours_are_left_alone(text: str) -> None:
    assert read_symptoms(text) == ()


def test_a_message_without_words_is_refused() -> None:
    row = '[[message]]\nid="x"\nsummary="s"\nknown="k"\nfix="f"\nwhy="w"\nsource="s"\n'
    with pytest.raises(TableFault, match="no words"):
        parse_messages("t", row)
