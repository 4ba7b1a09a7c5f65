"""Forms in which packages and programs say in words of their own that a file was not found or not loaded."""

from __future__ import annotations

from wheelfix.diagnosis.symptoms.form import form
from wheelfix.diagnosis.symptoms.symptom import Confidence

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
