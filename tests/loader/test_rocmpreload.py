"""torch for ROCm: what is preloaded from the ROCm distributions, and what is not found because it is not."""

import pytest

from tests.support.tables import named_cases
from tests.support.views import make_view
from wheelfix.loader.predict import predict
from wheelfix.loader.profile import Profile
from wheelfix.loader.resolve import resolve

SITE = "Lib/site-packages/"
CORE, LIBRARIES = f"{SITE}_rocm_sdk_core/bin/", f"{SITE}_rocm_sdk_libraries_gfx110X_all/bin/"
INIT = """
def initialize():
    import rocm_sdk
    rocm_sdk.initialize_process(preload_shortnames=['amdhip64', 'hipblas'{more}], check_version='7.0')
"""
TABLE = """
LibraryEntry("amd_comgr", "core", "libamd_comgr.so*", "amd_comgr*.dll")
LibraryEntry("amdhip64", "core", "libamdhip64.so*", "amdhip64*.dll", deps=["amd_comgr"])
LibraryEntry("rccl", "libraries", "librccl.so*", "")
LibraryEntry("hipblas", "libraries", "libhipblas.so*", "*hipblas*.dll")
LibraryEntry("rocblas", "libraries", "librocblas.so*", "rocblas*.dll")
"""


def files(more="", without=()):
    found = {
        f"{SITE}torch/__init__.py": "import os\n",
        f"{SITE}torch/version.py": "__version__ = '2.9.0+rocm7.0'\ncuda = None\n",
        f"{SITE}torch/_rocm_init.py": INIT.format(more=more),
        f"{SITE}torch/lib/torch_hip.dll": "imports amdhip64_7.dll, libhipblas.dll, rocblas.dll",
        f"{SITE}rocm_sdk/_dist_info.py": TABLE,
        f"{CORE}amd_comgr0702.dll": "",
        f"{CORE}amdhip64_7.dll": "imports amd_comgr0702.dll",
        f"{LIBRARIES}libhipblas.dll": "imports amdhip64_7.dll",
        f"{LIBRARIES}rocblas.dll": "imports amdhip64_7.dll",
    }
    return {path: data for path, data in found.items() if path not in without}


def line(**case):
    view = make_view(files(**case))
    prediction = predict(view, resolve(view, Profile(python=(3, 11))))
    return prediction and (prediction.message, prediction.chain)


def test_what_is_preloaded_is_found():
    assert line(more=", 'rocblas'") is None


def test_what_is_not_preloaded_is_not_found():
    # ROCm/TheRock#6965: rocblas.dll was not among the short names.
    message, chain = line()
    assert message.endswith(r'Error loading "…\torch\lib\torch_hip.dll" or one of its dependencies.')
    assert chain == ("torch_hip.dll", "rocblas.dll")


@pytest.mark.parametrize(
    "removed, starts, last",
    [
        (f"{CORE}amdhip64_7.dll", "FileNotFoundError: raised by the package", "amdhip64*.dll"),
        (f"{CORE}amd_comgr0702.dll", "FileNotFoundError: raised by the package", "amd_comgr*.dll"),
    ],
)
def test_a_library_that_is_not_there_ends_the_import_first(removed, starts, last):
    message, chain = line(more=", 'rocblas'", without=(removed,))
    assert message.startswith(starts)
    assert chain[-1] == last


def test_without_rocm_sdk_nothing_is_preloaded():
    _, chain = line(without=(f"{SITE}rocm_sdk/_dist_info.py",))
    assert chain[0] == "torch_hip.dll"


ALL_FIRST = "def preload_libraries(*names):\n    paths = find_libraries(*names)\n"
ONE_BY_ONE = "def preload_libraries(*names):\n    for name in names:\n        paths = find_libraries(name)\n"
NEEDED = {f"{CORE}amd_comgr0702.dll": "imports gone.dll"}


def failing_line(code, table=TABLE, more="", **changed):
    view = make_view(
        files(more) | {f"{SITE}rocm_sdk/__init__.py": code, f"{SITE}rocm_sdk/_dist_info.py": table} | changed
    )
    prediction = predict(view, resolve(view, Profile(python=(3, 11))))
    return prediction.message


@named_cases(
    "code, starts",
    {
        "up to 7.13": (ALL_FIRST, "FileNotFoundError: raised by the package because hipfft*.dll"),
        "7.14": (ONE_BY_ONE, r"FileNotFoundError: Could not find module '…\_rocm_sdk_core\bin\amd_comgr0702.dll'"),
    },
)
def test_files_are_looked_for_before_the_first_is_loaded_or_one_by_one(code, starts):
    table = TABLE + 'LibraryEntry("hipfft", "libraries", "libhipfft.so*", "hipfft*.dll")\n'
    assert failing_line(code, table, ", 'hipfft'", **NEEDED).startswith(starts)


def test_a_library_may_be_optional():
    table = TABLE + 'LibraryEntry("extra", "core", "libextra.so*", "extra*.dll", optional=True)\n'
    assert "torch_hip.dll" in failing_line(ONE_BY_ONE, table, ", 'extra'")


@pytest.mark.parametrize(
    "code, line",
    [
        (ONE_BY_ONE, "ModuleNotFoundError: Unknown rocm library 'hipdnn'"),
        (ALL_FIRST + "names = resolve_deps(list(names))\n", "KeyError: 'hipdnn'"),
    ],
)
def test_a_torch_for_another_release_asks_for_a_library_that_is_not_known(code, line):
    assert failing_line(code, more=", 'hipdnn'") == line


def test_what_is_preloaded_is_not_tried_again_along_path():
    """torch tries its own DLLs a second time, in another way; that would blame a DLL that is there."""
    gone = {f"{LIBRARIES}libhipblas.dll": "imports rocblas.dll, gone.dll"}
    view = make_view(files() | {f"{SITE}rocm_sdk/__init__.py": ONE_BY_ONE} | gone)
    assert predict(view, resolve(view, Profile(python=(3, 11)))).chain == ("libhipblas.dll", "gone.dll")
