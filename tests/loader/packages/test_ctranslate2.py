"""CTranslate2: what it needs for a GPU is loaded by name, for the CUDA that its metadata names."""

from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from tools.forge import forge_dll
from wheelfix import scan
from wheelfix.model import Severity

CODE = """
import sys

if sys.platform == "win32":
    import ctypes, glob, os
    from importlib.resources import files

    name = sys.modules[__name__].__name__
    package_dir = str(files(name))
    os.add_dll_directory(package_dir)
    for library in glob.glob(os.path.join(package_dir, "*.dll")):
        ctypes.CDLL(library)
from ctranslate2._ext import Translator
"""
STALE = {"version": "4.0.0", "inside": b"\0cublas64_12.dll\0cudnn64_8.dll\0"}


def report_of(tmp_path, classifiers, *, without=(), version="4.8.4", inside=b""):
    library = forge_dll(
        "ctranslate2.dll", imports={"libiomp5md.dll": ["g"]}, exports=["f"], sections={".texts": inside or b"x"}
    )
    files = {
        "ctranslate2/__init__.py": CODE,
        "ctranslate2/_ext.cp311-win_amd64.pyd": "imports ctranslate2.dll",
        "ctranslate2/ctranslate2.dll": library,
        "ctranslate2/cudnn64_9.dll": "",
        "ctranslate2/libiomp5md.dll": "exports g",
    }
    more = [f"Classifier: Environment :: GPU :: NVIDIA CUDA :: {one}" for one in classifiers]
    kept = {path: data for path, data in files.items() if path not in without}
    return scan(build_wheel(tmp_path, "ctranslate2", version, files=kept, extra_metadata=more))


@named_cases(
    "classifiers, made, cublas, wheels",
    {
        "12": (["12 :: 12.4"], {}, "cublas64_12.dll", ("nvidia-cublas-cu12", "nvidia-cudnn-cu12>=9")),
        "11": (
            ["11.7", "11.8"],
            {"version": "3.24.0"},
            "cublas64_11.dll",
            ("nvidia-cublas-cu11", "nvidia-cudnn-cu11>=9"),
        ),
        # METADATA of 4.0.0 still has the classifiers of CUDA 11.
        "what the DLL names counts": (
            ["11.7", "11.8"],
            STALE,
            "cublas64_12.dll",
            ("nvidia-cublas-cu12", "nvidia-cudnn-cu12>=9"),
        ),
    },
)
def test_what_a_gpu_needs_is_a_warning_with_the_right_cuda(classifiers, made, cublas, wheels, tmp_path):
    report = report_of(tmp_path, classifiers, **made)
    missing = {item.name: item for item in report.missing if item.required}
    assert report.verdict == "risky"
    assert {finding.severity for finding in report.findings if finding.code == "WF302"} == {Severity.WARNING}
    for name, wheel in zip((cublas, "cudnn_ops64_9.dll"), wheels, strict=True):
        assert [item for item in missing[name].providers if item.startswith("PyPI")] == [f"PyPI: {wheel}"]


def test_two_majors_are_not_guessed(tmp_path):
    report = report_of(tmp_path, ["11.8", "12 :: 12.0"])
    assert not any(item.name.startswith("cublas") for item in report.missing)


def test_a_dll_that_the_code_loads_first_is_in_the_error(tmp_path):
    # The import of _ext would fail too, but ctypes comes before it.
    failure = report_of(tmp_path, ["12 :: 12.4"], without=("ctranslate2/libiomp5md.dll",)).first_failure
    assert failure.message.startswith(r"FileNotFoundError: Could not find module '…\ctranslate2\ctranslate2.dll'")
    assert failure.chain == ("ctranslate2.dll", "libiomp5md.dll")
