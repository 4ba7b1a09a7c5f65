"""The forms in which programs print a failed load, as a table of patterns.

Only what Windows does not translate is matched: codes in brackets, quoted paths, the English frame that Python, torch,
cuDNN and others put around the system's sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wheelfix.diagnosis.symptoms.codeforms import CODE_FORMS
from wheelfix.diagnosis.symptoms.form import form, sentence_before
from wheelfix.diagnosis.symptoms.gpuforms import GPU_FORMS
from wheelfix.diagnosis.symptoms.symptom import Confidence
from wheelfix.diagnosis.symptoms.wordforms import WORD_FORMS

if TYPE_CHECKING:
    from wheelfix.diagnosis.symptoms.form import Form

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
