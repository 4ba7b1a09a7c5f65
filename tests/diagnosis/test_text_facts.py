"""What a text says besides its error: where it happened, what does not fit together, and whose files it is about."""

from __future__ import annotations

import pytest

from wheelfix.diagnosis.diagnose import diagnose
from wheelfix.diagnosis.model import Diagnosis

NOT_FOUND = "The specified module could not be found."
WRONG_IMAGE = "OSError: [WinError 193] %1 is not a valid Win32 application"


def frame(path: str, code: str) -> str:
    return f'  File "{path}", line 3, in <module>\n    {code}\n'


def traceback(error: str, *frames: str) -> str:
    return f"Traceback (most recent call last):\n{''.join(frames)}{error}\n"


def said(found: Diagnosis) -> str:
    first = found.explained[0]
    quotes = (quote.text for quote in found.quotes)
    return " ".join([first.cause.summary, first.explanation, *quotes, ", ".join(found.facts), *found.notes])


LOAD = traceback(
    f"OSError: [WinError 126] {NOT_FOUND}",
    frame(r"C:\py\Lib\site-packages\pygpufit\gpufit.py", "lib = cdll.LoadLibrary(lib_path)"),
    frame(r"C:\py\Lib\ctypes\__init__.py", "self._handle = _dlopen(self._name, mode)"),
)
MIXED = traceback(
    f"ImportError: DLL load failed while importing arrayfuncs: {NOT_FOUND}",
    frame(r"C:\one\Lib\site-packages\sklearn\base.py", "from scipy import special"),
    frame(r"D:\two\Lib\site-packages\scipy\special\__init__.py", "from ._ufuncs import *"),
)
JOINED = traceback(WRONG_IMAGE, frame(r"G:\tr\tr.py", "lib = ctypes.cdll.LoadLibrary(os.path.join(HERE, 'libtr.so'))"))
PROCEDURE = "ImportError: DLL load failed while importing _base: The specified procedure could not be found."
CRASH = (
    "Windows fatal exception: access violation\n\nCurrent thread 0x000008e0 (most recent call first):\n"
    r'  File "D:\py\lib\site-packages\robust_laplacian\core.py", line 33 in point_cloud'
    "\n"
    r'  File "D:\py\lib\site-packages\trimesh\base.py", line 159 in call'
)
PARTIAL = (
    "ImportError: cannot import name {!r} from partially initialized module {!r} (most likely due to a circular import)"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(LOAD, r"pygpufit\gpufit.py: lib = cdll.LoadLibrary(lib_path)", id="the line that failed"),
        pytest.param(f"{PROCEDURE}\n1、paddlepaddle版本2.6.1", "paddlepaddle 2.6.1", id="a version in Chinese"),
        pytest.param(f"{PROCEDURE}\nThe PyTorch version (2.9.1+cu128)", "2.9.1+cu128", id="a version in brackets"),
        pytest.param(f"{PROCEDURE}\nWe see it for version 2.0.3", "version 2.0.3", id="a version of nothing"),
        pytest.param(
            '  File "C:\\e\\Lib\\site-packages\\shapely\\geos.py", line 145, in <module>\n'
            "    lgeos = CDLL(os.path.join(sys.prefix, 'Library', 'bin', 'geos_c.dll'))\n"
            f"OSError: [WinError 126] {NOT_FOUND}",
            "A DLL that geos_c.dll needs",
            id="a path of several parts in the code",
        ),
        pytest.param(
            "The module 'a.node'\nwas compiled against a different Node.js version using\nNODE_MODULE_VERSION 64. This "
            "version of Node.js requires\nNODE_MODULE_VERSION 70. Please try re-compiling",
            "requires NODE_MODULE_VERSION 70",
            id="a sentence that goes on in the next line",
        ),
        pytest.param(
            "### Python version\n\n3.12.1\n\nERROR: Failed building wheel for pyzmq\n",
            "for this Python (3.12)",
            id="the Python that a form asks for",
        ),
        pytest.param("Windows defender reports Trojan:Win32/R on a.pyd\n", "virus scanner", id="what a scanner says"),
        pytest.param(MIXED, r"several installations, C:\one and D:\two", id="two installations"),
        pytest.param(
            "python: 3.10.4\nERROR: x-0.1-cp38-cp38-win_amd64.whl is not a supported wheel on this platform.",
            "a file for Python 3.8, and Python 3.10",
            id="a tag for another Python",
        ),
        pytest.param(JOINED, "libtr.so is a library of Linux or macOS", id="a file below a folder that is not named"),
        pytest.param(
            f"ImportError: DLL load failed while importing arrayfuncs: {NOT_FOUND}",
            "arrayfuncs of sklearn",
            id="whose module it is",
        ),
        pytest.param(
            traceback(
                f"ImportError: DLL load failed: {NOT_FOUND}", frame("a.py", "from win32gui import GetWindowText")
            ),
            "pywin32 did not find its own pywintypes DLL",
            id="a function of a compiled module",
        ),
        pytest.param(
            traceback(PROCEDURE, frame(r"C:\x\Lib\site-packages\rasterio\__init__.py", "from rasterio._base import x")),
            "gdal.dll",
            id="what comes with the wheel",
        ),
        pytest.param(f"sdl2 - ImportError: DLL load failed: {NOT_FOUND}", "kivy_deps.sdl2", id="a provider of Kivy"),
        pytest.param(
            f"Python 3.7.4 32-bit\nnumpy==1.19.2\n{WRONG_IMAGE}", "Python 3.7.4, numpy 1.19.2, 32-bit", id="versions"
        ),
        pytest.param(
            "- **PyTorch**: 2.7.0+cu126\nCUDNN：8.9.1\nUsing cached c104-2.0.2.tar.gz\n"
            f"I have an RTX 3080 Ti\n{WRONG_IMAGE}",
            "PyTorch 2.7.0+cu126, CUDNN 8.9.1, c104 2.0.2, RTX 3080 Ti (sm_86)",
            id="versions in lists and archives, and the card",
        ),
        pytest.param(
            "".join(f"package{one}==1.{one}\n" for one in range(20)) + f"Python 3.11.2\n{LOAD}pygpufit==1.2\n",
            "Python 3.11.2, pygpufit 1.2",
            id="of a list of all packages, the one that it is about",
        ),
        pytest.param(
            f"Python Version: 3.12.5\nNuitka Version: 2.4.8\nCUDA12.2, Windows 10 (1511)\n{WRONG_IMAGE}",
            "Python 3.12.5, Nuitka 2.4.8, CUDA 12.2, Windows 10 (1511",
            id="versions of whatever is called one",
        ),
        pytest.param(
            traceback(WRONG_IMAGE, frame(r"C:\Python27\Lib\site-packages\x\__init__.py", "import _x")),
            "Python 2.7, C:\\Python27",
            id="a Python that its folder names",
        ),
        pytest.param(
            "Problem signature:\n  Application Name:\tfreecad.exe\n  Fault Module Name:\tQt5Core.dll\n"
            "  Fault Module Version:\t5.12.9.0\n  Exception Code:\t80000003\n",
            "Exception Code: 80000003",
            id="a crash in the words of its box",
        ),
        pytest.param(
            "Unable to open library: nvinfer_plugin.dll\nI checked that the DLL is in the correct folder\n",
            "The text says that the file is there",
            id="somebody looked",
        ),
        pytest.param(
            f"error: could not create 'C:\\{'temp_' * 50}': The system cannot find the path specified",
            "longer than Windows takes",
            id="a long path",
        ),
        pytest.param(
            "-- Building for: NMake Makefiles\nCMake Error at CMakeLists.txt:2 (project):\n  Generator\n\n    NMake "
            "Makefiles\n\n  does not support platform specification, but platform\n\n    x64\n\n  was specified.\n",
            "The C++ compiler of Visual Studio is not installed",
            id="what CMake takes without a compiler",
        ),
        pytest.param(
            "RuntimeError: (PreconditionNotMet) The third-party dynamic library (cudnn64_7.dll) that Paddle depends on "
            "is not configured correctly. (error code is 126)\n",
            "cudnn64_7.dll, the first DLL of one major version of cuDNN",
            id="not one of its parts",
        ),
        pytest.param(
            "Failed to load shared library 'libgdk-3-0.dll' referenced by the typelib: 'libgdk-3-0.dll': "
            "The specified procedure could not be found.",
            "libgdk-3-0.dll, or a DLL that it needs",
            id="the reason behind the file",
        ),
        pytest.param(
            "ImportError: Could not load any of ['hdf5.dll', 'hdf5dll.dll'], please ensure that it is installed.",
            "hdf5.dll could not be loaded",
            id="one of several names",
        ),
        pytest.param(
            "The procedure entry point ucrtbase.abort could not be located in the dynamic link library "
            "api-ms-win-crt-runtime-l1-1-0.dll",
            "The Universal C Runtime is there in two versions",
            id="two versions of the C runtime",
        ),
        pytest.param(
            "OS: Windows 11 arm64\nERROR: No matching distribution found for windows-curses",
            "this Python (ARM64)",
            id="another processor",
        ),
        pytest.param(
            r"lib.win32-cpython-37\rolling.cp37-win_amd64.pyd : fatal error LNK1120: 108 unresolved externals"
            "\n"
            r"error: command 'H:\\VS\\bin\\HostX86\\x86\\link.exe' failed with exit code 1120",
            "The compiler is the one for 32 bits",
            id="a compiler for 32 bits, in the words of Python",
        ),
        pytest.param(
            "ERROR: Could not find a version that satisfies the requirement a==1.5 (from versions: 1.6, 1.7)",
            "The index offers 1.6, 1.7",
            id="what there is in place of what was asked for",
        ),
        pytest.param(
            "a.c(2): fatal error C1083: Cannot open include file: 'sched.h': No such file or directory error: command "
            "'cl.exe' failed with exit status 2; ERROR: Failed building wheel for a",
            "It is a header of Unix",
            id="two messages in one line",
        ),
        pytest.param(
            "× Building wheel for engine (pyproject.toml) did not run successfully.\n[4 lines of output]\n"
            "Traceback (most recent call last):\nTypeError: version() missing 1 required positional argument: 'id'\n"
            "[end of output]\nERROR: Failed building wheel for engine\n",
            "missing 1 required positional argument",
            id="the exception of a build script",
        ),
        pytest.param(
            f"pygame.error: Failed loading libmodplug-1.dll: {NOT_FOUND}",
            "libmodplug-1.dll, or a DLL that it needs",
            id="a name without a folder",
        ),
        pytest.param(
            "pyconfig.h(59): fatal error C1083: \ufffd\ufffd: \ufffdio.h\ufffd: No such file or directory",
            "was not found: io.h.",
            id="a header between broken letters",
        ),
        pytest.param(
            "Traceback (most recent call last):\nModuleNotFoundError: No module named 'pluginbuilder-2'",
            "The module pluginbuilder-2",
            id="a name that is no word",
        ),
        pytest.param(
            f"DLL load failed: {NOT_FOUND}\nThe C extension 'C:\\ros\\_rclpy.pyd' failed to be imported",
            "the module _rclpy needs",
            id="the only module that is named",
        ),
        pytest.param(
            "ERROR: x-2-cp38-cp38m-win_amd64.whl is not a supported wheel on this platform.",
            "is CPython 3.8 on 64-bit Windows; no Python has cp38m",
            id="a tag that no Python has",
        ),
        pytest.param(
            traceback(
                f"ImportError: DLL load failed while importing cygrpc: {NOT_FOUND}",
                frame(r"C:\x\Lib\site-packages\google\protobuf\pyext\a.py", "from . import y"),
            ),
            "of google.protobuf",
            id="a package that several distributions share",
        ),
        pytest.param(
            traceback(
                f"ImportError: DLL load failed while importing a_b: {NOT_FOUND}",
                frame(r"C:\x\Lib\site-packages\mmdet-1.1-py3.7.egg\mmdet\a.py", "from . import a_b"),
            ),
            "a_b of mmdet needs",
            id="a package in an egg",
        ),
        pytest.param(
            "Faulting application name: aw-qt.exe, version: 0.0.0.0\nFaulting module name: python35.dll, version: 3.5\n"
            "Exception code: 0xc0000005",
            "The process aw-qt.exe crashed",
            id="a program of its own",
        ),
        pytest.param(
            "CMake Error at CMakeLists.txt:5 (message):\n\n  !!!!!!!!!\n\n  You must use Visual Studio.\n",
            "You must use Visual Studio",
            id="a message of CMake below a line of marks",
        ),
        pytest.param(
            "Windows fatal exception: code 0xc0000139\n\nCurrent thread 0x00001470 (most recent call first):\n",
            "A DLL of another version was found",
            id="a status of a program that runs",
        ),
        pytest.param(
            f'On "import pyodbc" I get "ImportError: DLL load failed: {NOT_FOUND}"',
            "the module pyodbc",
            id="in a sentence",
        ),
        pytest.param(
            traceback(
                f"ImportError: DLL load failed while importing _ssl: {NOT_FOUND}",
                frame(r"PyInstaller\loader\pyimod02_importers.py", "exec(bytecode)"),
                frame(r"webview\http.py", "import ssl"),
                frame("ssl.py", "import _ssl"),
            ),
            "the module _ssl, or a DLL that it needs, was left out of the program bundle: most likely libssl",
            id="a module of Python itself",
        ),
        pytest.param(
            f"DLL load failed: {NOT_FOUND}\n"
            + "\n" * 9
            + frame(r"C:\x\Lib\site-packages\tensorflow\a.py", "_mod = imp.load_module('_pywrap_x', fp, pathname)"),
            "_pywrap_x of tensorflow",
            id="a traceback far behind the message",
        ),
        pytest.param(
            "ValueError: numpy.ndarray size changed, may indicate binary incompatibility. Expected 96 from C header, "
            "got 88 from PyObject",
            "it expects 96 bytes, and finds 88",
            id="two sizes",
        ),
        pytest.param(
            "|   0  NVIDIA GeForce RTX 5070 Ti   WDDM  |   00000000:01:00.0  On |\n"
            "RuntimeError: CUDA error: no kernel image is available",
            "NVIDIA GeForce RTX 5070 Ti has sm_120",
            id="the card of nvidia-smi",
        ),
        pytest.param(
            r"building for lib.win-amd64-3.9: C:\VS\bin\HostX86\x86\link.exe"
            "\nLINK : fatal error LNK1561: entry point must be defined",
            "The compiler is the one for 32 bits",
            id="two bitnesses",
        ),
        pytest.param(
            "Building wheel for webrtcvad (setup.py): started\nerror: Microsoft Visual C++ 14.0 is required.",
            "no wheel of webrtcvad",
            id="what is built",
        ),
        pytest.param(
            "there is only cudnn64_8.dll\nThe third-party dynamic library (cudnn64_7.dll) that Paddle depends on is "
            "not configured correctly. (error code is 126)",
            "The text names cudnn64_8.dll as well",
            id="another version of the DLL",
        ),
        pytest.param(CRASH, "in robust_laplacian", id="where it crashed"),
        pytest.param(
            frame(r"C:\x\etpred\__init__.py", "from . import etpred") + PARTIAL.format("etpred", "etpred"),
            "etpred is not among the files of the package",
            id="a part of its own that is not there",
        ),
        pytest.param(
            r"C:\v\torch\include\c10\a.h(3): error C2039: 'x': is not a member of 'y'",
            "The line is in a header of torch",
            id="whose header it is",
        ),
        pytest.param(
            "Could not find function xmlCheckVersion in library libxml2. Is libxml2 installed?\n"
            r"error: command 'C:\\bin\\cl.exe' failed with exit code 2"
            "\n[end of output]\n",
            "did not find something that it needs: Could not find function xmlCheckVersion",
            id="the last line of output without its beginning",
        ),
        pytest.param("a.cpp(3): error C2664: cannot convert argument 2", "of different releases", id="C2664"),
        pytest.param(
            "error: Microsoft Visual C++ 14.0 is required.\n"
            r"running setup.py in C:\\Temp\\pip-install-dx92p\\cryptography\\setup.py",
            "no wheel of cryptography",
            id="the folder in which pip builds",
        ),
        pytest.param(
            "      building 'hnswlib' extension\n      error: command 'cl.exe' failed with exit code 2\n",
            "builds hnswlib",
            id="the extension that is built",
        ),
        pytest.param(
            frame(r"C:\Program Files\Blender Foundation\Blender 4.2\4.2\python\lib\x.py", "import y")
            + f"ImportError: DLL load failed while importing y: {NOT_FOUND}",
            "Blender 4.2",
            id="the release in the name of a folder",
        ),
        pytest.param(
            f"my python is 64 bit\nImportError: DLL load failed while importing y: {NOT_FOUND}",
            "64 bit",
            id="the bitness in the words of a person",
        ),
        pytest.param(
            "Requirement already satisfied: av in c:\\x\\lib\\site-packages (7.0.1)\n"
            + frame(r"C:\x\Lib\site-packages\av\__init__.py", "from av._core import x")
            + f"ImportError: DLL load failed: {NOT_FOUND}",
            "av 7.0.1",
            id="what pip says is there",
        ),
        pytest.param(
            "The procedure entry point\nvips_x could not be located in the dynamic\nlink library C:\\v\\libvips-42.dll",
            "libvips-42.dll",
            id="a dialog that was typed with line breaks",
        ),
        pytest.param(
            '错误代码126\nOSError: [WinError 126] 找不到指定的模块。 Error loading "C:\\v\\a.dll"',
            "126",
            id="a code beside signs",
        ),
        pytest.param(
            "found 1 wheel (conda create -n a python=3.13 gdal)\nImportError: cannot load it\n",
            "python",
            id="a pin of conda",
        ),
        pytest.param(
            "link: extra operand 'x.obj'\nerror: command 'C:\\Git\\usr\\bin\\link.exe' failed with exit code 1\n",
            "link.exe",
            id="a link.exe of Git",
        ),
        pytest.param(
            'error: Error executing cmd /u /c "C:\\VC\\Build\\vcvarsall.bat" x86_amd64 && set\n[end of output]\n',
            "did not run to its end",
            id="vcvarsall.bat fails",
        ),
        pytest.param(
            "Cannot load shared library 'libcasadi_nlpsol_ipopt.dll':\n  (\n  Tried '' :\n    Error code (WIN32): 126",
            "asked for libcasadi_nlpsol_ipopt.dll by its name",
            id="a code lines below the file",
        ),
    ],
)
def test_what_the_text_shows_is_said(text, words):
    assert words in said(diagnose(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(LOAD, "several installations", id="one installation"),
        pytest.param(
            "Python 3.8.1\nx-1-cp38-cp38-win_amd64.whl is not a supported wheel on this platform",
            "a file for Python",
            id="same",
        ),
        pytest.param(
            frame(r"C:\x\a\core.py", "from . import VERSION") + PARTIAL.format("VERSION", "a"),
            "is not among the files",
            id="a real circle",
        ),
        pytest.param(f"sdl2 - ImportError: DLL load failed: {NOT_FOUND}", "pygame", id="a name of several modules"),
        pytest.param(
            f'Failed trying to import the "sdl2" provider: DLL load failed: {NOT_FOUND}', "module the", id="no module"
        ),
        pytest.param(
            f"Ignored the following versions that require a different python version: 4.10\n{WRONG_IMAGE}",
            "python 4.10",
            id="a version of something else",
        ),
        pytest.param(
            "ImportError: DLL load failed while importing _tkinter: %1 is not a valid Win32 application.",
            "panda3d",
            id="a module of Python itself that a package has as well",
        ),
        pytest.param(
            "SyntaxError: (unicode error) 'unicodeescape' codec can't decode bytes: truncated \\UXXXXXXXX escape",
            "damaged",
            id="a string in a program",
        ),
        pytest.param("AttributeError: module 'os' has no attribute 'uname'", "{", id="a hole"),
        pytest.param(r'File "D:\Python372\lib\x.py", line 3' f"\n{WRONG_IMAGE}", "3.72", id="three digits of a folder"),
    ],
)
def test_what_the_text_does_not_show_is_not_said(text, words):
    assert words not in said(diagnose(text))


def test_a_remedy_does_not_repeat_what_the_text_comes_from():
    assert not any("faulthandler" in step.command for step in diagnose(CRASH).remedies)
    assert any("faulthandler" in step.command for step in diagnose(CRASH.partition("\n")[0]).remedies)


@pytest.mark.parametrize(
    ("above", "advised"),
    [
        pytest.param("Python 3.7.4 32-bit\n", ["Microsoft.VCRedist.2015+.x86"], id="32-bit"),
        pytest.param("Python 3.7.4\n", ["Microsoft.VCRedist.2015+.x64"], id="64-bit"),
        pytest.param(frame(r"C:\x\Lib\site-packages\iminuit\a.py", "import b"), [], id="a wheel that brings it"),
    ],
)
def test_the_runtime_is_advised_for_this_python_and_where_the_wheel_does_not_bring_it(above, advised):
    steps = diagnose(f"{above}ImportError: DLL load failed while importing foo: {NOT_FOUND}").remedies
    assert [step.command.split()[3] for step in steps if "VCRedist" in step.command] == advised


def test_the_vendor_has_nothing_for_somebody_who_has_the_file():
    text = "Unable to open library: nvinfer_plugin.dll\n"
    assert "Install the vendor's package" in diagnose(text).remedies[0].title
    looked = diagnose(f"{text}The DLL is in the correct folder, I checked that\n")
    assert not [step for step in looked.remedies if "vendor" in step.title]


@pytest.mark.parametrize(
    ("kind", "sizes", "title"),
    [
        ("dtype", "Expected 96 from C header, got 88", "Use NumPy 1 until"),
        ("ndarray", "Expected 88 from C header, got 80", "Use a NumPy that is as new"),
    ],
)
def test_which_numpy_is_the_older_one(kind, sizes, title):
    text = f"ValueError: numpy.{kind} size changed, may indicate binary incompatibility. {sizes} from PyObject"
    assert diagnose(text).remedies[0].title.startswith(title)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [((96, 88), "96 bytes (NumPy 1), and finds 88 bytes (NumPy 2)"), ((88, 96), "finds 96 bytes (NumPy 1)")],
)
def test_the_size_of_a_dtype_tells_its_numpy(sizes, said):
    """Story: the direction was taken for the other one; numpy.dtype.__basicsize__ is 96 in 1.26 and 88 in 2.x."""
    text = (
        "numpy.dtype size changed, may indicate binary incompatibility. Expected {} from C header, got {} from PyObject"
    )
    assert said in diagnose(f"ValueError: {text.format(*sizes)}").explained[0].cause.summary


@pytest.mark.parametrize(
    ("variant", "name", "named"),
    [
        ("paddlepaddle-gpu 2.4.0", "third-party dynamic library (mklml.dll) error code is 126", "paddlepaddle-gpu"),
        ("onnxruntime-gpu 1.18.0", "Could not locate onnxruntime.dll. Please", "onnxruntime-gpu>="),
        ("Windows 10", "third-party dynamic library (mklml.dll) error code is 126", "PyPI: paddlepaddle"),
    ],
)
def test_the_variant_of_a_package_that_is_installed_is_the_one_that_is_named(variant, name, named):
    """Story: paddlepaddle was advised over paddlepaddle-gpu, whose files it overwrites."""
    steps = diagnose(f"{variant}\n{name}\n").remedies
    told = next(step.why for step in steps if "vendor" in step.title)
    assert named in told
    assert ("-gpu" in told) == ("-gpu" in variant)


def test_the_python_of_the_traceback_comes_before_another():
    text = "PATH counts no more after Python 3.8.\n" + frame(r"C:\Python310\lib\site-packages\foo\a.py", "import b")
    facts = diagnose(f"{text}ImportError: DLL load failed while importing b: {NOT_FOUND}").facts
    assert [one for one in facts if one.startswith("Python")] == ["Python 3.10", "Python 3.8"]


@pytest.mark.parametrize("said", ["the needed module could not be found", "2 DLLs are missing here"])
def test_what_somebody_retells_has_the_code_of_windows(said):
    found = diagnose(f"DLL load failed while importing etree on import\nIn English: {said}\n")
    assert found.symptoms[0].code == 126


def test_a_heading_and_a_command_at_a_prompt_are_no_errors():
    text = "Error log on python 3.13:\n\n(venv) PS D:\\x> pip install foo\nCollecting foo\n"
    assert [one.cause.id for one in diagnose(text).explained] != ["module-missing"]


def test_a_program_for_a_32_bit_python_is_asked_for_in_32_bits():
    text = "Python 3.7.4 32-bit\nFileNotFoundError: Could not find module 'libvlc.dll' (or one of its dependencies)."
    assert diagnose(text).remedies[0].command == "winget install --id VideoLAN.VLC --exact --architecture x86"


def test_a_command_is_for_the_python_that_the_program_brings():
    file = r"C:\ComfyUI\python_embeded\Lib\site-packages\onnxruntime\capi\onnxruntime_providers_cuda.dll"
    text = f'FAIL : LoadLibrary failed with error 126 "" when trying to load "{file}"'
    (step,) = (step for step in diagnose(text).remedies if "pip install" in step.command)
    assert step.command.startswith(r'"C:\ComfyUI\python_embeded\python.exe" -m pip install ')
    assert step.why.endswith("; in PowerShell with & before it")


def test_pip_over_conda_has_a_condition_and_conda_is_not_for_a_virtual_environment():
    error = "AssertionError: Torch not compiled with CUDA enabled"
    conda, plain = (
        diagnose(traceback(error, frame(rf"C:\{root}\Lib\site-packages\torch\cuda.py", "raise"))).remedies[0]
        for root in (r"anaconda3\envs\open", "py")
    )
    assert conda.command == plain.command
    assert conda.when.startswith("conda list shows it as a package of pypi")
    assert not plain.when
    crash = "OSError: [WinError 1114] A dynamic link library (DLL) initialization routine failed."
    steps = diagnose(traceback(crash, frame(r"C:\x\.venv\Lib\site-packages\torch\a.py", "load()"))).remedies
    assert not [step for step in steps if step.command.startswith("conda ")]


@pytest.mark.parametrize(
    ("shown", "asked"), [("Python 3.10.4\n", "3.9"), ("", "3.12"), ("Python 3.13.1\n", "3.12"), ("Python 3.6\n", "3.8")]
)
def test_wheels_are_looked_for_below_the_python_of_the_text(shown, asked):
    text = f"{shown}error: Microsoft Visual C++ 14.0 is required.\nERROR: Failed building wheel for simpleaudio"
    assert f"--python-version {asked} simpleaudio" in diagnose(text).remedies[0].command


def test_newer_releases_alone_ask_for_an_older_python():
    text = "ERROR: No matching distribution found for torch==1.13.1\n(from versions: {})"
    assert "use an older Python" in said(diagnose(text.format("2.0.0, 2.0.1")))
    assert "use an older Python" not in said(diagnose(text.format("1.12.0, 2.0.0")))


def test_who_says_that_python_is_32_bit_is_not_asked():
    first = diagnose(f"Python 3.7.4 32-bit\n{WRONG_IMAGE}").remedies[0]
    assert first.title.startswith("Use a 64-bit Python")
    assert diagnose(WRONG_IMAGE).remedies[0].title == "Check what this Python is"


def test_a_sentence_of_windows_alone_is_no_second_cause():
    text = f"Error loading Python DLL 'C:\\T\\_MEI9\\python36.dll'.\n\n{'-' * 9}\nLoadLibrary: {NOT_FOUND}\n"
    assert [one.cause.id for one in diagnose(text).explained] == ["bundle-python-dll"]


def test_an_active_environment_is_not_to_be_activated():
    text = (
        frame(r"C:\anaconda3\envs\x\Lib\site-packages\a\b.py", "import c")
        + f"ImportError: DLL load failed: {NOT_FOUND}"
    )
    titles = [
        " ".join(step.title for step in diagnose(f"{shown}{text}").remedies) for shown in ("", "(x) C:\\>python\n")
    ]
    assert ["Activate the environment" in title for title in titles] == [True, False]


def test_a_package_that_cannot_be_built_is_not_its_own_remedy():
    text = "Problem with the CMake installation, aborting build. CMake executable is cmake\n"
    (other,) = diagnose(f"{text}ERROR: Failed building wheel for dlib").remedies
    (own,) = diagnose(f"{text}ERROR: Failed building wheel for cmake").remedies
    assert other.command == "python -m pip install cmake"
    assert own.command.startswith("python -m pip download --no-deps --only-binary=:all:")


ZLUDA = (
    r'OSError: [WinError 126] x Error loading "C:\{}\venv\Lib\site-packages\torch\lib\caffe2_nvrtc.dll" '
    "or one of its dependencies."
)


def test_torch_is_neither_repaired_nor_installed_again_over_zluda():
    """Story: NVIDIA's files would have come back over those of ZLUDA."""
    found = diagnose(ZLUDA.format("app"))
    assert any("repair" in step.command for step in found.remedies)
    found = diagnose(ZLUDA.format("ComfyUI-Zluda"))
    assert "HIP SDK" in found.remedies[0].title
    assert not any("repair" in step.command or " install " in step.command for step in found.remedies)


def test_what_does_not_go_together_is_said_first():
    text = (
        "CUDA version: {}\nLoadLibrary failed: cublas64_11.dll is missing\nRuntimeError: Could not find cublas64_11.dll"
    )
    assert diagnose(text.format("12.6")).remedies[0].title.startswith("Take a build for CUDA 12")
    assert not diagnose(text.format("11.8")).remedies[0].title.startswith("Take a build")


@pytest.mark.parametrize(("release", "command"), [("1.26.4", "--upgrade"), ("2.1.0", "numpy<2")])
def test_numpy_1_is_not_advised_where_it_is_installed(release, command):
    text = f"numpy: {release}\nImportError: numpy.core.multiarray failed to import"
    assert command in diagnose(text).remedies[0].command


@pytest.mark.parametrize(
    ("text", "shown", "not_shown"),
    [
        ("I had to pip install version 8.2", "version 8.2", "install 8.2"),
        ("* Python: 3.9.5 (and 3.9.6)", "Python 3.9.5 and 3.9.6", "version 3.9.6"),
        ("I installed PIL 8.3 today and then", "already installed: PIL 8.3", "today"),
        ("CUDA/cuDNN version: 10.1", "CUDA 10.1", "cuDNN 10.1"),
        ("CUDA/cuDNN version: 11.2 / 8.1", "cuDNN 8.1", "cuDNN 11.2"),
        ("Error loading DLL 'C:\\Users\\Administrator\\_MEI60482\\py\nthon310.dll'.", "python310.dll", " thon"),
        ("x" * 385 + " F:\\Grounded-Segment-Anything\\a", "", "Grounded-Se"),
        ("works on windows10, not on Windows Server 2022", "Windows Server 2022", ""),
        ("`Fiona\u20111.8.6\u2011cp37\u2011cp37m\u2011win_amd64.whl`", "Fiona 1.8.6", ""),
        ('  File "C:\\\\cbs\\\\env\\\\Lib\\\\site-packages\\\\x\\\\a.py", line 1', "C:\\cbs\\env", "env\\Lib"),
        ('  File "C:/msys64/mingw64/lib/python3.8/site-packages/x/a.py", line 1', "C:/msys64/mingw64", "lib"),
    ],
)  # fmt: skip
def test_a_value_is_shown_as_the_text_has_it(text, shown, not_shown):
    """Story: "install 8.2", "cuDNN 10.1" and "thon310.dll" were shown as facts of a text."""
    facts = ", ".join(diagnose(f"{text}\n").facts)
    assert shown in facts
    assert not not_shown or not_shown not in facts


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("nvcc 无法找到 cl.exe", "cl-not-found"),
        ("cl.exe wurde nicht gefunden", "cl-not-found"),
        ("cl.exe が見つかりません", "cl-not-found"),
        ("não foi encontrado o cmake no sistema", "cmake-missing"),
        ("ninja를 찾을 수 없습니다", "ninja-missing"),
        ("编译时提示未找到 nvcc", "cuda-home"),
        ("RuntimeError: 运算符 torchvision::nms 不存在", "torchvision-mismatch"),
        ("CONDASSLError: OpenSSL appears to be unavailable", "python-library-folder"),
    ],
)
def test_a_known_name_counts_in_a_sentence_of_any_language(text, cause):
    assert diagnose(text + "\n").explained[0].cause.id == cause


def test_a_line_beside_the_one_that_ipython_points_to_was_not_run():
    """Story: "asked for by its name alone" came before the error of a full path."""
    text = (
        "~\\Miniconda3\\envs\\py38\\lib\\site-packages\\soundfile.py in <module>\n"
        "    142         raise OSError('sndfile library not found')\n--> 143     _snd = _ffi.dlopen(_libname)\n\n"
        "OSError: cannot load library 'C:\\Miniconda3\\envs\\py38\\Library\\bin\\sndfile.dll': error 0x7e\n"
    )
    assert [one.cause.id for one in diagnose(text).explained] == ["missing-dependency"]


def test_the_file_that_a_program_announces_is_the_one_that_is_refused():
    text = "Loading library C:\\prog\\libfoo.so...\nOSError: [WinError 193] %1 is not a valid Win32 application\n"
    assert diagnose(text).explained[0].cause.id == "other-system-file"
