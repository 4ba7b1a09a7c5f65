"""Messages, libraries and compiled modules are recognised by their words, and have causes."""

from __future__ import annotations

import re

import pytest

from tests.diagnosis.symptoms.explaining import explain_symptoms
from wheelfix.diagnosis.symptoms.causes import cause_table
from wheelfix.diagnosis.symptoms.messages import (
    libraries,
    library_of,
    messages,
    wordings,
)
from wheelfix.diagnosis.symptoms.reader import read_symptoms

TEXTS = {
    "torch-source-shadows": "ModuleNotFoundError: No module named 'torch._C'",
    "oracle-client-version": "cx_Oracle.DatabaseError: DPI-1072: the Oracle Client library version is unsupported",
    "torch-cpu-build": "AssertionError: Torch not compiled with CUDA enabled",
    "torchvision-mismatch": "RuntimeError: operator torchvision::nms does not exist",
    "qt-platform-plugin": 'Could not find the Qt platform plugin "windows" in ""',
    "compiler-output": "a.cpp : fatal error C1083: Cannot open compiler generated file: 'a.obj': Permission denied",
    "compiler-path-too-long": "a.cpp : fatal error C1083: Cannot open compiler generated file: '': Invalid argument",
    "cuda-headers-missing": "a.cu(1): fatal error C1083: Cannot open include file: 'cub/cub.cuh': No such file",
    "compiler-too-old": r"torch\include\c10/a.h(2): warning C4814: in C++14 'constexpr' will not imply 'const'",
    "xformers-extension": "WARNING[XFORMERS]: Need to compile C++ extensions to use all xFormers features.",
    "qt-plugin-refused": 'Could not load the Qt platform plugin "windows" in "" even though it was found.',
    "bitsandbytes-cuda": "RuntimeError: CUDA Setup failed despite GPU being available. Please run the following",
    "bitsandbytes-cpu": "'NoneType' object has no attribute 'cadam32bit_grad_fp32'",
    "torchcodec-ffmpeg": "RuntimeError: Could not load libtorchcodec. Likely causes:",
    "delvewheel-missing": "FileNotFoundError: Unable to find library: vcomp140.dll",
    "bundle-build-folder": r"Failed to load Python DLL 'C:\code\build\app\_internal\python311.dll'.",
    "api-set-warning": "6633 WARNING: lib not found: api-ms-win-crt-runtime-l1-1-0.dll dependency of python.exe",
    "pywin32-service": "This executable doesn't have pythonXX.dll and/or pywintypesXX.dll in the same",
    "gcc-option": "cl : Command line error D8021 : invalid numeric argument '/Wno-cpp'",
    "gcc-builtin": "HighsHash.h(107,46): error C3861: '__builtin_clz': identifier not found",
    "nvcc-std-ambiguous": "compiled_autograd.h(1134): error C2872: 'std': ambiguous symbol",
    "compiler-crash": "cluster.c(1495) : fatal error C1001: Internal compiler error.",
    "python-dev-files": "cuda_utils.c:13: error: include file 'Python.h' not found",
    "cmake-cache": "Does not match the generator used previously: Ninja",
    "git-long-paths": "error: unable to create file library/src/instance.cpp: Filename too long",
    "git-ownership": "fatal: detected dubious ownership in repository at 'C:/automatic'",
    "repair-no-wheel": 'repaired_wheel = next(repaired_wheel_dir.glob("*.whl"))',
    "path-entry-quoted": "OSError: [WinError 123] The filename is incorrect: '\"C:\\\\x'",
    "record-mismatch": "your recent upload has file contents that do not match the included RECORD file.",
    "source-build": "error: Microsoft Visual C++ 14.0 or greater is required.",
    "no-wheel": "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)",
    "bundle-python-dll": r"Failed to load Python DLL 'C:\Temp\_MEI193002\python312.dll'.",
    "xformers-mismatch": "xFormers can't load C++/CUDA extensions. xFormers was built for:",
    "no-nvidia-driver": "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
    "wheel-not-supported": "ERROR: torch-2.1.0-cp311-cp311-win_amd64.whl is not a supported wheel on this platform.",
    "dotnet-assembly": "Could not load file or assembly 'System.IO.Ports, Version=6.0.0.0'.",
    "dotnet-blocked-file": "If sandboxing is not wanted, enable the loadFromRemoteSources switch (HRESULT: 0x80131515)",
    "oracle-client": 'DPI-1047: Cannot locate a 64-bit Oracle Client library: "The specified module could not be',
    "odbc-driver": "[Microsoft][ODBC Driver Manager] Driver could not be loaded due to system error 126 (IM003)",
    "dotnet-framework": r"RuntimeError: Failed to resolve Python.Runtime.Loader.Initialize from C:\Python.Runtime.dll",
    "compiled-part-missing": "ModuleNotFoundError: No module named 'pydantic_core._pydantic_core'",
    "usb-backend": "usb.core.NoBackendError: No backend available",
    "cuda-no-device": "RuntimeError: Error 100: no CUDA-capable device is detected",
    "cuda-driver-fault": "RuntimeError: CUDA error: OS call failed or operation not supported on this OS",
    "gpu-library-start": "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
    "torch-without-gpu": "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
    "built-without-cuda": "RuntimeError: Not compiled with GPU support",
    "xformers-no-operator": "NotImplementedError: No operator found for `memory_efficient_attention_forward` with",
    "torch-extension-loaded-twice": "ImportError: cannot load module more than once per process",
    "triton-windows": "ModuleNotFoundError: No module named 'triton'",
    "triton-toolchain": "RuntimeError: Cannot find ptxas.exe",
    "ort-tensorrt": "EP Error: Please install TensorRT libraries as mentioned in the GPU requirements page, make sure",
    "ort-system-copy": "The requested API version [22] is not available, only API versions [1, 17] are supported",
    "jaxlib-mismatch": "jaxlib version 0.4.30 is newer than and incompatible with jax version 0.4.25.",
    "cupy-packages": "CuPy may not function correctly because multiple CuPy packages are installed",
    "numba-nvvm": "numba.cuda.cudadrv.error.NvvmSupportError: libNVVM cannot be found.",
    "conda-not-activated": "This Python interpreter is in a conda environment, but the environment has",
    "openssl-legacy": "RuntimeError: OpenSSL 3.0's legacy provider failed to load. This is a fatal error by default",
    "openssl-applink": "OPENSSL_Uplink(00007FFB8B5F6CA0,08): no OPENSSL_Applink",
    "tcl-mismatch": "_tkinter.TclError: Can't find a usable init.tcl in the following directories:",
    "python-mixed": "AssertionError: SRE module mismatch",
    "module-for-other-python": "ImportError: dynamic module does not define module export function (PyInit__x)",
    "stdlib-module-missing": "ModuleNotFoundError: No module named '_ctypes'",
    "numpy-c-extensions": "Importing the numpy C-extensions failed. This error can happen for",
    "numpy-windows-bug": "RuntimeError: fails to pass a sanity check due to a bug in the windows runtime.",
    "hdf5-mismatch": "Warning! ***HDF5 library version mismatched error***",
    "proj-data": "pyproj.exceptions.DataDirError: Valid PROJ data directory not found.",
    "opencv-mixed": 'ImportError: ERROR: recursion is detected during loading of "cv2" binary extensions.',
    "package-leftover": "AttributeError: module 'onnxruntime' has no attribute 'InferenceSession'",
    "psycopg-without-libpq": "ImportError: no pq wrapper available.",
    "odbc-no-driver": "[Microsoft][ODBC Driver Manager] Data source name not found and no default driver specified",
    "odbc-bitness": "The specified DSN contains an architecture mismatch between the Driver and Application",
    "pywin32-incomplete": "ImportError: No system module 'pywintypes' (pywintypes311.dll)",
    "bundle-library-missing": "PyInstallerImportError: Failed to load dynlib/dll 'core'.",
    "bundle-module-missing": "Failed to execute script 'app' due to unhandled exception: No module named 'sqlalchemy'",
    "bundle-unpack": "[1234] Could not create temporary directory!",
    "jvm-missing": "JVMNotFoundException: No JVM shared library file (jvm.dll) found.",
    "install-path-too-long": "since this system does not have Windows Long Path support enabled.",
    "node-abi": "was compiled against a different Node.js version using NODE_MODULE_VERSION 93.",
    "python-too-new": "src.c(12): error C2039: 'tp_print': is not a member of '_typeobject'",
    "setuptools-too-old": "AttributeError: module 'pkgutil' has no attribute 'ImpImporter'",
    "ninja-missing": "RuntimeError: Ninja is required to load C++ extensions",
    "build-memory": "x.cu(1): fatal error C1060: compiler is out of heap space",
    "link-machine": "fatal error LNK1112: module machine type 'x64' conflicts with target machine type 'x86'",
    "swig-missing": "error: command 'swig.exe' failed with exit code 1",
    "pg-config": "Error: pg_config executable not found.",
    "deepspeed-aio": "AssertionError: Unable to pre-compile async_io",
    "cmake-package-missing": "Could NOT find OpenSSL (missing: OPENSSL_CRYPTO_LIBRARY)",
    "link-unresolved": "x.obj : error LNK2001: unresolved external symbol __imp_foo",
    "compile-failed": "error: command 'C:\\\\VC\\\\cl.exe' failed with exit code 2",
    "cuda-home": "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.",
    "cuda-toolset": "CMake Error at CMakeDetermineCompilerId.cmake:676 (message): No CUDA toolset found.",
    "windows-sdk": "LINK : fatal error LNK1104: cannot open file 'kernel32.lib'",
    "header-missing": "src.h(33): fatal error C1083: Cannot open include file: 'sqlcipher/sqlite3.h': No such file",
    "mingw-library": "LINK : fatal error LNK1181: cannot open input file 'libdwarf-0.dll.a.lib'",
    "library-missing": "LINK : fatal error LNK1181: cannot open input file 'm.lib'",
    "link-not-microsofts": "= note: link: extra operand 'C:\\\\x\\\\symbols.o'",
    "vcvarsall-failed": 'error: Error executing cmd /u /c "C:\\VC\\Build\\vcvarsall.bat" x64 && set\n[end of output]',
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
    "cl-not-found": "RuntimeError: Compiler: cl is not found.",
    "pthread-header": "fatal error C1083: Cannot open include file: 'pthread.h': No such file or directory",
    "c10d-unresolved": "error LNK2019: unresolved external symbol c10d::Work::wait",
    "command-line-too-long": "The command line is too long.",
    "charmap-codec": "UnicodeEncodeError: 'charmap' codec can't encode character '\\u2192'",
    "object-missing": "LINK : fatal error LNK1181: cannot open input file 'C:\\\\b\\\\src\\\\bindings.obj'",
    "fortran-missing": "meson.build:57:0: ERROR: Unknown compiler(s): [['ifort'], ['gfortran'], ['flang']]",
    "build-script": "error: metadata-generation-failed",
    "build-module-missing": "hint: try adding `--no-build-isolation`",
    "program-missing": "'git' is not recognized as an internal or external command",
    "privilege-missing": "OSError: [WinError 1314] A required privilege is not held by the client: 'a' -> 'b'",
    "pip-replaces-itself": "OSError: [WinError 5] Access is denied: 'd:\\myvenv\\scripts\\pip.exe'",
    "files-in-use": "PermissionError: [WinError 5] Access is denied: 'C:\\lab\\site-packages\\cv2\\cv2.pyd'",
    "disk-full": "OSError: [Errno 28] No space left on device",
    "bundle-data-missing": "FileNotFoundError: [Errno 2] No such file or directory: 'C:\\T\\_MEI1234\\x\\a.txt'",
    "conda-corrupted": "CondaVerificationError: The package for python located at C:\\pkgs appears to be corrupted.",
    "venv-base-gone": "No Python at 'C:\\Python39\\python.exe'",
    "systemroot-missing": "OSError: [WinError 10106] The requested service provider could not be loaded",
    "pkg-resources": "ModuleNotFoundError: No module named 'pkg_resources'",
    "opengl-driver": "WGL: The driver does not appear to support OpenGL",
    "torch-other-build": "AssertionError: Torch not compiled with XPU enabled",
    "sycl-no-device": "No device of requested type available. -1 (PI_ERROR_DEVICE_NOT_FOUND)",
    "directml-no-adapter": "DirectML device enumeration: found 0 compatible adapters.",
    "feature-not-built": "ECCODES ERROR   :  JPEG support not enabled.",
    "rust-nightly": "process didn't exit successfully: `rustc - --crate-name ___ -Z mutable-noalias` (exit code: 1)",
    "pip-too-old": "This version of pip does not implement PEP 517 so it cannot build a wheel without 'setuptools'.",
    "tensorrt-plan": "The engine plan file is not compatible with this version of TensorRT, expecting 8.6 got 8.5",
    "cuda-path-spaces": "'C:\\Program' is not recognized as an internal or external command,",
}


def test_every_message_has_a_case():
    instead = {message.instead[-1] for message in messages() if message.instead}
    assert set(TEXTS) == {message.id for message in messages()} - instead


@pytest.mark.parametrize("name", TEXTS)
def test_a_message_is_understood_within_a_log(name):
    log = f"12:00 some line\n  {TEXTS[name]}\nanother line\n"
    (cause,) = explain_symptoms(read_symptoms(log))
    assert cause.id == name
    assert len(cause.next_steps) == 1
    assert not re.search(r"\{\w+\}", " ".join([cause.summary, cause.what_is_known, cause.next_steps[0].command]))


WORDINGS = [
    ("no-gpu-code", "RuntimeError: CUDA error: invalid device function"),
    ("driver-missing", "pynvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found"),
    ("driver-too-old", "cudaErrorInsufficientDriver"),
    ("torch-extension-mismatch", "Detected that PyTorch and torch_sparse were compiled with different CUDA versions."),
    ("torch-cpu-build", "RuntimeError: Tried to instantiate dummy base class CUDAGraph"),
    ("cuda-provider-incomplete", "Failed to create CUDAExecutionProvider. Please reference https://onnxruntime.ai/"),
    ("illegal-instruction", "RuntimeError: This version of jaxlib was built using AVX instructions, which your CPU"),
    ("load-failed", "Failed to load the native TensorFlow runtime."),
    (
        "python-library-folder",
        "pip is configured with locations that require TLS/SSL, however the ssl module in Python is not available.",
    ),
    ("cudnn-mixed", "enqueue: 14 (CUDNN_STATUS_VERSION_MISMATCH)"),
    ("cuda-home", "'nvcc' is not recognized as an internal or external command"),
    ("cl-not-found", '"cl" 不是内部或外部命令，也不是可运行的程序'),
    ("cmake-missing", "FileNotFoundError: [WinError 2] The system cannot find the file specified: 'cmake'"),
    ("windows-sdk", "LINK : fatal error LNK1158: cannot run 'rc.exe'"),
    ("swig-missing", "error: command 'swig.exe' failed: No such file or directory"),
    ("ninja-missing", "CMake was not able to run: ninja not found"),
    ("rust-missing", "error: cargo is not installed"),
    ("cuda-mismatch", "Installed CUDA version 12.1 does not match the version torch was compiled with 11.8"),
    ("nvrtc-builtins-missing", "cupy_backends.cuda.libs.nvrtc.NVRTCError: NVRTC_ERROR_BUILTIN_OPERATION_FAILURE (7)"),
    ("compiler-crash", "nvcc error   : 'cudafe++' died with status 0xC0000005 (ACCESS_VIOLATION)"),
    ("compile-failed", "CalledProcessError: Command '['C:\\VC\\cl.EXE', 'main.c']' returned non-zero exit status 2."),
    ("compile-failed", "x.h(277): error C2556: 'f': overloaded function differs only by return type"),
    ("package-leftover", "ImportError: cannot import name 'Tensor' from 'torch' (unknown location)"),
    ("compiled-part-missing", "ModuleNotFoundError: No module named 'flash_attn_2_cuda'"),
    ("cudnn-part-missing", "Unable to load any of {cudnn_ops64_9.1.0.dll, cudnn_ops64_9.1.dll, cudnn_ops64_9.dll}"),
    ("library-by-name", "FileNotFoundError: Shared library with base name 'whisper' not found"),
    ("library-by-name", "ImportError: Could not load whisper."),
    (
        "library-by-name",
        'TclError: couldn\'t load library "x.dll": this library or a dependent library could not be found',
    ),
    ("cudnn-part-missing", "Please make sure cudnn_ops_infer64_8.dll is in your library path!"),
    ("rocm-runtime-missing", "The code execution cannot proceed because amdhip64.dll was not found."),
    ("wrong-version", "ImportError: DLL load failed while importing _cmd: The specified program cannot be found."),
    ("wrong-version", 'WinError 127 - Error loading "torch_python.dll" or one of its dependencies'),
    ("missing-dependency", r"errors_impl.NotFoundError: C:\v\Lib\site-packages\x\_ops.so not found"),
    ("link-unresolved", "Error\tLNK2001\tunresolved external symbol ?warp_size@cuda@at@@YAHXZ"),
    ("pywin32-incomplete", "ModuleNotFoundError: No module named 'pywintypes'"),
    ("library-by-name", "Unable to load 'libraw.dll' - error 126Problem loading dlls"),
    (
        "cuda-provider-incomplete",
        "[E:onnxruntime:Default, x.cc:952 onnxruntime::ProviderLibrary::Get] Failed to load library, error code: 126",
    ),
]


@pytest.mark.parametrize(("cause", "text"), WORDINGS)
def test_other_words_lead_to_a_known_cause(cause, text):
    (found,) = explain_symptoms(read_symptoms(text))
    assert found.id == cause
    assert found.next_steps
    assert not re.search(r"\{\w+\}", found.summary + found.what_is_known)


def test_every_wording_leads_somewhere():
    known = {*cause_table().causes, *(message.id for message in messages())}
    assert {wording.cause for wording in wordings()} <= known


def test_what_only_repeats_that_it_failed_counts_alone():
    """TensorFlow's last line says nothing that the line with the error does not say."""
    last = "Failed to load the native TensorFlow runtime.\n"
    error = "ImportError: DLL load failed while importing _pywrap_tfe: The specified module could not be found.\n"
    assert [symptom.kind for symptom in read_symptoms(error + last)] == ["dll-load-failed"]
    assert [symptom.kind for symptom in read_symptoms(last)] == ["message"]


@pytest.mark.parametrize(
    ("arch", "known"),
    [("compute_120", "CUDA 12.8 is the first"), ("compute_35", "11.8 the last"), ("sm_999", "A newer toolkit")],
)
def test_which_toolkit_knows_an_architecture(arch, known):
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
        "'sh' is not recognized as an internal or external command,",
        "FileNotFoundError: [Errno 2] No such file or directory: 'data'",
        "TypeError: argument of type 'NoneType' is not iterable",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "RuntimeError: CUDA error: device-side assert triggered",
        "AttributeError: module 'numpy' has no attribute 'bool'.",
        "tesseract is not installed or it's not in your PATH.",
        "FileNotFoundError: [Errno 2] No such file or directory: 'link.txt'",
        "audioread.exceptions.NoBackendError",
        "FileNotFoundError: [WinError 2] The system cannot find the file specified",
        "TypeError: Descriptors cannot be created directly.",
    ],
)
def test_neighbours_are_left_alone(text):
    assert read_symptoms(text) == ()


def test_every_row_has_words_in_lower_case():
    """Without words only a message that stands in place of another one."""
    others = {row.instead[-1] for row in messages() if row.instead}
    assert all(row.every + row.some for row in (*messages(), *wordings()) if getattr(row, "id", "") not in others)
    words = [word for row in (*messages(), *wordings(), *libraries()) for word in row.every + row.some]
    assert words == [word.lower() for word in words]
    assert len({row.id for row in messages()}) == len(messages())


FRAME = '  File "C:\\lab\\Lib\\site-packages\\x\\__init__.py", line 1, in <module>\n'


@pytest.mark.parametrize("library", [one for one in libraries() if one.some], ids=lambda one: one.name)
def test_words_about_a_library_name_it_and_say_where_to_get_it(library):
    (cause,) = explain_symptoms(read_symptoms(f"{FRAME}ImportError: {library.some[0]}\n"))
    assert cause.id == "library-by-name"
    assert cause.likely_missing == (library.name,)
    assert cause.next_steps[0].title == library.fix


def test_the_same_words_from_another_system_are_left_alone():
    words = "OSError: PortAudio library not found\n"
    assert read_symptoms('  File "/usr/lib/python3/dist-packages/sounddevice.py", line 71, in <module>\n' + words) == ()
    assert read_symptoms(words) == ()


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("libsndfile_x64.dll", "libsndfile.dll"),
        ("portaudio", "portaudio.dll"),
        ("geos_c.dll", "geos_c.dll"),
        ("gdal307", "gdal.dll"),
        ("R.dll", "R.dll"),
        ("libusb-1.0.dll", "libusb-1.0.dll"),
    ],
)
def test_a_name_stands_for_a_library(name, library):
    found = library_of(name)
    assert found is not None
    assert found.name == library


@pytest.mark.parametrize("name", ["", "torch_cpu.dll", "rocblas.dll", "render.dll", "core.dll"])
def test_other_names_stand_for_none(name):
    assert library_of(name) is None


def test_a_library_that_is_asked_for_by_name_comes_with_its_own_remedy_first():
    text = "FileNotFoundError: Could not find module 'libvlc.dll' (or one of its dependencies). Try using the full path"
    (cause,) = explain_symptoms(read_symptoms(text))
    assert "VLC" in cause.next_steps[0].title


@pytest.mark.parametrize(
    "text",
    [
        "ModuleNotFoundError: No module named 'sklearn.utils._typedefs'",
        "ModuleNotFoundError: No module named 'mmcv._ext'",
        "ImportError: cannot import name '_C' from 'detectron2' (C:\\lab\\detectron2\\__init__.py)",
        "ImportError: cannot import name '_imaging' from partially initialized module 'PIL' (most likely due to a",
        "ModuleNotFoundError: No module named \\'vllm._C\\'",
        "ModuleNotFoundError: No module named 'exllama_ext_cuda.core_cuda'",
    ],
)
def test_the_compiled_part_of_a_package_is_missing(text):
    (cause,) = explain_symptoms(read_symptoms(text))
    assert cause.id == "compiled-part-missing"


@pytest.mark.parametrize(
    "text",
    [
        "ModuleNotFoundError: No module named 'sklearn'",
        "ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'",
        "ModuleNotFoundError: No module named '_ext'",
        "ImportError: cannot import name 'Mapping' from 'collections' (C:\\Python310\\lib\\collections\\__init__.py)",
        "INFO Could not load library with AVX2 support due to: No module named 'faiss.swigfaiss_avx2'",
        '  File "/opt/venv/lib/python3.11/site-packages/mmcv/__init__.py", line 1, in <module>\n'
        "ModuleNotFoundError: No module named 'mmcv._ext'",
    ],
)
def test_other_imports_are_left_alone(text):
    assert read_symptoms(text) == ()
