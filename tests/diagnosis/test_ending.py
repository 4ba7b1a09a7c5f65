"""What ended the program comes first, and the warnings that it survived are said to be harmless."""

from __future__ import annotations

import pytest

import wheelfix
from wheelfix.base.options import RootOptions, ScanOptions
from wheelfix.diagnosis.model import Diagnosis, DiagnosisOutcome
from wheelfix.diagnosis.symptoms.causes import ending_families
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
    "program-code": (
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
def test_a_warning_that_was_survived_is_not_the_cause(warning, end):
    found = diagnose(WARNINGS[warning] + ENDS[end])
    assert [one.cause.id for one in found.explained] == [end]
    assert [line.partition(":")[0] for line in found.harmless] in (["line 1"], ["line 2"])
    assert found.outcome is (DiagnosisOutcome.UNKNOWN if end == "program-code" else DiagnosisOutcome.CAUSE)


@pytest.mark.parametrize("warning", WARNINGS)
def test_a_warning_alone_is_explained(warning):
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
def test_an_error_after_which_the_program_takes_another_way_is_no_cause(warning):
    """Story: Ninja was named where the compiler was missing, and TensorRT where CUDA was."""
    assert causes(warning) == ([] if warning is NINJA else ["ort-tensorrt"])
    assert causes(warning + WARNINGS["compiler"]) == ["cl-not-found"]
    assert causes(warning + ENDS["torch-cpu-build"]) == ["torch-cpu-build"]


def test_a_library_that_prints_before_the_exception_comes_after_it():
    """Story: "CUDA extension not installed" of auto_gptq came before the exception that ended the program."""
    assert causes("CUDA extension not installed.\n" + ENDS["vc-runtime-too-old"]) == [
        "vc-runtime-too-old",
        "built-without-cuda",
    ]


@pytest.mark.parametrize(("package", "module"), [("xformers", "_C_flashattention"), ("demo", "_sqlite3")])
def test_a_warning_that_names_the_torch_that_is_wanted_explains_its_extension(package, module):
    text = (
        WARNINGS["xformers"] + "Traceback (most recent call last):\n"
        f'  File "C:\\venv\\Lib\\site-packages\\{package}\\ops.py", line 55, in <module>\n    import {module}\n'
        f"ImportError: DLL load failed while importing {module}: The specified module could not be found.\n"
    )
    assert (causes(text)[0] == "torch-cpu-build") is (package == "xformers")


def test_notices_of_distutils_are_not_what_failed():
    """scikit-learn prints its versions with NumPy's, which looks for compilers of Fortran."""
    text = (
        "ImportError: DLL load failed while importing arrayfuncs: The specified module could not be found.\n"
        "Could not locate executable gfortran\ndon't know how to compile Fortran code on platform 'nt'\n"
    )
    assert "arrayfuncs" in diagnose(text).explained[0].cause.summary


def test_an_end_that_is_not_known_is_named():
    found = diagnose(WARNINGS["triton"] + ENDS["program-code"])
    assert "KeyError: 'model'" in found.explained[0].cause.summary
    assert not found.notes


def test_different_messages_are_different_errors():
    """Story: the second of two messages without a file was lost, and counted as the first one again."""
    text = "AssertionError: Torch not compiled with CUDA enabled\nCompatibility with CMake < 3.5 has been removed\n"
    assert causes(text) == ["torch-cpu-build", "cmake-minimum"]
    assert all(symptom.count == 1 for symptom in read_log(text).symptoms)


def test_the_last_traceback_ended_the_program():
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


def test_an_operator_is_missing_because_a_library_was_not_loaded():
    """The warning names the reason; the exception at the end only follows from it."""
    frame = 'Traceback (most recent call last):\n  File "t.py", line 1, in x\n'
    text = f"{WARNINGS['torchvision']}{frame}RuntimeError: No such operator image::decode_png\n"
    assert causes(text)[0] == "torch-extension-mismatch"


def test_a_text_that_names_a_dll_is_not_said_to_be_without_one():
    found = diagnose("something about foo_bar.dll happened\n")
    assert found.facts == ("foo_bar.dll",)


FAMILIES = {
    "gpu-not-seen": ["my graphics card is not recognized, it runs on the CPU", "Why can't TensorFlow use my GPU?"],
    "gpu-build": ["LightGBMError: b'GPU Tree Learner was not enabled in this build. Recompile'"],
    "link-unresolved": ["a.obj : error LNK2019: unresolved external symbol foo referenced in function bar"],
    "parts-of-two-releases": ["ImportError: this is X version (1, 4, 2), but _x is version (1, 4, 1)"],
    "mingw-unsupported": ["ValueError: Unknown MS Compiler version 1916"],
    "module-init-name": ["LINK : error LNK2001: unresolved external symbol PyInit_pkg/_search"],
    "instruction-of-other-card": ["ptxas error   : Instruction 'wgmma.fence' not supported on .target 'sm_120'"],
    "gcc-builtin": [
        "a.obj : error LNK2001: unresolved external symbol WIFEXITED",
        "a.cpp(3): error C2065: 'M_PI': undeclared identifier",
    ],
    "link-failed": ["LINK : fatal error LNK1561: entry point must be defined"],
    "cmake-error": ["CMake Error at CMakeLists.txt:9 (message):\n  The toolchain is too old.\n"],
    "meson-error": ['..\\meson.build:4:0: ERROR: Value "x" is not one of the choices.'],
    "msbuild-error": ["D:\\a\\x.vcxproj(9,3): error MSB4019: The imported project was not there."],
    "cython-error": ["Error compiling Cython file:\nfoo.pyx:3:4: undeclared name not builtin: long"],
    "rust-error": ["error[E0433]: failed to resolve: use of undeclared crate or module `foo`"],
    "compile-failed": [
        "x.cpp(3): error C2065: 'foo': undeclared identifier",
        'x.cu(7): error: identifier "foo" is undefined',
        "src/x.c:9:1: error: unknown type name 'u_int'",
        "Error\tC2065\t'foo': undeclared identifier",
    ],
    "python-removed": [
        "ModuleNotFoundError: No module named 'imp'",
        "ImportError: cannot import name 'Mapping' from 'collections' (C:\\Python310\\lib\\collections\\__init__.py)",
        "AttributeError: module 'inspect' has no attribute 'getargspec'",
    ],
    "compiled-part-missing": [
        "ImportError: cannot import name 'points_cpp' from 'bar' (C:\\bar\\__init__.py)",
        "NameError: name '_ext' is not defined",
        "ModuleNotFoundError: No module named 'foo._native'",
        "OSError: Cannot load native module 'Crypto.Hash._MD5': Not found '_MD5.cp310-win_amd64.pyd'",
    ],
    "cmake-package-missing": [
        "  Complete output (3 lines):\n  setup.py:168: UserWarning: Unable to determine GEOS version.\n"
        "  Proj 4.9.0 must be installed.\n  ----------------------------------------\n",
    ],
    "build-script": ["[2 lines of output]\n running egg_info\n This package is sold elsewhere\n [end of output]\n"],
    "cmake-missing": [
        'Traceback (most recent call last):\n  File "C:\\Temp\\setup.py", line 120, in get_cmake_version\n'
        "    out = check_output(['cmake', '--version'])\n"
        '  File "C:\\Python39\\lib\\subprocess.py", line 411, in check_output\n'
    ],
    "traceback-cut": [
        'Traceback (most recent call last):\n  File "C:\\v\\Lib\\site-packages\\foo\\a.py", line 1, in <module>\n',
        "Cannot use distutils with Python>=3.12, using meson backend instead.\nTraceback (most recent call last):",
    ],
    "said-to-fail": ["It works at home, and here the file frob.lib is missing.\n"],
    "warning-only": ["C:\\v\\a.py:3: UserWarning: Failed to find the frobnicator.\n"],
    "path-escape": ["meson.build:11:22: ERROR: C:\tools\\py12\\python.exe not found"],
    "unix-module": [
        "ModuleNotFoundError: No module named 'fcntl'",
        "AttributeError: module 'numpy' has no attribute 'float128'. Did you mean: 'float16'?",
        "AttributeError: module 'os' has no attribute 'getuid'",
    ],
    "python-library-mismatch": ["a.obj : error LNK2001: unresolved external symbol __imp_PyErr_Format"],
    "spawn-main": [
        "An attempt has been made to start a new process before the\ncurrent process has finished its start.",
        "AttributeError: Can't pickle local object 'main.<locals>.<lambda>'",
    ],
    "protobuf-mismatch": ["TypeError: Descriptors cannot not be created directly."],
    "setuptools-too-new": ["error in foo setup command: use_2to3 is invalid."],
    "torch-distributed": ["RuntimeError: Distributed package doesn't have NCCL built in"],
    "device-missing": ["OSError: [Errno -9996] Invalid input device (no default output device)"],
    "circular-import": ["AttributeError: partially initialized module 'foo' has no attribute 'bar'"],
    "release-mismatch": [
        "ImportError: cannot import name 'Foo' from 'transformers' (C:\\v\\transformers\\__init__.py)",
        "AttributeError: module 'numpy' has no attribute 'float'",
        "ModuleNotFoundError: No module named 'numpy._core'",
        '  File "C:\\v\\Lib\\site-packages\\setuptools\\dist.py", line 4, in x\n'
        "TypeError: canonicalize_version() got an unexpected keyword argument 'strip'",
    ],
    "stdlib-module-missing": ["ModuleNotFoundError: No module named 'tkinter'"],
    "module-missing": [
        "ModuleNotFoundError: No module named 'yaml'",
        "`ModuleNotFoundError: No module named 'yaml'`",
        "**_ModuleNotFoundError: No module named 'yaml'_**",
        "start.bat does not run: No module named 'yaml' [BUG]",
        "ImportError: Please install accelerate first",
    ],
    "not-for-windows": ["RuntimeError: uvloop does not support Windows at the moment"],
    "python-version": [
        "RuntimeError: Python version >= 3.9 required.",
        '  File "C:\\v\\Lib\\site-packages\\foo\\bar.py", line 4\n    x: int = 3\n     ^\nSyntaxError: invalid syntax',
    ],
    "requirements-conflict": ["ERROR: ResolutionImpossible: for help visit the page about dependency conflicts"],
    "package-unknown": [
        "PackagesNotFoundError: The following packages are not available from current channels:\n  - foo"
    ],
    "gpu-memory": ["torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"],
    "memory": ["numpy.core._exceptions.MemoryError: Unable to allocate 8.00 GiB for an array"],
    "certificate": ["ssl.SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"],
    "refused-by-server": ["requests.exceptions.HTTPError: 404 Client Error: Not Found for url"],
    "port-in-use": ["OSError: [WinError 10048] Only one usage of each socket address is normally permitted"],
    "network": ["urllib.error.URLError: <urlopen error [Errno 11001] getaddrinfo failed>"],
    "files-in-use": ["PermissionError: [WinError 32] The process cannot access the file"],
    "access-refused": ["PermissionError: [Errno 13] Permission denied: 'C:\\\\data'"],
    "damaged-file": ["zipfile.BadZipFile: File is not a zip file"],
    "install-path-too-long": [f"OSError: [Errno 2] No such file or directory: 'C:\\\\{'deep' * 64}\\\\x.json'"],
    "path-too-long": ["OSError: [Errno 36] File name too long: 'x'"],
    "encoding": ["UnicodeDecodeError: 'utf-8' codec can't decode byte 0xc0 in position 41: invalid start byte"],
    "name-refused": ["OSError: [Errno 22] Invalid argument: 'README.rst'"],
    "link-as-file": ["error: supposed package directory 'silk' exists, but is not a directory"],
    "file-name": ["OSError: [WinError 123] The filename, directory name, or volume label syntax is incorrect: 'a:b'"],
    "program-missing": [
        "FileNotFoundError: [WinError 2] The system cannot find the file specified",
        "FileNotFoundError: [WinError 2] The system cannot find the file specified: 'ffmpeg'",
        "pytesseract.TesseractNotFoundError: tesseract is not installed or it's not in your PATH. See README file.",
        "pdf2image.exceptions.PDFInfoNotInstalledError: Unable to get page count. Is poppler installed and in PATH?",
        "Java gateway process exited before sending its port number",
    ],
    "library-by-name": [
        "RuntimeError: can't find snap7 shared library. If it's installed, you might need to run ldconfig",
        "ImportError: MagickWand shared library not found.",
        "django.core.exceptions.ImproperlyConfigured: Could not find the GDAL library (tried gdal303). Is it there?",
        "discord.opus.OpusNotLoaded",
    ],
    "com-class-missing": [
        "pywintypes.com_error: (-2147221005, 'Invalid class string', None, None)",
        "OSError: [WinError -2147221164] Class not registered",
    ],
    "module-for-other-python": [
        "ImportError: Python version mismatch: module was compiled for version 3.8, while the interpreter runs 3.9"
    ],
    "file-missing": ["FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'"],
    "cuda-no-device": ["ValueError: this trainer wants a card, and no GPU found on the machine"],
    "gpu-computation": ["RuntimeError: CUDA error: device-side assert triggered"],
    "torch-device-unknown": ["RuntimeError: Expected one of cpu, cuda device type at start of device string: dml"],
    "hdf-error": ["OSError: [Errno -101] NetCDF: HDF error: b'a.nc'"],
    "python-not-registered": ["Python Version 3.5 required, which was not found in the registry"],
    "rust-too-old": ["error[E0432]: unresolved import `std::ffi::c_char`"],
    "nvcc-and-compiler": [
        r"C:\VS\VC\Tools\MSVC\14.29.30037\include\xutility(1309): error : expected a '(' [x.vcxproj]"
    ],
    "no-kernel-for-type": ["RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'"],
    "model-mismatch": ["RuntimeError: Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: 'a'"],
    "git-failed": ["fatal: destination path 'foo' already exists and is not an empty folder."],
    "script-policy": ["activate.ps1 cannot be loaded\nCategoryInfo\nERROR: running scripts is disabled on this system"],
    "build-tool-missing": ["error: invalid command 'bdist_wheel'"],
    "program-code": ["KeyError: 'colour'"],
    "program-error": ["ValueError: Estimator foo not available. Please see the list of estimators."],
    "unexplained-error": ["zmq.error.ZMQError: Bad address"],
}
"""Lines that no other table knows, by the family that they belong to."""


def test_every_family_of_errors_has_a_line():
    assert {family.id for family in ending_families()} == set(FAMILIES)


@pytest.mark.parametrize(("family", "text"), [(name, text) for name, texts in FAMILIES.items() for text in texts])
def test_the_line_that_ended_a_program_is_named(family, text):
    """Story: most wrong answers were "could not tell" for messages that say their cause, but were in no table."""
    found = diagnose(text)
    assert [one.cause.id for one in found.explained] == [family]
    first = found.explained[0]
    said = " ".join([first.cause.summary, *(quote.text for quote in found.quotes)])
    assert any(
        max(line.strip("`*_").split(), key=len)[:40] in said.replace("\\", "\\\\") + said for line in text.splitlines()
    )
    assert found.remedies


@pytest.mark.parametrize(
    "text",
    [
        'Traceback (most recent call last):\n  File "/home/dana/a.py", line 1, in <module>\nKeyError: 3\n',
        "error: subprocess-exited-with-error\n",
        "I think that an error is somewhere in this program.\n",
        "C:\\v>pip install foo\nthe package foo is not installed yet\n",
    ],
    ids=["other-system", "repeats", "prose", "command"],
)
def test_lines_that_did_not_end_a_program_are_not_taken_for_its_error(text):
    assert read_log(text).error is None


def test_a_warning_counts_where_there_is_no_error():
    """Story: a text whose last line is a warning was answered with "could not tell", without that line."""
    warning = "UserWarning: Error: foo was not found, going on\n"
    assert read_log(warning).error.part == "warned"
    assert read_log(f"{warning}ValueError: bar\n").error.text == "ValueError: bar"


def test_the_first_error_of_a_compiler_counts():
    log = read_log(
        "a.cpp(1): warning C4068: unknown pragma\na.cpp(3): error C2065: 'x': undeclared identifier\n"
        "a.cpp(9): error C2146: syntax error\nninja: build stopped: subcommand failed.\n"
        'Traceback (most recent call last):\n  File "C:\\v\\setup.py", line 3, in x\nRuntimeError: it failed here\n'
    )
    assert log.error is not None
    assert (log.error.line, "C2065" in log.error.text) == (2, True)


AROUND = {
    "time": lambda line: f"2026-03-04T10:11:12.1234567Z {line}",
    "run": lambda line: f"build (windows-latest)\tRun tests\t2026-03-04T10:11:12.1234567Z {line}",
    "logger": lambda line: f"2026-03-04 10:11:12,345 - root - ERROR - {line}",
    "quoted": lambda line: f"> > {line}",
    "indented": lambda line: f"      {line}",
    "coloured": lambda line: f"\x1b[31m{line}\x1b[0m",
}
"""What build servers, loggers and people put around each line."""


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("end", ENDS)
def test_an_answer_does_not_depend_on_what_stands_around_each_line(end, around):
    text = WARNINGS["compiler"] + ENDS[end]
    assert diagnose("\n".join(map(AROUND[around], text.splitlines()))).explained[0].cause.id == end


def test_a_text_that_was_printed_as_a_string_is_read_in_lines():
    """Story: tools print the output of others as it stands in JSON, or as the bytes that Python shows."""
    log = read_log(repr(ENDS["torch-cpu-build"]))
    assert log.ending is not None
    assert log.ending.text.startswith("AssertionError: Torch not compiled")


PIP = (
    "ERROR: Could not find a version that satisfies the requirement foo (from versions: none)\n"
    "ERROR: No matching distribution found for foo\n"
)


@pytest.mark.parametrize(
    ("before", "cause"),
    [
        ("", "no-wheel"),
        (
            "WARNING: Retrying (Retry(4)) after connection broken by 'SSLError(SSLCertVerificationError(1, '[SSL: "
            "CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired'))': /whl/foo/\n",
            "certificate",
        ),
        (
            "WARNING: pip is configured with locations that require TLS/SSL, however the ssl module in Python is not "
            "available.\n",
            "python-library-folder",
        ),
    ],
    ids=["index", "server", "ssl"],
)
def test_pip_finds_nothing_where_it_reaches_no_server(before, cause):
    assert diagnose(before + PIP).explained[0].cause.id == cause


def test_a_package_of_the_user_folder_that_meets_another_python_is_named():
    user = "C:\\Users\\dana\\AppData\\Roaming\\Python\\Python310"
    text = (
        f'  File "{user}\\site-packages\\torchaudio\\utils.py", line 61, in _load_lib\n'
        '  File "D:\\forge\\python\\lib\\site-packages\\torch\\_ops.py", line 852, in load_library\n'
        "OSError: [WinError 127] The specified procedure could not be found\n"
    )
    found = diagnose(text).explained[0].cause
    assert (found.id, user in found.summary, "D:\\forge\\python" in found.summary) == ("user-site-mixed", True, True)
    assert found.next_steps[0].command == "set PYTHONNOUSERSITE=1"
    assert diagnose(text.replace("D:\\forge\\python\\lib", user)).explained[0].cause.id == "torch-extension-mismatch"


@pytest.mark.parametrize(
    ("text", "cause", "named"),
    [
        ("kernel32.dll has missing imports: createfile2", "windows-too-old", "createfile2"),
        ("RuntimeError: Cannot load library 'lib\\libcpu.so': 193 from cwd: D:\\x", "other-system-file", "libcpu.so"),
        (
            "Cannot load library D:\\conda\\qml\\windowplugin.dll: The specified procedure could not be found.",
            "qt-mixed",
            "windowplugin.dll",
        ),
        (
            "Cannot load library 'openvino_intel_gpu_plugin.dll': 126 from cwd: C:\\x",
            "openvino-missing",
            "gpu_plugin.dll",
        ),
        ("ImportError: DLL load failed while importing win32api", "pywin32-incomplete", "pywintypes"),
        ("in a new Windows 11, a dialog says: not found VCRUNTIME140.dll", "vc-runtime-missing", "Visual C++"),
        (
            "a.c(1): fatal error C1083: Cannot open include file: 'mysql.h': No such file",
            "header-missing",
            ": mysql.h.",
        ),
        ("ModuleNotFoundError: No module named 'triton.ops'", "release-mismatch", "triton for ops"),
        ("RuntimeError: The NVIDIA driver on your system is too old (found version 11040).", "driver-too-old", "11.4"),
        (
            "C:\\Python313\\python.exe\nERROR: No matching distribution found for foo",
            "no-wheel",
            "that this Python (3.13) can install",
        ),
        (
            '    from pyproj import _datadir\n  File "C:/qgis/python\\qgis\\utils.py", line 744, in _import\n'
            "    mod = _builtin_import(name)\nImportError: DLL load failed: The specified module could not be found.",
            "missing-dependency",
            "the module pyproj._datadir",
        ),
        (
            '  File "C:\\v\\Lib\\site-packages\\osgeo\\osr.py", line 14, in helper\n'
            "ImportError: DLL load failed: The specified procedure could not be found.",
            "wrong-version",
            "a module of osgeo",
        ),
        (
            "Can't load requested DLL: C:\\Program Files\\GeoDa Software\\ogr_OCI.dll\n"
            "126: The specified module could not be found.",
            "missing-dependency",
            "ogr_OCI.dll",
        ),
        (
            "Error: The specified module could not be found.\n\\\\?\\C:\\app\\build\\Release\\cuesdk.node\n",
            "missing-dependency",
            "cuesdk.node",
        ),
        ("WARNING: cannot find 'api-ms-win-core-psapi-l1-1-0.dll'", "api-set-warning", "not files"),
    ],
)
def test_an_answer_says_what_the_text_shows(text, cause, named):
    """Story: answers named the mechanism alone, where the text names the file, the function or the system."""
    found = diagnose(text).explained[0].cause
    assert (found.id, named in found.summary) == (cause, True)


@pytest.mark.parametrize(
    ("said", "command"),
    [
        ("pytorch version: 2.6.0+cu124\n", '"torchaudio==2.6.0" --index-url https://download.pytorch.org/whl/cu124'),
        ("pytorch version: 2.6.0+cu124\nPyTorch version: 2.5.1+cu121\n", ""),
        ("", ""),
    ],
    ids=["one", "two", "none"],
)
def test_the_torch_that_a_text_names_is_the_one_to_fit(said, command):
    text = (
        f'{said}  File "C:\\v\\Lib\\site-packages\\torchaudio\\_extension.py", line 67, in x\n'
        "OSError: [WinError 127] The specified procedure could not be found\n"
    )
    step = diagnose(text).remedies[0]
    assert (command in step.command, bool(step.command)) == (True, bool(command))


def test_numpy_2_is_not_suggested_for_a_module_of_numpy_1():
    text = "RuntimeError: module compiled against API version 0x10 but this version of numpy is 0xf"
    assert [step.command for step in diagnose(text).remedies] == ['python -m pip install --upgrade "numpy<2"']


def test_a_load_that_failed_without_a_reason_gives_way_to_the_reason():
    text = "Failed to load plugin.dll\nProcess finished with exit code -1073741795 (0xC000001D)\n"
    assert [one.cause.id for one in diagnose(text).explained] == ["illegal-instruction"]


def test_a_warning_about_a_part_that_was_left_out_gives_way_to_the_others():
    text = (
        WARNINGS["xformers"].replace("+cpu", "+cu118")
        + "A matching Triton is not available, some optimizations will not be enabled.\n"
        "Error caught was: DLL load failed while importing libtriton: The specified module could not be found.\n"
    )
    assert diagnose(text).explained[0].cause.id == "xformers-mismatch"


def test_a_module_that_only_a_build_does_not_find():
    text = "ModuleNotFoundError: No module named 'torch'\n      [end of output]\nERROR: Failed to build 'flash-attn'\n"
    assert diagnose(text).explained[0].cause.id == "build-module-missing"


def test_a_header_that_pip_could_not_write_is_no_header_that_a_build_misses():
    text = "ERROR: Could not install packages due to an OSError: [Errno 2] No such file or directory: 'C:\\\\v\\\\a.h'"
    assert diagnose(text).explained[0].cause.id == "file-missing"


@pytest.mark.parametrize(
    ("text", "cause", "words"),
    [
        (
            "  × pip subprocess to install build dependencies did not run successfully.\n  ╰─> [7 lines of output]\n"
            "      WARNING: Retrying (Retry(total=3)) after connection broken by 'ReadTimeoutError(\"HTTPS"
            "ConnectionPool(host='pypi.org', port=443): Read timed out.\")': /simple/setuptools/\n",
            "network",
            "connection",
        ),
        (
            "  ╰─> [7 lines of output]\n      running build_ext\n      error: [WinError 2] The system cannot find "
            "the file specified\n      [end of output]\n",
            "program-missing",
            "cl.exe",
        ),
        ("a.cpp(483): error C3861: 'localtime_r': identifier not found\n", "gcc-builtin", "POSIX"),
        (
            "  C:\\py\\arm64\\python314.dll:\n  file not recognized: file format not recognized\n",
            "link-machine",
            "processors",
        ),
        (
            "  -- Configuring incomplete, errors occurred!\n  Traceback (most recent call last):\n"
            '    File "<string>", line 1, in <module>\n',
            "cmake-error",
            "CMake",
        ),
        (
            "Traceback (most recent call last):\n"
            '  File "D:\\v\\lib\\site-packages\\urllib3\\util\\connection.py", line 85, in create_connection\n',
            "network",
            "cut off",
        ),
        (
            "RuntimeError: CUDA_PATH is set but CUDA wasnt able to be loaded.\n",
            "cuda-provider-incomplete",
            "onnxruntime",
        ),
        (
            "numba.cuda.cudadrv.error.NvvmSupportError: libNVVM cannot be found. Do `conda install cudatoolkit`:\n"
            "Linker Error: [222] ptxas application ptx; fatal : Unsupported .version 7.3; current version is '7.1'\n",
            "driver-too-old",
            "driver",
        ),
        (
            ">>> lib = ctypes.cdll.LoadLibrary('./lib/libxgboost.so')\n"
            "OSError: [WinError 126] The specified module could not be found\n",
            "other-system-file",
            "libxgboost.so",
        ),
        ("FileNotFoundError: Unable to find library: a.dll\n", "delvewheel-missing", "delvewheel"),
        ("FileNotFoundError: Unable to find library\n", "library-by-name", "native library"),
        (
            "ImportError: DLL load failed while importing x: A dynamic link library (DLL) initialization "
            "routine failed.\n(5) Visual C++ Redistributable: v14.50.35719.00\n",
            "init-failed",
            "start-up code",
        ),
    ],
)
def test_what_the_text_says_beside_the_message_counts(text, cause, words):
    first = diagnose(text).explained[0].cause
    assert first.id == cause
    assert words in first.summary
    assert cause != "init-failed" or not any("VCRedist" in step.command for step in first.next_steps)


def test_no_build_for_cuda_over_the_torch_of_another_card():
    message = "Torch not compiled with CUDA enabled"
    warned = diagnose(f"C:\\webui-directml\\x.py\nWarning: caught exception '{message}', memory monitor disabled\n")
    assert not warned.explained
    assert not warned.remedies
    ended = diagnose(f"import torch_directml\nAssertionError: {message}\n")
    assert "Keep this torch" in ended.remedies[0].title
    assert not any("--index-url" in step.title for step in ended.remedies)


def test_a_32_bit_python_and_files_of_the_user_are_named():
    built = diagnose(
        "  creating build\\lib.win32-3.8\n  ERROR: Command errored out with exit status 1:\n"
        "ERROR: Could not build wheels for pyarrow which use PEP 517\n"
    )
    assert "32-bit" in built.explained[0].cause.summary
    assert "--platform win_amd64" in built.remedies[0].command
    mixed = diagnose(
        "AssertionError: Torch not compiled with CUDA enabled\n"
        '  File "X:\\tts\\env\\lib\\site-packages\\gradio\\routes.py", line 437, in run_predict\n'
        '  File "C:\\Users\\me\\AppData\\Roaming\\Python\\Python310\\site-packages\\anyio\\x.py", line 31, in run\n'
    )
    assert "PYTHONNOUSERSITE" in mixed.explained[0].cause.what_is_known
    bundle = diagnose(
        "1111 WARNING: lib not found: MSVCP140.dll dependency of C:\\v\\x.dll\n\n"
        "ImportError: DLL load failed while importing QtCore: The specified module could not be found.\n"
    )
    assert "MSVCP140.dll" in bundle.explained[0].cause.what_is_known


FRAMES = (
    'Traceback (most recent call last):\n  File "C:\\a\\setup.py", line 12, in f\n    {}\n'
    '  File "C:\\Python39\\lib\\{}\n'
)


@pytest.mark.parametrize(
    ("call", "frame", "cause", "said"),
    [
        ("check_output(['cmake', '--version'])", 'subprocess.py", line 411, in f\n    r', "cmake-missing", "cmake"),
        ('subprocess.Popen(["ffmpeg"])', 'subprocess.py", line 951, in f', "program-missing", "ffmpeg is started"),
        ("subprocess.run(['git', 'describe'])", 'subprocess.py", line 505, in f', "program-missing", "git is started"),
        ("CDLL(path)", 'ctypes\\__init__.py", line 373, in __init__\n    self._h', "library-by-name", "with ctypes"),
        ("subprocess.run(args)", 'subprocess.py", line 505, in run\n    with', "traceback-cut", "cut off"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "  Complete output (55 lines):\n"])
def test_a_traceback_that_is_cut_off_says_what_its_innermost_call_asks_for(call, frame, cause, said, before):
    """Story: the beginning of the last line, "return run(*popenargs, st", was reported as the cause."""
    first = diagnose(before + FRAMES.format(call, frame)).explained[0].cause
    assert first.id == cause
    assert said in first.summary


def test_a_path_that_is_cut_off_is_an_error_of_the_loader():
    frame = '  File "C:\\v\\Lib\\site-packages\\llvmlite\\binding\\ffi.py", line 115, in _load_lib\n'
    cut = "FileNotFoundError: Could not find module 'C:\\v\\Lib\\site-pack\n"
    first = diagnose(f"Traceback (most recent call last):\n{frame}{cut}").explained[0].cause
    assert first.id == "missing-dependency"
    assert "llvmlite" in first.summary
    assert "msvcp140.dll" in first.summary
    wrapped = "FileNotFoundError: Could not find module 'C:\\v\\Lib\\geos_\nc.dll' (or one of its dependencies).\n"
    assert "geos_c.dll" in diagnose(f"Traceback (most recent call last):\n{frame}{wrapped}").explained[0].cause.summary
