"""What a text says about the processor, the Python, the channels and the path is in the cause and in the remedies."""

from __future__ import annotations

import pytest

from wheelfix import diagnose
from wheelfix.diagnosis.symptoms.causes import circumstances

NO_WHEEL = "ERROR: No matching distribution found for lxml\n"
INIT_FAILED = (
    "ImportError: DLL load failed while importing _core: A dynamic link library (DLL) initialization routine failed.\n"
)
NOT_FOUND = "ImportError: DLL load failed while importing _core: The specified module could not be found.\n"
NO_FUNCTION = "ImportError: DLL load failed while importing _core: The specified procedure could not be found.\n"
NOT_VALID = "OSError: [WinError 193] %1 is not a valid Win32 application: 'C:\\\\x\\\\a.dll'\n"
IPEX = (
    'OSError: [WinError 126] x Error loading "C:\\v\\Lib\\site-packages\\intel_extension_for_pytorch\\bin\\'
    'esimd_kernels.dll" or one of its dependencies.\n'
)
LIST = "gdal     3.4.1    py39h1b5ac1c_6    conda-forge\nzlib     1.2.12   h8cc25b3_3\n"
STORE = r"C:\Users\d\AppData\Local\Packages\PythonSoftwareFoundation.Python.3.11_qbz5n2kfra8p0\LocalCache" "\n"
LONG = "ERROR: Could not install packages due to an OSError: [Errno 2] No such file or directory: '" + (
    "C:\\\\Users\\\\d\\\\AppData\\\\Local\\\\Packages\\\\PythonSoftwareFoundation.Python.3.8_qbz5n2kfra8p0\\\\"
    + "a" * 170
)

CASES = {
    "numpy-in-a-bundle": (
        "C:\\Users\\d\\AppData\\Local\\Temp\\_MEI511\\numpy\\core\\overrides.py\n"
        '  File "numpy\\core\\overrides.py", line 8, in <module>\n' + NOT_FOUND.replace("_core", "_multiarray_umath"),
        "pip's NumPy has its OpenBLAS in numpy.libs",
        "",
    ),
    "name-not-on-path": (
        "C:\\foo is in my PATH\n"
        '  File "C:\\Python38\\lib\\ctypes\\__init__.py", line 369, in __init__\n'
        "FileNotFoundError: Could not find module 'foo.dll' (or one of its dependencies). Try using the full path.\n",
        "ctypes does not search PATH",
        "",
    ),
    "extension-of-sqlite": (
        "conn.load_extension('C:\\x\\mod_foo')\nsqlite3.OperationalError: The specified module could not be found.\n",
        "SQLite did not load its extension mod_foo",
        "",
    ),
    "bundle-built-here": (
        "I made it with PyInstaller.\nC:\\t\\_MEI511\\VCRUNTIME140.dll is either not designed to run on Windows or it "
        "contains an error.\n",
        "UPX, and files of an earlier build",
        "",
    ),
    "card-of-another-vendor": (
        "Radeon RX 6700 XT\nAssertionError: Torch not compiled with CUDA enabled\n",
        "not one of NVIDIA's",
        "",
    ),
    "files-of-the-user-first": (
        '  File "C:\\Users\\d\\AppData\\Roaming\\Python\\Python310\\site-packages\\torch\\cuda.py", line 1, in f\n'
        '  File "C:\\w\\venv\\lib\\site-packages\\x\\a.py", line 1, in f\n'
        "AssertionError: Torch not compiled with CUDA enabled\n",
        "the user's own folder (AppData\\Roaming\\Python)",
        "",
    ),
    "pywin32-twice": (
        NO_FUNCTION.replace("_core", "win32gui"),
        "a function that win32gui imports",
        "",
    ),
    "torch-was-imported": (
        '  File "G:\\p\\lib\\site-packages\\torch_sparse\\__init__.py", line 15, in <module>\n'
        '  File "G:\\p\\lib\\site-packages\\torch\\_ops.py", line 106, in load_library\n    ctypes.CDLL(path)\n'
        "OSError: [WinError 126] The specified module could not be found\n",
        "another build of torch than the one that is imported",
        "",
    ),
    "good-at-first": ("After an install I can run it once.\n" + NOT_VALID, "Windows reads something else now", ""),
    "named-library-not-loaded": (
        "Failed loading SDL3 library\n" + INIT_FAILED,
        "the library SDL3 could not be loaded",
        "",
    ),
    "scanner-named": (
        "ERROR: Could not install packages due to an OSError: [Errno 22] Invalid argument: "
        "'C:\\\\t\\\\a-1.0-py3-none-any.whl'\nWindows Defender flagged something right after it\n",
        "names Windows Defender",
        "",
    ),
    "scanner-of-another-maker": (
        "It was blocked by `Avast`.\nOSError: [WinError 225] Operation did not complete successfully because the file "
        "contains a virus or potentially unwanted software: 'C:\\\\x\\\\a.dll'\n",
        "names Avast",
        "",
    ),
    "provided-folder": (
        "ImportError: DLL load failed while importing _core: The data present in the reparse point buffer is invalid.",
        "A copy of such an installation",
        "",
    ),
    "triton-helper": (NOT_FOUND.replace("_core", "cuda_utils"), "Triton compiled cuda_utils", "where.exe python3.dll"),
    "triton-helper-not-built": (
        "CUDA SETUP: Required library version not found: libbitsandbytes_cuda128.dll\n"
        "Command '['C:\\\\t\\\\tcc.exe', 'C:\\\\t\\\\cuda_utils.c', '-lpython3']' returned non-zero exit status 1.\n",
        "could not compile its helper",
        "",
    ),
    "old-windows-function": ("Windows Server 2008 R2\n" + NO_FUNCTION, "2008 R2", ""),
    "old-windows": ("Windows 7 x64\n" + NOT_FOUND, "names Windows 7", ""),
    "another-release-works": ("It works with foo==1.2.3\n" + NOT_FOUND, "foo==1.2.3 works", ""),
    "cuda-named": (
        "built with CUDA 11.8\n"
        r"Could not find module 'C:\v\Lib\site-packages\llama_cpp\llama.dll' (or one of its dependencies).",
        "CUDA 11.8",
        "where.exe cudart64_*.dll",
    ),
    "dll-of-cygwin": (
        "cygmagic-1.dll is on PATH\nOSError: exception: access violation writing 0x00000000\n",
        "not of Cygwin",
        "",
    ),
    "packages-of-the-user": (
        '  File "C:\\Users\\d\\AppData\\Roaming\\Python\\Python310\\site-packages\\foo\\__init__.py", line 1\n'
        + NO_FUNCTION,
        "the user's own folder",
        "set PYTHONNOUSERSITE=1",
    ),
    "compiler-without-sdk": (
        "Activating VS 17.13.6\n\n..\\meson.build:1:0: ERROR: Compiler cl cannot compile programs.\n",
        "VS 17.13.6 was found",
        "winget install --id Microsoft.VisualStudio.2022.BuildTools",
    ),
    "packing": (
        "running py2exe\nerror: [Errno 2] No such file or directory: 'api-ms-win-core-path-l1-1-0.dll'\n",
        "api-ms-win-core-path-l1-1-0.dll as a file",
        "",
    ),
    "qt-plugins-left-out": (
        'built with PyInstaller\nqt.qpa.plugin: Could not find the Qt platform plugin "windows" in ""\n',
        "left it out",
        "",
    ),
    "nano-server": ("a container of Windows Nano Server 2019\n" + NOT_FOUND, "Nano Server", ""),
    "loaded-by-java": (
        "Exception in thread main java.lang.UnsatisfiedLinkError: The specified module could not be found.\n",
        "Java loads it",
        "",
    ),
    "embeddable-build": (
        "C:\\c\\python_embeded\\Scripts>pip install x\n"
        '  File "C:\\T\\pip-install-1a2b3c4d\\x_0123456789abcdef0123456789abcdef\\setup.py", line 40, in <module>\n'
        "ModuleNotFoundError: No module named 'op_builder'\n",
        "embeddable Python",
        "",
    ),
    "torch-has-code": (
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\nRTX2060\n2.7.1+cu128\n",
        "torch 2.7.1+cu128 has GPU code for RTX2060",
        "get_arch_list",
    ),
    "arm-instructions": ("Windows 11 on ARM, Snapdragon X\n" + INIT_FAILED, "AVX2", "sysconfig.get_platform"),
    "arm-machine": ("This is Windows 11 ARM64 with Python 3.12.1 x86_64.\n" + NOT_VALID, "x64 Python", "get_platform"),
    "arm-wheel": ("C:\\Python311-arm64\\python.exe\n" + NO_WHEEL, "win_arm64", "pip debug"),
    "old-processor": ("My CPU is an Intel Celeron N4000.\n" + INIT_FAILED, "AVX2", ""),
    "bits-of-torch": ("C:\\Python310-32\\python.exe -m pip install torch\n" + NO_WHEEL, "32 bits", "py --list-paths"),
    "free-threaded": ("py -3.13t -m pip install lxml\n" + NO_WHEEL, "cp313t", "Py_GIL_DISABLED"),
    "store-python": (STORE + NOT_FOUND, "Microsoft Store", "sys.base_prefix"),
    "store-path": (LONG + "'\n", "Microsoft Store", "LongPathsEnabled"),
    "mixed-channels": (
        "(base) C:\\> conda list\n" + LIST + NO_FUNCTION,
        "conda-forge, defaults",
        "--override-channels",
    ),
    "torch-other-build": ("PyTorch version:  2.7.0+cu128\n" + IPEX, "2.7.0+cu128", "/whl/xpu"),
    "symbolic-link": (
        "Complete output from command python setup.py egg_info:\nC:\\Temp\\pip-build-ab12cd34\\x\\setup.py\n"
        "OSError: [Errno 22] Invalid argument: 'README.rst'\n",
        "symbolic link",
        "ms-settings:developers",
    ),
    "brackets-in-path": ('  File "D:\\[AI]\\v\\Lib\\site-packages\\x\\a.py", line 1\n' + NOT_FOUND, "brackets", ""),
    "signs-in-path": (
        'File "D:\\C#\\v\\Lib\\site-packages\\x\\a.py", line 1\n'
        "error: Microsoft Visual C++ 14.0 or greater is required\n",
        "batch files",
        "",
    ),
    "characters-in-path": ("Error loading Python DLL from a non-ASCII path\n", "ASCII", ""),
    "frozen-program": (
        "It fails after I built an exe with PyInstaller.\n" + NOT_FOUND,
        "program of PyInstaller",
        "tasklist",
    ),
    "built-by-pip": (
        'File "C:\\Temp\\pip-install-7_5b8oll\\wxpython_735dbcfdfa8e47b48b91adcf9cb4970f\\build.py", line 72, in f\n'
        "buildtools.builder.BuildError: Error building\n",
        "builds wxpython",
        "pip debug",
    ),
    "inside-a-program": ("julia> using PythonCall\n" + NO_FUNCTION, "another program (Julia)", ""),
    "python-net": (
        "System.DllNotFoundException: Could not load python38.dll.\n"
        " ---> System.ComponentModel.Win32Exception (126): The specified module could not be found.\n"
        "   at Python.Runtime.Platform.WindowsLoader.Load(String dllToLoad)\n",
        "Runtime.PythonDLL",
        "",
    ),
    "processor-without-avx": (
        "CPU: Intel Core 2 Quad Q6600\n"
        '  File "C:\\v\\Lib\\site-packages\\tensorflow\\python\\pywrap_tensorflow.py", line 58, in <module>\n'
        + INIT_FAILED,
        "Core 2 Quad Q6600",
        "",
    ),
    "windows-too-old": (
        "Windows 7 SP1\nError loading Python DLL 'C:\\T\\_MEI1\\python311.dll'.\n"
        "LoadLibrary: The specified module could not be found.\n",
        "Python 3.11",
        "",
    ),
    "in-a-service": ("It works in a console, but not in IIS with wfastcgi\n" + NOT_FOUND, "names IIS", ""),
    "newer-release-needs-more": ("It works with foo==1.2.3\n" + NOT_FOUND, "msvcp140.dll", ""),
    "onnxruntime-gpu": (
        "pip install onnxruntime-gpu\nCUDA version: 11.8\n" + NOT_FOUND.replace("_core", "onnxruntime_pybind11_state"),
        "import the DLLs of CUDA and cuDNN",
        "",
    ),
    "cuda-of-another-major": (
        "I have CUDA 12.4\nCould not load dynamic library 'cudart64_110.dll'; dlerror: cudart64_110.dll not found\n",
        "the text names CUDA 12",
        "",
    ),
    "card-newer-than-cuda": (
        "RTX 5090, CUDA 12.8\nCould not load dynamic library 'cudart64_110.dll'; dlerror: cudart64_110.dll not found\n",
        "has no code for RTX 5090",
        "",
    ),
    "hidden-import": (
        '  File "PyInstaller\\loader\\pyimod02_importers.py", line 385, in exec_module\n'
        "ModuleNotFoundError: No module named 'sklearn.utils._typedefs'\n",
        "made does not contain the compiled module sklearn.utils._typedefs",
        "pyinstaller --hidden-import sklearn.utils._typedefs",
    ),
    "nuitka-include": (
        "  File \"C:\\T\\a.dist\\main.py\", line 3, in <module main>\nModuleNotFoundError: No module named 'joblib'\n",
        "Nuitka made",
        "",
    ),
    "freeze-include": (
        '  File "C:\\Python\\lib\\cx_Freeze\\initscripts\\console.py", line 3, in run\n'
        "ModuleNotFoundError: No module named 'joblib'\n",
        "cx_Freeze made",
        "",
    ),
    "nuitka-standalone": (
        "I built it with Nuitka.\nThe code execution cannot proceed because python311.dll was not found.\n",
        "--standalone",
        "",
    ),
    "msys2-module": (
        '  File "D:/msys64/ucrt64/lib/python3.11/site-packages/h5py/__init__.py", line 25, in <module>\n' + NOT_FOUND,
        "a Python of MSYS2",
        "",
    ),
    "msys2-mixed": (
        '  File "D:/msys64/ucrt64/lib/python3.11/site-packages/h5py/__init__.py", line 25, in <module>\n' + NO_FUNCTION,
        "built together",
        "",
    ),
    "bitsandbytes-for-linux": (
        "CUDA SETUP: Loading binary C:\\v\\Lib\\site-packages\\bitsandbytes\\libbitsandbytes_cuda117.so...\n"
        "[WinError 193] %1 is not a valid Win32 application\n",
        "Linux alone",
        'python -m pip install --force-reinstall --no-deps "bitsandbytes>=0.43"',
    ),
    "msys2-package": (
        '  File "D:/msys64/ucrt64/lib/python3.11/site-packages/fiona/__init__.py", line 25, in <module>\n'
        + NOT_FOUND.replace("_core", "ogrext"),
        "packages of MSYS2",
        "",
    ),
    "conda-is-active": (
        '(py38) C:\\>python a.py\n  File "C:\\miniconda3\\envs\\py38\\Lib\\site-packages\\scipy\\a.py", line 1\n'
        + NOT_FOUND,
        "",
        "",
    ),
    "wheel-in-conda": (
        'pip install shapely\n  File "C:\\miniconda3\\envs\\gis\\Lib\\site-packages\\shapely\\geos.py", line 1\n'
        + NOT_FOUND,
        "shapely was installed with pip",
        "conda list shapely",
    ),
    "conda-updated": (
        "since the last update\n"
        '  File "C:\\miniconda3\\envs\\gis\\Lib\\site-packages\\pyproj\\a.py", line 1\n' + NOT_FOUND,
        "updated before",
        "conda list --revisions",
    ),
    "other-release-of-library": (
        "rasterio 1.1.5, GDAL 3.1.2\n"
        '  File "C:\\Python38\\Lib\\site-packages\\rasterio\\__init__.py", line 1\n'
        + NOT_FOUND.replace("_core", "_base"),
        "GDAL 3.1.2",
        "where.exe gdal*.dll",
    ),
    "build-output-cut": (
        "Building wheel for x (setup.py) ... error\n  [30 lines of output]\n  running build_ext\n  foo bar baz qux\n",
        "30 lines",
        "",
    ),
    "source-taken": (
        "py -3.8 -m pip install foo\nDownloading foo-1.2.tar.gz (3 kB)\n  [30 lines of output]\n  foo bar baz qux\n",
        "foo-1.2",
        "",
    ),
    "source-build": (
        "Python 3.14.0\npip install foo\nDownloading foo-1.2.tar.gz\n  [30 lines of output]\n  foo bar baz qux\n",
        "no wheel for Python 3.14",
        "pip debug",
    ),
    "windows-build-before-qt6": (
        "PySide6 6.5\nIt works on 10.0.19045, not on 10.0.14393.\n" + NOT_FOUND.replace("_core", "QtCore"),
        "14393",
        "winver",
    ),
    "tensorflow-without-gpu": ("Windows 11, tensorflow==2.16.1\nNum GPUs Available:  0\n", "2.16.1", "py --list-paths"),
    "tensorflow-cuda-10-0": (
        "Windows 10, tensorflow-gpu 1.14.0, CUDA 10.1\nThe GPU is not used\n",
        "CUDA 10.0, and the text has CUDA 10.1",
        "",
    ),
    "tensorflow-cuda-10-1": (
        "tensorflow 2.3.1, CUDA 11.0\nNum GPUs Available:  0\n",
        "CUDA 10.1, and the text has CUDA 11.0",
        "",
    ),
    "tensorflow-cuda-11": (
        "tensorflow 2.10.1, CUDA 12.2\nTensorFlow doesn't detect my GPU\n",
        "CUDA 11, and the text has CUDA 12.2",
        "",
    ),
    "cudnn-of-another-major": (
        "Could not load library cudnn_cnn_infer64_8.dll. Error code 126\nIn the folder there is cudnn64_9.dll\n",
        "cuDNN 8, and the text has cuDNN 9",
        "where.exe cudnn",
    ),
    "libraries-for-linux": (
        "bin C:\\v\\lib\\site-packages\\bitsandbytes\\libbitsandbytes_cpu.so\n"
        "AttributeError: 'NoneType' object has no attribute 'cadam32bit_grad_fp32'\n",
        "libbitsandbytes_cpu.so, a library for Linux",
        "0.43",
    ),
    "conda-itself": (
        '  File "D:\\miniconda3\\lib\\site-packages\\conda\\gateways\\connection\\session.py", line 5, in <module>\n'
        '  File "D:\\miniconda3\\lib\\ssl.py", line 98, in <module>\n    import _ssl\n'
        + NOT_FOUND.replace("_core", "_ssl"),
        "conda itself does not start",
        "",
    ),
    "path-replaced": (
        'os.environ["PATH"] = r"C:\\cuda\\bin"\nUnable to open library: nvinfer_plugin.dll\n',
        "a new value in place",
        "PATH",
    ),
    "path-not-searched": (
        "It works with os.add_dll_directory.\n" + NOT_FOUND,
        "PATH and the current folder are not",
        "",
    ),
    "import-cut": (
        "PATH is no longer used for DLLs.\nTraceback (most recent call last):\n"
        '  File "C:\\v\\Lib\\site-packages\\foo\\cli.py", line 9, in main\n    importlib.import_module(name)\n',
        "a folder on PATH alone",
        "",
    ),
    "foreign-data": (
        "set PROJ_LIB=C:\\OSGeo4W64\\share\\proj\nproj_create: no database context specified\n",
        "OSGeo4W64",
        "get_data_dir",
    ),
    "data-of-conda": (
        "C:\\miniconda3\\envs\\geo\\lib\\site-packages\\pyproj\\__init__.py:89: UserWarning: pyproj unable to set "
        "database path.\n",
        "In an environment of conda",
        "get_data_dir",
    ),
    "debug-library": ("LINK : fatal error LNK1104: cannot open file 'python311_d.lib'\n", "debug build", ""),
}


def test_each_circumstance_has_a_text():
    assert sorted(one.id for one in circumstances()) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
def test_what_the_text_says_of_the_machine_is_in_the_cause_and_comes_first_in_the_remedies(name):
    text, said, command = CASES[name]
    found = diagnose(text)
    (row,) = (one for one in circumstances() if one.id == name)
    cause = found.explained[0].cause
    assert said in f"{cause.summary} {found.explained[0].explanation}"
    assert (cause.id == name) == (bool(row.summary) and not row.rewords)
    assert command in found.remedies[0].command
    assert found.remedies[0].title.startswith(row.fix.partition("{")[0])


@pytest.mark.parametrize(
    ("text", "not_said"),
    [
        ("Windows 11, an alarm clock, a farm\n" + INIT_FAILED, "ARM"),
        ("tensorflow 2.10.1, CUDA 11.8\nNum GPUs Available:  0\n", "built for CUDA 11"),
        ("Ubuntu, tensorflow 2.15.0\nNum GPUs Available:  0\n", "no support of GPUs"),
        ("PySide6 6.5, build 10.0.19045\n" + NOT_FOUND.replace("_core", "QtCore"), "too old"),
        ("set PATH=C:\\cuda\\bin;%PATH%\nUnable to open library: nvinfer_plugin.dll\n", "a new value"),
        ("paddle: third-party dynamic library (mkldnn.dll) error code is 126\n", "names the missing file itself"),
        ("C:\\v\\share\\proj\nproj_create: no database context specified\n", "another program: the"),
        ("Intel Core i7-9750H, which has AVX2\n" + INIT_FAILED, "names a processor"),
        ("Intel Xeon E5-2680 v4\n" + INIT_FAILED, "names a processor"),
        ("C:\\Users\\d\\AppData\\Local\\Microsoft\\WindowsApps;C:\\Windows\n" + NOT_FOUND, "Microsoft Store"),
        ("(base) C:\\> conda list\n" + LIST.replace("h8cc25b3_3", "h8cc25b3_3  conda-forge") + NO_FUNCTION, "channels"),
        ("PyTorch version: 2.7.0+xpu\n" + IPEX, "is not the build"),
        ('  File "C:\\Program Files (x86)\\v\\Lib\\site-packages\\x\\a.py", line 1\n' + NOT_FOUND, "brackets"),
        ("OSError: [Errno 22] Invalid argument: 'C:\\\\a\\nb.txt'\n", "symbolic link"),
        ("it does not work with foo==2.0.0\n" + NOT_FOUND, "works"),
        ("Windows 10, and Windows 7 or later\n" + NO_FUNCTION, "Windows (7)"),
        ("built with CUDA 11.8\n" + NOT_FOUND, "CUDA 11.8: a build"),
        (
            'PATH=C:\\msys64\\mingw64\\bin\n  File "C:\\Python311\\Lib\\site-packages\\x\\a.py", line 1\n' + NOT_FOUND,
            "MSYS2",
        ),
        (
            "pip install requests\n"
            '  File "C:\\miniconda3\\envs\\x\\Lib\\site-packages\\h5py\\a.py", line 1\n' + NOT_FOUND,
            "installed with pip",
        ),
        (
            "pip install pillow, conda install pillow\n"
            '  File "C:\\miniconda3\\envs\\x\\Lib\\site-packages\\PIL\\Image.py", line 1\n' + NOT_FOUND,
            "installed with pip",
        ),
        ("import of Apache Arrow fails, with Apache Spark 3.5\n" + NOT_FOUND, "Apache"),
        (
            'CPU: i7-9700K, Xeon E5-2670\n  File "C:\\v\\Lib\\site-packages\\tensorflow\\a.py", line 1\n' + INIT_FAILED,
            "without AVX (",
        ),
        (
            "fiona 1.10.1, GDAL 3.9.0\n"
            '  File "C:\\v\\Lib\\site-packages\\fiona\\__init__.py", line 1\n' + NOT_FOUND.replace("_core", "ogrext"),
            "most likely that of the GDAL",
        ),
        (
            "CUDA 11.8, GTX 1060\nCould not load dynamic library 'cudart64_110.dll'; dlerror: not found\n",
            "It is of CUDA 11",
        ),
        (
            "On Windows 10, it works on Windows 7 too\nError loading Python DLL 'C:\\T\\_MEI1\\python311.dll'.\n"
            "LoadLibrary: The specified module could not be found.\n",
            "too old for Python",
        ),
        (
            "after a Windows update\n"
            '  File "C:\\miniconda3\\envs\\x\\Lib\\site-packages\\scipy\\a.py", line 1\n' + NOT_FOUND,
            "was updated before",
        ),
        ("Works with python version 3.8, not with 3.9.\n" + NOT_FOUND, "3.8 works"),
    ],
)
def test_nothing_is_said_that_the_text_does_not_say(text, not_said):
    found = diagnose(text).explained[0]
    assert not_said not in f"{found.cause.summary} {found.explanation}"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('  File "C:\\v\\Lib\\site-packages\\sqlcipher3\\dbapi2.py", line 28, in <module>\n'
         "    from sqlcipher3._sqlite3 import *\n" + NOT_FOUND.replace("_core", "_sqlite3"), "sqlcipher3._sqlite3"),
        ('  File "C:\\v\\Lib\\site-packages\\pylbm\\__init__.py", line 12, in <module>\n'
         "    import mpi4py.MPI as mpi\nImportError: DLL load failed: The specified procedure could not be found.\n",
         "mpi4py.MPI"),
        ('  File "C:\\Python39\\lib\\sqlite3\\dbapi2.py", line 27, in <module>\n    from _sqlite3 import *\n'
         + NOT_FOUND.replace("_core", "_sqlite3"), "Python's own module _sqlite3"),
    ],
)  # fmt: skip
def test_a_module_is_named_in_full(text, named):
    """Story: sqlcipher3._sqlite3 was taken for Python's own module, because its last name is the same."""
    assert named in diagnose(text).explained[0].cause.summary


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        (CASES["msys2-module"][0], "VCRedist"),
        (CASES["card-newer-than-cuda"][0], "Install the CUDA toolkit"),
        (CASES["conda-is-active"][0], "Activate the environment"),
        (CASES["nuitka-include"][0], "pyinstaller"),
    ],
)
def test_a_remedy_that_does_not_help_there_is_not_given(text, dropped):
    """Story: the Visual C++ runtime was advised for a module of MSYS2, and CUDA 10 for a card that it does not know."""
    assert not [step for step in diagnose(text).remedies if dropped in f"{step.title} {step.command}"]


def test_another_environment_that_is_active_is_no_reason_to_leave_activation_out():
    text = CASES["conda-is-active"][0].replace("(py38) C:", "activate py38\n(base) C:")
    assert [step for step in diagnose(text).remedies if step.title.startswith("Activate the environment")]


def test_the_same_dll_in_a_sentence_and_in_the_error_is_one_cause():
    text = CASES["wheel-in-conda"][0].replace(
        NOT_FOUND, "FileNotFoundError: Could not find module 'C:\\miniconda3\\envs\\gis\\geos_c.dll' (or one\n"
    )
    assert len(diagnose("It cannot find `geos_c.dll`.\n" + text).explained) == 1


def test_a_dll_that_somebody_found_to_be_absent_is_the_one_that_is_missing():
    found = diagnose(NOT_FOUND + "I looked with Dependencies: it needs mfplat.dll, which is not there.\n").explained[0]
    assert (found.cause.id, found.cause.likely_missing) == ("media-missing", ("mfplat.dll",))


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("C:\\Users\\d\\pipx\\venvs\\pgcli", 'pipx inject pgcli "psycopg[binary]"'),
        ("C:\\Users\\d\\AppData\\Roaming\\uv\\tools\\pgcli", 'uv tool install pgcli --with "psycopg[binary]"'),
        ("C:\\v", 'python -m pip install "psycopg[binary]"'),
    ],
)
def test_a_package_is_added_with_the_tool_that_made_the_environment(prefix, command):
    frame = f'  File "{prefix}\\Lib\\site-packages\\psycopg\\pq\\__init__.py", line 9, in f\n'
    text = f"{frame}ImportError: no pq wrapper available.\n"
    assert diagnose(text).remedies[0].command == command
