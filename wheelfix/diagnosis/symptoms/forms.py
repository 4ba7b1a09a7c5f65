"""The forms in which programs print a failed load, as a table of patterns.

Only what Windows does not translate is matched: codes in brackets, quoted paths, the English frame that Python, torch,
cuDNN and others put around the system's sentence. Named groups of a pattern say what is what: ``code``, ``path``,
``dlls`` (a stretch that holds DLL names), ``module``, ``text`` (the system's sentence); ``d_…`` groups become details.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from wheelfix.diagnosis.symptoms.model import Confidence
from wheelfix.knowledge.tables import Checker, parse_toml
from wheelfix.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Form:
    """One way of printing an error."""

    kind: str
    triggers: tuple[str, ...]
    """Lower-case words, one of which has to be in the line before the pattern is tried."""
    pattern: re.Pattern[str]
    code: int | None = None
    """The code when the form itself says it."""
    confidence: Confidence = Confidence.SURE
    weak: bool = False
    """Dropped where a stronger form already covers the same place."""
    before: Callable[[str], dict[str, str] | None] | None = None
    """Reads more groups from the text before the match, backwards from its end, so that no pattern has to try every
    start; None means that the text before it does not fit, so that the form does not match."""
    among: tuple[str, ...] = ()
    """Lower-case words, one of which has to be in the line as well, where the trigger alone says too little."""

    def allows(self, lowered: str) -> bool:
        """Whether the pattern can match a line with a trigger, given in lower case."""
        return not self.among or any(word in lowered for word in self.among)


_MARKS = "\"'“”„«»‘’`"
_Q = rf"\\?[{_MARKS}]"
_REST = r"(?:(?!\[WinError|Traceback \(|Error: |Error loading)[^\r\n])"
# What stands between quotes; an apostrophe may be one of its own, so each is a place where it could end.
_QUOTED = r"[^\"'“”„«»‘’]{1,700}(?:['‘’][^\"'“”„«»‘’]{1,260}){0,4}?"
_DLL = r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,119}?\.(?:dll|pyd)(?![A-Za-z0-9_])"
_TRIPLE = r"\d{1,9}[.,] ?\d{1,9}(?:[.,] ?\d{1,9})?"
_PARTS = {"{Q}": _Q, "{REST}": _REST, "{DLL}": _DLL, "{TRIPLE}": _TRIPLE, "{MARKS}": _MARKS, "{QUOTED}": _QUOTED}


def form(kind: str, triggers: str, pattern: str, code: int | None = None, **more: object) -> Form:
    """Make a form: its triggers joined by ``|``, its pattern with the parts above in braces."""
    words = tuple(word.strip() for word in triggers.split("|"))
    for name, part in _PARTS.items():
        pattern = pattern.replace(name, part)
    compiled = re.compile(pattern, re.IGNORECASE)
    return Form(kind, words, compiled, code, **more)  # type: ignore[arg-type]  # fields of Form, given by keyword


_SENTENCE_BACKWARDS = re.compile(r"[^\r\n(]+")


def sentence_before(text: str) -> dict[str, str]:
    """Return the sentence that a text ends with."""
    found = _SENTENCE_BACKWARDS.match(text[::-1])
    return {"text": found[0][::-1]} if found else {}


LOADER_CODES = (126, 127, 182, 193, 216, 225, 487, 577, 998, 1114, 1157, 1260, 1455, 1920, 4551, 14001)
"""Windows error codes that a failed load can end with; others, such as 2 or 5, are about other problems."""
AMBIGUOUS_CODES = (5, 8, 14, 87, 206, 1392)
"""Codes that a failed load can end with, and many other operations too."""

# 0xC0000135 and its kind, as printed in hexadecimal, as a signed and as an unsigned decimal.
_EXIT_STATUSES = (
    0xC0000005,
    0xC000001D,
    0xC0000022,
    0xC000007B,
    0xC00000FD,
    0xC000012F,
    0xC0000130,
    0xC0000135,
    0xC0000138,
    0xC0000139,
    0xC0000142,
    0xC0000374,
    0xC0000409,
    0xC0000417,
    0xC000041D,
    0xC0000428,
    0xC0150002,
    0xE06D7363,
)
_DELAY_STATUSES = (0xC06D007E, 0xC06D007F)
_CODES = "|".join(map(str, LOADER_CODES))
STATUS_NAMES = {
    "DLL_NOT_FOUND": 0xC0000135,
    "ENTRYPOINT_NOT_FOUND": 0xC0000139,
    "ORDINAL_NOT_FOUND": 0xC0000138,
    "INVALID_IMAGE_FORMAT": 0xC000007B,
    "DLL_INIT_FAILED": 0xC0000142,
    "ILLEGAL_INSTRUCTION": 0xC000001D,
}


def _statuses(statuses: tuple[int, ...]) -> str:
    """A pattern for NTSTATUS values in the three ways in which they are printed."""
    numbers = [text for status in statuses for text in (f"0x{status:08x}", str(status), str(status - (1 << 32)))]
    return rf"(?<![\w.])(?P<status>{'|'.join(map(re.escape, numbers))})(?![\w])"


CODE_FORMS = (
    # the words of dialog boxes are in phrases.toml; what they have in common is the status
    form("delay-load", "c06d007|322836902|106659827", _statuses(_DELAY_STATUSES), weak=True),
    form(
        "exit-code",
        "0xc0|-10737|-10725|322122|32223|e06d7363|3765269347|-529697949",
        _statuses(_EXIT_STATUSES),
        weak=True,
    ),
    form(
        "exit-code",
        "status_dll_|status_entrypoint|status_ordinal|status_invalid_image|status_illegal",
        r"\bSTATUS_(?P<status_name>DLL_NOT_FOUND|ENTRYPOINT_NOT_FOUND|ORDINAL_NOT_FOUND|INVALID_IMAGE_FORMAT|DLL_INIT_FAILED|ILLEGAL_INSTRUCTION)\b",
        weak=True,
    ),
    # the event log of Windows, and dumps
    form(
        "exit-code",
        "exception code: c0|exception code:\tc0|exceptioncode: c0|exception_code: c0",
        r"Exception[ _]?code:[ \t]*(?P<status_hex>c0000005|c000001d|c0000135|c0000139|c0000142|c0000374|c0000409)\b",
        weak=True,
    ),
    # a folder for DLLs that was not there; the reader keeps it where the line before adds such a folder
    form(
        "dll-folder",
        "winerror 2]|winerror 3]|winerror 87]|winerror 123]|winerror 206]|winerror 433]",
        r"\[WinError (?P<code>2|3|87|123|206|433)\](?P<text>{REST}{0,400})",
        weak=True,
    ),
    # anything else with one of the loader's codes
    form(
        "winerror",
        "winerror",
        rf"\[?WinError\s*(?::\s*)?(?P<code>{_CODES})\b\]?(?P<text>{{REST}}{{0,300}})",
        weak=True,
    ),
    # codes that many other operations end with, where the line is about a load
    form(
        "winerror",
        "winerror",
        rf"\[?WinError\s*(?::\s*)?(?P<code>{'|'.join(map(str, AMBIGUOUS_CODES))})\b\]?(?P<text>{{REST}}{{0,300}})",
        weak=True,
        among=("dlopen", "loadlibrary", "error loading", "failed to load", "error message(s)"),
    ),
    form(
        "winerror",
        "os error",
        rf"\(os error (?P<code>{_CODES})\)",
        weak=True,
        before=sentence_before,
    ),
    form(
        "winerror",
        "0x8007",
        r"(?<!\w)0x8007(?P<hresult>007e|007f|00b6|00c1|00d8|00e1|03e6|045a|04ec|05af|11c7|36b1)\b",
        weak=True,
    ),
    form(
        "winerror",
        "error 126|error 127|error 182|error 193|error 998|error 1114|error 1455|error 14001"
        "|error code|getlasterror|errno 126|errno 193|error: 126|error: 127|error: 193",
        rf"(?:error|errno|GetLastError)(?: code)?(?:\(\))?(?: (?:returned|is|was))?"
        rf"[ ]?[:=#]?[ ]?\(?(?P<code>{_CODES})\b",
        confidence=Confidence.LIKELY,
        weak=True,
        among=(".dll", ".pyd", "loadlibrary", "dlopen"),
    ),
    # the same in hexadecimal, or in nothing but brackets
    form(
        "winerror",
        "0x7e|0x7f|0xc1|0x45a|0x0000007e|0x0000007f|0x000000c1|0x0000045a",
        r"(?<!\w)0x0{0,5}(?P<hresult>7e|7f|c1|45a)\b",
        confidence=Confidence.LIKELY,
        weak=True,
        among=(".dll", ".pyd", "loadlibrary", "dlopen"),
    ),
    form(
        "winerror",
        "(126)|(127)|(193)|(1114)|: 126|: 127|: 193|: 1114|=126|=127|=193|=1114",
        r"(?:\(|: |=)(?P<code>126|127|193|1114)\b(?!\.\d)",
        confidence=Confidence.LIKELY,
        weak=True,
        among=("loadlibrary", "dlopen", "load library", "load dynamic", "load dll", "load shared", "winerror"),
    ),
)


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


WORD_FORMS = (
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
        r"\s{0,3}{Q}?(?P<path>(?:[A-Za-z]:)?[^{MARKS}:\r\n]{1,400}?\.(?:dll|pyd)){Q}?:(?P<text>[^\r\n]{1,300})",
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
)


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
    *GPU_FORMS,
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
    *WORD_FORMS,
    # what has a number only; it comes last, because each of the forms above says more
    *CODE_FORMS,
)


# --------------------------------------------------------------------------------------- the sentences of dialog boxes


TABLE = "phrases.toml"
_QUOTE = "[\"'“”„«»‘’「」『』]?"
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_+-]{0,119}(?:\.[A-Za-z0-9_+-]{1,40}){0,5}?"
# Each hole takes as much as it can and gives nothing back: a group inside a lookahead is matched once.
_HOLES = {
    "dll": rf"(?<![A-Za-z0-9_]){_QUOTE}(?=(?P<dlls>{_NAME}\.(?:dll|pyd)))(?P=dlls){_QUOTE}",
    "file": rf"(?<![\w\\/.]){_QUOTE}(?!\s)"
    rf"(?=(?P<path>(?:[A-Za-z]:[\\/])?[^\"“”„«»*?<>|:\r\n]{{1,260}}?\.(?:dll|pyd|exe)))(?P=path){_QUOTE}",
    "symbol": rf"{_QUOTE}(?=(?P<d_symbol>[!#-&(-~]{{1,300}}))(?P=d_symbol){_QUOTE}",
}
_HOLE = re.compile(r"\{(\w+)\}")
# The same, read from right to left, where a sentence begins with a hole.
_DLL_BACKWARDS = re.compile(rf"\s*{_QUOTE}(?P<dlls>(?:lld|dyp)\.[A-Za-z0-9_.+-]{{1,119}})", re.IGNORECASE)
_FILE_BACKWARDS = re.compile(
    rf"\s*{_QUOTE}(?P<path>(?:lld|dyp|exe)\.[^\"“”„«»*?<>|:\r\n]{{1,260}}(?:(?<=[\\/]):[A-Za-z])?)", re.IGNORECASE
)


def _dll_before(text: str) -> dict[str, str] | None:
    """Return the DLL that a text ends with."""
    found = _DLL_BACKWARDS.match(text[::-1])
    name = found["dlls"][::-1].lstrip(".+-") if found else ""
    return {"dlls": name} if len(name) > 4 else None


def _file_before(text: str) -> dict[str, str] | None:
    """Return the file that a text ends with."""
    found = _FILE_BACKWARDS.match(text[::-1])
    return {"path": found["path"][::-1].lstrip()} if found else None


_BEFORE = {"dll": _dll_before, "file": _file_before}


def compile_phrase(kind: str, code: int, text: str) -> Form:
    """Return the form of a sentence, with its longest fixed part as the trigger.

    A hole at its beginning is read backwards from the rest, because it could begin anywhere.
    """
    parts = _HOLE.split(text)
    trigger = max((part.strip().lower() for part in parts[0::2]), key=len)
    before = None if parts[0].strip() else _BEFORE[parts[1]]
    pattern = ""
    for number, part in enumerate(parts[2:] if before else parts):
        pattern += _HOLES[part] if number % 2 else _loose(part)
    if before:
        pattern = pattern.removeprefix(r"\s*")
    return Form(kind, (trigger,), re.compile(pattern, re.IGNORECASE), code, before=before)


def _loose(text: str) -> str:
    """Escape a text so that any amount of white space, none included, matches where it has a blank."""
    return r"\s*".join(re.escape(word).replace("'", "['’]") for word in re.split(r"\s+", text))


def parse_phrases(table: str, text: str) -> tuple[tuple[str, Form], ...]:
    """Return (language, form) pairs; an unknown placeholder or a sentence without any refuses the table."""
    checker = Checker(table)
    forms: list[tuple[str, Form]] = []
    for row in checker.rows(parse_toml(table, text), "phrase", ("kind", "code", "texts")):
        texts: Mapping[str, Any] = row["texts"]
        for language, sentences in texts.items():
            for sentence in sentences:
                holes = set(_HOLE.findall(sentence))
                if not holes or holes - set(_HOLES):
                    checker.faults.append(f"{row['kind']} {language}: placeholders {sorted(holes)} in {sentence!r}")
                    continue
                forms.append((language, compile_phrase(row["kind"], int(row["code"]), sentence)))
    checker.finish()
    return tuple(forms)


@lru_cache(maxsize=1)
def dialog_forms() -> tuple[tuple[str, Form], ...]:
    """Return every dialog sentence with its language."""
    text = resources.files(__package__).joinpath(TABLE).read_text(encoding="utf-8")
    return parse_phrases(TABLE, text)
