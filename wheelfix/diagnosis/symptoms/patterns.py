"""The forms in which programs print a failed load, as a table of patterns.

Only what Windows does not translate is matched: codes in brackets, quoted paths, the English frame that Python, torch,
cuDNN and others put around the system's sentence.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wheelfix.diagnosis.symptoms.codeforms import CODE_FORMS
from wheelfix.diagnosis.symptoms.form import form, sentence_before
from wheelfix.diagnosis.symptoms.symptom import Confidence

if TYPE_CHECKING:
    from wheelfix.diagnosis.symptoms.form import Form

_CARD_BACKWARDS = re.compile(r"\s([\w -]{1,60})")


def _card_before(text: str) -> dict[str, str]:
    """Return the name of the card that a text ends with."""
    found = _CARD_BACKWARDS.match(text[::-1])
    card = found[1][::-1].lstrip(" -") if found else ""
    return {"d_card": card} if len(card) > 1 else {}


FORMS: tuple[Form, ...] = (
    # torch/__init__.py; also the wording of builds that print the code in other brackets
    form(
        "torch-load",
        "error loading|winerror",
        r"\[WinError\s*(?P<code>\d{1,5})\](?P<text>{REST}{0,400}?)Error loading"
        r"\s*\\?[\"“„«'](?P<path>{QUOTED})\\?[\"”“»'](?=\s|$|[.),\\])",
    ),
    # the same, retold without the code in brackets
    form(
        "torch-load",
        "or one of its dependencies",
        r"Error loading\s*\\?[\"“„«'](?P<path>{QUOTED})\\?[\"”“»']\s*or one of its dependencies",
        weak=True,
        before=sentence_before,
    ),
    # onnxruntime, both generations
    form(
        "onnxruntime-load",
        "error loading",
        r"Error loading\s*\\?[\"“](?P<path>[^\"“”]{3,700}?)\\?[\"”]"
        r"\s*which depends on\s*\\?[\"“](?P<dlls>[^\"”]{3,200}?)\\?[\"”]\s*which is missing"
        r"(?:{REST}{0,40}?\(Error (?P<code>\d{1,10})(?P<text>[^)\r\n]{0,300}))?",
        126,
    ),
    form(
        "onnxruntime-load",
        "error loading",
        r"Error loading\s*\\?[\"“](?P<path>[^\"“”]{3,700}?)\\?[\"”]{REST}{0,400}?"
        r"\(Error (?P<code>\d{1,10})(?P<text>[^)\r\n]{0,300})",
        confidence=Confidence.LIKELY,
        weak=True,
    ),
    form(
        "onnxruntime-load",
        "loadlibrary failed",
        r"LoadLibrary failed with error (?P<code>\d{1,10})\s*(?:\\?\"(?P<text>[^\"]{0,300})\\?\"\s*)?"
        r"when trying to load\s*\\?[\"“](?P<path>[^\"”\r\n]{3,700}?)\\?(?:[\"”]|$)",
    ),
    # CPython's dynload_win.c, with and without a module name, with and without a sentence
    form(
        "dll-load-failed",
        "dll load failed|dll load while|importerror: dll",
        r"DLL load fail(?:ed|ure)(?: with error code (?P<code>-?\d{1,10}))?"
        r"(?: while importing (?P<module>[\w.]{1,300}))?"
        r"[ \t]*[:：]?[ \t]*(?P<text>[^\r\n]{0,300})",
    ),
    # ctypes turns 126 into this, always in English
    form(
        "ctypes-not-found",
        "could not find module",
        r"Could not find module\s*\\?[\"'“‘](?P<path>{QUOTED})\\?[\"'”’]"
        r"\s*(?:\(or one of its dependencies\)|\. Try using)",
        126,
    ),
    # PaddlePaddle's dynamic loader, with one name or several that would do
    form(
        "named-file-missing",
        "third-party dynamic library",
        r"third-party dynamic library \((?P<dlls>[^()\r\n]{3,200}?\.dll)\)[^\r\n]{0,120}?"
        r"error code is (?P<code>\d{1,10})",
    ),
    form(
        "named-file-missing",
        "cuda binary at|cuda binary not found at",
        r"CUDA binary (?:not found )?at\s*(?!\s)(?:WindowsPath\()?{Q}?(?P<path>[^\"'\r\n)]{3,300}?\.dll)",
        126,
    ),
    # torch/_ops.py on top of what ctypes said
    form(
        "could-not-load-this",
        "could not load this library",
        r"Could not load this library:\s*(?!\s)(?P<path>(?:[A-Za-z]:)?[^:\r\n]{1,700}?\.(?:dll|pyd))",
    ),
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
    # Python's and NumPy's own ABI checks
    form(
        "python-dll-conflict",
        "conflicts with this version of python",
        r"Module use of (?P<dlls>python\w{1,40}\.dll) conflicts with this version of Python",
    ),
    form(
        "numpy-abi",
        "compiled using numpy",
        r"compiled using NumPy (?P<d_built>[\w.]{1,60}) cannot be run in\s+NumPy "
        r"(?P<d_running>\d{1,9}(?:\.\d{1,9}){0,5})",
    ),
    form(
        "numpy-abi",
        "module compiled against",
        r"module compiled against (?:API|ABI) version (?P<d_built>0x[0-9a-f]{1,16})"
        r" but this version of numpy is (?P<d_running>0x[0-9a-f]{1,16})",
    ),
    form(
        "numpy-abi",
        "size changed, may indicate binary",
        r"(?P<d_type>numpy\.\w{1,100}) size changed, may indicate binary incompatibility"
        r"(?:\. Expected (?P<d_header>\d{1,9}) from C header, got (?P<d_object>\d{1,9}) from PyObject)?",
    ),
    form(
        "numpy-abi",
        "_array_api not found|multiarray failed to import|numpy is not available|initialization of _internal failed",
        r"_ARRAY_API not found|numpy\.(?:_?core)\.multiarray failed to import|RuntimeError: Numpy is not available"
        r"|SystemError: initialization of _internal failed without raising an exception",
        confidence=Confidence.LIKELY,
        weak=True,
    ),
    # TensorFlow and jax
    form(
        "tensorflow-dll",
        "could not load dynamic library",
        r"Could not load dynamic library '(?P<dlls>[^'\r\n]{1,200}?\.dll)'",
        126,
    ),
    form(
        "tensorflow-dll",
        "tensorflow requires that this dll",
        r"Could not find '(?P<dlls>[^'\r\n]{1,200}?\.dll)'\.? ?TensorFlow requires",
        126,
    ),
    form(
        "named-file-missing",
        "could not find the dll",
        r"Could not find the DLL\(?s?\)?\s*{Q}(?P<dlls>[^{MARKS}\r\n]{3,200}?){Q}",
        126,
    ),
    # the loader that delvewheel puts into packages
    form(
        "could-not-load-this",
        "error loading",
        r"OSError: Error loading (?P<path>[^\s;\"']{3,200}?\.(?:dll|pyd));[ \t]*(?P<text>[^\r\n]{0,300})",
    ),
    # llama-cpp-python, when there is no file of that name at all
    form(
        "ctypes-not-found",
        "shared library with base name",
        r"Shared library with base name\s*{Q}(?P<module>[\w.+-]{1,60}){Q}\s*not found",
        126,
    ),
    # in the words of a package: one name, or several that would do
    form(
        "could-not-locate",
        "cannot find|can't find|could not find|couldn't find|unable to find|unable to locate|cannot locate"
        "|failed to find|unable to open|could not open|cannot open|failed to open|missing",
        # delvewheel's "Unable to find library:" is a message of its own
        r"(?:(?:can(?:no|')t|could not|couldn't|unable to|failed to) (?:find(?! library:)|locate|open)"
        r"|(?<![\w.-])missing)"
        r"[: ]{1,3}(?:the )?(?:(?:file|dll|library|module)[: ]{1,3})?"
        r"{Q}?(?P<dlls>{DLL}(?:(?:, or |, | or | and ){DLL}){0,4})",
        126,
        confidence=Confidence.LIKELY,
        weak=True,
        among=(".dll",),
    ),
    # cairocffi and others that ask ctypes.util first
    form(
        "asked-by-name",
        "no library called",
        r"no library called\s*{Q}(?P<path>[\w.+-]{1,80}){Q}\s*was found",
        126,
        weak=True,
    ),
    # .NET's word for a file of the other bitness
    form("winerror", "badimageformatexception", r"BadImageFormatException", 193, weak=True),
    # TensorRT and others, which load a DLL by its name and print no code
    form(
        "load-library",
        "unable to load library|could not load library|cannot load library|failed to load library|unable to load dll",
        r"(?:can(?:no|')t|could not|unable to|failed to) load (?:library|dll)[: ]{1,3}"
        r"{Q}?(?P<path>[A-Za-z][\w+-]{1,80}(?:\.[\w+-]{1,30}){0,4}?(?:\.dll)?){Q}?(?=[).\s]*$)",
        126,
        confidence=Confidence.LIKELY,
        weak=True,
    ),
    # packages that try one name after the other; the list is the same on every system
    form(
        "load-library",
        "unable to load any of the following libraries",
        r"Unable to load any of the following libraries:[^\r\n]{0,600}?"
        r"(?P<path>[\w+-]{1,60}(?:\.[\w+-]{1,30}){0,3}\.dll)\b",
        126,
    ),
    # XGBoost; the code comes lines later, or not at all
    form(
        "could-not-load-this",
        "could not be loaded",
        r"Library \((?P<path>[\w.+-]{1,100}?\.dll)\) could not be loaded",
    ),
    # Qt, R, GStreamer and others: the file, then the sentence
    form(
        "load-library",
        "cannot load library|failed to load plugin|unable to load shared object|failed to load library"
        "|failed to load dll",
        r"(?:cannot load library|failed to load plugin|unable to load shared object|failed to load (?:library|dll))"
        r"\s*{Q}?(?P<path>(?:[A-Za-z]:)?[^{MARKS}:\r\n]{1,400}?\.(?:dll|pyd)){Q}?:(?P<text>[^\r\n]{1,300})",
        weak=True,
    ),
    # faulthandler and ctypes
    form(
        "exit-code",
        "windows fatal exception: access violation|exception: access violation",
        r"Windows fatal exception: access violation|OSError: exception: access violation",
        0xC0000005,
        weak=True,
    ),
    form(
        "exit-code",
        "windows fatal exception: stack overflow",
        r"Windows fatal exception: stack overflow",
        0xC00000FD,
        weak=True,
    ),
    # torch's note when vcruntime140.dll or msvcp140.dll could not be loaded
    form(
        "vc-runtime-missing",
        "visual c++ redistributable is not installed",
        r"Visual C\+\+ Redistributable is not installed",
    ),
    # cffi's dlopen, with the code in hexadecimal
    form(
        "load-library",
        "cannot load library",
        r"cannot load library\s*{Q}(?P<path>[^{MARKS}\r\n]{1,700}?){Q}:\s*error 0x(?P<hresult>[0-9a-f]{1,8})",
    ),
    # .NET, Java, Julia, node
    form(
        "load-library",
        "unable to load dll",
        r"Unable to load DLL\s*{Q}(?P<path>[^{MARKS}\r\n]{1,700}?){Q}"
        r"(?P<text>[^\r\n]{0,300}?)0x8007(?P<hresult>[0-9a-f]{4})",
    ),
    form(
        "load-library",
        "unsatisfiedlinkerror",
        r"UnsatisfiedLinkError:\s*(?!\s)(?P<path>(?:[A-Za-z]:)?[^:\r\n]{1,700}?\.dll):\s*(?P<text>[^\r\n]{0,300})",
    ),
    form(
        "load-library",
        "could not load library|error loading library",
        r"(?:could not load|error loading) library\s*{Q}(?P<path>[^{MARKS}\r\n]{3,700}?\.dll){Q}:?"
        r"\s*(?P<text>[^\r\n]{0,300})",
    ),
    # ldd of MSYS2, CuPy's own list: a name and where it was found
    form(
        "could-not-locate",
        "-> not found|=> not found",
        r"(?<![\w.\\/-])(?P<dlls>{DLL})\s{0,4}[-=]> not found",
        126,
    ),
    # in the words of a program: the file, and that it could not be loaded
    form(
        "could-not-load-this",
        "to load|not load|n't load|error loading|loading failed",
        r"(?:(?:failed|unable) to load|(?:can(?:no|')t|could ?n[o']t) load|error loading|loading failed)[: ]{1,3}"
        r"(?:(?:the )?(?:file|module|plugin|shared library)[: ]{1,3})?"
        r"{Q}?(?P<path>(?:[A-Za-z]:[\\/])?[^\s{MARKS}:*?<>|]{1,260}?\.dll){Q}?(?=[\s.,;)]|$)",
        confidence=Confidence.LIKELY,
        weak=True,
        among=(".dll",),
    ),
    form(
        "could-not-locate",
        "could not be found|cannot be found|can't be found|could not be located",
        r"(?<![\w.\\/-])(?P<dlls>{DLL})[\"'”’]? (?:could not|cannot|can't) be (?:found|located)\b",
        126,
        confidence=Confidence.LIKELY,
        weak=True,
    ),
    form(
        "could-not-load-this",
        "could not be loaded|cannot be loaded|can't be loaded|failed to load|failed to be loaded",
        r"(?<![\w.\\/-])(?P<path>{DLL})[\"'”’]? (?:(?:could not|cannot|can't|failed to) be loaded|failed to load)\b",
        confidence=Confidence.LIKELY,
        weak=True,
        among=(".dll",),
    ),
    # a library of CUDA by its nickname
    form(
        "cuda-library",
        "nvrtc|cudart|cublas|cudnn|cufft|curand|cusolver|cusparse|nvjitlink|cupti",
        r"(?:(?:can(?:no|')t|could ?n[o']t|unable to|failed to) (?:find|locate|load|open)(?: the)? {Q}?(?:lib)?"
        r"(?P<d_library>nvrtc|cudart|cublas(?:lt)?|cudnn|cufft|curand|cusolver|cusparse|nvjitlink|cupti){Q}?(?![\w.-])"
        r"|(?<![\w.])(?P<d_named>nvrtc|cudart|cublas(?:lt)?|cudnn|cufft|curand|cusolver|cusparse|nvjitlink|cupti)"
        r" (?:library |dll )?(?:(?:cannot|could not|can't) be (?:loaded|found|located)|(?:was |is )?not found))",
        weak=True,
    ),
    # in the few words of a title or a heading
    form(
        "could-not-locate",
        ".dll not found|.dll was not found|.dll is missing|.dll missing|.dll is not found",
        r"(?<![\w.\\/-])(?P<dlls>{DLL})[\"'”’]? (?:was |is )?(?:not found|missing)\b(?! or cannot)",
        126,
        confidence=Confidence.LIKELY,
        weak=True,
    ),
    # what has a number only; it comes last, because each of the forms above says more
    *CODE_FORMS,
)
