"""Packages such as llama-cpp-python, whose DLL a function of another file loads: they need no module of their own."""

from tests.support.tables import named_cases
from tests.support.wheels import build_wheel
from wheelfix import scan

LOADER = """
import ctypes, os, sys


def load(name, folder):
    candidates = []
    if sys.platform == "win32":
        candidates += [folder / f"{name}.dll", folder / f"lib{name}.dll"]
        os.add_dll_directory(str(folder))
    for path in candidates:
        if path.exists():
            return ctypes.CDLL(str(path))
    raise FileNotFoundError(name)
"""
CALLER = """
import os, pathlib
from pkg.loader import load

chosen = os.environ.get("PKG_LIB_PATH")
folder = pathlib.Path(os.path.dirname(__file__)) / "lib" if chosen is None else pathlib.Path(chosen)
library = load("core", folder)
"""
CORE, PART = "pkg/lib/core.dll", "pkg/lib/part.dll"


def report_of(tmp_path, *without):
    files = {
        "pkg/__init__.py": "from .api import *\n",
        "pkg/api.py": CALLER,
        "pkg/loader.py": LOADER,
        CORE: "imports part.dll",
        PART: "",
    }
    kept = {path: data for path, data in files.items() if path not in without}
    return scan(build_wheel(tmp_path, "pkg", "1.0", "py3-none-win_amd64", kept))


def test_an_intact_package(tmp_path):
    assert report_of(tmp_path).verdict == "ok"


@named_cases(
    "removed, starts, chain",
    {
        "a dependency": (
            PART,
            r"FileNotFoundError: Could not find module '…\pkg\lib\core.dll'",
            ("core.dll", "part.dll"),
        ),
        "the DLL": (CORE, "FileNotFoundError: core", ("core.dll",)),
    },
)
def test_the_calling_file_decides_what_is_loaded(removed, starts, chain, tmp_path):
    report = report_of(tmp_path, removed)
    assert report.verdict == "broken"
    assert report.first_failure.message.startswith(starts)
    assert report.first_failure.chain == chain
